package yamljson

import (
	"bytes"
	"encoding/json"
	"strings"
)

// byLibrary goes back to the beginning of an entry of the mapping or sequence in the given column, and converts the entry with the
// library.
func (c *converter) byLibrary(begin converter, column int) bool {
	if c.aborted {
		return false
	}
	c.aborted = true // unless the rest succeeds
	out, keys := c.out[:len(begin.out)], c.keys[:len(begin.keys)]
	*c, begin.aborted = begin, true
	c.aborted, c.out, c.keys = true, out, keys

	dash := isDash(c.line)
	entry := bytes.Repeat([]byte{' '}, c.column)
	entry = append(entry, firstLine(c.raw)[c.column:]...)
	for len(c.rest) > 0 {
		line := firstLine(c.rest)
		content := bytes.Trim(line, " ")
		at := len(line) - len(bytes.TrimLeft(line, " "))
		if len(content) > 0 && (at < column || at == column && (dash || !isDash(content))) {
			break
		}
		entry = append(append(entry, '\n'), line...)
		c.rest = c.rest[min(len(line)+1, len(c.rest)):]
	}
	if len(c.rest) > 0 || bytes.HasSuffix(c.raw, []byte{'\n'}) {
		entry = append(entry, '\n')
	}
	data, ok := c.convertEntry(entry, dash)
	if !ok || !c.next() {
		return false
	}
	c.out = append(c.out, data...)
	c.aborted = false
	return true
}

// convertEntry converts the only entry of a mapping or sequence, and returns it without the braces or brackets. It notes its key.
func (c *converter) convertEntry(entry []byte, dash bool) ([]byte, bool) {
	if bytes.IndexByte(entry, '&') >= 0 && bytes.IndexByte(entry, '*') >= 0 {
		return nil, false // aliases may multiply its size
	}
	if begin := bytes.TrimLeft(entry, " ")[0]; !dash && !isPlainStart(begin) && begin != '"' && begin != '\'' {
		return nil, false // not a key, or one that is a value of its own
	}
	data, err := Strict(entry)
	if err != nil {
		return nil, false
	}
	if dash {
		var list []json.RawMessage
		if json.Unmarshal(data, &list) != nil || len(list) != 1 {
			return nil, false
		}
		return list[0], true
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil || len(fields) != 1 {
		return nil, false
	}
	for key := range fields {
		c.keys = append(c.keys, []byte(key))
	}
	return data[1 : len(data)-1], true
}

// isPlainStart reports whether a key may begin with the byte and is a scalar without quotes.
func isPlainStart(b byte) bool { return strings.IndexByte("{}[],&*!|>%@`?<", b) < 0 }
