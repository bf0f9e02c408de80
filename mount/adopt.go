package mount

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/mount/internal/volumes"
)

func (n nodeInternals) Resume() error {
	s := n.nodes.engine.Store()
	node, ok := s.Nodes.Lookup(n.name)
	if !ok {
		return fmt.Errorf("node %s does not exist", n.name)
	}
	if n.kubelet != nil && n.kubelet.working() {
		return fmt.Errorf("node %s: its kubelet works already", n.name)
	}
	n.bootID = node.Status.NodeInfo.BootID
	if csiNode, ok := s.CSINodes.Lookup(n.name); ok {
		for name, b := range n.nodes.backends.All() {
			n.unregistered[name] = !backends.IsInTree(b) && !lists(csiNode, name)
		}
	}
	if n.kubelet != nil {
		n.kubelet.resumed, n.kubelet.object = true, node
	}
	return nil
}

func (n nodeInternals) SyncPods() {
	if n.kubelet == nil {
		return
	}
	for _, uid := range sorted(n.kubelet.workers) {
		if w := n.kubelet.workers[uid]; w.state == podSynced {
			w.due = true
			w.signal.Broadcast()
		}
	}
}

func (n nodeInternals) Adopt(pod *corev1.Pod) error {
	stored, err := n.adoptable(pod)
	if err != nil {
		return err
	}
	key := api.KeyOf(stored)
	k := n.kubelet
	if k == nil {
		k = n.newKubelet()
	}
	var found []resolved
	for i := range stored.Spec.Volumes {
		v := &stored.Spec.Volumes[i]
		if !volumes.UseOf(stored, v.Name).Any() {
			continue
		}
		r, err := k.adoption.resolveAdopted(stored, v)
		if err != nil {
			return fmt.Errorf("pod %s: volume %s: %w", key, v.Name, err)
		}
		found = append(found, r)
	}
	if err := n.Resume(); err != nil {
		return fmt.Errorf("pod %s: %w", key, err)
	}
	k.object, _ = n.nodes.engine.Store().Nodes.Lookup(n.name)
	p := n.nodes.engine.User()
	k.plugins.Silent = true
	defer func() { k.plugins.Silent = false }()
	if err := k.adoption.adoptPod(p, stored, found); err != nil {
		k.adoption.disown(p, stored)
		return fmt.Errorf("pod %s: %w", key, err)
	}
	p.Decide("", stored, "runs on node %s", n.name)
	return nil
}

// adoptable returns the pod as stored in the API, or an error if it cannot be adopted.
func (n nodeInternals) adoptable(pod *corev1.Pod) (*corev1.Pod, error) {
	if pod == nil {
		return nil, fmt.Errorf("the pod is nil")
	}
	key := api.KeyOf(pod)
	stored, ok := n.nodes.engine.Store().Pods.Lookup(key)
	switch {
	case !ok || pod.UID != "" && pod.UID != stored.UID:
		return nil, fmt.Errorf("pod %s does not exist", key)
	case stored.Spec.NodeName != n.name:
		return nil, fmt.Errorf("pod %s: its node is %q and not %s", key, stored.Spec.NodeName, n.name)
	case terminal(stored.Status.Phase):
		return nil, fmt.Errorf("pod %s: it has ended (%s)", key, stored.Status.Phase)
	}
	if _, here := n.runtime.running[stored.UID]; here {
		return nil, fmt.Errorf("pod %s: it runs here already", key)
	}
	return stored, nil
}
