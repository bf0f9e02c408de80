package yamljson

import (
	"bytes"
	"strings"
)

// scalar converts the scalar that begins in the current line, in an entry of a mapping or sequence in the given column, and moves to the
// line after it.
func (c *converter) scalar(value []byte, column int) bool {
	switch value[0] {
	case '\'':
		return c.singleQuoted(value[1:], column) && c.next()
	case '"':
		return c.doubleQuoted(value[1:]) && c.next()
	case '|':
		return c.literal(value[1:], column)
	case '{', '[':
		if s := string(value); s != "{}" && s != "[]" {
			return false
		}
		c.out = append(c.out, value...)
		return c.next() && (c.line == nil || c.column <= column)
	}
	return c.plain(value, column)
}

// plain converts a scalar without quotes.
func (c *converter) plain(value []byte, column int) bool {
	if !mayBegin(value) || !isPlain(value) {
		return false
	}
	if !c.next() {
		return false
	}
	if c.line == nil || c.column <= column {
		switch kindOf(value) {
		case text:
			c.out = appendString(c.out, value)
		case literalValue:
			c.out = append(c.out, value...)
		default:
			return false
		}
		return true
	}
	// The scalar continues in the next lines, which are joined with spaces. It contains a space, so it is a string.
	joined := bytes.Clone(value)
	for c.line != nil && c.column > column {
		if c.gap || !isPlain(c.line) {
			return false
		}
		joined = append(append(joined, ' '), c.line...)
		if !c.next() {
			return false
		}
	}
	c.out = appendString(c.out, joined)
	return true
}

// isPlain reports whether the text is within a plain scalar as a whole.
func isPlain(value []byte) bool {
	return !bytes.Contains(value, []byte(": ")) && value[len(value)-1] != ':' && !bytes.Contains(value, []byte(" #")) &&
		bytes.IndexByte(value, '\t') < 0
}

// singleQuoted converts a scalar in single quotes, from behind the first.
func (c *converter) singleQuoted(value []byte, column int) bool {
	var joined []byte
	for {
		end := closingQuote(value)
		if end >= 0 {
			joined = append(joined, value[:end]...)
			if len(bytes.Trim(value[end+1:], " ")) > 0 {
				return false
			}
			break
		}
		// The lines are joined with spaces.
		joined = append(append(joined, value...), ' ')
		if len(c.rest) == 0 {
			return false
		}
		line := firstLine(c.rest)
		c.rest = c.rest[min(len(line)+1, len(c.rest)):]
		value = bytes.Trim(line, " ")
		if len(value) == 0 || value[0] == '\t' || len(line)-len(bytes.TrimLeft(line, " ")) <= column {
			return false
		}
	}
	if bytes.IndexByte(joined, '\t') >= 0 {
		return false
	}
	c.out = appendString(c.out, bytes.ReplaceAll(joined, []byte("''"), []byte("'")))
	return true
}

// closingQuote returns the position of the first single quote that is not doubled, or -1.
func closingQuote(value []byte) int {
	for at := 0; at < len(value); at++ {
		if value[at] != '\'' {
			continue
		}
		if at+1 == len(value) || value[at+1] != '\'' {
			return at
		}
		at++
	}
	return -1
}

// doubleQuoted converts a scalar in double quotes, from behind the first, that ends in this line.
func (c *converter) doubleQuoted(value []byte) bool {
	end := 0
	for ; end < len(value) && value[end] != '"'; end++ {
		switch value[end] {
		case '\t':
			return false
		case '\\':
			// The escapes that JSON has too.
			if end++; end == len(value) || strings.IndexByte(`"\/nrtbf`, value[end]) < 0 {
				return false
			}
		}
	}
	if end != len(value)-1 {
		return false
	}
	c.out = append(append(append(c.out, '"'), value[:end]...), '"')
	return true
}

// literal converts a block of lines, from behind the |, and moves to the line after it.
func (c *converter) literal(header []byte, column int) bool {
	strip := string(header) == "-"
	if len(header) > 0 && !strip {
		return false
	}
	var lines []byte
	indent, blank := 0, 0
	for len(c.rest) > 0 {
		line := firstLine(c.rest)
		at := len(line) - len(bytes.TrimLeft(line, " "))
		switch {
		case at == len(line) && (indent == 0 || at > indent):
			return false
		case at == len(line):
			blank++
			c.rest = c.rest[min(len(line)+1, len(c.rest)):]
			continue
		case indent == 0:
			indent = at
		}
		if at <= column || at < indent {
			break
		}
		if len(line) == len(c.rest) || indent == at && line[at] == '\t' {
			return false // the last line of the document has no end
		}
		for ; blank > 0; blank-- {
			lines = append(lines, '\n')
		}
		lines = append(append(lines, line[indent:]...), '\n')
		c.rest = c.rest[len(line)+1:]
	}
	if len(lines) == 0 {
		return false
	}
	if strip {
		lines = lines[:len(lines)-1]
	}
	c.out = appendString(c.out, lines)
	return c.next() && (c.line == nil || c.column <= column)
}

// mayBegin reports whether a plain scalar may begin like the text.
func mayBegin(value []byte) bool {
	switch b := value[0]; {
	case b == '-' || b == '?' || b == ':':
		return len(value) > 1 && value[1] != ' '
	default:
		return strings.IndexByte("\"'{}[],&*!|>%@`#=", b) < 0
	}
}

// kind is the type of the value of a plain scalar.
type kind int

const (
	unknown      kind = iota
	text              // a string
	literalValue      // a number, boolean or null that JSON writes alike
)

// kindOf returns the kind of a plain scalar, or unknown if the library has to decide.
func kindOf(value []byte) kind {
	switch b := value[0]; {
	case b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z':
		return kindOfWord(value)
	case isDigit(b) || b == '-':
		return kindOfNumber(value)
	case b == '/' || b == '_' || b == '(' || b == '$' || b == '.' && len(value) == 1:
		return text
	}
	return unknown
}

// kindOfWord decides about a scalar that begins with a letter.
func kindOfWord(value []byte) kind {
	switch string(value) {
	case "true", "false", "null":
		return literalValue
	}
	const longest = len("false")
	if len(value) <= longest {
		switch strings.ToLower(string(value)) {
		case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
			return unknown
		}
	}
	return text
}

// kindOfNumber decides about a scalar that begins with a digit or a minus.
func kindOfNumber(value []byte) kind {
	const maxDigits = 15
	digits := bytes.TrimPrefix(value, []byte("-"))
	other, dots := false, 0
	for at, b := range value {
		switch {
		case isDigit(b), b == '-' && at == 0:
			continue
		case b == '-' && isDigit(value[at-1]):
			return text
		case b == '.':
			dots++
		case strings.IndexByte("abcdefABCDEFxXoO_+-:", b) < 0:
			return text
		}
		other = true
	}
	switch {
	case dots > 1:
		return text
	case other || len(digits) == 0 || len(digits) > maxDigits || digits[0] == '0' && len(value) > 1:
		return unknown
	}
	return literalValue
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

const hex = "0123456789abcdef"

// appendString appends a JSON string.
func appendString(out, value []byte) []byte {
	out = append(out, '"')
	begin := 0
	for at, b := range value {
		if b >= ' ' && b != '"' && b != '\\' {
			continue
		}
		out = append(out, value[begin:at]...)
		begin = at + 1
		switch b {
		case '"', '\\':
			out = append(out, '\\', b)
		case '\n':
			out = append(out, '\\', 'n')
		default:
			out = append(out, '\\', 'u', '0', '0', hex[b>>4], hex[b&0xf])
		}
	}
	return append(append(out, value[begin:]...), '"')
}
