package fieldpos

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/volsim/volsim/internal/core/decode"
	"github.com/volsim/volsim/internal/core/similar"
)

// Problem is a field that does not fit the Go type of its kind.
type Problem struct {
	Line int
	// Path is the path of the field, such as spec.accessModes. Text says what is wrong, and what would be right.
	Path, Text string
}

func (p Problem) String() string { return p.Path + ": " + p.Text }

// Problems compares the object with the Go type of its kind and returns the fields that are unknown or duplicate, and the values of a
// wrong type, in the order of the lines.
func (o *Object) Problems(t reflect.Type) []Problem {
	w := &walker{before: o.before, root: t}
	w.value(o.root, t, "")
	slices.SortStableFunc(w.found, func(a, b Problem) int { return a.Line - b.Line })
	return w.found
}

type walker struct {
	before int
	root   reflect.Type
	found  []Problem
	depth  int
}

func (w *walker) problem(node *yaml.Node, path, format string, args ...any) {
	w.found = append(w.found, Problem{Line: w.before + node.Line, Path: strings.TrimPrefix(path, "."), Text: fmt.Sprintf(format, args...)})
}

// maxDepth bounds the depth of values, since an alias may contain itself.
const maxDepth = 100

func (w *walker) value(node *yaml.Node, t reflect.Type, path string) {
	if w.depth++; w.depth > maxDepth {
		return
	}
	defer func() { w.depth-- }()
	node = resolved(node)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if node.Tag == "!!null" || w.decodesItself(node, t, path) {
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		if w.is(node, yaml.MappingNode, "an object", path) {
			w.fields(node, t, path)
		}
	case reflect.Map:
		if w.is(node, yaml.MappingNode, "an object", path) {
			for i := 0; i+1 < len(node.Content); i += 2 {
				w.value(node.Content[i+1], t.Elem(), path+"["+node.Content[i].Value+"]")
			}
		}
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 && w.is(node, yaml.SequenceNode, "a list", path) {
			for i, item := range node.Content {
				w.value(item, t.Elem(), path+"["+strconv.Itoa(i)+"]")
			}
		}
	case reflect.String:
		if w.is(node, yaml.ScalarNode, "a string", path) && node.Tag != "!!str" && node.Tag != "!!timestamp" {
			w.problem(node, path, "invalid value %s: want a string; write %q", node.Value, node.Value)
		} else if text := unknownValue(t, node.Value); text != "" {
			w.problem(node, path, "%s", text)
		}
	case reflect.Bool:
		if w.is(node, yaml.ScalarNode, "true or false", path) && node.Tag != "!!bool" && !isYAML11Bool(node) {
			w.problem(node, path, "invalid value %q: want true or false", node.Value)
		}
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint32, reflect.Uint64:
		if w.is(node, yaml.ScalarNode, "a whole number", path) && node.Tag != "!!int" {
			hint := ""
			if _, err := strconv.Atoi(node.Value); err == nil {
				hint = "; remove the quotes"
			}
			w.problem(node, path, "invalid value %q: want a whole number%s", node.Value, hint)
		}
	}
}

// isYAML11Bool reports whether a word without quotes is a boolean in the version of YAML that Kubernetes reads.
func isYAML11Bool(node *yaml.Node) bool {
	return node.Style == 0 && slices.Contains([]string{"y", "n", "yes", "no", "on", "off"}, strings.ToLower(node.Value))
}

// is reports whether the node has the kind, and notes a problem if not.
func (w *walker) is(node *yaml.Node, kind yaml.Kind, want, path string) bool {
	if node.Kind == kind {
		return true
	}
	switch node.Kind {
	case yaml.ScalarNode:
		hint := ""
		if kind == yaml.SequenceNode {
			hint = fmt.Sprintf("; write [%s]", node.Value)
		}
		w.problem(node, path, "invalid value %q: want %s%s", node.Value, want, hint)
	case yaml.SequenceNode:
		w.problem(node, path, "invalid value: want %s, not a list", want)
	default:
		w.problem(node, path, "invalid value: want %s, not an object", want)
	}
	return false
}

func (w *walker) fields(node *yaml.Node, t reflect.Type, path string) {
	known := map[string]reflect.Type{}
	var names []string
	addFields(t, known, &names)
	lines := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		inner := path + "." + key.Value
		if line, ok := lines[key.Value]; ok {
			w.problem(key, inner, "duplicate field, also in line %d", line)
			continue
		}
		lines[key.Value] = w.before + key.Line
		field, ok := known[key.Value]
		if !ok {
			hint := similar.Hint(key.Value, names)
			if hint == "" {
				hint = w.elsewhere(key.Value, path)
			}
			w.problem(key, inner, "unknown field%s", hint)
			continue
		}
		w.value(node.Content[i+1], field, inner)
	}
}

// elsewhere says that the object has such a field at its top, in metadata or in spec, and not at the path.
func (w *walker) elsewhere(key, path string) string {
	top := map[string]reflect.Type{}
	t := w.root
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	addFields(t, top, new([]string))
	if _, ok := top[key]; ok && path != "" {
		return fmt.Sprintf("; %s is a field of the object itself: check the indentation", key)
	}
	for _, name := range []string{"metadata", "spec"} {
		inner := map[string]reflect.Type{}
		if t := top[name]; t != nil && t.Kind() == reflect.Struct && path != "."+name {
			addFields(t, inner, new([]string))
		}
		if _, ok := inner[key]; ok {
			return fmt.Sprintf("; %s is a field of %s: check the indentation", key, name)
		}
	}
	return ""
}

// addFields adds the fields of a struct by their JSON names, and those of embedded structs.
func addFields(t reflect.Type, known map[string]reflect.Type, names *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "" && f.Anonymous:
			addFields(f.Type, known, names)
		case name != "" && name != "-":
			known[name] = f.Type
			*names = append(*names, name)
		}
	}
}

// decodesItself checks a value whose type has its own form in JSON. It returns false for other types.
func (w *walker) decodesItself(node *yaml.Node, t reflect.Type, path string) bool {
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		if w.is(node, yaml.ScalarNode, "a quantity such as 10Gi", path) {
			if err := decode.CheckExponent(node.Value); err != nil {
				w.problem(node, path, "%v", err)
			} else if _, err := resource.ParseQuantity(node.Value); err != nil {
				w.problem(node, path, "invalid quantity %q: want a number with a unit such as 10Gi or 500m%s", node.Value, quantityHint(node.Value))
			}
		}
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		if w.is(node, yaml.ScalarNode, "a time", path) {
			if _, err := time.Parse(time.RFC3339, node.Value); err != nil {
				w.problem(node, path, "invalid time %q: want a time such as 2006-01-02T15:04:05Z", node.Value)
			}
		}
	case reflect.TypeFor[metav1.Duration]():
		if w.is(node, yaml.ScalarNode, "a duration", path) {
			if _, err := time.ParseDuration(node.Value); err != nil {
				w.problem(node, path, "invalid duration %q: want a duration such as 1m30s", node.Value)
			}
		}
	case reflect.TypeFor[intstr.IntOrString]():
		w.is(node, yaml.ScalarNode, "a number or a string", path)
	default:
		unmarshaler := reflect.TypeFor[json.Unmarshaler]()
		return t.Implements(unmarshaler) || reflect.PointerTo(t).Implements(unmarshaler)
	}
	return true
}

// quantityHint returns a hint for the quantities that people write for a similar one.
func quantityHint(text string) string {
	text = strings.ReplaceAll(strings.TrimSpace(text), " ", "")
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	unit := strings.TrimSuffix(strings.TrimSuffix(text[len(digits):], "b"), "B")
	if unit != "" {
		unit = strings.ToUpper(unit[:1]) + strings.ToLower(unit[1:])
	}
	if unit == "K" {
		unit = "k"
	}
	if _, err := resource.ParseQuantity(digits + unit); err != nil || digits == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q", digits+unit)
}
