package script

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/volsim/volsim/internal/tools/drain"
)

// maxDrain is the time after which a drain without --timeout gives up.
const maxDrain = time.Hour

func readDrain(s *Script, args []string) (step, error) {
	a, err := readArguments(args, option{long: "ignore-daemonsets"}, option{long: "force"}, option{long: "delete-emptydir-data"},
		option{long: "disable-eviction"}, option{long: "grace-period", value: true}, option{long: "pod-selector", value: true},
		option{long: "skip-wait-for-delete-timeout", value: true}, timeoutOption, selectorOption, chunkOption)
	if err != nil {
		return nil, err
	}
	q, err := readNodes(s, "drain", a)
	if err != nil {
		return nil, err
	}
	var opts drain.Options
	for _, f := range []struct {
		name string
		to   *bool
	}{{"ignore-daemonsets", &opts.IgnoreDaemonSets}, {"force", &opts.Force}, {"delete-emptydir-data", &opts.DeleteEmptyDirData},
		{"disable-eviction", &opts.Delete}} {
		if *f.to, err = a.flag(f.name); err != nil {
			return nil, err
		}
	}
	grace, err := strconv.ParseInt(a.get("grace-period", "-1"), 10, 32)
	if err != nil {
		return nil, fmt.Errorf("invalid --grace-period=%s: want a number of seconds", a.get("grace-period", ""))
	}
	if grace >= 0 {
		opts.Grace = &grace
	}
	if opts.SkipAfter, err = strconv.ParseInt(a.get("skip-wait-for-delete-timeout", "0"), 10, 32); err != nil {
		return nil, fmt.Errorf("invalid --skip-wait-for-delete-timeout=%s: want a number of seconds", a.get("skip-wait-for-delete-timeout", ""))
	}
	if opts.Selector, err = labels.Parse(a.get("pod-selector", "")); err != nil {
		return nil, errors.New("--pod-selector=<pod_selector> must be a valid label selector")
	}
	timeout, err := positiveDuration(a.get("timeout", "0s"))
	if timeout == 0 {
		timeout = maxDrain
	}
	return func(r *runner) error { return r.drain(q, opts, timeout) }, err
}

// drain cordons all nodes and then evicts the pods of each. A node whose pods may not leave does not stop the others.
func (r *runner) drain(q query, opts drain.Options, timeout time.Duration) error {
	nodes, err := r.nodes(q)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		if err := r.cordon(node, true, "cordoned"); err != nil {
			return err
		}
	}
	var fatal error
	remaining := ""
	for _, node := range nodes {
		failed, err := r.evictAll(node, opts, timeout)
		if err != nil {
			return err
		}
		if len(failed) == 0 {
			r.printf("%s drained\n", displayName(nodeRef(node)))
			continue
		}
		text := drain.Text(failed)
		r.warnf("error: unable to drain node %q due to error: %s, continuing command...\n", node, text)
		for _, err := range failed {
			fatal = both(fatal, err)
		}
		remaining += " " + node + "\n"
	}
	if remaining != "" {
		r.warnf("There are pending nodes to be drained:\n%s", remaining)
	}
	return fatal
}

// evictAll evicts the pods of a node. failed says why some of them are still there.
func (r *runner) evictAll(node string, opts drain.Options, timeout time.Duration) (failed []error, err error) {
	leave, warning, refused := drain.Pods(r.cluster, node, opts)
	if refused != nil {
		return refused, nil
	}
	if warning != "" {
		r.warnf("Warning: %s\n", warning)
	}
	d := drain.Drain{Cluster: r.cluster, Options: opts, Advance: r.advance, Timeout: timeout, Print: r.printf, Warn: r.warnf}
	failed, err = d.Evict(leave)
	if len(failed) == 0 || err != nil {
		return nil, err
	}
	leave, _, refused = drain.Pods(r.cluster, node, opts)
	if len(leave) > 0 {
		r.warnf("There are pending pods in node %q when an error occurred: %s\n", node, drain.Text(failed))
	}
	for _, pod := range leave {
		r.warnf("pod/%s\n", pod.Name)
	}
	if refused != nil {
		r.warnf("Following errors occurred while getting the list of pods to delete:\n%s", drain.Text(refused))
	}
	return failed, nil
}
