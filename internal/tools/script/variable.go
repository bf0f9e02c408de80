package script

import (
	"fmt"
	"slices"
	"strings"

	"github.com/volsim/volsim/internal/tools/containers"
)

func readSet(s *Script, args []string) (step, error) {
	if setsContainers(args) {
		return readSetContainers(s, args)
	}
	a, err := readArguments(args, namespaceOption)
	if err != nil {
		return nil, err
	}
	if len(a.rest) < 2 || !isName(a.rest[0]) {
		return nil, usageOf("set", "missing value, or invalid name: want letters, digits and _")
	}
	name := a.rest[0]
	if len(a.rest) == 2 {
		return func(r *runner) error {
			r.variables[name] = a.rest[1]
			return nil
		}, nil
	}
	last := len(a.rest) - 1
	target, err := readTarget(s, a.rest[1:last], a.get("namespace", ""))
	if err != nil {
		return nil, err
	}
	read, err := fieldOf(target.kind, a.rest[last])
	if err != nil {
		return nil, err
	}
	return func(r *runner) error {
		docs, _, err := target.find(r)
		if err != nil {
			return err
		}
		if len(docs) != 1 {
			if target.ref.Key != "" {
				if _, err := r.get(target.ref); err != nil {
					return err
				}
			}
			return fmt.Errorf("%d objects match, want exactly one", len(docs))
		}
		r.variables[name] = read(docs[0])
		r.printf("%s=%s\n", name, r.variables[name])
		return nil
	}, nil
}

// setsContainers reports whether set is that of kubectl: set image, env or resources of an object.
func setsContainers(args []string) bool {
	return len(args) > 2 && slices.Contains([]string{"image", "env", "resources"}, args[0]) &&
		slices.ContainsFunc(args[2:], func(arg string) bool { return strings.Contains(arg, "=") || strings.HasSuffix(arg, "-") })
}

// readSetContainers reads set image OBJECT CONTAINER=IMAGE..., set env OBJECT KEY=VALUE... and set resources OBJECT --requests=… --limits=….
func readSetContainers(s *Script, args []string) (step, error) {
	change, err := containers.Parse(args)
	if err != nil {
		return nil, err
	}
	refs, err := s.refsOf([]string{change.Object}, change.Namespace)
	if err != nil {
		return nil, err
	}
	return func(r *runner) error {
		for _, ref := range refs {
			stored, err := r.get(ref)
			if err != nil {
				return err
			}
			patch, err := change.Patch(stored)
			if err != nil {
				return err
			}
			changed, err := r.change(ref, string(patch), false)
			if changed {
				r.printf("%s %s updated\n", displayName(ref), change.What)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, nil
}
