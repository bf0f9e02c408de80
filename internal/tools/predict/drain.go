package predict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/tools/drain"
)

func (r *run) cordon(node string) error {
	return r.Patch(emptyObject(api.Ref{Kind: api.Node, Key: node}), `{"spec":{"unschedulable":true}}`)
}

// parseDrain reads drain NODE and the options of kubectl.
func parseDrain(args []string) (func(*run) error, error) {
	timeout := maxWait
	var opts drain.Options
	args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		option, value, _ := strings.Cut(arg, "=")
		to := map[string]*bool{"--ignore-daemonsets": &opts.IgnoreDaemonSets, "--delete-emptydir-data": &opts.DeleteEmptyDirData,
			"--force": &opts.Force}[option]
		if to == nil || value != "" && value != "true" && value != "false" {
			return false
		}
		*to = value != "false"
		return true
	})
	for i := 0; i < len(args); i++ {
		value, found := strings.CutPrefix(args[i], "--timeout=")
		if args[i] == "--timeout" && i+1 < len(args) {
			value, found = args[i+1], true
			args = slices.Delete(args, i+1, i+2)
		}
		if !found {
			continue
		}
		d, err := time.ParseDuration(value)
		if err != nil || d < 0 {
			return nil, fmt.Errorf("invalid --timeout %q: want a duration such as 30s", value)
		}
		if args = slices.Delete(args, i, i+1); d > 0 {
			timeout = min(d, maxWait)
		}
		i--
	}
	return onNode(func(r *run, node string) error { return r.drain(node, opts, timeout) })(args)
}

// drain cordons a node and evicts its pods, as kubectl drain does. It waits until they are gone. A drain that does not end is a note.
func (r *run) drain(node string, opts drain.Options, timeout time.Duration) error {
	if err := r.cordon(node); err != nil {
		return err
	}
	if r.opts.For < timeout && timeout == maxWait {
		timeout = r.opts.For
	}
	d := drain.Drain{Cluster: r.Cluster.Cluster, Advance: r.advance, Timeout: timeout}
	pods, _, err := drain.Pods(r.Cluster.Cluster, node, opts)
	if err != nil {
		return refusal{fmt.Errorf("unable to drain node %q: %w", node, err)}
	}
	for _, pod := range pods {
		r.touched = append(r.touched, api.RefTo(pod))
	}
	if err = d.Evict(pods); err == nil {
		err = d.AwaitGone(pods)
	}
	if err != nil {
		r.note("The drain of node %s does not end: %s.", node, strings.TrimSuffix(err.Error(), "."))
	}
	return nil
}
