package script

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
)

// Refusal is an error with which kubectl refuses a command before it sends a request.
type Refusal struct{ Err error }

// Error returns the text of Err.
func (e Refusal) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e Refusal) Unwrap() error { return e.Err }

// overwrites reports whether a command may change values that exist. Scripts do not need --overwrite for that.
func (s *Script) overwrites(a arguments) (bool, error) {
	overwrite, err := a.flag("overwrite")
	return overwrite || !s.strict && !a.has("overwrite"), err
}

// checkOverwrite refuses to change labels or annotations that an object has with other values.
func (r *runner) checkOverwrite(ref api.Ref, where string, values map[string]any) error {
	obj, err := r.get(ref)
	if err != nil {
		return err
	}
	stored := obj.GetLabels()
	if where == "annotations" {
		stored = obj.GetAnnotations()
	}
	var found []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		now, exists := stored[key]
		if value, sets := values[key].(string); exists && sets && value != now {
			found = append(found, fmt.Sprintf("'%s' already has a value (%s)", key, now))
		}
	}
	switch {
	case len(found) == 0:
		return nil
	case where == "annotations":
		return Refusal{fmt.Errorf("--overwrite is false but found the following declared annotation(s): %s", strings.Join(found, "; "))}
	}
	return Refusal{fmt.Errorf("%s, and --overwrite is false", strings.Join(found, ", and --overwrite is false, "))}
}

// checkTaints refuses to add taints that a node has with the same effect.
func (r *runner) checkTaints(ref api.Ref, changes []taintChange) error {
	obj, err := r.get(ref)
	if err != nil {
		return err
	}
	var found []string
	for _, c := range changes {
		same := func(t corev1.Taint) bool { return t.MatchTaint(&c.taint) }
		if !c.remove && slices.ContainsFunc(obj.(*corev1.Node).Spec.Taints, same) {
			found = append(found, c.taint.Key)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return Refusal{fmt.Errorf("node %s already has %s taint(s) with same effect(s) and --overwrite is false", ref.Key, strings.Join(found, ","))}
}
