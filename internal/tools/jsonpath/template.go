package jsonpath

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Template returns what a jsonpath template prints about a document, or a part of that. It fails where kubectl does, as for an index that a list
// does not have.
type Template func(doc any) (string, error)

func constant(text string) Template { return func(any) (string, error) { return text, nil } }

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
	return func(doc any) (string, error) { return render(parts, doc) }, nil
}

// jsonPath is a template that is being read.
type jsonPath struct{ rest string }

// parts reads up to the end of the template or of a range; ended reports the latter.
func (t *jsonPath) parts() (parts []Template, ended bool, err error) {
	for t.rest != "" {
		text, after, found := strings.Cut(t.rest, "{")
		parts = append(parts, constant(text))
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
		return constant(literal), nil
	}
	over, isRange := strings.CutPrefix(inner, "range ")
	over = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(over), "$"), "@")
	if !isRange && (over == "" || over == ".") && inner != "" {
		return func(doc any) (string, error) { return printed([]any{doc}) }, nil
	}
	p, err := read(over, true)
	if err != nil {
		return nil, err
	}
	if !isRange {
		return func(doc any) (string, error) {
			found, err := p.Select(doc)
			if err != nil {
				return "", err
			}
			return printed(found)
		}, nil
	}
	each, ended, err := t.parts()
	if err != nil {
		return nil, err
	}
	if !ended {
		return nil, fmt.Errorf("{%s} without {end}", inner)
	}
	return func(doc any) (string, error) {
		found, err := p.Select(doc)
		if err != nil {
			return "", err
		}
		if len(found) == 0 {
			_, err := render(each, nil) // it may fail, but prints nothing
			return "", err
		}
		var out strings.Builder
		for _, element := range found {
			text, err := render(each, element)
			if err != nil {
				return "", err
			}
			out.WriteString(text)
		}
		return out.String(), nil
	}, nil
}

func render(parts []Template, doc any) (string, error) {
	var out strings.Builder
	for _, one := range parts {
		text, err := one(doc)
		if err != nil {
			return "", err
		}
		out.WriteString(text)
	}
	return out.String(), nil
}

// printed returns values as kubectl prints them, separated by blanks: texts as they are, and everything else as JSON.
func printed(values []any) (string, error) {
	texts := make([]string, len(values))
	for i, v := range values {
		if text, ok := v.(string); ok {
			texts[i] = text
			continue
		}
		data, err := json.Marshal(v)
		if err != nil {
			return "", err
		}
		texts[i] = string(data)
	}
	return strings.Join(texts, " "), nil
}
