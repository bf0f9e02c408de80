package manifests

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	goyaml "go.yaml.in/yaml/v2"

	"github.com/volsim/volsim/internal/core/jsonscan"
	"github.com/volsim/volsim/internal/core/yamljson"
)

// maxExpansion is the maximum size, in bytes, of a document after its aliases are expanded.
const maxExpansion = 16 << 20

// document is one document of a manifest, without the separator line before it.
type document struct {
	line int // where its content begins, from 1
	data []byte
}

// splitDocuments splits YAML at the lines that mark the beginning or the end of a document. It omits documents that contain only blanks,
// comments and directives.
func splitDocuments(data []byte) []document {
	var docs []document
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	begin, beginLine, line := 0, 1, 1
	end := func(at int) {
		if doc := (document{beginLine, data[begin:at]}).trimmed(); len(doc.data) > 0 {
			docs = append(docs, doc)
		}
	}
	for at := 0; at < len(data); line++ {
		next := len(data)
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		if isMark(data[at:next], "---") || isMark(data[at:next], "...") {
			end(at)
			// Text after the mark in the same line belongs to the document.
			begin, beginLine = at+len("---"), line
		}
		at = next
	}
	end(len(data))
	return docs
}

// Document is a JSON or YAML document of a file.
type Document struct {
	Line int // where its content begins, from 1
	Data []byte
	// json is set if Data is known to be valid JSON.
	json bool
	// err is set for text after a JSON value that is no JSON value.
	err error
}

// Documents splits the text of a file into documents, without those that have no content. A sequence of JSON values is a document each, and
// so is the text after them that is no JSON; JSON returns the error for it.
func Documents(data []byte) []Document {
	var docs []Document
	for _, d := range splitDocuments(data) {
		values, ok := d.jsonValues()
		if !ok {
			values = []Document{{Line: d.line, Data: d.data}}
		}
		docs = append(docs, values...)
	}
	return docs
}

// JSON converts the document to JSON. Duplicate keys are an error, and so are aliases that expand it beyond limit bytes.
func (d Document) JSON(limit int) ([]byte, error) {
	if d.err != nil {
		return nil, fmt.Errorf("line %d: %w", d.Line, d.err)
	}
	doc := document{d.Line, d.Data}
	if d.json || d.Data[0] == '{' && json.Valid(d.Data) {
		// Half of what kubectl prints is indentation, which several passes would read.
		return jsonscan.Compact(d.Data), nil
	}
	if !utf8.Valid(d.Data) {
		return nil, doc.notUTF8()
	}
	data, err := doc.toJSON(limit)
	if err != nil {
		return nil, cmp.Or(doc.cutOff(), doc.absolute(err))
	}
	return data, nil
}

// isMark reports whether the line consists of the mark, or begins with the mark and a blank.
func isMark(line []byte, mark string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(mark))
	return ok && (len(rest) == 0 || rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r' || rest[0] == '\n')
}

// trimmed returns the document from its first line with content on.
func (d document) trimmed() document {
	for len(d.data) > 0 {
		line, rest := d.data, []byte(nil)
		if i := bytes.IndexByte(d.data, '\n'); i >= 0 {
			line, rest = d.data[:i], d.data[i+1:]
		}
		if content := bytes.TrimSpace(line); len(content) > 0 && content[0] != '#' && line[0] != '%' {
			return d
		}
		d = document{d.line + 1, rest}
	}
	return document{}
}

// read decodes the objects of the document.
func (d document) read() []Entry {
	if !utf8.Valid(d.data) {
		return []Entry{{Err: d.notUTF8()}}
	}
	if found, ok := d.readJSON(); ok {
		return found
	}
	data, err := d.toJSON(maxExpansion)
	if err != nil {
		return []Entry{{Err: cmp.Or(d.cutOff(), d.tab(err), d.absolute(err))}}
	}
	return decodeManifests(data, 0)
}

// cutOff returns the error for a JSON document that ends in the middle, nil for another one. The parser of YAML blames something before.
func (d document) cutOff() error {
	if start := bytes.TrimSpace(d.data); len(start) == 0 || start[0] != '{' && start[0] != '[' {
		return nil
	}
	var value json.RawMessage
	if err := json.NewDecoder(bytes.NewReader(d.data)).Decode(&value); !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return fmt.Errorf("yaml: line %d: the JSON is cut off here", d.line+bytes.Count(bytes.TrimSpace(d.data), []byte("\n")))
}

// indentation matches the blanks and tabs before the text of a line that has a tab among them.
var indentation = regexp.MustCompile(`(?m)^ *\t[ \t]*[^ \t\r\n#]`)

// tab returns the error about a tab with which a line is indented; nil if the error of the YAML library is about something else.
func (d document) tab(err error) error {
	at := indentation.FindIndex(d.data)
	if text := err.Error(); at == nil || !strings.Contains(text, "cannot start any token") && !strings.Contains(text, "tab character") {
		return nil
	}
	return fmt.Errorf("yaml: line %d: a tab in the indentation; YAML is indented with blanks", d.line+bytes.Count(d.data[:at[0]], []byte("\n")))
}

func (d document) notUTF8() error {
	return fmt.Errorf("line %d: not UTF-8", d.line+bytes.Count(d.data[:invalidAt(d.data)], []byte("\n")))
}

func invalidAt(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(data)
}

// readJSON decodes a sequence of JSON values. It returns false if the document is not JSON; it may still be YAML.
func (d document) readJSON() ([]Entry, bool) {
	values, ok := d.jsonValues()
	if !ok {
		return nil, false
	}
	var found []Entry
	for _, value := range values {
		if value.err != nil {
			found = append(found, Entry{Err: value.err, Line: value.Line, Doc: value.Data})
			continue
		}
		for _, m := range decodeManifests(value.Data, 0) {
			m.Line, m.Doc = value.Line, value.Data
			found = append(found, m)
		}
	}
	return found, true
}

// jsonValues splits a sequence of JSON objects, between which comments may stand. The last document may be text that is no JSON value. It
// returns false if the document does not begin with a JSON object; it may still be YAML.
func (d document) jsonValues() ([]Document, bool) {
	if d.data[0] != '{' {
		return nil, false
	}
	if json.Valid(d.data) {
		return []Document{{Line: d.line, Data: bytes.TrimSpace(d.data), json: true}}, true
	}
	var values []Document
	for rest := d.trimmed(); len(rest.data) > 0; {
		decoder := json.NewDecoder(bytes.NewReader(rest.data))
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			if len(values) == 0 {
				return nil, false
			}
			err = fmt.Errorf("want a JSON object after the one before, got %s", beginOf(rest.data))
			return append(values, Document{Line: rest.line, Data: rest.data, err: err}), true
		}
		end := int(decoder.InputOffset())
		begin := end - len(value)
		values = append(values, Document{Line: rest.line + bytes.Count(rest.data[:begin], []byte("\n")), Data: rest.data[begin:end], json: true})
		rest = document{rest.line + bytes.Count(rest.data[:end], []byte("\n")), rest.data[end:]}.trimmed()
	}
	return values, true
}

// shownText is the number of bytes of text that an error quotes.
const shownText = 60

// beginOf quotes the begin of the first line of a text.
func beginOf(text []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	if len(line) > shownText {
		return fmt.Sprintf("%q...", line[:shownText])
	}
	return fmt.Sprintf("%q", bytes.TrimSpace(line))
}

// toJSON converts YAML to JSON. Duplicate keys are an error, and so are aliases that expand it beyond limit bytes.
func (d document) toJSON(limit int) ([]byte, error) {
	if data, ok := yamljson.Convert(d.data); ok {
		return data, nil
	}
	if bytes.IndexByte(d.data, '&') >= 0 {
		if err := CheckAliases(d.data, limit); err != nil {
			return nil, err
		}
	}
	if err := d.endsAfterValue(); err != nil {
		return nil, err
	}
	return yamljson.Strict(d.data)
}

// endsAfterValue returns an error for text after the value of a YAML document. The YAML library reads one value and skips the rest. Only
// after a value in flow style, or one whose first line is indented, the text is no part of it.
func (d document) endsAfterValue() error {
	if c := d.data[0]; c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
		return nil
	}
	decoder := goyaml.NewDecoder(bytes.NewReader(d.data))
	var value, next any
	if decoder.Decode(&value) != nil {
		return nil // what is wrong with it is found elsewhere
	}
	err := decoder.Decode(&next)
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	line := 0
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		// The error leaves the line 0.
		line, _ = strconv.Atoi(m[2])
	}
	// The library counts lines from 0 in this error.
	line = min(line, bytes.Count(d.data, []byte("\n")))
	text := bytes.SplitAfterN(d.data, []byte("\n"), line+1)[line]
	return fmt.Errorf("line %d: want the end of the document after its object, got %s", line+1, beginOf(text))
}

// CheckAliases returns an error if expanding the aliases of a YAML document makes it larger than limit bytes. The YAML library bounds the
// number of values that aliases create, but not the size of their text.
func CheckAliases(doc []byte, limit int) error {
	var value any
	if err := goyaml.Unmarshal(doc, &value); err != nil {
		return err
	}
	if expand(value, limit) < 0 {
		return fmt.Errorf("aliases make the document larger than %d MiB", limit>>20)
	}
	return nil
}

// expand subtracts the size of a value from a budget. It stops at a negative result.
func expand(value any, budget int) int {
	switch value := value.(type) {
	case string:
		budget -= len(value)
	case []any:
		for _, item := range value {
			if budget = expand(item, budget); budget < 0 {
				return budget
			}
		}
	case map[any]any:
		for key, item := range value {
			if budget = expand(item, expand(key, budget)); budget < 0 {
				return budget
			}
		}
	}
	return budget - 1
}

// yamlLine matches how errors of the YAML library name a line of the document.
var yamlLine = regexp.MustCompile(`(^|yaml: |\n +)line (\d+):`)

// absolute makes line numbers in an error of the YAML library relative to the beginning of the manifest.
func (d document) absolute(err error) error {
	text := yamlLine.ReplaceAllStringFunc(err.Error(), func(s string) string {
		m := yamlLine.FindStringSubmatch(s)
		line, convErr := strconv.Atoi(m[2])
		if convErr != nil {
			return s
		}
		return fmt.Sprintf("%sline %d:", m[1], d.line-1+line)
	})
	return errors.New(strings.TrimSuffix(text, "\n"))
}
