package jsonpath

import (
	"fmt"
	"strings"
)

// Template returns what a jsonpath template prints about a document, or a part of that.
type Template func(doc any) string

// ReadTemplate reads a jsonpath template of kubectl: text that contains {.paths}, {"text"}, and {range .path}…{end}. As with kubectl,
// several values of a path are separated by blanks.
func ReadTemplate(template string) (Template, error) {
	t := &jsonPath{rest: template}
	parts, ended, err := t.parts()
	if err == nil && ended {
		err = fmt.Errorf("{end} without {range} in %q", template)
	}
	if err != nil {
		return nil, err
	}
	return func(doc any) string { return render(parts, doc) }, nil
}

// jsonPath is a template that is being read.
type jsonPath struct{ rest string }

// parts reads up to the end of the template or of a range; ended reports the latter.
func (t *jsonPath) parts() (parts []Template, ended bool, err error) {
	for t.rest != "" {
		text, after, found := strings.Cut(t.rest, "{")
		parts = append(parts, func(any) string { return text })
		if !found {
			t.rest = ""
			break
		}
		inner, behind, closed := cutBrace(after)
		if !closed {
			return nil, false, fmt.Errorf("unclosed { in %q", t.rest)
		}
		t.rest = behind
		inner = strings.TrimSpace(inner)
		if inner == "end" {
			return parts, true, nil
		}
		one, err := t.part(inner)
		if err != nil {
			return nil, false, err
		}
		parts = append(parts, one)
	}
	return parts, false, nil
}

// cutBrace cuts a text at the first brace that closes it and is not in quotes.
func cutBrace(text string) (inside, behind string, found bool) {
	quote := rune(0)
	for i, c := range text {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
		case c == '"' || c == '\'':
			quote = c
		case c == '}':
			return text[:i], text[i+1:], true
		}
	}
	return "", "", false
}

// part reads what is between two braces and, for a range, all up to its end.
func (t *jsonPath) part(inner string) (Template, error) {
	if len(inner) > 1 && (inner[0] == '"' || inner[0] == '\'') {
		literal := strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(unquoted(inner))
		return func(any) string { return literal }, nil
	}
	over, isRange := strings.CutPrefix(inner, "range ")
	over = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(over), "$"), "@")
	if !isRange && (over == "" || over == ".") && inner != "" {
		return Text, nil
	}
	p, err := Read(over)
	if err != nil {
		return nil, err
	}
	if !isRange {
		return func(doc any) string { return p.join(doc, " ") }, nil
	}
	each, ended, err := t.parts()
	if err != nil {
		return nil, err
	}
	if !ended {
		return nil, fmt.Errorf("{%s} without {end}", inner)
	}
	return func(doc any) string {
		var out strings.Builder
		for _, element := range p.Find(doc) {
			out.WriteString(render(each, element))
		}
		return out.String()
	}, nil
}

func render(parts []Template, doc any) string {
	var out strings.Builder
	for _, one := range parts {
		out.WriteString(one(doc))
	}
	return out.String()
}
