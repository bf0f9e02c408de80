package script

import (
	"fmt"
	"strconv"
)

// readScale reads the command scale.
func readScale(s *Script, args []string) (step, error) {
	a, err := readArguments(args, namespaceOption, option{long: "replicas", value: true})
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseInt(a.get("replicas", ""), 10, 32)
	if err != nil || n < 0 {
		return nil, usageOf("scale", "want --replicas=N with a number from 0")
	}
	if len(a.rest) == 0 {
		return nil, usageOf("scale", "missing object")
	}
	refs, err := s.refsOf(a.rest, a.get("namespace", ""))
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		// The definition of a custom kind says which field holds the replicas; the command does not read it.
		if known := s.describe(ref.Kind); known == nil || !known.Scale || known.Custom {
			return nil, fmt.Errorf("cannot scale %s: its kind has no field spec.replicas to scale", displayName(ref))
		}
	}
	return func(r *runner) error {
		for _, ref := range refs {
			if err := r.cluster.Patch(emptyObject(ref), fmt.Sprintf(`{"spec":{"replicas":%d}}`, n)); err != nil {
				return err
			}
			r.printf("%s scaled\n", displayName(ref))
		}
		return nil
	}, nil
}
