package predict

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objname"
	"github.com/volsim/volsim/mount"
)

// Step is one change of the cluster.
type Step struct {
	// Text is the step as written.
	Text string
	do   func(*run) error
	// typed: the step is a command of kubectl.
	typed bool
}

// verbs lists the kinds of steps. parse reads the words after the verb.
var verbs = []struct {
	name, usage string
	does        string
	parse       func(args []string) (func(*run) error, error)
}{
	{"delete", "delete [--force] [--cascade=…] OBJECT...", "delete objects; --force deletes without grace period", nil},
	{"apply", "apply -f FILE", "create or change the objects of a manifest", nil},
	{"create", "create -f FILE, or create KIND NAME …", "create the objects of a manifest, or one from arguments", nil},
	{"run", "run NAME --image=IMAGE [--overrides=JSON]", "create a pod", nil},
	{"replace", "replace [--force] -f FILE", "replace objects with those of a manifest; --force deletes them first", nil},
	{"patch", "patch OBJECT -p PATCH", "change fields of an object", nil},
	{"scale", "scale --replicas=N [--current-replicas=N] OBJECT...", "set the number of replicas of workloads", nil},
	{"autoscale", "autoscale OBJECT [--min=N] --max=N", "create a HorizontalPodAutoscaler, which keeps the replicas within bounds", nil},
	{"rollout", "rollout restart|undo|pause|resume OBJECT", "replace the pods of a workload, or return to its previous revision", nil},
	{"set", "set image|env|resources|serviceaccount OBJECT …", "change the containers of a workload", nil},
	{"label", "label [--overwrite] OBJECT KEY=VALUE... KEY-...", "set and remove labels", nil},
	{"annotate", "annotate [--overwrite] OBJECT KEY=VALUE... KEY-...", "set and remove annotations", nil},
	{"taint", "taint [--overwrite] node NAME KEY=VALUE:EFFECT... KEY-...", "add and remove taints of a node", nil},
	{"drain", "drain NODE...|-l SELECTOR [--ignore-daemonsets] [--force] …", "cordon nodes and evict their pods", parseDrain},
	{"cordon", "cordon NODE...|-l SELECTOR", "mark nodes unschedulable", nil},
	{"uncordon", "uncordon NODE...|-l SELECTOR", "mark nodes schedulable", nil},
	{"lose", "lose NODE", "power off a node permanently", onNode((*run).lose)},
	{"cut", "cut NODE", "disconnect a node from the API server; its containers keep running", onNode((*run).cut)},
	{"recover", "recover NODE", "bring back a node that was lost or cut", onNode((*run).recover)},
	{"reboot", "reboot NODE", "restart a node", onNode((*run).reboot)},
	{"out-of-service", "out-of-service NODE", "taint a node as out of service, so that its volumes are detached", onNode((*run).outOfService)},
	{"wait", "wait DURATION, or wait --for=CONDITION OBJECT... [--timeout=30s]", "advance virtual time", nil},
	{"nothing", "nothing", "change nothing; show what happens without a change", func(args []string) (func(*run) error, error) {
		if len(args) > 0 {
			return nil, errors.New("want no arguments")
		}
		return func(*run) error { return nil }, nil
	}},
}

// Usage returns the usage of each step.
func Usage() []string {
	lines := make([]string, len(verbs))
	for i, v := range verbs {
		lines[i] = v.usage
	}
	return lines
}

// Help returns the usage and description of each step. A description that finds no place beside its usage has a line of its own.
func Help() []string {
	const column = 30
	var lines []string
	for _, v := range verbs {
		usage := v.usage
		if utf8.RuneCountInString(usage) >= column {
			lines = append(lines, usage)
			usage = ""
		}
		lines = append(lines, fmt.Sprintf("%-*s%s", column, usage, v.does))
	}
	return lines
}

// Then separates steps.
const Then = "then"

// Parse reads steps, separated by the word then: delete pvc/shop/data, lose node/n1 then wait 10m then out-of-service node/n1. It reads
// files with readFile.
func Parse(words []string, readFile func(name string) ([]byte, error)) ([]Step, error) {
	return ParseIn("default", words, readFile)
}

// ParseIn is Parse with the namespace of claims and pods that are written without one. The option -n of a step overrides it.
func ParseIn(namespace string, words []string, readFile func(name string) ([]byte, error)) ([]Step, error) {
	var steps []Step
	for len(words) > 0 {
		end := slices.Index(words, Then)
		rest := []string(nil)
		step := words
		if end >= 0 {
			step, rest = words[:end], words[end+1:]
			if len(rest) == 0 {
				return nil, fmt.Errorf("missing STEP after %q", Then)
			}
		}
		parsed, err := parseStep(namespace, step, readFile)
		if err != nil {
			return nil, err
		}
		steps = append(steps, parsed)
		words = rest
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("missing STEP argument: want one of: %s", strings.Join(Usage(), "; "))
	}
	return steps, nil
}

func parseStep(namespace string, words []string, readFile func(name string) ([]byte, error)) (Step, error) {
	if len(words) == 0 {
		return Step{}, fmt.Errorf("missing STEP before \"then\": want one of: %s", strings.Join(Usage(), "; "))
	}
	words, err := withoutKubectl(words)
	if err != nil {
		return Step{}, err
	}
	for _, v := range verbs {
		if v.name != words[0] {
			continue
		}
		parse := v.parse
		if parse == nil {
			parse = func(args []string) (func(*run) error, error) { return parseAction(v.name, args, namespace, readFile) }
		}
		switch v.name {
		case "autoscale":
			parse = func(args []string) (func(*run) error, error) { return parseAutoscale(namespace, args) }
		case "set":
			parse = func(args []string) (func(*run) error, error) { return parseSet(namespace, args) }
		case "wait":
			parse = func(args []string) (func(*run) error, error) { return parseWait(namespace, args) }
		}
		do, err := parse(words[1:])
		if err != nil && strings.Contains(err.Error(), "; usage: ") {
			return Step{}, fmt.Errorf("invalid step %q: %w", strings.Join(words, " "), err)
		}
		if err != nil {
			return Step{}, fmt.Errorf("invalid step %q: %w; usage: %s", strings.Join(words, " "), err, v.usage)
		}
		return Step{Text: strings.Join(words, " "), do: do, typed: isTyped(words)}, nil
	}
	names := make([]string, len(verbs))
	for i, v := range verbs {
		names[i] = v.name
	}
	return Step{}, noStep(words[0], names)
}

// isTyped reports whether a step is a command of kubectl, which takes time to type.
func isTyped(words []string) bool {
	switch words[0] {
	case "lose", "cut", "recover", "reboot", "out-of-service", "nothing":
		return false
	case "wait":
		return isWaitFor(words[1:])
	}
	return true
}

// onNode returns the parser of a step on one node.
func onNode(do func(r *run, node string) error) func([]string) (func(*run) error, error) {
	return func(args []string) (func(*run) error, error) {
		args = withoutOptions(args)
		if len(args) != 1 {
			return nil, fmt.Errorf("want one node, got %d", len(args))
		}
		kind, name, ok := strings.Cut(args[0], "/")
		if !ok {
			name = kind
		} else if kind != "node" && kind != "no" && kind != "nodes" || name == "" {
			return nil, fmt.Errorf("%q is not a node", args[0])
		}
		return func(r *run) error {
			if _, err := r.Nodes.Get(name); err != nil {
				return err
			}
			return do(r, name)
		}, nil
	}
}

// lose powers off the node.
func (r *run) lose(node string) error {
	r.stop(node, "stops: its node is powered off")
	return r.node(node, (*mount.Node).PowerOff)
}

// reboot restarts the node.
func (r *run) reboot(node string) error {
	r.stop(node, "stops, and starts again after the reboot")
	return r.node(node, func(n *mount.Node) {
		n.PowerOff()
		n.Start()
	})
}

// stop records that the running containers of a node stop.
func (r *run) stop(node, what string) {
	for _, pod := range r.Pods.List() {
		if pod.Spec.NodeName == node && running(pod) {
			r.outcome(Outcome{Kind: Stops, Object: objname.Of(api.RefTo(pod)), What: what})
		}
	}
}

// cut disconnects the node from the API server; its containers keep running.
func (r *run) cut(node string) error {
	return r.node(node, func(n *mount.Node) { n.Partition(true) })
}

// recover reconnects and starts the node.
func (r *run) recover(node string) error {
	return r.node(node, func(n *mount.Node) {
		n.Partition(false)
		n.Start()
	})
}

// node calls do with the node of that name.
func (r *run) node(name string, do func(*mount.Node)) error {
	n, err := r.Node(name)
	if err != nil {
		return err
	}
	do(n)
	return nil
}

// outOfService adds the taint by which an administrator declares the node powered off.
func (r *run) outOfService(name string) error {
	return r.taint(name, corev1.Taint{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute})
}

// taint adds a taint to a node if it is missing.
func (r *run) taint(name string, taint corev1.Taint) error {
	node, err := r.Nodes.Get(name)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) }) {
		return nil
	}
	if taint.TimeAdded == nil {
		at := metav1.NewTime(r.Now())
		taint.TimeAdded = &at
	}
	node.Spec.Taints = append(node.Spec.Taints, taint)
	return r.Update(node)
}
