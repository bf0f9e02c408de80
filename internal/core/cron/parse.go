package cron

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// values are the values of a field that match: bit n is that of value n.
type values uint64

func (v values) has(n int) bool { return v>>n&1 == 1 }

// field is one of the fields of a schedule: its lowest and highest value, and names for values.
type field struct {
	low, high int
	names     []string // of low and the following values
}

var (
	minutes    = field{0, 59, nil}
	hours      = field{0, 23, nil}
	days       = field{1, 31, nil}
	months     = field{1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}}
	weekdays   = field{0, 6, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}}
	fieldCount = 5
)

// macros are the schedules with a name.
var macros = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0", "@daily": "0 0 * * *", "@midnight": "0 0 * * *",
	"@hourly": "0 * * * *",
}

// Parse reads a schedule. An error has the words of the API server (JOB-112).
func Parse(text string) (*Schedule, error) {
	if text == "" {
		return nil, errors.New("empty spec string")
	}
	s := &Schedule{}
	if strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ=") {
		prefix, rest, found := strings.Cut(text, " ")
		if !found {
			return nil, errors.New("invalid schedule format: runtime error: slice bounds out of range [:-1]") // the text of kube-apiserver
		}
		_, name, _ := strings.Cut(prefix, "=")
		zone, err := Zone(name)
		if err != nil {
			return nil, fmt.Errorf("provided bad location %s: %w", name, err)
		}
		s.zone, text = zone, strings.TrimSpace(rest)
	}
	if strings.HasPrefix(text, "@") {
		whole, ok := macros[text]
		if !ok {
			return s.readPeriod(text)
		}
		text = whole
	}
	return s.readFields(text)
}

// readPeriod reads a schedule such as "@every 5m".
func (s *Schedule) readPeriod(text string) (*Schedule, error) {
	duration, every := strings.CutPrefix(text, "@every ")
	if !every {
		return nil, fmt.Errorf("unrecognized descriptor: %s", text)
	}
	d, err := time.ParseDuration(duration)
	if err != nil {
		return nil, fmt.Errorf("failed to parse duration %s: %w", text, err)
	}
	s.period = max(d, time.Second).Truncate(time.Second)
	return s, nil
}

// readFields reads five fields, each a list of ranges with steps. The first fault is reported.
func (s *Schedule) readFields(text string) (*Schedule, error) {
	parts := strings.Fields(text)
	if len(parts) != fieldCount {
		return nil, fmt.Errorf("expected exactly %d fields, found %d: %s", fieldCount, len(parts), parts)
	}
	for i, f := range []struct {
		field  field
		values *values
		star   *bool
	}{
		{minutes, &s.minutes, nil}, {hours, &s.hours, nil}, {days, &s.days, &s.anyDay}, {months, &s.months, nil}, {weekdays, &s.weekdays, &s.anyWeekday},
	} {
		for _, part := range strings.FieldsFunc(parts[i], func(r rune) bool { return r == ',' }) {
			matching, star, err := f.field.read(part)
			if err != nil {
				return nil, err
			}
			*f.values |= matching
			if star && f.star != nil {
				*f.star = true
			}
		}
	}
	return s, nil
}

// read reads one range of a field: "*", a value, or two with a hyphen, each perhaps with a step. star reports whether it is a "*" for each value.
func (f field) read(text string) (matching values, star bool, err error) {
	span, stepText, stepped := strings.Cut(text, "/")
	first, last, ranged := strings.Cut(span, "-")
	low, high, step := f.low, f.high, 1
	if star = first == "*" || first == "?"; !star {
		if low, err = f.value(first); err != nil {
			return 0, false, err
		}
		high = low
		if strings.Contains(last, "-") {
			return 0, false, fmt.Errorf("too many hyphens: %s", text)
		}
		if ranged {
			if high, err = f.value(last); err != nil {
				return 0, false, err
			}
		}
	}
	if strings.Contains(stepText, "/") {
		return 0, false, fmt.Errorf("too many slashes: %s", text)
	}
	if stepped {
		if step, err = number(stepText); err != nil {
			return 0, false, err
		}
		// A value with a step is the beginning of a range.
		if !ranged {
			high = f.high
		}
	}
	switch {
	case low < f.low:
		err = fmt.Errorf("beginning of range (%d) below minimum (%d): %s", low, f.low, text)
	case high > f.high:
		err = fmt.Errorf("end of range (%d) above maximum (%d): %s", high, f.high, text)
	case low > high:
		err = fmt.Errorf("beginning of range (%d) beyond end of range (%d): %s", low, high, text)
	case step == 0:
		err = fmt.Errorf("step of range should be a positive number: %s", text)
	}
	if err != nil {
		return 0, false, err
	}
	for n := low; n <= high; n += step {
		matching |= 1 << n
	}
	return matching, star && step == 1, nil
}

// value returns the value of a name or a number.
func (f field) value(text string) (int, error) {
	for i, name := range f.names {
		if strings.EqualFold(text, name) {
			return f.low + i, nil
		}
	}
	return number(text)
}

func number(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("failed to parse int from %s: %w", text, err)
	}
	if n < 0 {
		return 0, fmt.Errorf("negative number (%d) not allowed: %s", n, text)
	}
	return n, nil
}
