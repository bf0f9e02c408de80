package script

import (
	"fmt"
	"strconv"
)

func backendCommands() []*command {
	return []*command{{
		name: "attach-limit", group: breaking, usage: []string{"BACKEND N|none [NODE...]"},
		help: "Sets the maximum number of volumes that a CSI driver reports for these nodes, or for all nodes. A kubelet notices when it asks the driver, " +
			"every `nodeAllocatableUpdatePeriodSeconds` of the CSIDriver (never if that is unset), and then updates its CSINode.",
		examples: []string{"attach-limit disk.example.com 3 n1", "attach-limit disk.example.com none"},
		read:     readAttachLimit,
	}, volumeConditionCommand}
}

func readAttachLimit(s *Script, args []string) (step, error) {
	if len(args) < 2 {
		return nil, usageOf("attach-limit", "missing backend or number of volumes")
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
	return func(r *runner) error {
		b, err := r.backendNamed(name)
		if err != nil {
			return err
		}
		for _, node := range nodes {
			b.SetAttachLimit(node, limit)
		}
		return nil
	}, nil
}

// readLimit reads a maximum number of attached volumes.
func readLimit(word string) (int32, error) {
	n, err := strconv.ParseInt(word, 10, 32)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("invalid number of volumes %q: want a number from 0", word)
	}
	return int32(n), nil
}
