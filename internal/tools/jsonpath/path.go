// Package jsonpath selects values in objects with the paths and templates of `kubectl get -o jsonpath`.
//
// A [Path] or a [Template] is read once, and applied to decoded JSON, or to a [Document], which decodes no more of an object than the path needs.
package jsonpath

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Path selects values in an object, as jsonpath of kubectl does: .a.b, .a['b.c'] or .a[b.c], .a\.b, ..a, [0], [1:3], ['a','b'], [*],
// [?(@.type=="Ready")].
type Path struct {
	text  string
	steps []pathStep
}

// pathStep is one of: a key ('k'), an index ('i'), a slice (':'), all elements ('*'), the elements that meet a condition ('?'), a value and all
// values within ('.'), several steps whose results are joined (',').
type pathStep struct {
	key    string
	index  int
	kind   byte
	where  *elementFilter
	slice  [3]*int // from, to, step
	either []pathStep
}

// Fields returns the path of a field below other fields: .a.b for a and b.
func Fields(names ...string) Path {
	p := Path{text: "." + strings.Join(names, ".")}
	for _, name := range names {
		p.steps = append(p.steps, pathStep{kind: 'k', key: name})
	}
	return p
}

// Read reads a path.
func Read(text string) (Path, error) {
	p := Path{text: text}
	rest := text
	if rest == "" || rest[0] != '.' && rest[0] != '[' {
		return p, fmt.Errorf("invalid path %q: must begin with a dot, such as .status.phase", text)
	}
	for rest != "" {
		var s pathStep
		var err error
		if rest[0] == '.' {
			s.kind = 'k'
			if strings.HasPrefix(rest, "..") {
				p.steps = append(p.steps, pathStep{kind: '.'})
				rest = rest[1:]
			}
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

// Must reads a path that is known to be valid.
func Must(text string) Path {
	p, err := Read(text)
	if err != nil {
		panic(err)
	}
	return p
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
	switch filter, ok := strings.CutPrefix(inner, "?("); {
	case inner == "*":
		return pathStep{kind: '*'}, nil
	case inner == "":
		return pathStep{}, fmt.Errorf("empty brackets")
	case ok:
		filter, closed := strings.CutSuffix(filter, ")")
		if !closed {
			return pathStep{}, fmt.Errorf("invalid filter [%s]: want [?(@.key==\"value\")]", inner)
		}
		where, err := readElementFilter(filter)
		return pathStep{kind: '?', where: where}, err
	}
	if parts := splitOutside(inner, ','); len(parts) > 1 {
		step := pathStep{kind: ','}
		for _, part := range parts {
			one, err := readBracket(strings.TrimSpace(part))
			if err != nil {
				return step, err
			}
			step.either = append(step.either, one)
		}
		return step, nil
	}
	if n, err := strconv.Atoi(inner); err == nil {
		return pathStep{kind: 'i', index: n}, nil
	}
	if slice, ok := readSlice(inner); ok {
		return slice, nil
	}
	return pathStep{kind: 'k', key: strings.ReplaceAll(unquoted(inner), `\.`, ".")}, nil
}

// readSlice reads FROM:TO or FROM:TO:STEP, each of which may be missing.
func readSlice(text string) (pathStep, bool) {
	parts := strings.Split(text, ":")
	step := pathStep{kind: ':'}
	if len(parts) < 2 || len(parts) > len(step.slice) {
		return step, false
	}
	for i, part := range parts {
		if part == "" {
			continue
		}
		n, err := strconv.Atoi(part)
		if err != nil {
			return step, false
		}
		step.slice[i] = &n
	}
	return step, true
}

// splitOutside splits a text at a separator that is not in quotes.
func splitOutside(text string, separator byte) []string {
	var parts []string
	start, quote := 0, byte(0)
	for i := range len(text) {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == separator:
			parts = append(parts, text[start:i])
			start = i + 1
		}
	}
	return append(parts, text[start:])
}

func unquoted(s string) string {
	if len(s) >= 2 && (s[0] == '\'' || s[0] == '"') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// Find returns the values that the path selects.
func (p Path) Find(doc any) []any {
	steps := p.steps
	if t, ok := doc.(typed); ok {
		if doc, steps, ok = t.lead(steps); !ok {
			return nil
		}
	}
	found := []any{doc}
	for _, s := range steps {
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
	case ':':
		found = append(found, s.cut(list)...)
	case '?':
		for _, element := range list {
			if s.where.holds(element) {
				found = append(found, element)
			}
		}
	case ',':
		for _, one := range s.either {
			found = one.follow(v, found)
		}
	case '.':
		found = within(v, found)
	}
	return found
}

// cut returns the elements of a slice. A negative index counts from the end.
func (s pathStep) cut(list []any) []any {
	from, to, step := 0, len(list), 1
	for i, at := range []*int{&from, &to, &step} {
		if s.slice[i] == nil {
			continue
		}
		if *at = *s.slice[i]; *at < 0 && i < 2 {
			*at += len(list)
		}
	}
	var found []any
	for i := max(from, 0); i < min(to, len(list)) && step > 0; i += step {
		found = append(found, list[i])
	}
	return found
}

// within appends a value with fields or elements, and all such values in it.
func within(v any, found []any) []any {
	if t, ok := v.(typed); ok {
		v = t.decoded()
	}
	switch v := v.(type) {
	case map[string]any:
		if len(v) > 0 {
			found = append(found, v)
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			found = within(v[key], found)
		}
	case []any:
		if len(v) > 0 {
			found = append(found, v)
		}
		for _, element := range v {
			found = within(element, found)
		}
	}
	return found
}

// Value returns the selected values as text, separated by commas; "" if there are none.
func (p Path) Value(doc any) string { return p.join(doc, ",") }

// join returns the selected values as text, with a separator between them.
func (p Path) join(doc any, separator string) string { return joinTexts(p.Find(doc), separator) }

// joinTexts joins values as texts.
func joinTexts(found []any, separator string) string {
	if len(found) == 1 {
		return Text(found[0])
	}
	texts := make([]string, len(found))
	for i, v := range found {
		texts[i] = Text(v)
	}
	return strings.Join(texts, separator)
}

// Text formats a value for scripts: strings without quotes, everything else as compact JSON.
func Text(v any) string {
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
