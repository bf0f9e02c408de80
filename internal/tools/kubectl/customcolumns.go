package kubectl

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
)

// PrinterColumn is a column that a CustomResourceDefinition adds to the table of its kind.
type PrinterColumn struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Format      string `json:"format"`
	Description string `json:"description"`
	Priority    int32  `json:"priority"`
	Path        string `json:"jsonPath"`
}

// CustomColumns returns the columns of a kind to which its CustomResourceDefinition adds some.
func CustomColumns(kind api.Kind, added []PrinterColumn) []Column {
	columns := Columns(kind)[:1:1] // the name
	if len(added) == 0 {
		return append(columns, ageColumn.typed("date"))
	}
	for _, c := range added {
		description := c.Description
		if description == "" {
			description = "Custom resource definition column (in JSONPath format): " + c.Path
		}
		columns = append(columns, Column{
			Name: c.Name, Type: c.Type, Format: c.Format, Description: description, Wide: c.Priority > 0, Cell: c.cell,
		})
	}
	return columns
}

// DefinedColumns returns the columns of a kind as its CustomResourceDefinition declares them for a version.
func DefinedColumns(kind api.Kind, definition api.Object, version string) []Column {
	var content struct {
		Spec struct {
			Versions []struct {
				Name    string          `json:"name"`
				Columns []PrinterColumn `json:"additionalPrinterColumns"`
			} `json:"versions"`
		} `json:"spec"`
	}
	data, err := json.Marshal(definition)
	if err == nil {
		err = json.Unmarshal(data, &content)
	}
	if err != nil {
		return Columns(kind)
	}
	for _, v := range content.Spec.Versions {
		if v.Name == version {
			return CustomColumns(kind, v.Columns)
		}
	}
	return Columns(kind)
}

// cell returns the cell of a custom object; nil is none.
func (c PrinterColumn) cell(obj api.Object, now time.Time) any {
	document, err := plain.Unstructured(obj)
	if err != nil {
		return nil
	}
	value, ok := lookup(document.Object, c.Path)
	if !ok {
		return nil
	}
	switch c.Type {
	case "string":
		return printed(value)
	case "integer":
		switch n := value.(type) {
		case int64:
			return n
		case float64:
			return int64(n)
		}
	case "number":
		switch n := value.(type) {
		case int64:
			return float64(n)
		case float64:
			return n
		}
	case "boolean":
		if b, ok := value.(bool); ok {
			return b
		}
	case "date":
		text, ok := value.(string)
		if !ok {
			return nil
		}
		t := metav1.Time{}
		if err := t.UnmarshalQueryParameter(text); err != nil {
			return "<invalid>"
		}
		if t.IsZero() {
			return "<unknown>"
		}
		return duration.HumanDuration(now.Sub(t.Time))
	}
	return nil
}

// printed returns the text of a value in a column of strings.
func printed(value any) string {
	switch value := value.(type) {
	case nil:
		return "<nil>"
	case map[string]any, []any:
		data, _ := json.Marshal(value) // it was decoded from JSON
		return string(data)
	}
	return fmt.Sprint(value)
}

// step is one step of a JSONPath: .name, ['name'], [0], [*], or [?(@.name=="value")].
var step = regexp.MustCompile(`^(?:\.((?:[^.\[\\]|\\.)+)|\['([^']*)'\]|\[(-?\d+|\*)\]|\[\?\(@\.([^=!<> ]+) *== *["']([^"']*)["']\)\])`)

// lookup returns the first value at a JSONPath. It reports false if there is none.
func lookup(value any, path string) (any, bool) {
	if path == "" {
		return value, true
	}
	m := step.FindStringSubmatch(path)
	if m == nil {
		return nil, false
	}
	rest := path[len(m[0]):]
	list, _ := value.([]any)
	switch name := strings.ReplaceAll(m[1], `\`, "") + m[2]; {
	case name != "":
		fields, _ := value.(map[string]any)
		child, ok := fields[name]
		if !ok {
			return nil, false
		}
		return lookup(child, rest)
	case m[4] != "":
		for _, item := range list {
			if actual, ok := lookup(item, "."+m[4]); ok && fmt.Sprint(actual) == m[5] {
				return lookup(item, rest)
			}
		}
	case m[3] == "*":
		for _, item := range list {
			if found, ok := lookup(item, rest); ok {
				return found, true
			}
		}
	default:
		i, err := strconv.Atoi(m[3])
		if i < 0 {
			i += len(list)
		}
		if err == nil && i >= 0 && i < len(list) {
			return lookup(list[i], rest)
		}
	}
	return nil, false
}
