package script

import (
	"errors"
	"fmt"
	"strings"
)

// word is one word of a line: adjacent pieces, some of which may contain variables.
type word []piece

// piece is a part of a word. In a literal piece a dollar sign has no special meaning.
type piece struct {
	text    string
	literal bool
}

// words splits a line at blanks. Text in single quotes is literal, ” being one quote in it; in double quotes a backslash
// escapes " and \, and stays before anything else, as in a shell; variables count. A # where a word would begin starts a comment.
func words(line string) ([]word, error) {
	var all []word
	var current word
	var text strings.Builder
	inWord := false
	flush := func(literal bool) {
		if text.Len() > 0 {
			current = append(current, piece{text: text.String(), literal: literal})
			text.Reset()
		}
	}
	end := func() {
		flush(false)
		if inWord {
			all = append(all, current)
		}
		current, inWord = nil, false
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == ' ' || c == '\t' || c == '\r':
			end()
		case c == '#' && !inWord:
			return all, nil
		case c == '\'':
			flush(false)
			inWord = true
			next, err := singleQuoted(line, i, &text)
			if err != nil {
				return nil, err
			}
			flush(true)
			i = next
		case c == '"':
			flush(false)
			inWord = true
			next, err := doubleQuoted(line, i, &text)
			if err != nil {
				return nil, err
			}
			flush(false)
			i = next
		default:
			inWord = true
			text.WriteByte(c)
		}
	}
	end()
	return all, nil
}

// singleQuoted reads the quoted text that begins at i and returns the index of the closing quote.
func singleQuoted(line string, i int, text *strings.Builder) (int, error) {
	for i++; i < len(line); i++ {
		if line[i] != '\'' {
			text.WriteByte(line[i])
			continue
		}
		if i+1 == len(line) || line[i+1] != '\'' {
			return i, nil
		}
		text.WriteByte('\'')
		i++
	}
	return 0, errors.New("unclosed single quote; write '' for a quote in quoted text")
}

// doubleQuoted is singleQuoted for double quotes.
func doubleQuoted(line string, i int, text *strings.Builder) (int, error) {
	for i++; i < len(line); i++ {
		switch c := line[i]; {
		case c == '"':
			return i, nil
		case c == '\\' && i+1 < len(line) && (line[i+1] == '"' || line[i+1] == '\\'):
			i++
			text.WriteByte(line[i])
		default:
			text.WriteByte(c)
		}
	}
	return 0, errors.New("unclosed double quote")
}

// plain returns the text of the word; ok is false if it contains a variable.
func (w word) plain() (text string, ok bool) {
	text, err := w.expand(func(string) (string, bool) { return "", false })
	return text, err == nil
}

// expand replaces $NAME and ${NAME}.
func (w word) expand(value func(name string) (string, bool)) (string, error) {
	var out strings.Builder
	for _, p := range w {
		rest := p.text
		for !p.literal {
			before, after, found := strings.Cut(rest, "$")
			if !found {
				break
			}
			name, behind := variable(after)
			if name == "" {
				return "", fmt.Errorf("missing variable name after $ in %q; use single quotes for a literal $", p.text)
			}
			v, ok := value(name)
			if !ok {
				return "", fmt.Errorf("variable %s is not set; use set", name)
			}
			out.WriteString(before)
			out.WriteString(v)
			rest = behind
		}
		out.WriteString(rest)
	}
	return out.String(), nil
}

// variable splits the text after a dollar sign into the name of a variable and the rest.
func variable(s string) (name, rest string) {
	if inner, ok := strings.CutPrefix(s, "{"); ok {
		if name, rest, ok := strings.Cut(inner, "}"); ok && isName(name) {
			return name, rest
		}
		return "", s
	}
	n := 0
	for n < len(s) && isNameByte(s[n], n) {
		n++
	}
	return s[:n], s[n:]
}

func isName(s string) bool {
	for i := range len(s) {
		if !isNameByte(s[i], i) {
			return false
		}
	}
	return s != ""
}

func isNameByte(c byte, at int) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || at > 0 && c >= '0' && c <= '9'
}

// Line returns the line that has these words, with quotes where they are needed.
func Line(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\r#'\"$\\") {
			w = "'" + strings.ReplaceAll(w, "'", "''") + "'"
		}
		quoted[i] = w
	}
	return strings.Join(quoted, " ")
}
