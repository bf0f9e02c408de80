package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/internal/core/objname"
)

// allInvariants are those of all scripts, which do not change them.
var allInvariants = check.All()

// invariants returns the invariants with these comma-separated names; "all" returns all.
func invariants(names string) ([]check.Invariant, error) {
	if names == "all" {
		return allInvariants, nil
	}
	var known []string
	for _, i := range allInvariants {
		known = append(known, i.Name)
	}
	picked := strings.Split(names, ",")
	for _, name := range picked {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("unknown invariant %q: want all, or some of %s", name, strings.Join(known, ", "))
		}
	}
	return check.Named(picked...)
}

// checkViolations returns the first new violation of an enforced invariant that no forced action explains.
func (r *runner) checkViolations() error {
	if len(r.enforced) == 0 {
		return nil
	}
	all := r.cluster.Violations()
	fresh := all[r.seenViolations:]
	r.seenViolations = len(all)
	for _, v := range check.Unforced(fresh) {
		if slices.Contains(r.enforced, v.Invariant) {
			return fmt.Errorf("invariant %s violated: %s (at +%s)", v.Invariant, v.Text, v.At.Sub(r.start))
		}
	}
	return nil
}

var violationFields = []string{"name", "text", "forced", "at", "volume", "objects"}

func readExpectViolation(words []string) (step, error) {
	count, rest, _, err := takeCount(words)
	if err != nil {
		return nil, err
	}
	var conditions []condition
	if len(rest) > 0 {
		if conditions, err = readConditions("violation", violationFields, rest); err != nil {
			return nil, err
		}
	}
	for _, c := range conditions {
		if c.field == "name" {
			if err := c.isKnown(invariantNames()); err != nil {
				return nil, err
			}
		}
	}
	return func(r *runner) error {
		if !r.watches {
			return errors.New("no invariant is checked; begin the script with config check=all, or config watch=all if violations are allowed")
		}
		n := 0
		var others []string
		for _, v := range r.cluster.Violations() {
			if requireAll(conditions, func(field string) string { return r.violationField(v, field) }) == nil {
				n++
			} else {
				others = append(others, v.Invariant+": "+v.Text)
			}
		}
		if ok, err := countHolds(count, n); ok || err != nil {
			return err
		}
		return countError(count, n, "violations", others)
	}, nil
}

func invariantNames() []string {
	names := make([]string, len(allInvariants))
	for i, inv := range allInvariants {
		names[i] = inv.Name
	}
	return names
}

func (r *runner) violationField(v check.Violation, field string) string {
	switch field {
	case "name":
		return v.Invariant
	case "text":
		return v.Text
	case "forced":
		return v.Forced
	case "at":
		return v.At.Sub(r.start).String()
	case "volume":
		return v.Volume
	}
	names := make([]string, len(v.Objects))
	for i, ref := range v.Objects {
		names[i] = objname.Of(ref)
	}
	return strings.Join(names, ",")
}

// readViolations reads the command violations, which prints them.
func readViolations(_ *Script, args []string) (step, error) {
	if len(args) > 0 {
		return nil, usageOf("violations", "want no arguments")
	}
	return func(r *runner) error {
		for _, v := range r.cluster.Violations() {
			r.printf("%s\n", v)
		}
		return nil
	}, nil
}

func invariantHelp() string {
	var out strings.Builder
	for _, inv := range check.All() {
		fmt.Fprintf(&out, "- `%s`: %s\n", inv.Name, inv.Description)
	}
	return strings.TrimSuffix(out.String(), "\n")
}
