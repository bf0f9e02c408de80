package script

import (
	"fmt"
	"strconv"
)

func backendCommands() []*command {
	return []*command{{
		name: "attach-limit", group: breaking, usage: []string{"BACKEND N|none [NODE...]"},
		help: "Has a CSI driver let nodes have so many volumes attached from now on: these nodes, or all of them. A kubelet learns of it when it asks the driver, " +
			"which it does every `nodeAllocatableUpdatePeriodSeconds` of the CSIDriver, and not without; then its CSINode says so.",
		examples: []string{"attach-limit disk.example.com 3 n1", "attach-limit disk.example.com none"},
		read:     readAttachLimit,
	}}
}

func readAttachLimit(s *Script, args []string) (step, error) {
	if len(args) < 2 {
		return nil, usageOf("attach-limit", "a backend and a number of volumes are needed")
	}
	name, nodes := args[0], args[2:]
	if err := knownBackend(s, name); err != nil {
		return nil, err
	}
	limit := int32(-1)
	if args[1] != "none" {
		n, err := readLimit(args[1])
		if err != nil {
			return nil, err
		}
		limit = n
	}
	if len(nodes) == 0 {
		nodes = []string{""}
	}
	return func(p *player) error {
		b, err := p.backendNamed(name)
		if err != nil {
			return err
		}
		for _, node := range nodes {
			b.SetAttachLimit(node, limit)
		}
		return nil
	}, nil
}

// readLimit reads how many volumes a node can have attached.
func readLimit(word string) (int32, error) {
	n, err := strconv.ParseInt(word, 10, 32)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is no number of volumes", word)
	}
	return int32(n), nil
}
