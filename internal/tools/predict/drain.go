package predict

import (
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/tools/drain"
	"github.com/volsim/volsim/internal/tools/script"
)

// drainStep holds the arguments of drain.
type drainStep struct {
	nodes    []string
	selector labels.Selector // of nodes; nil if they are named
	opts     drain.Options
	timeout  time.Duration
}

// parseDrain reads drain NODE... and the options of kubectl.
func parseDrain(args []string) (func(*run) error, error) {
	d := drainStep{timeout: maxWait}
	flags := map[string]*bool{"--ignore-daemonsets": &d.opts.IgnoreDaemonSets, "--delete-emptydir-data": &d.opts.DeleteEmptyDirData,
		"--force": &d.opts.Force}
	for i := 0; i < len(args); i++ {
		option, value, hasValue := strings.Cut(args[i], "=")
		switch to := flags[option]; {
		case to != nil:
			if hasValue && value != "true" && value != "false" {
				return nil, fmt.Errorf("invalid %s: want true or false", args[i])
			}
			*to = value != "false"
		case option == "--timeout" || option == "-l" || option == "--selector" || option == "--pod-selector":
			if !hasValue {
				if i++; i == len(args) {
					return nil, errors.New("missing value of " + option)
				}
				value = args[i]
			}
			if err := d.set(option, value); err != nil {
				return nil, err
			}
		case isIgnored(args[i]):
		case strings.HasPrefix(option, "-"):
			return nil, fmt.Errorf("unknown option %s", option)
		default:
			d.nodes = append(d.nodes, strings.TrimPrefix(strings.TrimPrefix(args[i], "nodes/"), "node/"))
		}
	}
	switch {
	case len(d.nodes) == 0 && d.selector == nil:
		return nil, errors.New("want one or more nodes, or -l SELECTOR")
	case len(d.nodes) > 0 && d.selector != nil:
		return nil, errors.New("want nodes or -l SELECTOR, not both")
	}
	for _, name := range d.nodes {
		if name == "" || strings.Contains(name, "/") {
			return nil, fmt.Errorf("%q is not a node", name)
		}
	}
	return d.run, nil
}

// set reads an option with a value.
func (d *drainStep) set(option, value string) (err error) {
	switch option {
	case "--timeout":
		timeout, err := script.ParseDuration(value)
		if err == nil && timeout < 0 {
			err = errors.New("must not be negative")
		}
		if err != nil {
			return fmt.Errorf("invalid --timeout %s: %w", value, err)
		}
		if timeout > 0 {
			d.timeout = min(timeout, maxWait)
		}
	case "--pod-selector":
		d.opts.Selector, err = labels.Parse(value)
	default:
		d.selector, err = labels.Parse(value)
	}
	return err
}

// run cordons all nodes and then evicts the pods of each, as kubectl drain does. A node whose pods may not leave does not stop the others.
func (d *drainStep) run(r *run) error {
	names := d.nodes
	for _, node := range r.Nodes.List() {
		if d.selector != nil && d.selector.Matches(labels.Set(node.Labels)) {
			names = append(names, node.Name)
		}
	}
	for _, name := range names {
		if _, err := r.Nodes.Get(name); err != nil {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, name)
		}
	}
	for _, name := range names {
		if err := r.cordon(name); err != nil {
			return err
		}
	}
	var refused error
	for _, name := range names {
		if err := d.drain(r, name); err != nil && !errors.As(err, new(script.Refusal)) {
			return err
		} else if err != nil {
			refused = errors.Join(refused, err)
		}
	}
	return refused
}

func (r *run) cordon(node string) error {
	return r.Patch(emptyObject(api.Ref{Kind: api.Node, Key: node}), `{"spec":{"unschedulable":true}}`)
}

// drain evicts the pods of a node, and waits until they are gone. A drain that does not end is a refusal, as it is an error of kubectl.
func (d *drainStep) drain(r *run, node string) error {
	timeout := d.timeout
	if r.opts.For < timeout && timeout == maxWait {
		timeout = r.opts.For
	}
	e := drain.Drain{Cluster: r.Cluster.Cluster, Options: d.opts, Advance: r.advance, Timeout: timeout}
	pods, _, refused := drain.Pods(r.Cluster.Cluster, node, d.opts)
	if refused != nil {
		return script.Refusal{Err: fmt.Errorf("unable to drain node %q: %s", node, drain.Text(refused))}
	}
	for _, pod := range pods {
		r.touched = append(r.touched, api.RefTo(pod))
	}
	failed, err := e.Evict(pods)
	if err != nil {
		failed = append(failed, err)
	}
	if len(failed) > 0 {
		why := whyBlocked(failed)
		if silent, ok := r.Evidence.Node(node); ok && silent.Evidence != "" {
			why += fmt.Sprintf("; %s, so nothing confirms that its pods stop", silent.Evidence)
		}
		return script.Refusal{Err: fmt.Errorf("the drain of node %s does not end: %s", node, why)}
	}
	return nil
}

// shownBlocked is the number of pods that the reason of a drain lists.
const shownBlocked = 3

// whyBlocked says which pods stay, and the PodDisruptionBudget of each that forbids its eviction (PDB-023).
func whyBlocked(failed []error) string {
	var texts []string
	for _, err := range failed[:min(len(failed), shownBlocked)] {
		text := err.Error()
		blocked, refused := drain.Blocked{}, (*apierrors.StatusError)(nil)
		if errors.As(err, &blocked) && errors.As(blocked.Reason, &refused) {
			text += ": " + strings.TrimSuffix(refused.Error(), ".")
			for _, cause := range refused.ErrStatus.Details.Causes {
				text += ": " + strings.TrimSuffix(cause.Message, ".")
			}
		}
		texts = append(texts, text)
	}
	if more := len(failed) - shownBlocked; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more pods", more))
	}
	return strings.Join(texts, "; ")
}
