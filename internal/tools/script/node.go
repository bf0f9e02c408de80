package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/mount"
)

func nodeCommands() []*command {
	return []*command{
		{
			name: "node", group: breaking, usage: []string{"add NAME... [KEY=VALUE...]", "register NAME..."},
			help: "`node add` adds nodes with these labels, each with a kubelet. `cpu=4` and `memory=8Gi` limit their resources; by default they have enough. " +
				"After `config manual-nodes=true` it starts kubelets, which create the Node objects themselves; `node register` always does that.",
			examples: []string{"node add n1 n2 zone=a", "node add n3 cpu=4", "node register n4"},
			read:     readNode,
		},
		{
			name: "exit", group: breaking, usage: []string{"pod/NAME [Succeeded|Failed]"},
			help:     "Lets the containers of a pod exit; the default is Succeeded.",
			examples: []string{"exit pod/web Failed"},
			read:     readExit,
		},
	}
}

func readNode(_ *Script, args []string) (step, error) {
	if len(args) >= 2 && args[0] == "register" {
		return func(r *runner) error {
			for _, name := range args[1:] {
				if _, err := r.cluster.AddNode(name); err != nil {
					return err
				}
			}
			return nil
		}, nil
	}
	if len(args) < 2 || args[0] != "add" {
		return nil, usageOf("node", `want node add or node register, or, for a fault, "fault node NAME WHAT"`)
	}
	var names, labels []string
	resources := corev1.ResourceList{}
	for _, w := range args[1:] {
		key, value, isPair := strings.Cut(w, "=")
		switch {
		case !isPair:
			names = append(names, w)
		case key == string(corev1.ResourceCPU) || key == string(corev1.ResourceMemory):
			if _, ok := quantity(value); !ok {
				return nil, fmt.Errorf("invalid argument %s: %q is not a quantity", w, value)
			}
			resources[corev1.ResourceName(key)] = resource.MustParse(value)
		default:
			labels = append(labels, key, value)
		}
	}
	if len(names) == 0 {
		return nil, usageOf("node", "missing name")
	}
	return func(r *runner) error {
		for _, name := range names {
			if err := r.addNode(name, labels, resources); err != nil {
				return err
			}
			r.tell(nodeRef(name), "created")
		}
		return nil
	}, nil
}

func (r *runner) addNode(name string, labels []string, resources corev1.ResourceList) error {
	if r.manualNodes {
		if len(labels) > 0 || len(resources) > 0 {
			return errors.New("labels and resources do not apply with config manual-nodes=true; create the Node object first")
		}
		_, err := r.cluster.AddNode(name)
		return err
	}
	node := fake.Node(name, fake.Labels(labels...))
	// The kubelet keeps the time since when its node is ready.
	now := metav1.NewTime(r.cluster.Now().Truncate(time.Second))
	node.Status.Conditions[0].LastHeartbeatTime, node.Status.Conditions[0].LastTransitionTime = now, now
	if len(resources) > 0 {
		node.Status.Capacity, node.Status.Allocatable = resources.DeepCopy(), resources.DeepCopy()
	}
	return internals.Give(r.cluster, node)
}

func readExit(s *Script, args []string) (step, error) {
	a, err := readArguments(args, namespaceOption)
	if err != nil {
		return nil, err
	}
	phase := corev1.PodSucceeded
	if n := len(a.rest); n > 0 && slices.Contains([]string{"Succeeded", "Failed"}, a.rest[n-1]) {
		phase, a.rest = corev1.PodPhase(a.rest[n-1]), a.rest[:n-1]
	}
	refs, err := s.refsOf(a.rest, a.get("namespace", ""))
	if err != nil {
		return nil, err
	}
	if len(refs) != 1 || refs[0].Kind != api.Pod {
		return nil, usageOf("exit", "want one pod")
	}
	return func(r *runner) error {
		obj, err := r.get(refs[0])
		if err != nil {
			return err
		}
		node := obj.(*corev1.Pod).Spec.NodeName
		if node == "" {
			return errors.New("the pod is not assigned to a node yet")
		}
		n, err := r.cluster.Node(node)
		if err != nil {
			return err
		}
		return n.Exit(refs[0].Key, phase)
	}, nil
}

// nodeFault is an action of fault node; argument names its additional argument, "" for none.
type nodeFault struct {
	name, argument string
	do             func(r *runner, node, argument string) error
}

var nodeFaults = []nodeFault{
	{"poweroff", "", onNode(func(n *mount.Node, _ string) { n.PowerOff() })},
	{"start", "", onNode(func(n *mount.Node, _ string) { n.Start() })},
	{"reboot", "", onNode(func(n *mount.Node, _ string) { n.PowerOff(); n.Start() })},
	{"stop-kubelet", "", onNode(func(n *mount.Node, _ string) { n.Stop() })},
	{"partition", "", onNode(func(n *mount.Node, _ string) { n.Partition(true) })},
	{"heal", "", onNode(func(n *mount.Node, _ string) { n.Partition(false) })},
	{"register", "DRIVER", onNode(func(n *mount.Node, driver string) { n.Register(driver) })},
	{"unregister", "DRIVER", onNode(func(n *mount.Node, driver string) { n.Unregister(driver) })},
	{"break-disk", "PATH", onNode(func(n *mount.Node, path string) { n.BreakDisk(path, errors.New("input/output error")) })},
	{"mend-disk", "PATH", onNode(func(n *mount.Node, path string) { n.BreakDisk(path, nil) })},
	{"shutdown", "", onNode(func(n *mount.Node, _ string) { n.ShutDown(map[int32]time.Duration{0: shutdownGrace}) })},
}

// shutdownGrace is the grace period of pods when their node shuts down.
const shutdownGrace = 30 * time.Second

func onNode(do func(n *mount.Node, argument string)) func(*runner, string, string) error {
	return func(r *runner, node, argument string) error {
		n, err := r.cluster.Node(node)
		if err != nil {
			return err
		}
		do(n, argument)
		return nil
	}
}

func readFaultNode(args []string) (step, error) {
	if len(args) < 2 {
		return nil, usageOf("fault", "missing node or action")
	}
	names := make([]string, len(nodeFaults))
	for i, f := range nodeFaults {
		names[i] = f.name
		if f.name != args[1] {
			continue
		}
		argument := ""
		switch {
		case f.argument != "" && len(args) == 3:
			argument = args[2]
		case f.argument != "":
			return nil, fmt.Errorf("action %s needs one %s", f.name, f.argument)
		case len(args) > 2:
			return nil, fmt.Errorf("unexpected argument %[2]q after %[1]s", f.name, args[2])
		}
		return func(r *runner) error { return f.do(r, args[0], argument) }, nil
	}
	return nil, fmt.Errorf("unknown action %q: want one of %s", args[1], strings.Join(names, ", "))
}
