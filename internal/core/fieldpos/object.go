package fieldpos

import (
	"bytes"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Object is an object of a manifest with the lines of its fields.
type Object struct {
	root *yaml.Node
	// before is the number of lines before the text of root.
	before int
}

// Parse reads an object from a YAML or JSON document whose first line has the given number, from 1. items are the indexes at which the
// object is in a List, and in Lists within that. It returns nil if the document is not YAML or has no such object.
func Parse(doc []byte, line int, items ...int) *Object {
	if len(items) > 0 {
		if entry, at, ok := entryText(doc, items[0]); ok {
			if o := Parse(entry, line+at, items[1:]...); o != nil {
				return o
			}
		}
	}
	var root yaml.Node
	if yaml.Unmarshal(doc, &root) != nil || len(root.Content) != 1 {
		return nil
	}
	o := &Object{root: root.Content[0], before: line - 1}
	for _, i := range items {
		list := field(o.root, "items")
		if list == nil || list.Kind != yaml.SequenceNode || i >= len(list.Content) {
			return nil
		}
		o.root = list.Content[i]
	}
	if o.root.Kind != yaml.MappingNode {
		return nil
	}
	return o
}

// entryText returns an entry of the sequence "items" of a document in block style, as text in which it is the only value, and the number
// of lines before it. Parsing that is faster than parsing a List of thousands of objects.
func entryText(doc []byte, index int) (text []byte, line int, ok bool) {
	within, column, begin, beginLine := false, -1, -1, 0
	number := 0
	for at := 0; at < len(doc); number++ {
		raw := doc[at:]
		if end := bytes.IndexByte(raw, '\n'); end >= 0 {
			raw = raw[:end+1]
		}
		content := bytes.TrimLeft(raw, " ")
		indent := len(raw) - len(content)
		switch {
		case !within:
			within = bytes.Equal(bytes.TrimRight(raw, " \r\n"), []byte("items:"))
		case bytes.HasPrefix(content, []byte("- ")) && (column < 0 || indent == column):
			column = indent
			if begin >= 0 {
				return dashless(doc[begin:at], column), beginLine, true
			}
			if index--; index < 0 {
				begin, beginLine = at, number
			}
		case column >= 0 && indent <= column && len(bytes.TrimSpace(content)) > 0 && content[0] != '#':
			if begin >= 0 {
				return dashless(doc[begin:at], column), beginLine, true
			}
			return nil, 0, false
		}
		at += len(raw)
	}
	if begin < 0 {
		return nil, 0, false
	}
	return dashless(doc[begin:], column), beginLine, true
}

// dashless returns the text with a space in place of the dash in the column of the first line.
func dashless(text []byte, column int) []byte {
	text = bytes.Clone(text)
	text[column] = ' '
	return text
}

// field returns the value of a field of a mapping, or nil.
func field(node *yaml.Node, name string) *yaml.Node {
	node = resolved(node)
	if node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return node.Content[i+1]
		}
	}
	return nil
}

// resolved returns the node that an alias refers to.
func resolved(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode && node.Alias != nil {
		node = node.Alias
	}
	return node
}

// Line returns the line of a field path such as spec.containers[0].image or metadata.labels[app]. If the object has no such field, it is
// the line of the longest beginning of the path that it has.
func (o *Object) Line(path string) int {
	node, line := o.root, o.root.Line
	for len(path) > 0 {
		var name string
		name, path = nextName(path)
		next := child(node, name)
		for next == nil && path != "" {
			// A key of a map may contain dots.
			var more string
			more, path = nextName(path)
			name += "." + more
			next = child(node, name)
		}
		if next == nil {
			break
		}
		line, node = next.line, resolved(next.value)
	}
	return o.before + line
}

// nextName cuts the first name or index off a path.
func nextName(path string) (name, rest string) {
	if strings.HasPrefix(path, "[") {
		end := strings.IndexByte(path, ']')
		if end < 0 {
			return path[1:], ""
		}
		return path[1:end], strings.TrimPrefix(path[end+1:], ".")
	}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		return path, ""
	}
	return path[:end], strings.TrimPrefix(path[end:], ".")
}

// place is a value with the line at which it begins: that of its key.
type place struct {
	value *yaml.Node
	line  int
}

// child returns the field or the item with the name, or nil.
func child(node *yaml.Node, name string) *place {
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == name {
				return &place{node.Content[i+1], node.Content[i].Line}
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(node.Content) {
			return &place{node.Content[i], node.Content[i].Line}
		}
	}
	return nil
}

// text returns the string in a field, or "".
func (o *Object) text(names ...string) string {
	node := o.root
	for _, name := range names {
		if node = field(node, name); node == nil {
			return ""
		}
	}
	return node.Value
}

// Kind returns apiVersion and kind of the object.
func (o *Object) Kind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(o.text("apiVersion"), o.text("kind"))
}

// String returns kind, namespace and name of the object.
func (o *Object) String() string {
	name := o.text("metadata", "name")
	if namespace := o.text("metadata", "namespace"); namespace != "" {
		name = namespace + "/" + name
	}
	return strings.TrimSpace(o.text("kind") + " " + name)
}
