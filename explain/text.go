package explain

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// String is the explanation in lines for people to read, those of related objects indented below.
func (x Explanation) String() string {
	var b strings.Builder
	// It cannot fail: a Builder takes everything.
	_ = x.WriteText(&b, time.Time{})
	return strings.TrimSuffix(b.String(), "\n")
}

// WriteText writes what String returns. Times are also given as what is left of them from now on, unless now is zero. The error is
// that of w.
func (x Explanation) WriteText(w io.Writer, now time.Time) error {
	p := &printer{now: now}
	p.explanation(&x, "")
	if root := x.Root(); root.Object != x.Object {
		p.line("", "root cause", fmt.Sprintf("%s: %s (%s)", root.Object, root.Because.Text, root.Because.Rule))
	}
	_, err := io.WriteString(w, p.b.String())
	return err
}

type printer struct {
	b   strings.Builder
	now time.Time
}

// labelWidth is that of the longest label, with a blank after it.
const labelWidth = len("root cause ")

func (p *printer) line(indent, label, text string) {
	fmt.Fprintf(&p.b, "%s%-*s%s\n", indent, labelWidth, label, text)
}

func (p *printer) explanation(x *Explanation, indent string) {
	fmt.Fprintf(&p.b, "%s%s is %s\n", indent, x.Object, orNone(x.Phase))
	inner := indent + "  "
	p.line(inner, "because", withRule(x.Because.Text, x.Because.Rule))
	p.candidates(x.Candidates, inner, "refused")
	for i, step := range x.Next {
		label := "next"
		if i > 0 {
			label = ""
		}
		p.line(inner, label, step.Actor+" "+step.Does)
	}
	p.line(inner, "changes", p.change(x.Changes))
	for i, note := range x.Notes {
		label := "note"
		if i > 0 {
			label = ""
		}
		p.line(inner, label, note)
	}
	for i := range x.Related {
		p.explanation(&x.Related[i], inner)
	}
}

// manyLines is how many lines a rule gets for those that it refused.
const manyLines = 4

// candidates writes a line for all candidates of which the same is to be said, and one for what is more than a rule's share of lines.
func (p *printer) candidates(candidates []Candidate, indent, label string) {
	groups := folded(grouped(candidates))
	width := 0
	for _, g := range groups {
		if g.text() != "" {
			width = max(width, len(g.names()))
		}
	}
	for _, g := range groups {
		text := g.text()
		if text == "" {
			p.line(indent, "fits", g.names())
			continue
		}
		p.line(indent, label, fmt.Sprintf("%-*s  %s", width, g.names(), text))
		label = ""
		if !g.more {
			p.candidates(g.all[0].Candidates, indent+"  ", "of these")
		}
	}
}

// folded puts the groups of a rule together that are more than manyLines.
func folded(groups []group) []group {
	lines := map[string]int{}
	for _, g := range groups {
		lines[g.all[0].Rule]++
	}
	kept := groups[:0:0]
	shown := map[string]int{}
	rest := map[string]int{} // where the rest of a rule's groups goes
	for _, g := range groups {
		rule := g.all[0].Rule
		at, folds := rest[rule]
		switch {
		case rule == "" || lines[rule] <= manyLines+1 || shown[rule] < manyLines:
			shown[rule]++
			kept = append(kept, g)
		case folds:
			kept[at].all = append(kept[at].all, g.all...)
		default:
			rest[rule] = len(kept)
			kept = append(kept, group{all: g.all, more: true})
		}
	}
	return kept
}

// group is candidates that a line stands for.
type group struct {
	all  []*Candidate
	more bool // the line only counts them, for they were refused in other words
}

// text says why they were refused, "" if they were not.
func (g group) text() string {
	c := g.all[0]
	switch {
	case c.Rule == "":
		return ""
	case g.more:
		return withRule("refused likewise", c.Rule)
	}
	text := c.Got
	if c.Needed != "" {
		text += ", needs " + c.Needed
	}
	return withRule(text, c.Rule)
}

// grouped puts candidates together that were refused in the same words. One with candidates of its own stays alone.
func grouped(candidates []Candidate) []group {
	type words struct{ rule, got, needed string }
	var groups []group
	at := map[words]int{}
	for i := range candidates {
		c := &candidates[i]
		key := words{c.Rule, c.Got, c.Needed}
		i, known := at[key]
		if !known || len(c.Candidates) > 0 {
			i = len(groups)
			groups = append(groups, group{})
			if len(c.Candidates) == 0 {
				at[key] = i
			}
		}
		groups[i].all = append(groups[i].all, c)
	}
	return groups
}

// manyNames is how many candidates a line names.
const manyNames = 3

func (g group) names() string {
	if g.more {
		return fmt.Sprintf("%d more", len(g.all))
	}
	var names []string
	for i, c := range g.all {
		if i == manyNames && len(g.all) > manyNames+1 {
			return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), len(g.all)-manyNames)
		}
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

func (p *printer) change(c Change) string {
	switch c.When {
	case Settled:
		return "nothing is to be done"
	case Along:
		return c.Text
	case Never:
		if c.Text == "" {
			return "never by itself"
		}
		return withRule("never by itself: "+c.Text, c.Rule)
	}
	when := "at " + c.At.UTC().Format(time.RFC3339)
	switch wait := c.At.Sub(p.now); {
	case p.now.IsZero():
	case wait <= 0:
		when = "at once"
	default:
		when += " (in " + wait.Round(time.Second).String() + ")"
	}
	return withRule(when+": "+c.Text, c.Rule)
}

func withRule(text, rule string) string {
	if rule == "" {
		return text
	}
	return text + " (" + rule + ")"
}

func orNone(phase string) string {
	if phase == "" {
		return "without a phase"
	}
	return phase
}
