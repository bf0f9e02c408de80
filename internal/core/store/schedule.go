package store

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// scheduleField is one of the fields of a schedule: its lowest and highest value, and names for values.
type scheduleField struct {
	low, high int
	names     []string // of low and the following values
}

// scheduleFields are the fields of a schedule, in order: minute, hour, day of month, month, day of week.
var scheduleFields = []scheduleField{
	{0, 59, nil}, {0, 23, nil}, {1, 31, nil},
	{1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{0, 6, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// scheduleFault returns what is wrong with a schedule, in the words of the API server, or "" if it is valid (JOB-112).
func scheduleFault(schedule string) string {
	if schedule == "" {
		return "empty spec string"
	}
	if strings.HasPrefix(schedule, "TZ=") || strings.HasPrefix(schedule, "CRON_TZ=") {
		prefix, rest, found := strings.Cut(schedule, " ")
		if !found {
			return "invalid schedule format: runtime error: slice bounds out of range [:-1]" // the text of kube-apiserver
		}
		_, zone, _ := strings.Cut(prefix, "=")
		if !knownZone(zone) {
			return fmt.Sprintf("provided bad location %s: unknown time zone %s", zone, zone)
		}
		schedule = strings.TrimSpace(rest)
	}
	if strings.HasPrefix(schedule, "@") {
		return macroFault(schedule)
	}
	// JOB-112: five fields, each a list of ranges with steps. The first fault is reported.
	parts := strings.Fields(schedule)
	if len(parts) != len(scheduleFields) {
		return fmt.Sprintf("expected exactly %d fields, found %d: %s", len(scheduleFields), len(parts), parts)
	}
	for i, part := range parts {
		for _, text := range strings.FieldsFunc(part, func(r rune) bool { return r == ',' }) {
			if fault := scheduleFields[i].rangeFault(text); fault != "" {
				return fault
			}
		}
	}
	return ""
}

// macroFault returns what is wrong with a schedule that begins with @.
func macroFault(schedule string) string {
	switch schedule {
	case "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly":
		return ""
	}
	text, every := strings.CutPrefix(schedule, "@every ")
	if !every {
		return "unrecognized descriptor: " + schedule
	}
	if _, err := time.ParseDuration(text); err != nil {
		return fmt.Sprintf("failed to parse duration %s: %s", schedule, err)
	}
	return ""
}

// rangeFault returns what is wrong with one range of a field: "*", a value, or two with a hyphen, each perhaps with a step.
func (f scheduleField) rangeFault(text string) string {
	span, stepText, stepped := strings.Cut(text, "/")
	first, last, ranged := strings.Cut(span, "-")
	low, high, step := f.low, f.high, 1
	var fault string
	if first != "*" && first != "?" {
		if low, fault = f.value(first); fault != "" {
			return fault
		}
		high = low
		if strings.Contains(last, "-") {
			return "too many hyphens: " + text
		}
		if ranged {
			if high, fault = f.value(last); fault != "" {
				return fault
			}
		}
	}
	if strings.Contains(stepText, "/") {
		return "too many slashes: " + text
	}
	if stepped {
		if step, fault = number(stepText); fault != "" {
			return fault
		}
		// A value with a step is the beginning of a range.
		if !ranged {
			high = f.high
		}
	}
	switch {
	case low < f.low:
		return fmt.Sprintf("beginning of range (%d) below minimum (%d): %s", low, f.low, text)
	case high > f.high:
		return fmt.Sprintf("end of range (%d) above maximum (%d): %s", high, f.high, text)
	case low > high:
		return fmt.Sprintf("beginning of range (%d) beyond end of range (%d): %s", low, high, text)
	case step == 0:
		return "step of range should be a positive number: " + text
	}
	return ""
}

// value returns the value of a name or a number.
func (f scheduleField) value(text string) (n int, fault string) {
	for i, name := range f.names {
		if strings.EqualFold(text, name) {
			return f.low + i, ""
		}
	}
	return number(text)
}

func number(text string) (n int, fault string) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Sprintf("failed to parse int from %s: %s", text, err)
	}
	if n < 0 {
		return 0, fmt.Sprintf("negative number (%d) not allowed: %s", n, text)
	}
	return n, ""
}
