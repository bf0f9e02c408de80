package script

import (
	"fmt"
)

func readSet(s *Script, args []string) (step, error) {
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
			return fmt.Errorf("%d objects match, want exactly one", len(docs))
		}
		r.variables[name] = read(docs[0])
		r.printf("%s=%s\n", name, r.variables[name])
		return nil
	}, nil
}
