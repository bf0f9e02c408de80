package graph

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// edge is an arrow: all transitions between the same two phases.
type edge struct {
	from, to string
	ways     []Transition
}

func (e edge) count() int {
	n := 0
	for _, t := range e.ways {
		n += t.Count
	}
	return n
}

// lines are the reasons, the most frequent first: "BIND-062 ×12".
func (e edge) lines() []string {
	lines := make([]string, len(e.ways))
	for i, t := range e.ways {
		lines[i] = t.Reason + " ×" + strconv.Itoa(t.Count)
	}
	return lines
}

// edges returns the arrows in the order of Transitions.
func (m *Machine) edges() []edge {
	var all []edge
	for _, t := range m.Transitions() {
		if n := len(all); n > 0 && all[n-1].from == t.From && all[n-1].to == t.To {
			all[n-1].ways = append(all[n-1].ways, t)
			continue
		}
		all = append(all, edge{from: t.From, to: t.To, ways: []Transition{t}})
	}
	return all
}

// WriteMermaid writes the machine as a Mermaid state diagram. It returns the error of w.
func (m *Machine) WriteMermaid(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "stateDiagram-v2\n    %%%% %s, as observed\n", m.kind)
	state := func(phase string) string {
		if phase == None {
			return "[*]"
		}
		return phase
	}
	for _, e := range m.edges() {
		fmt.Fprintf(out, "    %s --> %s: %s\n", state(e.from), state(e.to), strings.Join(mapped(e.lines(), mermaidText), "<br>"))
	}
	return out.Flush()
}

// mermaidText escapes the characters that end a label, as #code;.
func mermaidText(text string) string {
	return strings.NewReplacer("#", "#35;", ";", "#59;", ":", "#58;", "<", "#lt;", ">", "#gt;", "\n", " ").Replace(text)
}

// WriteDOT writes the machine in the language of Graphviz. The width of an arrow grows with its count. It returns the error of w.
func (m *Machine) WriteDOT(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "digraph %s {\n", quoted(string(m.kind)))
	fmt.Fprint(out, "  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];\n")
	fmt.Fprint(out, "  begin [shape=circle, style=filled, fillcolor=black, label=\"\", width=0.15];\n")
	fmt.Fprint(out, "  end [shape=doublecircle, style=filled, fillcolor=black, label=\"\", width=0.1];\n")
	for _, phase := range m.Phases() {
		fmt.Fprintf(out, "  %s;\n", quoted(phase))
	}
	for _, e := range m.edges() {
		from, to := quoted(e.from), quoted(e.to)
		if e.from == None {
			from = "begin"
		}
		if e.to == None {
			to = "end"
		}
		fmt.Fprintf(out, "  %s -> %s [label=%s, penwidth=%d];\n", from, to, quoted(strings.Join(e.lines(), "\n")), penWidth(e.count()))
	}
	fmt.Fprint(out, "}\n")
	return out.Flush()
}

// penWidth grows by one with each digit of the count.
func penWidth(count int) int { return len(strconv.Itoa(count)) }

// quoted returns a DOT string.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}

func mapped(texts []string, fn func(string) string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = fn(text)
	}
	return out
}
