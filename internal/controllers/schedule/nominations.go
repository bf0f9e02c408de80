package schedule

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
)

// nominations are the waiting pods for which pods are evicted from a node. A cluster may have hundreds while each pod looks at each node, so they
// are kept by node.
type nominations struct {
	nodes  map[string]string        // by the key of the pod
	onNode map[string][]*corev1.Pod // by node, in the order of their keys
}

func (n *nominations) empty() bool { return len(n.nodes) == 0 }

// on returns the pods that are nominated to a node, in the order of their keys. The list does not change later.
func (n *nominations) on(node string) []*corev1.Pod { return n.onNode[node] }

// set nominates a pod to a node. The pod has that node in its status.
func (n *nominations) set(key string, pod *corev1.Pod) {
	n.remove(key)
	if n.nodes == nil {
		n.nodes, n.onNode = map[string]string{}, map[string][]*corev1.Pod{}
	}
	node := pod.Status.NominatedNodeName
	n.nodes[key] = node
	at, _ := placeOf(n.onNode[node], key)
	n.onNode[node] = slices.Insert(slices.Clone(n.onNode[node]), at, pod)
}

func (n *nominations) remove(key string) {
	node, ok := n.nodes[key]
	if !ok {
		return
	}
	delete(n.nodes, key)
	pods := n.onNode[node]
	if at, _ := placeOf(pods, key); len(pods) > 1 {
		n.onNode[node] = slices.Delete(slices.Clone(pods), at, at+1)
	} else {
		delete(n.onNode, node)
	}
}

// placeOf returns the place of the pod with that key in a list, or the place where it belongs.
func placeOf(pods []*corev1.Pod, key string) (at int, ok bool) {
	return slices.BinarySearchFunc(pods, key, func(pod *corev1.Pod, key string) int { return strings.Compare(api.KeyOf(pod), key) })
}
