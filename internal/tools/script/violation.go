package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/explain"
)

// invariants finds those of the given names, with commas between them; "all" is all.
func invariants(names string) ([]check.Invariant, error) {
	if names == "all" {
		return check.All(), nil
	}
	return check.Named(strings.Split(names, ",")...)
}

// checkViolations fails when an invariant that must hold did not, and nobody forced it.
func (p *player) checkViolations() error {
	if len(p.must) == 0 {
		return nil
	}
	all := p.cluster.Violations()
	fresh := all[p.violations:]
	p.violations = len(all)
	for _, v := range check.Unforced(fresh) {
		if slices.Contains(p.must, v.Invariant) {
			return fmt.Errorf("%s does not hold: %s (at +%s)", v.Invariant, v.Text, v.At.Sub(p.start))
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
	return func(p *player) error {
		if len(p.watched) == 0 {
			return errors.New("no invariant is checked: begin the script with config check=all, or watch=all if it may be violated")
		}
		n := 0
		var others []string
		for _, v := range p.cluster.Violations() {
			if holdsOrWhy(conditions, func(field string) string { return p.violationField(v, field) }) == nil {
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

func (p *player) violationField(v check.Violation, field string) string {
	switch field {
	case "name":
		return v.Invariant
	case "text":
		return v.Text
	case "forced":
		return v.Forced
	case "at":
		return v.At.Sub(p.start).String()
	case "volume":
		return v.Volume.ID
	}
	names := make([]string, len(v.Objects))
	for i, ref := range v.Objects {
		names[i] = explain.Name(ref)
	}
	return strings.Join(names, ",")
}

// readViolations reads the command that prints them.
func readViolations(_ *Script, args []string) (step, error) {
	if len(args) > 0 {
		return nil, usageOf("violations", "it takes nothing")
	}
	return func(p *player) error {
		for _, v := range p.cluster.Violations() {
			p.printf("%s\n", v)
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
