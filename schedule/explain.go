package schedule

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/internal/objects"
	"github.com/volsim/volsim/store"
)

// World is what a verdict is drawn from: the objects as the API server has them, in any order.
type World struct {
	Pods        []*corev1.Pod
	Nodes       []*corev1.Node
	Volumes     []*corev1.PersistentVolume
	Claims      []*corev1.PersistentVolumeClaim
	Classes     []*storagev1.StorageClass
	Drivers     []*storagev1.CSIDriver
	CSINodes    []*storagev1.CSINode
	Capacities  []*storagev1.CSIStorageCapacity
	Attachments []*storagev1.VolumeAttachment
}

// Verdict says what the scheduler finds when it tries a pod.
type Verdict struct {
	// Rule and Text are set when the pod is turned down before any node is looked at (SCHED-022, SCHED-023), or cannot be judged
	// at all (SCHED-237); else they are empty.
	Rule, Text string
	// Nodes has each node, by name; empty when none is looked at.
	Nodes []NodeVerdict
}

// Fits reports whether there is a node that the pod fits on.
func (v Verdict) Fits() bool {
	return slices.ContainsFunc(v.Nodes, func(n NodeVerdict) bool { return n.Rule == "" })
}

// NodeVerdict says whether a pod fits on a node.
type NodeVerdict struct {
	Node string
	// Rule is that of the first filter that refuses the node, "" if the pod fits (SCHED-024). Plugin is the name of that filter, and
	// Reasons are its reasons, as the condition of the pod counts them (SCHED-233).
	Rule, Plugin string
	Reasons      []string
	// Want is what the filter asks for and Got what it found, for people to read.
	Want, Got string
	// Claim is the key of the claim that is in the way, "" if none is.
	Claim string
}

// Judge gives verdicts on pods of one world, as long as nothing in it changes.
type Judge struct {
	nodes []*corev1.Node // by name
	pods  map[string][]*corev1.Pod
	look  *lookups
}

// NewJudge prepares for verdicts on pods of the world.
func NewJudge(world World) *Judge {
	return &Judge{
		nodes: slices.SortedFunc(slices.Values(world.Nodes), func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) }),
		pods:  world.podsByNode(),
		look:  world.lookups(),
	}
}

// Explain judges a pod as a scheduling attempt would, without doing anything (SCHED-023, SCHED-024). Pods that are nominated to a node
// and pods that could be preempted are left out of it.
func (j *Judge) Explain(pod *corev1.Pod) Verdict {
	if len(j.nodes) == 0 {
		// SCHED-022
		return Verdict{Rule: "SCHED-022", Text: reasonNoNodes}
	}
	c := newCycle(j.look, pod)
	switch s := c.preFilter(); {
	case s.code == failed:
		return Verdict{Rule: "SCHED-237", Text: s.err.Error()}
	case s.rejected():
		return Verdict{Rule: preFilterRule(s), Text: s.message()}
	}
	var v Verdict
	for _, node := range j.nodes {
		at := placeOf(node, j.pods[node.Name])
		s := c.filter(at)
		verdict := NodeVerdict{Node: node.Name, Plugin: s.plugin, Reasons: s.reasons}
		switch {
		case s.code == failed:
			// SCHED-237: one such node is enough.
			return Verdict{Rule: "SCHED-237", Text: s.err.Error()}
		case s.rejected():
			c.explain(&verdict, at)
		}
		v.Nodes = append(v.Nodes, verdict)
	}
	return v
}

// podsByNode are the pods that the scheduler counts on each node.
func (w World) podsByNode() map[string][]*corev1.Pod {
	on := map[string][]*corev1.Pod{}
	for _, pod := range w.Pods {
		if pod.Spec.NodeName != "" && counts(pod) {
			on[pod.Spec.NodeName] = append(on[pod.Spec.NodeName], pod)
		}
	}
	return on
}

// counts reports whether the scheduler still sees the pod.
func counts(pod *corev1.Pod) bool {
	// SCHED-030: what is over does not count, what terminates does.
	return pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// find makes a lookup by key.
func find[T store.Object](objs []T) func(key string) (T, bool) {
	byKey := make(map[string]T, len(objs))
	for _, obj := range objs {
		byKey[store.KeyOf(obj)] = obj
	}
	return func(key string) (T, bool) {
		obj, ok := byKey[key]
		return obj, ok
	}
}

func (w World) lookups() *lookups {
	claim, volume := find(w.Claims), find(w.Volumes)
	return &lookups{
		claim:         claim,
		volume:        volume,
		class:         find(w.Classes),
		driver:        find(w.Drivers),
		csiNode:       find(w.CSINodes),
		assumedClaim:  claim,
		assumedVolume: volume,
		capacities: func(class string) []*storagev1.CSIStorageCapacity {
			return filtered(w.Capacities, func(c *storagev1.CSIStorageCapacity) bool { return c.StorageClassName == class })
		},
		attachments: func(node string) []*storagev1.VolumeAttachment {
			return filtered(w.Attachments, func(a *storagev1.VolumeAttachment) bool { return a.Spec.NodeName == node })
		},
		candidates: func(class, claimKey string) []*corev1.PersistentVolume {
			return filtered(w.Volumes, func(pv *corev1.PersistentVolume) bool {
				ref := pv.Spec.ClaimRef
				return objects.ClassOfVolume(pv) == class && (ref == nil || store.Key(ref.Namespace, ref.Name) == claimKey)
			})
		},
		usesOf: func(claimKey string) int {
			return len(filtered(w.Pods, func(pod *corev1.Pod) bool {
				// SCHED-181
				return pod.Spec.NodeName != "" && counts(pod) && slices.Contains(namedClaims(pod), claimKey)
			}))
		},
	}
}

func filtered[T any](all []T, keep func(T) bool) []T {
	var kept []T
	for _, item := range all {
		if keep(item) {
			kept = append(kept, item)
		}
	}
	return kept
}
