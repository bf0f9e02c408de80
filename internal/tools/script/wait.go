package script

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/tools/jsonpath"
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
		// As with kubectl, each object is waited for in turn, and the time is that of all.
		end := r.cluster.Now().Add(w.Timeout)
		var failed error
		for _, ref := range refs {
			switch {
			case w.condition == "delete" && !r.exists(ref):
				continue // kubectl says nothing about what does not exist
			case w.Timeout == 0 && w.condition != "create" && r.exists(ref) && w.reached(r, ref) != nil:
				failed = both(failed, Refusal{fmt.Errorf("condition not met for %s", pluralName(ref))})
				continue
			case w.Timeout > 0 && !r.cluster.Now().Before(end) && r.exists(ref):
				failed = both(failed, timedOut(ref, errors.New("no time is left for it")))
				continue
			}
			if err := r.waitFor(ref, w.reached, w.condition == "create", end); err != nil {
				failed = both(failed, err)
				continue
			}
			r.printf("%s condition met\n", displayName(ref))
		}
		return failed
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
	name, isCondition := strings.CutPrefix(text, "condition=")
	if isCondition {
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
		doc := jsonpath.NewDocument(obj)
		err = meets(doc, checks)
		if err == nil && isCondition && outdated(doc) {
			err = errors.New("the condition is of an earlier generation")
		}
		return err
	}, nil
}

// generation and observedGeneration are the paths of these fields.
var generation, observedGeneration = jsonpath.Fields("metadata", "generation"), jsonpath.Fields("status", "observedGeneration")

// outdated reports whether the status is about an earlier generation; kubectl then does not look at conditions.
func outdated(doc *jsonpath.Document) bool {
	of := func(p jsonpath.Path) (n float64, ok bool) {
		if found := doc.Find(p); len(found) > 0 {
			return jsonpath.Number(found[0])
		}
		return 0, false
	}
	observed, ok := of(observedGeneration)
	current, _ := of(generation)
	return ok && observed < current
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

// waitFor advances virtual time until an object meets the condition, or until the end. unnamed: kubectl does not say which object it is.
func (r *runner) waitFor(ref api.Ref, reached goal, unnamed bool, end time.Time) error {
	var why error
	events := 0
	changed := r.changes(ref)
	met := func() bool {
		const interval = 10_000
		if events++; events%interval == 0 {
			r.progress()
		}
		if changed() {
			why = reached(r, ref)
		}
		return why == nil
	}
	r.waiting = true
	err := r.until(met, max(end.Sub(r.cluster.Now()), 0))
	r.waiting = false
	stuck := new(engine.StuckError)
	switch {
	case err == nil, errors.As(err, &stuck) && isLivelock(stuck):
		return err
	case unnamed:
		return errors.New("timed out waiting for the condition")
	}
	if _, missing := r.read(ref); missing != nil {
		return r.withNamespace(ref, missing)
	}
	return timedOut(ref, why)
}

// timedOut returns the error of kubectl for an object that does not meet a condition, with the reason.
func timedOut(ref api.Ref, why error) error {
	return Refusal{fmt.Errorf("timed out waiting for the condition on %s: %w", pluralName(ref), why)}
}

// changes returns a function that reports whether the object has changed since its previous call. The first call returns true.
func (r *runner) changes(ref api.Ref) func() bool {
	s := internals.Engine(r.cluster).Store()
	var seen api.Object
	var version uint64
	first := true
	return func() bool {
		if v := s.Version(); v != version {
			version = v
		} else if !first {
			return false // no object has changed
		}
		// Stored objects are immutable: another version is another object.
		obj := s.Lookup(ref.Kind, ref.Key)
		changed := first || obj != seen
		seen, first = obj, false
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
	refs := w.targets.refs
	var err error
	if refs == nil {
		var objs []api.Object
		objs, err = w.targets.find(r)
		for _, obj := range objs {
			refs = append(refs, api.RefTo(obj))
		}
	}
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
			return timedOut(ref, err)
		}
	}
	return nil
}

// pluralName returns the name of an object with its resource, without the group.
func pluralName(ref api.Ref) string {
	_, name := objects.SplitKey(ref.Key)
	resource, _, _ := strings.Cut(plural(ref.Kind), ".")
	return resource + "/" + name
}
