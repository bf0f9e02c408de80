package predict

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/volsim/volsim/internal/tools/script"
)

// maxWait is the longest simulated time of one step: a day.
const maxWait = 24 * time.Hour

// parseWait reads wait DURATION, and the form of kubectl: wait --for=CONDITION OBJECT.
func parseWait(namespace string, args []string) (func(*run) error, error) {
	if isWaitFor(args) {
		return parseWaitFor(namespace, args)
	}
	if len(args) != 1 {
		return nil, errors.New("want one duration, or --for=CONDITION and an object")
	}
	d, err := script.ParseDuration(args[0])
	switch {
	case err != nil:
		return nil, err
	case d < 0 || d > maxWait:
		return nil, fmt.Errorf("want a duration from 0 to %v", maxWait)
	}
	return func(r *run) error { return r.advance(d) }, nil
}

// isWaitFor reports whether the arguments of wait are those of kubectl.
func isWaitFor(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--for") })
}

func parseWaitFor(namespace string, args []string) (func(*run) error, error) {
	wait, err := script.ParseWait(args, namespace)
	if err != nil {
		return nil, err
	}
	if wait.Timeout > maxWait {
		return nil, fmt.Errorf("want a timeout of at most %v", maxWait)
	}
	return func(r *run) error {
		refs, err := wait.Objects(r.Cluster.Cluster)
		if err != nil {
			return err
		}
		const poll = 100 * time.Millisecond
		for end := r.Now().Add(wait.Timeout); ; {
			unmet := wait.Unmet(r.Cluster.Cluster, refs)
			left := end.Sub(r.Now())
			if unmet == nil || left <= 0 {
				return unmet
			}
			if err := r.advance(min(left, poll)); err != nil {
				return err
			}
		}
	}, nil
}
