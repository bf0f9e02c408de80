package schedule

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/snapshot"
)

// Verdict says what the scheduler finds when it tries a pod.
type Verdict struct {
	// Rule and Text are set when the pod is turned down before any node is looked at (SCHED-022, SCHED-023), or cannot be judged
	// at all (SCHED-237); else they are empty.
	Rule, Text string
	// Plugin is the name of the plugin that turned it down, "" if none did. Unresolvable says that it would do so whatever other pods
	// there are (SCHED-234).
	Plugin       string
	Unresolvable bool
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
	// Unresolvable says that the filter would refuse the node whatever other pods there are (SCHED-234).
	Unresolvable bool
	// Want is what the filter asks for and Got what it found, for people to read.
	Want, Got string
	// Claim is the key of the claim that is in the way, "" if none is.
	Claim string
}

// Judge gives verdicts on pods of one snapshot, as long as nothing in it changes.
type Judge struct {
	nodes    []*judged // by name
	look     *lookups
	verdicts map[*corev1.Pod]Verdict
}

// judged is a node with what all verdicts have in common.
type judged struct {
	at place
	// held is how many volumes of each driver count at the node's limits, without those of the pod that is judged; nil before
	// anybody asked.
	held   map[string]int
	limits map[string]int
	// odd says that they cannot be counted (SCHED-211).
	odd bool
}

// NewJudge prepares for verdicts on pods of the snapshot.
func NewJudge(s *snapshot.Snapshot) *Judge {
	j := &Judge{look: lookupsOf(s), verdicts: map[*corev1.Pod]Verdict{}}
	on := podsByNode(s.Pods)
	for _, node := range slices.SortedFunc(slices.Values(s.Nodes), func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) }) {
		j.nodes = append(j.nodes, &judged{at: placeOf(node, on[node.Name])})
	}
	return j
}

// Explain judges a pod as a scheduling attempt would, without doing anything (SCHED-023, SCHED-024). Pods that are nominated to a node
// and pods that could be preempted are left out of it. The same pod has the same verdict, which is not to be modified.
func (j *Judge) Explain(pod *corev1.Pod) Verdict {
	v, ok := j.verdicts[pod]
	if !ok {
		v = j.judge(pod)
		j.verdicts[pod] = v
	}
	return v
}

func (j *Judge) judge(pod *corev1.Pod) Verdict {
	if len(j.nodes) == 0 {
		// SCHED-022
		return Verdict{Rule: "SCHED-022", Text: reasonNoNodes}
	}
	c := newCycle(j.look, pod)
	switch s := c.preFilter(); {
	case s.code == failed:
		return Verdict{Rule: "SCHED-237", Text: s.err.Error()}
	case s.rejected():
		return Verdict{Rule: preFilterRule(s), Text: s.message(), Plugin: s.plugin, Unresolvable: s.code == unresolvable}
	}
	limited := c.countVolumes
	v := Verdict{Nodes: make([]NodeVerdict, 0, len(j.nodes))}
	for _, node := range j.nodes {
		c.countVolumes = limited && !node.hasRoom(c)
		s := c.filter(node.at)
		verdict := NodeVerdict{Node: node.at.node.Name, Plugin: s.plugin, Reasons: s.reasons, Unresolvable: s.code == unresolvable}
		switch {
		case s.code == failed:
			// SCHED-237: one such node is enough.
			return Verdict{Rule: "SCHED-237", Text: s.err.Error()}
		case s.rejected():
			c.explain(&verdict, node.at)
		}
		v.Nodes = append(v.Nodes, verdict)
	}
	return v
}

// hasRoom reports whether the node can attach all volumes of the pod on top of those that it has, even if the pod shares none with
// others: then nothing need be counted for this pod. False says nothing.
func (n *judged) hasRoom(c *cycle) bool {
	if c.brings == nil {
		// The first node that comes so far finds out what the pod brings.
		return false
	}
	if n.held == nil {
		n.held, n.limits = map[string]int{}, c.limitsOf(n.at.node.Name)
		volumes := c.attached(n.at.node.Name)
		for _, pod := range n.at.pods() {
			if s := c.count(pod, false, volumes); s.code != success {
				n.odd = true
			}
		}
		for volume := range volumes {
			n.held[volume.driver]++
		}
	}
	// SCHED-216: below the limit of each driver, and so wherever the pod's own volumes come from.
	for driver, limit := range n.limits {
		if n.held[driver]+len(c.brings) > limit {
			return false
		}
	}
	return !n.odd
}

// podsByNode are the pods that the scheduler counts on each node.
func podsByNode(pods []*corev1.Pod) map[string][]*corev1.Pod {
	on := map[string][]*corev1.Pod{}
	for _, pod := range pods {
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
func find[T api.Object](objs []T) func(key string) (T, bool) {
	byKey := make(map[string]T, len(objs))
	for _, obj := range objs {
		byKey[api.KeyOf(obj)] = obj
	}
	return func(key string) (T, bool) {
		obj, ok := byKey[key]
		return obj, ok
	}
}

// grouped collects objects under a key of each.
func grouped[T any](objs []T, key func(T) string) map[string][]T {
	groups := map[string][]T{}
	for _, obj := range objs {
		groups[key(obj)] = append(groups[key(obj)], obj)
	}
	return groups
}

// lookupsOf reads the snapshot, where the scheduler reads its informers.
func lookupsOf(s *snapshot.Snapshot) *lookups {
	claim, volume := find(s.Claims), find(s.Volumes)
	capacities := grouped(s.Capacities, func(c *storagev1.CSIStorageCapacity) string { return c.StorageClassName })
	attachments := grouped(s.Attachments, func(a *storagev1.VolumeAttachment) string { return a.Spec.NodeName })
	candidates := grouped(s.Volumes, func(pv *corev1.PersistentVolume) string {
		if ref := pv.Spec.ClaimRef; ref != nil {
			return reservedFor(api.Key(ref.Namespace, ref.Name))
		}
		return freeIn(objects.ClassOfVolume(pv))
	})
	uses := usesOf(s)
	return &lookups{
		claim:         claim,
		volume:        volume,
		class:         find(s.Classes),
		driver:        find(s.Drivers),
		csiNode:       find(s.CSINodes),
		assumedClaim:  claim,
		assumedVolume: volume,
		capacities:    func(class string) []*storagev1.CSIStorageCapacity { return capacities[class] },
		attachments:   func(node string) []*storagev1.VolumeAttachment { return attachments[node] },
		candidates: func(class, claimKey string) []*corev1.PersistentVolume {
			pvs := slices.Clone(candidates[freeIn(class)])
			for _, pv := range candidates[reservedFor(claimKey)] {
				if objects.ClassOfVolume(pv) == class {
					pvs = append(pvs, pv)
				}
			}
			return pvs
		},
		inUse: func(claimKey string) bool { return uses[claimKey] },
	}
}

// usesOf returns the keys of the claims that pods on nodes use (SCHED-181).
func usesOf(s *snapshot.Snapshot) map[string]bool {
	uses := map[string]bool{}
	node := find(s.Nodes)
	for _, pod := range s.Pods {
		// SCHED-181: a pod whose node was deleted uses nothing.
		if _, ok := node(pod.Spec.NodeName); !ok || !counts(pod) {
			continue
		}
		for _, key := range namedClaims(pod) {
			uses[key] = true
		}
	}
	return uses
}
