package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/tools/kubectl"
	"github.com/volsim/volsim/trace"
)

// entryFilter selects entries of the trace.
type entryFilter struct {
	entryType  string // "" selects all
	about      api.Ref
	conditions []condition
	reads      []func(*runner, trace.Entry) string
	begun      bool // includes the begin of calls
}

// readFilter reads [KIND/NAME] CONDITION...
func readFilter(s *Script, sort string, words []string, namespace string) (f entryFilter, err error) {
	f.entryType = sort
	if f.about, words, err = takeRef(s, words, namespace); err != nil {
		return f, err
	}
	for _, w := range words {
		c, ok, err := readCondition(w)
		if err != nil {
			return f, err
		}
		if !ok {
			return f, fmt.Errorf("invalid condition %q: want FIELD=VALUE, such as actor=user", w)
		}
		i := slices.IndexFunc(entryFields, func(e entryField) bool { return e.name == c.field })
		if i < 0 {
			return f, fmt.Errorf("unknown field %q of a trace entry: want one of %s", c.field, strings.Join(entryFieldNames(), ", "))
		}
		if c.field == "at" {
			if _, err := time.ParseDuration(c.value); err != nil {
				return f, fmt.Errorf("invalid condition %s: %q is not a duration", w, c.value)
			}
		}
		if err := c.isOneOf(entryFields[i].values); err != nil {
			return f, err
		}
		if check := entryFields[i].check; check != nil {
			if err := check(sort, c); err != nil {
				return f, err
			}
		}
		f.begun = f.begun || c.field == "outcome"
		f.conditions, f.reads = append(f.conditions, c), append(f.reads, entryFields[i].read)
	}
	return f, nil
}

func (f entryFilter) matches(r *runner, e trace.Entry) (bool, error) {
	if f.entryType != "" && !slices.Contains(entryTypes[f.entryType], e.Type) || f.about != (api.Ref{}) && e.Object != f.about {
		return false, nil
	}
	for i, c := range f.conditions {
		if ok, err := c.holds(f.reads[i](r, e)); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// compares reports whether each condition can be evaluated for each entry. That of an order of values that are no times may fail.
func (f entryFilter) compares() bool {
	return !slices.ContainsFunc(f.conditions, func(c condition) bool { return c.field != "at" && strings.ContainsAny(c.op, "<>") })
}

func readExpectEntry(s *Script, sort string, words []string, namespace string) (step, error) {
	count, rest, _, err := takeCount(words)
	if err != nil {
		return nil, err
	}
	f, err := readFilter(s, sort, rest, namespace)
	if err != nil {
		return nil, err
	}
	return func(r *runner) error {
		n := 0
		for e := range r.cluster.Trace().Entries() {
			if sort == "call" && e.Verb == "begin" && !f.begun {
				continue
			}
			ok, err := f.matches(r, e)
			if err != nil {
				return err
			}
			if ok {
				n++
			}
		}
		if ok, err := countHolds(count, n); ok || err != nil {
			return err
		}
		return countError(count, n, "entries of the trace", nil)
	}, nil
}

func readTrace(s *Script, args []string) (step, error) {
	a, err := readArguments(args, namespaceOption)
	if err != nil {
		return nil, err
	}
	words, sort, file := a.rest, "", ""
	if len(words) > 0 && isEntryType(words[0]) {
		sort, words = words[0], words[1:]
	}
	if n := len(words); n > 0 {
		if _, isCondition, _ := readCondition(words[n-1]); !isCondition {
			if _, err := s.file(words[n-1]); err == nil {
				file, words = words[n-1], words[:n-1]
			} else if !strings.Contains(words[n-1], "/") {
				return nil, err
			}
		}
	}
	f, err := readFilter(s, sort, words, a.get("namespace", ""))
	if err != nil {
		return nil, err
	}
	return func(r *runner) error {
		unread := r.quiet && file == "" && !r.last()
		if unread && f.compares() && r.cluster.Trace() != nil {
			return nil
		}
		if err := r.printTrace(f, unread); err != nil || file == "" {
			return err
		}
		return r.compareFile("trace", r.printed.String(), file)
	}, nil
}

// printTrace prints the matching entries in aligned columns. With unread it only reports what is wrong with the conditions.
func (r *runner) printTrace(f entryFilter, unread bool) error {
	trace := r.cluster.Trace()
	if trace == nil {
		return errors.New("this run records no trace")
	}
	var rows [][3]string
	width := 0
	for e := range trace.Entries() {
		ok, err := f.matches(r, e)
		if err != nil {
			return err
		}
		if ok && !unread {
			rows = append(rows, [3]string{"+" + e.Time.Sub(r.start).String(), e.Actor, e.String()})
			width = max(width, utf8.RuneCountInString(e.Actor))
		}
	}
	for _, row := range rows {
		r.printf("%-10s  %-*s  %s\n", row[0], width, row[1], row[2])
	}
	return nil
}

// isAbout reports whether an Event is about the object.
func isAbout(e *corev1.Event, ref api.Ref) bool { return kubectl.About(e, ref) }
