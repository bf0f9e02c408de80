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

// Node is a node with a kubelet. Its disk, mounts and containers outlive the kubelet. A reboot keeps only the files.
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

// Name returns the name of the node.
func (n *Node) Name() string { return n.name }

// Disk returns the disk of the node.
func (n *Node) Disk() Disk { return Disk{n.disk} }

// Running reports whether the kubelet runs.
func (n *Node) Running() bool { return n.actor.Alive() }

// Stop ends the kubelet at once. A running call to a storage backend has no effect. Containers and mounts stay.
func (n *Node) Stop() { n.actor.Crash() }

// Start starts the kubelet, if it does not run. It knows only what the API and the disk reveal.
func (n *Node) Start() {
	n.machine.Start()
	n.actor.Start()
}

// PowerOff stops the kubelet and loses all mounts and containers. Directories and files stay. Start brings the node back.
func (n *Node) PowerOff() {
	n.actor.Crash()
	n.lose()
}

// Reboot is PowerOff and Start (MNT-485).
func (n *Node) Reboot() {
	n.PowerOff()
	n.Start()
}

// lose drops what a node loses when it goes down.
func (n *Node) lose() {
	n.machine.Crash()
	// MNT-485: mounts are lost; directories and files stay.
	n.disk.Reboot()
	for _, b := range n.nodes.cfg.Backends.All() {
		if rebooter, ok := b.(storage.Rebooter); ok {
			rebooter.Reboot(n.name)
		}
	}
	n.boots++
	n.bootID = ""
}

// Partition cuts the kubelet off from the API server (true), or ends that (false). Its containers run on, and it reaches storage. When the
// partition ends, the kubelet receives at once what it missed.
func (n *Node) Partition(cut bool) {
	if n.partitioned == cut {
		return
	}
	n.partitioned = cut
	switch {
	case n.kubelet == nil:
	case !cut:
		n.kubelet.relist()
	case len(n.kubelet.expansion.deferrals) > 0:
		// MNT-406: the next read of the claim fails.
		n.kubelet.reconciler.ticker.RestAt(n.actor.Engine().Now().Add(1))
	}
}

// Partitioned reports whether the kubelet is cut off from the API server.
func (n *Node) Partitioned() bool { return n.partitioned }

// Unregister removes a CSI driver from the node, as when its pod restarts: the kubelet cannot call it until Register.
func (n *Node) Unregister(driver string) { n.register(driver, false) }

// Register brings a CSI driver back to the node. All drivers are registered at first.
func (n *Node) Register(driver string) { n.register(driver, true) }

func (n *Node) register(driver string, there bool) {
	if n.unregistered[driver] == !there {
		return
	}
	n.unregistered[driver] = !there
	if n.kubelet != nil {
		// MNT-360: registering a driver restarts its period.
		n.kubelet.registrar.watchLimit(driver)
	}
}

// Exit makes the containers of a pod exit by themselves and leaves the pod in that phase, Succeeded or Failed (MNT-388). It is an error if
// the pod does not run here, or if the phase is another one.
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

// Containers lists the uids of the pods whose containers run, in order.
func (n *Node) Containers() []types.UID {
	var uids []types.UID
	for _, c := range n.runtime.list() {
		if c.exit == "" {
			uids = append(uids, c.pod.UID)
		}
	}
	return uids
}

// Groups returns the supplemental groups that the volumes of a pod add to its containers (MNT-386).
func (n *Node) Groups(pod types.UID) []int64 {
	if c, ok := n.runtime.running[pod]; ok {
		return c.groups
	}
	return nil
}

// Accesses lists what containers read and wrote on this node, in order.
func (n *Node) Accesses() []Access { return n.runtime.accesses }

// MountedVolumes lists the names of the pod's volumes that the kubelet knows to be mounted for it, in order. Nil while the kubelet is
// down.
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
