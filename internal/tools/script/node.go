package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/mount"
)

func nodeCommands() []*command {
	return []*command{
		{
			name: "node", group: breaking, usage: []string{"add NODE... [KEY=VALUE...]"},
			help: "Adds nodes with these labels, each with a machine and a kubelet. `cpu=4` and `memory=8Gi` say what they have to give; otherwise they have enough. " +
				"After `config added-machines=true` it adds machines, whose kubelets create the Node objects.",
			examples: []string{"node add n1 n2 zone=a", "node add n3 cpu=4"},
			read:     readNode,
		},
		{
			name: "exit", group: breaking, usage: []string{"pod/NAME [Succeeded|Failed]"},
			help:     "Has the containers of a pod exit by themselves; Succeeded unless said.",
			examples: []string{"exit pod/web Failed"},
			read:     readExit,
		},
	}
}

func readNode(_ *Script, args []string) (step, error) {
	if len(args) < 2 || args[0] != "add" {
		return nil, usageOf("node", "nodes can only be added")
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
				return nil, fmt.Errorf("%s: %q is no quantity", w, value)
			}
			resources[corev1.ResourceName(key)] = resource.MustParse(value)
		default:
			labels = append(labels, key, value)
		}
	}
	if len(names) == 0 {
		return nil, usageOf("node", "it is not said which")
	}
	return func(p *player) error {
		for _, name := range names {
			if err := p.addNode(name, labels, resources); err != nil {
				return err
			}
			p.printf("%s created\n", shown(nodeRef(name)))
		}
		return nil
	}, nil
}

func (p *player) addNode(name string, labels []string, resources corev1.ResourceList) error {
	u, err := p.script.newSetup(-1)
	if err != nil {
		return err
	}
	if u.config.AddedMachines {
		if len(labels) > 0 || len(resources) > 0 {
			return errors.New("a machine has no labels and resources of its own: create the Node object before")
		}
		_, err := p.cluster.AddMachine(name)
		return err
	}
	node := fake.Node(name, fake.Labels(labels...))
	if len(resources) > 0 {
		node.Status.Capacity, node.Status.Allocatable = resources.DeepCopy(), resources.DeepCopy()
	}
	return p.cluster.Create(node)
}

func readExit(_ *Script, args []string) (step, error) {
	a, err := readArguments(args, namespaceOption)
	if err != nil {
		return nil, err
	}
	phase := corev1.PodSucceeded
	if n := len(a.rest); n > 0 && slices.Contains([]string{"Succeeded", "Failed"}, a.rest[n-1]) {
		phase, a.rest = corev1.PodPhase(a.rest[n-1]), a.rest[:n-1]
	}
	refs, err := refsOf(a.rest, a.get("namespace", ""))
	if err != nil {
		return nil, err
	}
	if len(refs) != 1 || refs[0].Kind != api.Pod {
		return nil, usageOf("exit", "one pod is needed")
	}
	return func(p *player) error {
		obj, err := p.get(refs[0])
		if err != nil {
			return err
		}
		node := obj.(*corev1.Pod).Spec.NodeName
		if node == "" {
			return errors.New("the pod is on no node yet")
		}
		m, err := p.cluster.Machine(node)
		if err != nil {
			return err
		}
		return m.Exit(refs[0].Key, phase)
	}, nil
}

// nodeFault is what fault node does; argument is what its word behind it is, "" if there is none.
type nodeFault struct {
	name, argument string
	do             func(p *player, node, argument string) error
}

var nodeFaults = []nodeFault{
	{"poweroff", "", func(p *player, node, _ string) error { return p.cluster.Faults.PowerOff(node) }},
	{"start", "", func(p *player, node, _ string) error { return p.cluster.Faults.Start(node) }},
	{"reboot", "", func(p *player, node, _ string) error { return p.cluster.Faults.Reboot(node) }},
	{"stop-kubelet", "", func(p *player, node, _ string) error { return p.cluster.Faults.StopKubelet(node) }},
	{"partition", "", func(p *player, node, _ string) error { return p.cluster.Faults.Partition(node, true) }},
	{"heal", "", func(p *player, node, _ string) error { return p.cluster.Faults.Partition(node, false) }},
	{"register", "DRIVER", onMachine(func(m *mount.Node, driver string) { m.Register(driver) })},
	{"unregister", "DRIVER", onMachine(func(m *mount.Node, driver string) { m.Unregister(driver) })},
	{"break-disk", "PATH", onMachine(func(m *mount.Node, path string) { m.Disk().Break(path, errors.New("input/output error")) })},
	{"mend-disk", "PATH", onMachine(func(m *mount.Node, path string) { m.Disk().Break(path, nil) })},
	{"shutdown", "", onMachine(func(m *mount.Node, _ string) { m.ShutDown(mount.ShutdownGroup{Grace: shutdownGrace}) })},
}

// shutdownGrace is how long pods have when their node shuts down.
const shutdownGrace = 30 * time.Second

func onMachine(do func(m *mount.Node, argument string)) func(*player, string, string) error {
	return func(p *player, node, argument string) error {
		m, err := p.cluster.Machine(node)
		if err != nil {
			return err
		}
		do(m, argument)
		return nil
	}
}

func readFaultNode(args []string) (step, error) {
	if len(args) < 2 {
		return nil, usageOf("fault", "a node and what happens to it are needed")
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
			return nil, fmt.Errorf("%s needs one %s", f.name, f.argument)
		case len(args) > 2:
			return nil, fmt.Errorf("%s takes nothing, and there is %q", f.name, args[2])
		}
		return func(p *player) error { return f.do(p, args[0], argument) }, nil
	}
	return nil, fmt.Errorf("%q cannot happen to a node: there are %s", args[1], strings.Join(names, ", "))
}
