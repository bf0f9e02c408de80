package csitest

import (
	"time"
)

func (r *run) stopKubelet(i int) {
	if node, err := r.cluster.Node(r.node(i)); err == nil && !r.stopped {
		node.Stop()
	}
}

func (r *run) restartKubelet(i int, after time.Duration) {
	r.stopKubelet(i)
	r.pass(after)
	r.powerOn(i)
}

// removeNode removes a node from the storage system.
func (r *run) removeNode(i int) {
	if r.stopped {
		return
	}
	r.record(step{Event: &event{Node: r.node(i), Gone: true}})
	r.cfg.RemoveNode(r.node(i))
}

// loseMounts removes the mounts of a node without a reboot, as when the container of a driver that mounts without propagation restarts.
func (r *run) loseMounts(i int) {
	if !r.stopped {
		r.onReboot(r.node(i))
	}
}

func (r *run) rebootNodes() {
	nodes := r.reboots
	r.reboots = nil
	for _, name := range nodes {
		if node, err := r.cluster.Node(name); err == nil {
			node.PowerOff()
			node.Start()
		}
	}
}

// powerOff switches a node off.
func (r *run) powerOff(i int) {
	if node, err := r.cluster.Node(r.node(i)); err == nil && !r.stopped {
		node.PowerOff()
	}
}

// powerOn boots a node.
func (r *run) powerOn(i int) {
	if node, err := r.cluster.Node(r.node(i)); err == nil && !r.stopped {
		node.Start()
	}
}
