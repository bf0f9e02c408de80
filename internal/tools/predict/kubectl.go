package predict

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/volsim/volsim/internal/core/similar"
)

// notSteps are the verbs of kubectl that are no steps, with the reason and what to do.
var notSteps = map[string]string{
	"edit": "it opens an editor; write what you would change as patch OBJECT -p PATCH, or as apply -f FILE with the edited object",
	"expose": "it makes a Service, and networks are not simulated; to store it: kubectl expose … --dry-run=client -o yaml > FILE, then " +
		"create -f FILE",
	"certificate": "certificates are not simulated",
	"evict":       "kubectl has no such verb; drain NODE evicts pods, delete pod/NAME deletes one",
}

// reads and inside are verbs that change no object.
var (
	reads = []string{"get", "describe", "logs", "top", "explain", "events", "diff", "auth", "api-resources", "api-versions", "cluster-info", "version",
		"config", "kustomize", "plugin", "completion", "options"}
	inside = []string{"exec", "cp", "attach", "port-forward", "proxy", "debug"}
)

// noStep returns the error about a verb that is no step.
func noStep(verb string, names []string) error {
	switch {
	case notSteps[verb] != "":
		return fmt.Errorf("no step %q: %s", verb, notSteps[verb])
	case slices.Contains(reads, verb):
		return fmt.Errorf("no step %q: it only reads, and changes nothing that could be predicted; volsim predict -o yaml prints the objects "+
			"after the other steps", verb)
	case slices.Contains(inside, verb):
		return fmt.Errorf("no step %q: it acts inside of containers, which are not simulated; name what it changes in the cluster as a step", verb)
	}
	return fmt.Errorf("unknown step %q%s: want one of: %s", verb, similar.Hint(verb, names), strings.Join(Usage(), "; "))
}

// withoutKubectl returns a step as scripts write it: without the word kubectl, and with the options that stand before the verb behind it. Options
// that choose a cluster say nothing here.
func withoutKubectl(words []string) ([]string, error) {
	if len(words) == 0 || words[0] != "kubectl" {
		return words, nil
	}
	var moved []string
	rest := words[1:]
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
		name, _, hasValue := strings.Cut(rest[0], "=")
		n := 1
		if !hasValue {
			n = 2
		}
		if len(rest) < n {
			return nil, errors.New("missing value of " + name)
		}
		if name == "-n" || name == "--namespace" {
			moved = append(moved, rest[:n]...)
		} else if name != "--context" && name != "--kubeconfig" && name != "--cluster" && name != "--user" {
			return nil, fmt.Errorf("option %s before the verb: only -n, --context and --kubeconfig may stand there", name)
		}
		rest = rest[n:]
	}
	if len(rest) == 0 {
		return nil, errors.New("missing verb after kubectl")
	}
	return slices.Concat(rest[:1], moved, rest[1:]), nil
}
