package mount

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount/internal/disk"
	"github.com/volsim/volsim/storage"
)

// Node is a node with a kubelet. Its disk, mounts and containers outlive the kubelet. A reboot keeps only the files.
type Node struct {
	name         string
	nodes        *Nodes
	nodeActor    *engine.Actor // runs the containers
	kubeletActor *engine.Actor
	kubelet      *kubelet // of this life, nil while it is down
	disk         *disk.Disk
	runtime      *runtime

	partitioned  bool
	unregistered map[string]bool
	boots        int
	selinux      bool   // runs SELinux, as the Node said last
	bootID       string // of this boot; made on first use
}

func (ns *Nodes) newNode(name string) (*Node, error) {
	n := &Node{name: name, nodes: ns, disk: disk.New(), unregistered: map[string]bool{}, boots: 1}
	n.runtime = newRuntime(n)
	var err error
	n.nodeActor, err = ns.engine.NewActor(actors.Node(name), func(a *engine.Actor) {
		a.OnStop(n.runtime.clear)
	})
	if err != nil {
		return nil, err
	}
	n.kubeletActor, err = ns.engine.NewActor(actors.Kubelet(name), n.start)
	return n, err
}

// Name returns the name of the node.
func (n *Node) Name() string { return n.name }

// Running reports whether the kubelet runs.
func (n *Node) Running() bool { return n.kubeletActor.Alive() }

// Stop ends the kubelet at once. A running call to a storage backend has no effect. Containers and mounts stay.
func (n *Node) Stop() { n.kubeletActor.Crash() }

// Start starts the kubelet, if it does not run. It knows only what the API and the disk reveal.
func (n *Node) Start() {
	n.nodeActor.Start()
	n.kubeletActor.Start()
}

// PowerOff stops the kubelet and loses all mounts and containers. Directories and files stay. Start boots the node (MNT-485).
func (n *Node) PowerOff() {
	n.kubeletActor.Crash()
	n.lose()
}

// lose drops the state that a node loses when it goes down.
func (n *Node) lose() {
	n.nodeActor.Crash()
	// MNT-485: mounts are lost; directories and files stay.
	n.disk.Reboot()
	for _, b := range n.nodes.backends.All() {
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
	if cut && n.kubelet != nil {
		n.kubeletActor.SetIsolated(true)
		n.kubelet.stopLease()
	}
	switch {
	case n.kubelet == nil:
	case !cut:
		n.kubelet.relist()
		n.kubeletActor.SetIsolated(false)
		n.kubelet.resumeLease()
	case len(n.kubelet.expansion.deferrals) > 0:
		// MNT-406: during the partition, the next read of the claim fails.
		n.kubelet.reconciler.ticker.ArmBackgroundAt(n.kubeletActor.Engine().Now().Add(1))
	}
}

// Partitioned reports whether the kubelet is cut off from the API server.
func (n *Node) Partitioned() bool { return n.partitioned }

// Unregister removes a CSI driver from the node, as when its pod restarts: the kubelet cannot call it until Register. It is an error if the
// cluster has no such driver.
func (n *Node) Unregister(driver string) error { return n.register("unregister", driver, false) }

// Register brings a CSI driver back to the node. All drivers are registered at first. It is an error if the cluster has no such driver.
func (n *Node) Register(driver string) error { return n.register("register", driver, true) }

func (n *Node) register(verb, driver string, there bool) error {
	if _, ok := n.nodes.backends.Driver(driver); !ok {
		return fmt.Errorf("%s driver %q on node %s: there is no such CSI driver", verb, driver, n.name)
	}
	if n.unregistered[driver] == !there {
		return nil
	}
	n.unregistered[driver] = !there
	if n.kubelet != nil {
		// MNT-360: registering a driver restarts its period.
		n.kubelet.registrar.watchLimit(driver)
		if there && n.kubelet.registrar.initialized {
			// MNT-362: a driver that registers again is asked again.
			n.kubeletActor.Go("CSI driver "+driver, func(p *engine.Process) { n.kubelet.registrar.register(p, driver) })
		}
	}
	return nil
}

// Exit makes the containers of a pod exit by themselves and leaves the pod in that phase, Succeeded or Failed (MNT-388). It is an error if
// the pod does not run here, or if the phase is another one.
func (n *Node) Exit(pod string, phase corev1.PodPhase) error {
	if !terminal(phase) {
		return fmt.Errorf("exit of pod %s: phase %q is not one in which pods end: give %s or %s", pod, phase, corev1.PodSucceeded,
			corev1.PodFailed)
	}
	for _, c := range n.runtime.list() {
		if api.KeyOf(c.pod) == pod && c.exit == "" {
			n.runtime.exit(c, phase)
			return nil
		}
	}
	return fmt.Errorf("exit of pod %s: it does not run on node %s", pod, n.name)
}

// Accesses lists what containers read and wrote on this node, in order.
func (n *Node) Accesses() []Access { return slices.Concat(n.runtime.accesses...) }
