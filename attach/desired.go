package attach

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/objects"
)

// desiredState is which volumes should be attached to which nodes, and for which pods (ATT-020).
type desiredState struct {
	nodes map[string]map[corev1.UniqueVolumeName]*desiredVolume
	// pods is the number of volumes of each pod that has any.
	pods map[types.UID]int
}

// desiredVolume is a volume that pods on one node want. It exists only while there is such a pod.
type desiredVolume struct {
	name corev1.UniqueVolumeName
	spec objects.VolumeSpec
	// ATT-002: the uid identifies a pod. ATT-212: upstream has no order. SIM: by uid. The list is not changed but replaced.
	pods []*corev1.Pod
	// multiAttachReported: the pods got the Event about the other node.
	multiAttachReported bool
}

func newDesiredState() desiredState {
	return desiredState{nodes: map[string]map[corev1.UniqueVolumeName]*desiredVolume{}, pods: map[types.UID]int{}}
}

// addNode makes the node a managed one (ATT-021).
func (w *desiredState) addNode(node string) {
	if _, managed := w.nodes[node]; !managed {
		w.nodes[node] = map[corev1.UniqueVolumeName]*desiredVolume{}
	}
}

// deleteNode stops to manage a node. It reports false for a node with volumes, which stays managed (ATT-022).
func (w *desiredState) deleteNode(node string) bool {
	// ATT-022: a node with volumes stays managed for good; upstream does not retry.
	if len(w.nodes[node]) > 0 {
		return false
	}
	delete(w.nodes, node)
	return true
}

func (w *desiredState) manages(node string) bool {
	_, managed := w.nodes[node]
	return managed
}

// add records that the pod wants the volume on its node, which is managed. It reports whether that is a change.
func (w *desiredState) add(at pair, pod *corev1.Pod, spec objects.VolumeSpec) bool {
	v, _ := w.get(at)
	return w.addTo(v, at, pod, spec)
}

// addTo is add for a caller that has looked up the volume: it is nil if there is none.
func (w *desiredState) addTo(v *desiredVolume, at pair, pod *corev1.Pod, spec objects.VolumeSpec) bool {
	// ATT-020: a volume is added with its first pod.
	if v == nil {
		v = &desiredVolume{name: at.volume, spec: spec}
		w.nodes[at.node][at.volume] = v
	}
	// ATT-023: for a known pod neither the pod nor the spec is updated.
	i, known := v.find(pod.UID)
	if known {
		return false
	}
	v.pods = slices.Insert(slices.Clip(v.pods), i, pod)
	w.pods[pod.UID]++
	return true
}

// remove records that the pod does not want the volume. It reports whether that is a change.
func (w *desiredState) remove(at pair, pod types.UID) bool {
	v, ok := w.nodes[at.node][at.volume]
	if !ok {
		return false
	}
	i, known := v.find(pod)
	switch {
	case !known:
		return false
	case len(v.pods) == 1:
		// ATT-024: the volume is removed with its last pod.
		delete(w.nodes[at.node], at.volume)
	default:
		v.pods = slices.Concat(v.pods[:i], v.pods[i+1:])
	}
	if w.pods[pod]--; w.pods[pod] == 0 {
		delete(w.pods, pod)
	}
	return true
}

func (w *desiredState) get(at pair) (*desiredVolume, bool) {
	v, ok := w.nodes[at.node][at.volume]
	return v, ok
}

func (w *desiredState) has(at pair) bool {
	_, ok := w.get(at)
	return ok
}

// all lists the desired volumes by node, then by volume.
func (w *desiredState) all() []pair {
	var all []pair
	for node, volumes := range w.nodes {
		for volume := range volumes {
			all = append(all, pair{volume, node})
		}
	}
	slices.SortFunc(all, byNode)
	return all
}

// podsOn lists the pods that want the volume on these nodes, node by node.
func (w *desiredState) podsOn(volume corev1.UniqueVolumeName, nodes []string) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, node := range nodes {
		if v, ok := w.get(pair{volume, node}); ok {
			pods = append(pods, v.pods...)
		}
	}
	return pods
}

// find returns the position of a pod in the list, and whether it is there.
func (v *desiredVolume) find(pod types.UID) (int, bool) {
	return slices.BinarySearchFunc(v.pods, pod, func(other *corev1.Pod, uid types.UID) int { return cmp.Compare(other.UID, uid) })
}
