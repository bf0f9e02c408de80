package mount

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount/internal/disk"
	"github.com/volsim/volsim/mount/internal/volumes"
	"github.com/volsim/volsim/storage"
)

// Node is a machine with a kubelet. Its disk, what is mounted and the containers that run outlive the kubelet; a reboot leaves only
// the files.
type Node struct {
	name    string
	nodes   *Nodes
	machine *engine.Actor
	actor   *engine.Actor
	kubelet *kubelet // of this life, nil while it is down
	disk    *disk.Disk
	runtime *runtime

	partitioned  bool
	unregistered map[string]bool
	boots        int
	bootID       string // of the first boot, if the API knew it before
}

func (ns *Nodes) newNode(name string) (*Node, error) {
	n := &Node{name: name, nodes: ns, disk: disk.New(), unregistered: map[string]bool{}, boots: 1}
	n.runtime = newRuntime(n)
	var err error
	n.machine, err = ns.engine.NewActor(actors.Node(name), func(a *engine.Actor) {
		a.OnStop(n.runtime.clear)
	})
	if err != nil {
		return nil, err
	}
	n.actor, err = ns.engine.NewActor(actors.Kubelet(name), n.start)
	return n, err
}

// Name is the node's name.
func (n *Node) Name() string { return n.name }

// Disk returns the disk of the node.
func (n *Node) Disk() Disk { return Disk{n.disk} }

// Running reports whether the kubelet runs.
func (n *Node) Running() bool { return n.actor.Alive() }

// Stop ends the kubelet at once. A call to a storage backend that is under way has no effect. Containers run on, and what is
// mounted stays.
func (n *Node) Stop() { n.actor.Crash() }

// Start starts a kubelet that does not run. It knows only what the API and the disk say.
func (n *Node) Start() {
	n.machine.Start()
	n.actor.Start()
}

// PowerOff stops the kubelet if it runs and loses all mounts and containers. Directories and files stay. Start brings the node back.
func (n *Node) PowerOff() {
	n.actor.Crash()
	n.lose()
}

// Reboot is PowerOff and Start (MNT-485).
func (n *Node) Reboot() {
	n.PowerOff()
	n.Start()
}

// lose is what a machine forgets when it goes down.
func (n *Node) lose() {
	n.machine.Crash()
	// MNT-485: mounts and bind mounts are gone, what lies beneath them is not.
	n.disk.Reboot()
	for _, b := range n.nodes.cfg.Backends.All() {
		if rebooter, ok := b.(storage.Rebooter); ok {
			rebooter.Reboot(n.name)
		}
	}
	n.boots++
	n.bootID = ""
}

// Partition cuts the kubelet off from the API server, or ends that. Its containers run on, and storage can be reached. When the
// partition ends the kubelet learns at once what it missed.
func (n *Node) Partition(cut bool) {
	if n.partitioned == cut {
		return
	}
	n.partitioned = cut
	switch {
	case n.kubelet == nil:
	case !cut:
		n.kubelet.relist()
	case len(n.kubelet.refusals) > 0:
		// MNT-406: the next look at a claim fails.
		n.kubelet.reconciler.RestAt(n.actor.Engine().Now().Add(1))
	}
}

// Partitioned reports whether the kubelet is cut off from the API server.
func (n *Node) Partitioned() bool { return n.partitioned }

// Unregister takes a CSI driver from the node, as when its pod restarts: the kubelet cannot call it until Register.
func (n *Node) Unregister(driver string) { n.register(driver, false) }

// Register brings a CSI driver back to the node. All drivers are registered from the beginning.
func (n *Node) Register(driver string) { n.register(driver, true) }

func (n *Node) register(driver string, there bool) {
	if n.unregistered[driver] == !there {
		return
	}
	n.unregistered[driver] = !there
	if n.kubelet != nil {
		// MNT-360
		n.kubelet.watchLimit(driver)
	}
}

// Exit has the containers of a pod exit by themselves, leaving the pod in that phase, Succeeded or Failed (MNT-388). The error
// says that the pod does not run here, or that the phase is none in which pods end.
func (n *Node) Exit(pod string, phase corev1.PodPhase) error {
	if !terminal(phase) {
		return fmt.Errorf("exit of pod %s: phase %q is not one in which pods end: give %s or %s", pod, phase, corev1.PodSucceeded, corev1.PodFailed)
	}
	for _, c := range n.runtime.list() {
		if api.KeyOf(c.pod) == pod && c.exit == "" {
			n.runtime.exit(c, phase)
			return nil
		}
	}
	return fmt.Errorf("exit of pod %s: it does not run on node %s", pod, n.name)
}

// Containers lists the pods whose containers run, by uid.
func (n *Node) Containers() []types.UID {
	var uids []types.UID
	for _, c := range n.runtime.list() {
		if c.exit == "" {
			uids = append(uids, c.pod.UID)
		}
	}
	return uids
}

// Groups are the supplemental groups of a pod's containers that its volumes give them (MNT-386).
func (n *Node) Groups(pod types.UID) []int64 {
	if c, ok := n.runtime.running[pod]; ok {
		return c.groups
	}
	return nil
}

// Accesses is what containers read and wrote on this node, in order.
func (n *Node) Accesses() []Access { return n.runtime.accesses }

// MountedVolumes are the names of the pod's volumes that are mounted for it, as the kubelet sees it, in order. Nil while the kubelet
// is down.
func (n *Node) MountedVolumes(pod types.UID) []string {
	if n.kubelet == nil {
		return nil
	}
	var names []string
	for _, pr := range n.kubelet.actual.PodVolumes() {
		if pr.Pod.UID != pod || pr.Pod.State != volumes.Mounted {
			continue
		}
		if v, ok := n.kubelet.desired.Volume(pr.Volume.Name); ok && n.kubelet.desired.HasPodVolume(pr.Volume.Name, pod) {
			dp, _ := v.Pods.Get(pod)
			names = append(names, dp.PodNames...)
		} else {
			names = append(names, pr.Pod.Spec.PodName)
		}
	}
	slices.Sort(names)
	return names
}
