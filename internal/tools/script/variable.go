package script

import (
	"fmt"
)

func readSet(_ *Script, args []string) (step, error) {
	a, err := readArguments(args, namespaceOption)
	if err != nil {
		return nil, err
	}
	if len(a.rest) < 2 || !isName(a.rest[0]) {
		return nil, usageOf("set", "a name of letters, digits and _ and a value are needed")
	}
	name := a.rest[0]
	if len(a.rest) == 2 {
		return func(p *player) error {
			p.variables[name] = a.rest[1]
			return nil
		}, nil
	}
	last := len(a.rest) - 1
	which, err := readWhich(a.rest[1:last], a.get("namespace", ""))
	if err != nil {
		return nil, err
	}
	read, err := fieldOf(which.kind, a.rest[last])
	if err != nil {
		return nil, err
	}
	return func(p *player) error {
		docs, _, err := which.find(p)
		if err != nil {
			return err
		}
		if len(docs) != 1 {
			return fmt.Errorf("there are %d objects of which this is true: exactly one is needed", len(docs))
		}
		p.variables[name] = read(docs[0])
		p.printf("%s=%s\n", name, p.variables[name])
		return nil
	}, nil
}
