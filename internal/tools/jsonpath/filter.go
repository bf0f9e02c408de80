package jsonpath

import (
	"cmp"
	"encoding/json"
	"errors"
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

// readElementFilter reads a filter without its brackets, such as @.type=="Ready". exact is that of read.
func readElementFilter(text string, exact bool) (*elementFilter, error) {
	c := &elementFilter{}
	left, right := text, ""
	for _, operator := range comparisons {
		if before, after, ok := strings.Cut(text, operator); ok {
			c.operator, left, right = operator, before, after
			break
		}
	}
	var err error
	if c.left, err = readOperand(left, exact); err == nil && c.operator != "" {
		c.right, err = readOperand(right, exact)
	}
	return c, err
}

func readOperand(text string, exact bool) (operand, error) {
	text = strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(text, "@"); ok {
		p, err := read(rest, exact)
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

// holds reports whether an element meets the condition. An operand that is missing does not meet any. exact says that only values of one type are
// compared, as in kubectl.
func (c *elementFilter) holds(element any, exact bool) (bool, error) {
	if exact {
		return c.exactlyHolds(element)
	}
	left, ok := c.left.of(element)
	if !ok || c.operator == "" {
		return ok, nil
	}
	right, ok := c.right.of(element)
	if !ok {
		return false, nil
	}
	difference := strings.Compare(Text(left), Text(right))
	a, isNumber := Number(left)
	if b, alsoNumber := Number(right); isNumber && alsoNumber {
		difference = cmp.Compare(a, b)
	}
	return c.meets(difference), nil
}

// meets reports whether the operator accepts the difference of its operands.
func (c *elementFilter) meets(difference int) bool {
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

// exactlyHolds is holds with the types and the errors of kubectl.
func (c *elementFilter) exactlyHolds(element any) (bool, error) {
	lefts, err := c.left.all(element)
	if c.operator == "" {
		return err != nil || len(lefts) > 0, nil
	}
	rights := []any(nil)
	if err == nil && len(lefts) == 1 {
		rights, err = c.right.all(element)
	}
	switch {
	case err != nil:
		return false, err
	case len(lefts) > 1 || len(rights) > 1:
		return false, errors.New("can only compare one element at a time")
	case len(lefts) == 0 || len(rights) == 0:
		return false, nil
	}
	a, b := comparedAs(lefts[0]), comparedAs(rights[0])
	ordered := c.operator != "==" && c.operator != "!="
	switch {
	case a == "" || b == "" || a == b && a == "bool" && ordered:
		return false, errors.New("invalid type for comparison")
	case a != b:
		return false, errors.New("incompatible types for comparison")
	}
	difference := strings.Compare(Text(lefts[0]), Text(rights[0]))
	if x, isNumber := Number(lefts[0]); isNumber {
		y, _ := Number(rights[0])
		difference = cmp.Compare(x, y)
	}
	return c.meets(difference), nil
}

// all returns the values of an operand.
func (o operand) all(element any) ([]any, error) {
	if o.path == nil {
		return []any{o.value}, nil
	}
	return o.path.Select(element)
}

// comparedAs returns the type of a value as far as comparisons know it, "" for lists, maps and null.
func comparedAs(v any) string {
	switch v := v.(type) {
	case string:
		return "string"
	case bool:
		return "bool"
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return "float"
		}
		return "int"
	}
	return ""
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
