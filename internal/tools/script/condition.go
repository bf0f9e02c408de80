package script

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// condition compares a field with a value: phase=Bound, count>=2, message~'no such'.
type condition struct {
	text    string
	field   string
	op      string
	value   string
	pattern *regexp.Regexp // set for ~ and !~
}

// operators are the operators of conditions, longer ones first.
var operators = []string{"!=", ">=", "<=", "!~", "=", ">", "<", "~"}

// readCondition reads a word; ok is false for one without an operator.
func readCondition(word string) (c condition, ok bool, err error) {
	depth := 0
	for i := range len(word) {
		switch word[i] {
		case '[':
			depth++
		case ']':
			depth--
		}
		if depth > 0 {
			continue
		}
		for _, op := range operators {
			if !strings.HasPrefix(word[i:], op) {
				continue
			}
			c = condition{text: word, field: word[:i], op: op, value: word[i+len(op):]}
			if c.field == "" {
				return c, true, fmt.Errorf("invalid condition %q: missing field; write FIELD=VALUE without blanks", word)
			}
			if op == "=" && strings.HasPrefix(c.value, "=") {
				return c, true, fmt.Errorf("invalid condition %q: write = in place of ==", word)
			}
			if op == "~" || op == "!~" {
				if c.pattern, err = regexp.Compile(c.value); err != nil {
					return c, true, fmt.Errorf("%s: %w", word, err)
				}
			}
			return c, true, nil
		}
	}
	return c, false, nil
}

// holds evaluates the condition for a value. The error says that the two cannot be compared.
func (c condition) holds(got string) (bool, error) {
	switch c.op {
	case "~":
		return c.pattern.MatchString(got), nil
	case "!~":
		return !c.pattern.MatchString(got), nil
	case "=", "!=":
		equal := got == c.value
		if !equal {
			order, comparable := compare(got, c.value)
			equal = comparable && order == 0
		}
		return equal == (c.op == "="), nil
	}
	order, comparable := compare(got, c.value)
	if !comparable {
		return false, fmt.Errorf("compare %s: %q and %q must both be numbers, quantities, durations or times", c.field, got, c.value)
	}
	switch c.op {
	case ">=":
		return order >= 0, nil
	case "<=":
		return order <= 0, nil
	case ">":
		return order > 0, nil
	default:
		return order < 0, nil
	}
}

// isOneOf rejects a comparison with a value that the field cannot have, because its result would be constant. values are the possible
// values; nil allows any.
func (c condition) isOneOf(values []string) error {
	if values == nil || c.pattern != nil {
		return nil
	}
	var texts []string
	for _, v := range values {
		if v == "" {
			v = "empty"
		}
		texts = append(texts, v)
	}
	last := len(texts) - 1
	list := strings.Join(texts[:last], ", ") + " or " + texts[last]
	switch {
	case c.op != "=" && c.op != "!=":
		return fmt.Errorf("invalid condition %s: %s has no order (%s); use = or !=", c.text, c.field, list)
	case !slices.Contains(values, c.value):
		return fmt.Errorf("invalid condition %s: %s is %s, never %q", c.text, c.field, list, c.value)
	}
	return nil
}

// isKnown rejects a comparison with a word that is none of the known ones. The empty string stands for a missing value.
func (c condition) isKnown(known []string) error {
	if c.pattern != nil || c.value == "" || slices.Contains(known, c.value) {
		return nil
	}
	return fmt.Errorf("invalid condition %s: %w", c.text, unknownWord(c.field, c.value, known))
}

// isQuantity rejects a comparison with what is no quantity.
func (c condition) isQuantity() error {
	if _, ok := quantity(c.value); ok || c.pattern != nil || c.value == "" {
		return nil
	}
	return fmt.Errorf("invalid condition %s: %q is no quantity such as 10Gi", c.text, c.value)
}

// want returns the required value for messages: "Bound" for phase=Bound, ">=2" for count>=2.
func (c condition) want() string {
	if c.op == "=" {
		return quoted(c.value)
	}
	return c.op + c.value
}

func quoted(s string) string {
	if s == "" || strings.ContainsAny(s, " \t\n\"") {
		return strconv.Quote(s)
	}
	return s
}

// compare orders two values that are both numbers, quantities, durations or times.
func compare(a, b string) (order int, ok bool) {
	if !isNumeric(a) || !isNumeric(b) {
		return 0, false
	}
	if x, err := time.ParseDuration(a); err == nil {
		if y, err := time.ParseDuration(b); err == nil {
			return int(min(max(x-y, -1), 1)), true
		}
	}
	if isDate(a) && isDate(b) {
		x, errX := time.Parse(time.RFC3339, a)
		y, errY := time.Parse(time.RFC3339, b)
		if errX == nil && errY == nil {
			return x.Compare(y), true
		}
	}
	x, okA := quantity(a)
	y, okB := quantity(b)
	if !okA || !okB {
		return 0, false
	}
	return x.Cmp(y), true
}

// isNumeric reports whether a text begins like a number, a quantity, a duration or a time. Errors of their parsers cost more than a comparison.
func isNumeric(text string) bool {
	return text != "" && (text[0] <= '9' && text[0] >= '0' || strings.IndexByte("+-.", text[0]) >= 0)
}

// isDate reports whether a text may be a time: it begins with a year and a hyphen. The error of time.Parse costs more than a comparison.
func isDate(text string) bool { return len(text) > 4 && text[4] == '-' }

// quantity parses a quantity of moderate size, because comparing huge exponents takes too long.
func quantity(s string) (resource.Quantity, bool) {
	const longest = 30
	if s == "" || len(s) > longest {
		return resource.Quantity{}, false
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 && len(s) > i+1 {
		if n, err := strconv.Atoi(s[i+1:]); err == nil && (n > 20 || n < -20) {
			return resource.Quantity{}, false
		}
	}
	q, err := resource.ParseQuantity(s)
	return q, err == nil
}
