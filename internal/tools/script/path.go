package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// path selects values in an object, as jsonpath of kubectl does: .a.b, .a['b.c'] or .a[b.c], .a\.b, [0], [*], [?(@.type=="Ready")].
type path struct {
	text  string
	steps []pathStep
}

// pathStep is one of: a key, an index, all elements, the elements that have a value.
type pathStep struct {
	key   string
	index int
	kind  byte // 'k', 'i', '*', '?'
	where *path
	equal string
}

func readPath(text string) (path, error) {
	p := path{text: text}
	rest := text
	if rest == "" || rest[0] != '.' && rest[0] != '[' {
		return p, fmt.Errorf("invalid path %q: must begin with a dot, such as .status.phase", text)
	}
	for rest != "" {
		var s pathStep
		var err error
		if rest[0] == '.' {
			s.kind = 'k'
			s.key, rest = readKey(rest[1:])
			if s.key == "" && strings.HasPrefix(rest, "[") {
				continue
			}
			if s.key == "" {
				return p, fmt.Errorf("invalid path %q: empty element", text)
			}
			if s.key == "*" {
				s.kind = '*'
			}
		} else {
			var inner string
			if inner, rest, err = bracketed(rest); err == nil {
				s, err = readBracket(inner)
			}
			if err == nil && rest != "" && rest[0] != '.' && rest[0] != '[' {
				err = fmt.Errorf("unexpected %q after a bracket", rest)
			}
			if err != nil {
				return p, fmt.Errorf("invalid path %q: %w", text, err)
			}
		}
		p.steps = append(p.steps, s)
	}
	return p, nil
}

// readKey reads up to the next dot or bracket; a backslash escapes either.
func readKey(s string) (key, rest string) {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			out.WriteByte(s[i])
		case s[i] == '.' || s[i] == '[':
			return out.String(), s[i:]
		default:
			out.WriteByte(s[i])
		}
	}
	return out.String(), ""
}

// bracketed splits off a leading [...].
func bracketed(s string) (inner, rest string, err error) {
	depth, quote := 0, byte(0)
	for i := range len(s) {
		c := s[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '[':
			depth++
		case c == ']':
			if depth--; depth == 0 {
				return s[1:i], s[i+1:], nil
			}
		}
	}
	return "", "", fmt.Errorf("unclosed bracket")
}

func readBracket(inner string) (pathStep, error) {
	if inner == "*" {
		return pathStep{kind: '*'}, nil
	}
	if filter, ok := strings.CutPrefix(inner, "?(@"); ok {
		filter, closed := strings.CutSuffix(filter, ")")
		left, right, isEqual := strings.Cut(filter, "==")
		if !closed || !isEqual {
			return pathStep{}, fmt.Errorf("invalid filter [%s]: want [?(@.key==\"value\")]", inner)
		}
		where, err := readPath(strings.TrimSpace(left))
		if err != nil {
			return pathStep{}, err
		}
		return pathStep{kind: '?', where: &where, equal: unquoted(strings.TrimSpace(right))}, nil
	}
	if n, err := strconv.Atoi(inner); err == nil {
		return pathStep{kind: 'i', index: n}, nil
	}
	if inner == "" {
		return pathStep{}, fmt.Errorf("empty brackets")
	}
	return pathStep{kind: 'k', key: unquoted(inner)}, nil
}

func unquoted(s string) string {
	if len(s) >= 2 && (s[0] == '\'' || s[0] == '"') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// find returns the values that the path selects.
func (p path) find(doc any) []any {
	found := []any{doc}
	for _, s := range p.steps {
		var next []any
		for _, v := range found {
			next = s.follow(v, next)
		}
		found = next
	}
	return found
}

func (s pathStep) follow(v any, found []any) []any {
	var list []any
	switch v := v.(type) {
	case map[string]any:
		if v, ok := v[s.key]; ok && s.kind == 'k' {
			found = append(found, v)
		}
	case typed:
		if v, ok := v.field(s.key); ok && s.kind == 'k' {
			found = append(found, v)
		}
		list, _ = v.elements()
	case []any:
		list = v
	}
	switch s.kind {
	case 'i':
		if i := s.index; i >= 0 && i < len(list) {
			found = append(found, list[i])
		} else if i < 0 && -i <= len(list) {
			found = append(found, list[len(list)+i])
		}
	case '*':
		found = append(found, list...)
	case '?':
		for _, element := range list {
			if got := s.where.find(element); len(got) == 1 && valueText(got[0]) == s.equal {
				found = append(found, element)
			}
		}
	}
	return found
}

// value returns the selected values as text, separated by commas; "" if there are none.
func (p path) value(doc any) string { return p.join(doc, ",") }

// join returns the selected values as text, with a separator between them.
func (p path) join(doc any, separator string) string { return joinTexts(p.find(doc), separator) }

// joinTexts joins values as texts.
func joinTexts(found []any, separator string) string {
	if len(found) == 1 {
		return valueText(found[0])
	}
	texts := make([]string, len(found))
	for i, v := range found {
		texts[i] = valueText(v)
	}
	return strings.Join(texts, separator)
}

// valueText formats a value for scripts: strings without quotes, everything else as compact JSON.
func valueText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(out.String(), "\n")
}
