package yamljson

import (
	"bytes"
	"unicode/utf8"
)

// Convert converts one YAML document to JSON, with the value that sigs.k8s.io/yaml gives it. It returns false for a document that it does
// not convert: one that is not a mapping or sequence in block style, that has anchors, merge keys or duplicate keys, or that is not YAML.
func Convert(doc []byte) ([]byte, bool) {
	if !isReadable(doc) {
		return nil, false
	}
	c := &converter{out: make([]byte, 0, len(doc)+len(doc)/8), rest: doc}
	if !c.next() || !c.node(0) || c.line != nil {
		return nil, false
	}
	return c.out, true
}

// isReadable reports whether the document is UTF-8 and has only characters that YAML allows and no line breaks but \n.
func isReadable(doc []byte) bool {
	for i := 0; i < len(doc); {
		if b := doc[i]; b < utf8.RuneSelf {
			if b < ' ' && b != '\n' && b != '\t' || b == 0x7f {
				return false
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(doc[i:])
		switch {
		case r == utf8.RuneError && size == 1, r < 0xA0, r == '\u2028', r == '\u2029', r == '\ufeff', r == '\ufffe', r == '\uffff':
			return false
		}
		i += size
	}
	return true
}

const (
	maxDepth = 100  // of nested mappings and sequences
	maxKeys  = 1000 // of a mapping; each key is compared with those before it
	// maxKey is the largest distance from the begin of a plain key to its colon. YAML allows no more, so that a parser need not look further.
	maxKey = 1024
)

// converter reads a document line by line and writes JSON.
//
// Its methods return false if they meet something that they do not convert. The entry around it is then converted by the library, except
// if aborted is set.
type converter struct {
	out []byte
	// raw begins with the current line. line is its content, without trailing spaces, and column where it begins; in the first line of an
	// entry of a sequence, the content after the dash, when that is a mapping. line is nil at the end.
	raw, line []byte
	column    int
	// rest follows the current line. gap reports whether blank lines or comments were before the current line.
	rest []byte
	gap  bool
	// keys has the keys so far of the open mappings, the innermost last.
	keys [][]byte
	// aborted is set when the library rejected an entry.
	aborted bool
}

// next moves to the next line with content, or to the end. It returns false at a line that it does not accept.
func (c *converter) next() bool {
	c.gap = false
	for len(c.rest) > 0 {
		raw, line := c.rest, firstLine(c.rest)
		c.rest = c.rest[min(len(line)+1, len(c.rest)):]
		content := bytes.Trim(line, " ")
		if len(content) == 0 || content[0] == '#' {
			c.gap = true
			continue
		}
		column := len(line) - len(bytes.TrimLeft(line, " "))
		if column == 0 && isMark(content) || content[0] == '\t' {
			return false
		}
		c.raw, c.line, c.column = raw, content, column
		return true
	}
	c.raw, c.line = nil, nil
	return true
}

// firstLine returns the first line of the text, without its end.
func firstLine(text []byte) []byte {
	if end := bytes.IndexByte(text, '\n'); end >= 0 {
		return text[:end]
	}
	return text
}

// isMark reports whether the line begins or ends a document, or is a directive.
func isMark(line []byte) bool {
	return line[0] == '%' || bytes.HasPrefix(line, []byte("---")) || bytes.HasPrefix(line, []byte("..."))
}

// isDash reports whether the line begins an entry of a sequence.
func isDash(line []byte) bool { return line[0] == '-' && (len(line) == 1 || line[1] == ' ') }

// node converts the mapping or sequence that begins with the current line.
func (c *converter) node(depth int) bool {
	switch {
	case c.line == nil || depth > maxDepth:
		return false
	case isDash(c.line):
		return c.sequence(depth)
	}
	return c.mapping(depth)
}

func (c *converter) sequence(depth int) bool {
	column := c.column
	c.out = append(c.out, '[')
	for first := true; c.line != nil && c.column == column && isDash(c.line); first = false {
		if !first {
			c.out = append(c.out, ',')
		}
		if before := *c; !c.item(depth) && !c.byLibrary(before, column) {
			return false
		}
	}
	c.out = append(c.out, ']')
	// In a mapping, a sequence may begin in the column of its key.
	return c.line == nil || c.column <= column
}

// item converts the entry of a sequence in the current line.
func (c *converter) item(depth int) bool {
	column := c.column
	content := bytes.TrimLeft(c.line[1:], " ")
	if len(content) == 0 {
		return c.next() && c.line != nil && c.column > column && c.isCollection() && c.node(depth+1)
	}
	if _, _, ok := splitKey(content); ok {
		c.column += len(c.line) - len(content)
		c.line = content
		return c.mapping(depth + 1)
	}
	return c.scalar(content, column)
}

// isCollection reports whether the current line begins a mapping or sequence.
func (c *converter) isCollection() bool {
	_, _, ok := splitKey(c.line)
	return ok || isDash(c.line)
}

func (c *converter) mapping(depth int) bool {
	column, base := c.column, len(c.keys)
	c.out = append(c.out, '{')
	for first := true; c.line != nil && c.column == column && !isDash(c.line); first = false {
		if !first {
			c.out = append(c.out, ',')
		}
		if before := *c; !c.pair(depth, base) && !c.byLibrary(before, column) || len(c.keys)-base > maxKeys {
			return false
		}
		if c.isDuplicate(base) {
			c.aborted = true
			return false
		}
	}
	c.keys = c.keys[:base]
	c.out = append(c.out, '}')
	return c.line == nil || c.column < column
}

// isDuplicate reports whether the last key is equal to one of its mapping before it.
func (c *converter) isDuplicate(base int) bool {
	last := len(c.keys) - 1
	for _, key := range c.keys[base:last] {
		if bytes.Equal(key, c.keys[last]) {
			return true
		}
	}
	return false
}

// pair converts a key and its value. The keys of the mapping so far are c.keys[base:].
func (c *converter) pair(depth, base int) bool {
	column := c.column
	key, value, ok := splitKey(c.line)
	if !ok || kindOf(key) != text {
		return false
	}
	c.keys = append(c.keys, key)
	c.out = appendString(c.out, key)
	c.out = append(c.out, ':')
	if len(value) > 0 {
		return c.scalar(value, column)
	}
	switch {
	case !c.next():
		return false
	case c.line != nil && c.column > column:
		return c.isCollection() && c.node(depth+1)
	case c.line != nil && c.column == column && isDash(c.line):
		return c.sequence(depth + 1)
	}
	c.out = append(c.out, "null"...)
	return true
}

// splitKey splits the line of a mapping at the colon after a plain key.
func splitKey(line []byte) (key, value []byte, ok bool) {
	if !mayBegin(line) || bytes.IndexByte(line, '\t') >= 0 {
		return nil, nil, false
	}
	for at := range line[:min(len(line), maxKey+1)] {
		switch line[at] {
		case ':':
			if at+1 == len(line) || line[at+1] == ' ' {
				return bytes.TrimRight(line[:at], " "), bytes.TrimLeft(line[at+1:], " "), at > 0
			}
		case '#':
			if at > 0 && line[at-1] == ' ' {
				return nil, nil, false
			}
		}
	}
	return nil, nil, false
}
