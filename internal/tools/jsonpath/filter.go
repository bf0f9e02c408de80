package jsonpath

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

// elementFilter is a filter of a path: a comparison of two operands, or with an empty operator the existence of the left one.
type elementFilter struct {
	operator    string
	left, right operand
}

// operand is a path in an element, which begins with @, or a fixed value.
type operand struct {
	path  *Path
	value any
}

// comparisons are the operators of filters, the longer ones first.
var comparisons = []string{"==", "!=", "<=", ">=", "<", ">"}

// readElementFilter reads a filter without its brackets, such as @.type=="Ready".
func readElementFilter(text string) (*elementFilter, error) {
	c := &elementFilter{}
	left, right := text, ""
	for _, operator := range comparisons {
		if before, after, ok := strings.Cut(text, operator); ok {
			c.operator, left, right = operator, before, after
			break
		}
	}
	var err error
	if c.left, err = readOperand(left); err == nil && c.operator != "" {
		c.right, err = readOperand(right)
	}
	return c, err
}

func readOperand(text string) (operand, error) {
	text = strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(text, "@"); ok {
		p, err := Read(rest)
		return operand{path: &p}, err
	}
	if text == "" {
		return operand{}, fmt.Errorf("invalid filter: want @.key==\"value\"")
	}
	if quoted := unquoted(text); quoted != text {
		return operand{value: quoted}, nil
	}
	var value any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return operand{}, fmt.Errorf("invalid value %s in a filter: a text needs quotes", text)
	}
	return operand{value: value}, nil
}

// of returns the value of an operand, and whether there is exactly one.
func (o operand) of(element any) (any, bool) {
	if o.path == nil {
		return o.value, true
	}
	found := o.path.Find(element)
	if len(found) != 1 {
		return nil, false
	}
	if t, ok := found[0].(typed); ok {
		return t.decoded(), true
	}
	return found[0], true
}

// holds reports whether an element meets the condition. An operand that is missing does not meet any.
func (c *elementFilter) holds(element any) bool {
	left, ok := c.left.of(element)
	if !ok || c.operator == "" {
		return ok
	}
	right, ok := c.right.of(element)
	if !ok {
		return false
	}
	difference := strings.Compare(Text(left), Text(right))
	a, isNumber := Number(left)
	if b, alsoNumber := Number(right); isNumber && alsoNumber {
		difference = cmp.Compare(a, b)
	}
	switch c.operator {
	case "==":
		return difference == 0
	case "!=":
		return difference != 0
	case "<":
		return difference < 0
	case "<=":
		return difference <= 0
	case ">":
		return difference > 0
	}
	return difference >= 0
}

// Number returns the value of a number of a document; ok is false for anything else.
func Number(v any) (value float64, ok bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}
