package script

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/document"
)

// readScale reads the command scale.
func readScale(s *Script, args []string) (step, error) {
	a, err := readArguments(args, append([]option{{long: "replicas", value: true}, {long: "current-replicas", value: true}}, targetOptions...)...)
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseInt(a.get("replicas", ""), 10, 32)
	if err != nil || n < 0 {
		return nil, usageOf("scale", "want --replicas=N with a number from 0")
	}
	current, err := strconv.ParseInt(a.get("current-replicas", "-1"), 10, 32)
	if err != nil || current < -1 {
		return nil, usageOf("scale", "want --current-replicas=N with a number from 0")
	}
	if len(a.rest) == 0 {
		return nil, usageOf("scale", "missing object")
	}
	q, err := readTargets(s, "scale", a.rest, a)
	if err != nil {
		return nil, err
	}
	for _, kind := range q.kinds {
		// The definition of a custom kind says which field holds the replicas; the command does not read it.
		if known := s.describe(kind); known == nil || !known.Scale || known.Custom {
			return nil, fmt.Errorf("cannot scale %s: the kind has no field spec.replicas to scale", plural(kind))
		}
	}
	return forTargets(q, func(r *runner, ref api.Ref) error {
		if err := r.checkReplicas(ref, current); err != nil {
			return err
		}
		if err := r.cluster.Patch(emptyObject(ref), fmt.Sprintf(`{"spec":{"replicas":%d}}`, n)); err != nil {
			return err
		}
		r.printf("%s scaled\n", displayName(ref))
		return nil
	}), nil
}

// checkReplicas refuses to scale an object that has not the given number of replicas; -1 allows any.
func (r *runner) checkReplicas(ref api.Ref, want int64) error {
	if want < 0 {
		return nil
	}
	obj, err := r.get(ref)
	if err != nil {
		return err
	}
	replicas, found, err := unstructured.NestedFieldNoCopy(document.Of(obj), "spec", "replicas")
	if !found {
		replicas = 1
	}
	if now := fmt.Sprint(replicas); err == nil && now != strconv.FormatInt(want, 10) {
		err = Refusal{fmt.Errorf("Expected replicas to be %d, was %s", want, now)} //nolint:staticcheck // kubectl's text
	}
	return err
}
