// Package jsonpath selects values in objects with the paths and templates of `kubectl get -o jsonpath`.
//
// A [Path] or a [Template] is read once, and applied to decoded JSON, or to a [Document], which decodes no more of an object than the path needs.
package jsonpath

import (
	"errors"
	"fmt"
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
	either [][]pathStep
}

// Fields returns the path of a field below other fields: .a.b for a and b.
func Fields(names ...string) Path {
	p := Path{text: "." + strings.Join(names, ".")}
	for _, name := range names {
		p.steps = append(p.steps, pathStep{kind: 'k', key: name})
	}
	return p
}

// Read reads a path. A key in brackets needs no quotes: .a[b.c].
func Read(text string) (Path, error) { return read(text, false) }

// ReadExact reads a path of kubectl: a key in brackets has single quotes.
func ReadExact(text string) (Path, error) { return read(text, true) }

// read is Read, or ReadExact if exact.
func read(text string, exact bool) (Path, error) {
	p := Path{text: text}
	rest := text
	if rest == "" || rest[0] != '.' && rest[0] != '[' {
		return p, fmt.Errorf("invalid path %q: must begin with a dot, such as .status.phase", text)
	}
	for rest != "" {
		if rest[0] == '[' {
			inner, after, err := bracketed(rest)
			var steps []pathStep
			if err == nil {
				steps, err = readBracket(inner, exact)
			}
			if rest = after; err == nil && rest != "" && rest[0] != '.' && rest[0] != '[' {
				err = fmt.Errorf("unexpected %q after a bracket", rest)
			}
			if err != nil {
				return p, fmt.Errorf("invalid path %q: %w", text, err)
			}
			p.steps = append(p.steps, steps...)
			continue
		}
		if strings.HasPrefix(rest, "..") {
			p.steps = append(p.steps, pathStep{kind: '.'})
			rest = rest[1:]
		}
		s := pathStep{kind: 'k'}
		s.key, rest = readKey(rest[1:])
		switch {
		case s.key == "" && strings.HasPrefix(rest, "["):
			continue
		case s.key == "":
			return p, fmt.Errorf("invalid path %q: empty element", text)
		case s.key == "*":
			s.kind = '*'
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

// readBracket reads what is in brackets. exact is that of read.
func readBracket(inner string, exact bool) ([]pathStep, error) {
	filter, isFilter := strings.CutPrefix(inner, "?(")
	parts := splitOutside(inner, ',')
	slice, isSlice := readSlice(inner)
	index, notNumber := strconv.Atoi(inner)
	switch {
	case inner == "*":
		return []pathStep{{kind: ':'}}, nil
	case isFilter:
		filter, closed := strings.CutSuffix(filter, ")")
		if !closed {
			return nil, fmt.Errorf("invalid filter [%s]: want [?(@.key==\"value\")]", inner)
		}
		where, err := readElementFilter(filter, exact)
		return []pathStep{{kind: '?', where: where}}, err
	case len(parts) > 1:
		step := pathStep{kind: ','}
		for _, part := range parts {
			one, err := readBracket(strings.TrimSpace(part), exact)
			if err != nil {
				return nil, err
			}
			step.either = append(step.either, one)
		}
		return []pathStep{step}, nil
	case inner == "" && exact:
		return []pathStep{{kind: 'i'}}, nil
	case inner == "":
		return nil, errors.New("empty brackets")
	case notNumber == nil:
		return []pathStep{{kind: 'i', index: index}}, nil
	case isSlice:
		return []pathStep{slice}, nil
	case !exact:
		return []pathStep{{kind: 'k', key: strings.ReplaceAll(unquoted(inner), `\.`, ".")}}, nil
	case inner[0] != '\'' || unquoted(inner) == inner || strings.Count(inner, "'") > 2:
		return nil, fmt.Errorf("invalid array index %s", inner)
	}
	// In kubectl, a dot in quotes without a backslash separates fields.
	p, err := read("."+unquoted(inner), exact)
	return p.steps, err
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
