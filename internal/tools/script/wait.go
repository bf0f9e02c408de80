package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/objects"
)

// goal checks the condition of wait for one object, of which alone it depends: the error is nil once it is met.
type goal func(r *runner, ref api.Ref) error

// defaultTimeout is the default of kubectl wait --timeout.
const defaultTimeout = 30 * time.Second

func readTimeout(a arguments) (time.Duration, error) {
	if !a.has("timeout") {
		return defaultTimeout, nil
	}
	return positiveDuration(a.get("timeout", ""))
}

func readWait(s *Script, args []string) (step, error) {
	w, err := newWait(s, args)
	if err != nil {
		return nil, err
	}
	return func(r *runner) error {
		refs, err := w.objects(r)
		if err != nil {
			return err
		}
		if w.condition == "delete" {
			// As kubectl, which says nothing about what does not exist.
			refs = slices.DeleteFunc(slices.Clone(refs), func(ref api.Ref) bool { _, err := r.get(ref); return err != nil })
		}
		return r.waitFor(refs, w.reached, w.condition, w.Timeout)
	}, nil
}

// newWait reads the arguments of wait.
func newWait(s *Script, args []string) (*Wait, error) {
	a, err := readArguments(args, append([]option{timeoutOption, {long: "for", value: true}}, targetOptions...)...)
	if err != nil {
		return nil, err
	}
	if !a.has("for") {
		return nil, usageOf("wait", "missing --for=CONDITION")
	}
	w := &Wait{script: s, condition: a.get("for", "")}
	if w.Timeout, err = readTimeout(a); err != nil {
		return nil, err
	}
	if len(a.rest) == 0 {
		return nil, usageOf("wait", "missing object")
	}
	if w.targets, err = readTargets(s, "wait", a.rest, a); err != nil {
		return nil, err
	}
	w.reached, err = readGoal(w.targets.kinds[0], w.condition)
	return w, err
}

// readGoal reads the value of --for.
func readGoal(kind api.Kind, text string) (goal, error) {
	switch text {
	case "delete":
		return waitForDelete, nil
	case "create":
		return func(r *runner, ref api.Ref) error {
			_, err := r.get(ref)
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
		// Without a value any non-empty one is enough.
		if _, value, _ := strings.Cut(template, "}"); !strings.HasPrefix(value, "=") {
			template += "!="
		}
		word = template
	}
	checks, err := readChecks(kind, []string{word})
	if err != nil {
		return nil, err
	}
	return func(r *runner, ref api.Ref) error {
		obj, err := r.read(ref)
		if err != nil {
			return err
		}
		wrong, err := unmet(&document{obj: obj}, checks)
		if err == nil && wrong != "" {
			err = errors.New(wrong)
		}
		return err
	}, nil
}

// asStatus returns the status of a condition in its canonical case: kubectl accepts "true" for "True".
func asStatus(text string) string {
	for _, s := range statuses {
		if strings.EqualFold(s, text) {
			return s
		}
	}
	return text
}

func waitForDelete(r *runner, ref api.Ref) error {
	obj, err := r.get(ref)
	if err != nil {
		return nil
	}
	if obj.GetDeletionTimestamp() == nil {
		return errors.New("it is not being deleted")
	}
	return fmt.Errorf("it is being deleted; finalizers %v remain", obj.GetFinalizers())
}

// waitFor advances virtual time until every object meets the condition.
func (r *runner) waitFor(refs []api.Ref, reached goal, wanted string, timeout time.Duration) error {
	var missing api.Ref
	var why error
	events := 0
	changed := r.changes(refs)
	met := func() bool {
		const interval = 10_000
		if events++; events%interval == 0 {
			r.progress()
		}
		if !changed() {
			return false
		}
		for _, ref := range refs {
			if why = reached(r, ref); why != nil {
				missing = ref
				return false
			}
		}
		return true
	}
	r.waiting = true
	err := r.until(met, timeout)
	r.waiting = false
	if err != nil {
		stuck := new(engine.StuckError)
		if errors.As(err, &stuck) && isLivelock(stuck) {
			return err
		}
		return fmt.Errorf("timed out waiting for %s on %s after %s: %w", wanted, displayName(missing), timeout, why)
	}
	for _, ref := range refs {
		r.printf("%s condition met\n", displayName(ref))
	}
	return nil
}

// changes returns a function that reports whether any of the objects has changed since its previous call. The first call returns true.
func (r *runner) changes(refs []api.Ref) func() bool {
	s := internals.Engine(r.cluster).Store()
	seen := make([]api.Object, len(refs))
	first := true
	return func() bool {
		changed := first
		first = false
		for i, ref := range refs {
			// Stored objects are immutable: another version is another object. After an error there is none.
			obj, _ := s.Get(ref.Kind, ref.Key)
			changed = changed || obj != seen[i]
			seen[i] = obj
		}
		return changed
	}
}

// Wait is the command wait, for tools that advance time themselves.
type Wait struct {
	// Timeout is how long the command waits.
	Timeout time.Duration

	script    *Script
	targets   query
	condition string
	reached   goal
}

// ParseWait reads the arguments of wait. namespace is the namespace of objects that are named without one.
func ParseWait(args []string, namespace string) (*Wait, error) {
	rest, namespace, err := namespaceOf(args, namespace)
	if err != nil {
		return nil, err
	}
	return newWait(toolScript("wait", namespace), rest)
}

// Objects returns the objects that the command waits for. As with kubectl, they must exist unless it waits for their creation or deletion.
func (w *Wait) Objects(c *volsim.Cluster) ([]api.Ref, error) {
	r := toolRunner(w.script, c)
	refs, err := w.objects(r)
	if err != nil || w.condition == "create" || w.condition == "delete" {
		return refs, err
	}
	for _, ref := range refs {
		if _, err := r.get(ref); err != nil {
			return nil, err
		}
	}
	return refs, nil
}

func (w *Wait) objects(r *runner) ([]api.Ref, error) {
	refs, err := w.targets.targets(r)
	if err == nil && len(refs) == 0 && w.condition != "delete" {
		err = Refusal{errors.New("no matching resources found")}
	}
	return refs, err
}

// Unmet returns the first of the objects that does not meet the condition, and why; nil if all do.
func (w *Wait) Unmet(c *volsim.Cluster, refs []api.Ref) error {
	r := toolRunner(w.script, c)
	for _, ref := range refs {
		if err := w.reached(r, ref); err != nil {
			return Refusal{fmt.Errorf("timed out waiting for the condition on %s/%s: %w", plural(ref.Kind), nameOf(ref), err)}
		}
	}
	return nil
}

func nameOf(ref api.Ref) string {
	_, name := objects.SplitKey(ref.Key)
	return name
}
