package explain

import (
	"fmt"
	"strings"
	"time"
)

// String returns the explanation as lines of text, without a final newline. Related objects are indented below it.
func (x Explanation) String() string {
	p := &printer{now: x.now}
	p.explanation(&x, "")
	if root := x.Root(); root.Object != x.Object {
		p.line("", "root cause", root.Object+": "+withRule(root.Why, root.Rule))
	}
	return strings.TrimSuffix(p.b.String(), "\n")
}

type printer struct {
	b   strings.Builder
	now time.Time
}

// labelWidth is the width of the longest label, with a space after it.
const labelWidth = len("root cause ")

func (p *printer) line(indent, label, text string) {
	fmt.Fprintf(&p.b, "%s%-*s%s\n", indent, labelWidth, label, oneLine(text))
}

// oneLine joins the lines of a text, such as the message of an Event.
func oneLine(text string) string {
	if !strings.Contains(text, "\n") {
		return text
	}
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

func (p *printer) explanation(x *Explanation, indent string) {
	state := " is " + x.Phase
	if x.Phase == "" {
		state = " has no phase"
	}
	fmt.Fprintf(&p.b, "%s%s%s\n", indent, x.Object, state)
	inner := indent + "  "
	p.line(inner, "because", withRule(x.Why, x.Rule))
	p.candidates(x.Candidates, inner, "rejected")
	last := ""
	for _, step := range x.Next {
		label, text := "next", step.Actor+" "+step.Does
		if step.Actor == "" {
			label, text = "to do", step.Does
		}
		p.line(inner, unlessSame(label, &last), text)
	}
	p.line(inner, "changes", p.change(x.Changes))
	last = ""
	for _, assumed := range x.Assumes {
		p.line(inner, unlessSame("assumes", &last), assumed)
	}
	last = ""
	for _, note := range x.Notes {
		p.line(inner, unlessSame("note", &last), note)
	}
	for i := range x.Related {
		p.explanation(&x.Related[i], inner)
	}
}

// unlessSame returns the label, or "" if the line before has the same one.
func unlessSame(label string, last *string) string {
	if label == *last {
		return ""
	}
	*last = label
	return label
}

// manyLines is the number of lines that one rule gets for the candidates that it rejected.
const manyLines = 4

// candidates writes one line for all candidates with the same text, and one that counts what exceeds manyLines for a rule.
func (p *printer) candidates(candidates []Candidate, indent, label string) {
	groups := folded(grouped(candidates))
	width := 0
	for _, g := range groups {
		if g.text() != "" {
			width = max(width, len(g.names()))
		}
	}
	last := ""
	for _, g := range groups {
		text := g.text()
		if text == "" {
			p.line(indent, unlessSame("fits", &last), g.names())
			continue
		}
		p.line(indent, unlessSame(label, &last), fmt.Sprintf("%-*s  %s", width, g.names(), text))
		if !g.more {
			p.candidates(g.all[0].Candidates, indent+"  ", "volumes")
		}
	}
}

// folded merges the groups of a rule that exceed manyLines.
func folded(groups []group) []group {
	lines := map[string]int{}
	for _, g := range groups {
		lines[g.all[0].Rule]++
	}
	merged := groups[:0:0]
	shown := map[string]int{}
	rest := map[string]int{} // index in merged of the merged group of a rule
	for _, g := range groups {
		rule := g.all[0].Rule
		at, folds := rest[rule]
		switch {
		case rule == "" || lines[rule] <= manyLines+1 || shown[rule] < manyLines:
			shown[rule]++
			merged = append(merged, g)
		case folds:
			merged[at].all = append(merged[at].all, g.all...)
		default:
			rest[rule] = len(merged)
			merged = append(merged, group{all: g.all, more: true})
		}
	}
	return merged
}

// group is the candidates of one line.
type group struct {
	all  []*Candidate
	more bool // their texts differ, so the line only counts them
}

// text says why the candidates were rejected; "" if they fit.
func (g group) text() string {
	c := g.all[0]
	switch {
	case c.Rule == "":
		return ""
	case g.more:
		return withRule("rejected by the same rule", c.Rule)
	}
	text := c.reason()
	for i := range c.Also {
		text += "; also " + c.Also[i].reason()
	}
	return text
}

// reason says why the candidate was rejected, by its first rule.
func (c *Candidate) reason() string {
	text := c.Got
	if c.Needed != "" {
		text += ", needs " + c.Needed
	}
	return withRule(text, c.Rule)
}

// grouped puts candidates with the same text together. A candidate that has candidates stays alone.
func grouped(candidates []Candidate) []group {
	type words struct{ rule, text string }
	var groups []group
	at := map[words]int{}
	for i := range candidates {
		c := &candidates[i]
		key := words{c.Rule, group{all: []*Candidate{c}}.text()}
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

// manyNames is the number of names in one line.
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
		return "nothing to do"
	case Follows:
		return c.Text
	case Manual:
		if c.Text == "" {
			return "only when you act"
		}
		return withRule("only when you act: "+c.Text, c.Rule)
	}
	when := "automatically"
	if c.At.After(p.now) {
		when += " at " + c.At.UTC().Format(time.RFC3339)
		if !p.now.IsZero() {
			when += " (in " + c.At.Sub(p.now).Round(time.Second).String() + ")"
		}
	}
	return withRule(when+": "+c.Text, c.Rule)
}

func withRule(text, rule string) string {
	if rule == "" {
		return text
	}
	return strings.TrimRight(text, "\r\n") + " (" + rule + ")"
}
