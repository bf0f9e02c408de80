package script

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// goal is what wait waits for, of one object: err is nil when it is reached.
type goal func(p *player, ref api.Ref) error

// defaultTimeout is that of kubectl wait.
const defaultTimeout = 30 * time.Second

func readTimeout(a arguments) (time.Duration, error) {
	if !a.has("timeout") {
		return defaultTimeout, nil
	}
	return positiveDuration(a.get("timeout", ""))
}

func readWait(_ *Script, args []string) (step, error) {
	a, err := readArguments(args, namespaceOption, timeoutOption, option{long: "for", value: true})
	if err != nil {
		return nil, err
	}
	if !a.has("for") {
		return nil, usageOf("wait", "it is not said what for")
	}
	timeout, err := readTimeout(a)
	if err != nil {
		return nil, err
	}
	refs, err := refsOf(a.rest, a.get("namespace", ""))
	if err != nil {
		return nil, err
	}
	wanted := a.get("for", "")
	reached, err := readGoal(refs[0].Kind, wanted)
	if err != nil {
		return nil, err
	}
	return func(p *player) error { return p.waitFor(refs, reached, wanted, timeout) }, nil
}

// readGoal reads what follows --for=.
func readGoal(kind api.Kind, text string) (goal, error) {
	switch text {
	case "delete":
		return waitForDelete, nil
	case "create":
		return func(p *player, ref api.Ref) error {
			_, err := p.get(ref)
			return err
		}, nil
	}
	word := text
	if name, ok := strings.CutPrefix(text, "condition="); ok {
		if name, status, given := strings.Cut(name, "="); given {
			word = conditionPrefix + name + "=" + asStatus(status)
		} else {
			word = conditionPrefix + name + "=True"
		}
	}
	if template, ok := strings.CutPrefix(text, "jsonpath="); ok {
		// Without a value it is enough that there is one.
		if _, value, _ := strings.Cut(template, "}"); !strings.HasPrefix(value, "=") {
			template += "!="
		}
		word = template
	}
	checks, err := readChecks(kind, []string{word})
	if err != nil {
		return nil, err
	}
	return func(p *player, ref api.Ref) error {
		obj, err := p.get(ref)
		if err != nil {
			return err
		}
		wrong, err := unmet(documentOf(obj), checks)
		if err == nil && wrong != "" {
			err = errors.New(wrong)
		}
		return err
	}, nil
}

// asStatus is the status of a condition as conditions have it: kubectl takes "true" for "True".
func asStatus(text string) string {
	for _, s := range statuses {
		if strings.EqualFold(s, text) {
			return s
		}
	}
	return text
}

func waitForDelete(p *player, ref api.Ref) error {
	obj, err := p.get(ref)
	if err != nil {
		return nil
	}
	if obj.GetDeletionTimestamp() == nil {
		return errors.New("nobody has deleted it")
	}
	return fmt.Errorf("finalizers %v hold it", obj.GetFinalizers())
}

// waitFor lets time pass until all objects are as wanted.
func (p *player) waitFor(refs []api.Ref, reached goal, wanted string, timeout time.Duration) error {
	var missing api.Ref
	var why error
	events := 0
	met := func() bool {
		const often = 10_000
		if events++; events%often == 0 {
			p.progress()
		}
		for _, ref := range refs {
			if why = reached(p, ref); why != nil {
				missing = ref
				return false
			}
		}
		return true
	}
	p.waiting = true
	err := p.cluster.Until(met, timeout)
	p.waiting = false
	if err != nil {
		stuck := new(engine.StuckError)
		if errors.As(err, &stuck) && endless(stuck) {
			return err
		}
		return fmt.Errorf("timed out waiting for %s on %s after %s: %w", wanted, shown(missing), timeout, why)
	}
	for _, ref := range refs {
		p.printf("%s condition met\n", shown(ref))
	}
	return nil
}
