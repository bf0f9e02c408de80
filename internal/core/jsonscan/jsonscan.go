// Package jsonscan splits valid JSON into its fields and items without decoding them.
package jsonscan

import (
	"bytes"
	"iter"
)

// Fields iterates over the fields of an object: the key as it is between its quotes, and the value. It ends early at what is not an object.
func Fields(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		at := skipBlanks(object, 0)
		if at == len(object) || object[at] != '{' {
			return
		}
		for at++; ; at++ {
			at = skipBlanks(object, at)
			end := endOfValue(object, at)
			if end-at < 2 || object[at] != '"' {
				return
			}
			key := object[at+1 : end-1]
			at = skipBlanks(object, end)
			if at == len(object) || object[at] != ':' {
				return
			}
			at = skipBlanks(object, at+1)
			end = endOfValue(object, at)
			if !yield(key, object[at:end]) {
				return
			}
			at = skipBlanks(object, end)
			if at == len(object) || object[at] != ',' {
				return
			}
		}
	}
}

// Items iterates over the items of an array. It ends early at what is not an array.
func Items(array []byte) iter.Seq[[]byte] {
	return func(yield func(item []byte) bool) {
		at := skipBlanks(array, 0)
		if at == len(array) || array[at] != '[' {
			return
		}
		for at++; ; at++ {
			at = skipBlanks(array, at)
			end := endOfValue(array, at)
			if end == at || !yield(array[at:end]) {
				return
			}
			at = skipBlanks(array, end)
			if at == len(array) || array[at] != ',' {
				return
			}
		}
	}
}

// Text returns a JSON string without escapes, or "" for anything else.
func Text(value []byte) string {
	if len(value) < 2 || value[0] != '"' || bytes.IndexByte(value, '\\') >= 0 {
		return ""
	}
	return string(value[1 : len(value)-1])
}

// Compact returns a copy of valid JSON without the blanks between its tokens.
func Compact(data []byte) []byte {
	compact := make([]byte, 0, len(data))
	for at := 0; at < len(data); {
		if at = skipBlanks(data, at); at == len(data) {
			break
		}
		begin := at
		for at < len(data) && data[at] > ' ' {
			if data[at] == '"' {
				at = endOfString(data, at)
			} else {
				at++
			}
		}
		compact = append(compact, data[begin:at]...)
	}
	return compact
}

func skipBlanks(data []byte, at int) int {
	for at < len(data) && (data[at] == ' ' || data[at] == '\n' || data[at] == '\t' || data[at] == '\r') {
		at++
	}
	return at
}

// endOfValue returns the end of the value that begins at the position.
func endOfValue(data []byte, at int) int {
	depth := 0
	for ; at < len(data); at++ {
		switch data[at] {
		case '"':
			if at = endOfString(data, at); depth == 0 {
				return at
			}
			at--
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return at // of a number or word
			}
			if depth--; depth == 0 {
				return at + 1
			}
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return at
			}
		}
	}
	return len(data)
}

// endOfString returns the end of the string that begins at the position.
func endOfString(data []byte, at int) int {
	for at++; at < len(data); at++ {
		end := bytes.IndexByte(data[at:], '"')
		if end < 0 {
			break
		}
		at += end
		escapes := 0
		for data[at-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return at + 1
		}
	}
	return len(data)
}
