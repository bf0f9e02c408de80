package schedule

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/podresources"
)

// podCache has the pods on each node: those bound to it and those assumed to be bound (SCHED-030). The zero value has none.
type podCache struct {
	pods  map[string]*cachedPod
	nodes map[string]*nodePods
	// uses counts the pods with a volume that names a claim, by claim.
	uses map[string]claimUses
	// exclusive are the pods with required anti-affinity to other pods.
	exclusive map[string]*corev1.Pod
	// attracting are the pods whose affinity may change the scores of nodes for others.
	attracting map[string]*corev1.Pod
}

// cachedPod is a pod on a node.
type cachedPod struct {
	key  string
	node string
	// pod does not name the node while it is assumed; placed returns one that does.
	pod     *corev1.Pod
	claims  claimKeys // of pod
	assumed bool
	at      int // its place among the pods of its node
}

// placed returns the pod, which names its node.
func (p *cachedPod) placed() *corev1.Pod {
	p.pod = onNode(p.pod, p.node)
	return p.pod
}

// onNode returns the pod as one on the node.
func onNode(pod *corev1.Pod, node string) *corev1.Pod {
	if pod.Spec.NodeName == node {
		return pod
	}
	placed := *pod
	placed.Spec.NodeName = node
	return &placed
}

// claimUses counts the pods that name a claim, by node. They are seldom on more than one.
type claimUses struct {
	first nodeUses // of no pods if no pod uses the claim
	more  []nodeUses
}

type nodeUses struct {
	node string
	n    int
}

// add counts n more pods on a node.
func (u *claimUses) add(node string, n int) {
	if u.first.n == 0 || u.first.node == node {
		u.first = nodeUses{node, u.first.n + n}
	} else if at := slices.IndexFunc(u.more, func(other nodeUses) bool { return other.node == node }); at >= 0 {
		u.more[at].n += n
	} else {
		u.more = append(u.more, nodeUses{node, n})
	}
	u.more = slices.DeleteFunc(u.more, func(other nodeUses) bool { return other.n == 0 })
	if last := len(u.more) - 1; u.first.n == 0 && last >= 0 {
		u.first, u.more = u.more[last], u.more[:last]
	}
}

// nodePods are the pods on one node. Terminating ones count until they are deleted or completed (SCHED-030).
type nodePods struct {
	pods []*cachedPod // in no order
	n    int          // their number
	used podresources.Amounts
	// assumed is the sum of what the pods count for in scores.
	assumed assumedAmounts
}

// prepare makes the maps of a cache without pods.
func (c *podCache) prepare() {
	*c = podCache{pods: map[string]*cachedPod{}, nodes: map[string]*nodePods{}, uses: map[string]claimUses{}, exclusive: map[string]*corev1.Pod{}, attracting: map[string]*corev1.Pod{}}
}

// assume adds a pod to the node that was chosen for it. claims are those of the pod.
func (c *podCache) assume(key string, pod *corev1.Pod, node string, claims claimKeys) {
	c.add(key, pod, node, claims)
	c.pods[key].assumed = true
}

// isAssumed reports whether a pod is assumed to be bound.
func (c *podCache) isAssumed(key string) bool {
	on := c.pods[key]
	return on != nil && on.assumed
}

// put adds or replaces a pod on its node. The pod is no longer assumed.
func (c *podCache) put(key string, pod *corev1.Pod) {
	old := c.pods[key]
	if old == nil || old.node != pod.Spec.NodeName || !sameDemand(old.pod, pod) {
		c.add(key, pod, pod.Spec.NodeName, claimKeysOf(pod))
		return
	}
	old.pod, old.assumed = pod, false
	if c.exclusive[key] != nil {
		c.exclusive[key] = pod
	}
}

// add is put for a pod of which something else is counted than before.
func (c *podCache) add(key string, pod *corev1.Pod, node string, claims claimKeys) {
	if c.pods == nil {
		c.prepare()
	}
	c.remove(key)
	on := c.nodes[node]
	if on == nil {
		on = &nodePods{}
		c.nodes[node] = on
	}
	cached := &cachedPod{key: key, node: node, pod: pod, claims: claims, at: len(on.pods)}
	c.pods[key] = cached
	on.pods = append(on.pods, cached)
	on.n++
	on.used = on.used.Plus(podresources.Requests(pod), 1)
	on.assumed = on.assumed.plus(assumedRequests(pod), 1)
	if len(requiredAntiAffinity(pod)) > 0 {
		c.exclusive[key] = cached.placed()
	}
	if attracts(pod) {
		c.attracting[key] = cached.placed()
	}
	c.count(cached, 1)
}

// count counts the uses of the claims of a pod n times.
func (c *podCache) count(cached *cachedPod, n int) {
	for i, claim := range cached.claims {
		if !cached.claims.named(cached.pod, i) {
			continue
		}
		uses := c.uses[claim]
		if uses.add(cached.node, n); uses.first.n == 0 {
			delete(c.uses, claim)
		} else {
			c.uses[claim] = uses
		}
	}
}

// sameDemand reports whether two versions of a pod share all that the cache counts. It may return false if they do.
func sameDemand(a, b *corev1.Pod) bool {
	x, y := &a.Spec, &b.Spec
	return sharedList(x.Volumes, y.Volumes) && sharedList(x.Containers, y.Containers) &&
		sharedList(x.InitContainers, y.InitContainers) && len(x.Overhead) == 0 && len(y.Overhead) == 0 && x.Affinity == y.Affinity
}

// sharedList reports whether two lists are the same memory, or both empty.
func sharedList[E any](a, b []E) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// remove removes a pod. It reports whether it was there.
func (c *podCache) remove(key string) bool {
	cached, known := c.pods[key]
	if !known {
		return false
	}
	pod := cached.pod
	delete(c.pods, key)
	delete(c.exclusive, key)
	delete(c.attracting, key)
	on := c.nodes[cached.node]
	on.n--
	last := on.pods[on.n]
	on.pods[cached.at], last.at = last, cached.at
	on.pods[on.n], on.pods = nil, on.pods[:on.n]
	if on.n == 0 {
		*on = nodePods{pods: on.pods}
	} else {
		on.used = on.used.Plus(podresources.Requests(pod), -1)
		on.assumed = on.assumed.plus(assumedRequests(pod), -1)
	}
	c.count(cached, -1)
	return true
}

// usedOn reports whether a pod on an existing node uses the claim.
func (c *podCache) usedOn(claim string, exists func(node string) bool) bool {
	uses := c.uses[claim]
	// SCHED-181: pods whose node was deleted do not count.
	return uses.first.n > 0 && exists(uses.first.node) || slices.ContainsFunc(uses.more, func(on nodeUses) bool { return exists(on.node) })
}

// move keeps the pods on a node at that place from now on.
func (c *podCache) move(node string, to *nodePods) {
	if c.pods == nil {
		c.prepare()
	}
	if on := c.nodes[node]; on != nil {
		*to = *on
	}
	c.nodes[node] = to
}

// forget drops the places of nodes that do not exist and have no pods.
func (c *podCache) forget(exists func(node string) bool) {
	maps.DeleteFunc(c.nodes, func(node string, on *nodePods) bool { return on.n == 0 && !exists(node) })
}

// on returns the pods on a node, by key.
func (c *podCache) on(node string) []*corev1.Pod {
	n := c.nodes[node]
	if n == nil {
		return nil
	}
	return n.list()
}

// list returns the pods by key.
func (n *nodePods) list() []*corev1.Pod {
	if len(n.pods) == 0 {
		return nil
	}
	sorted := slices.SortedFunc(slices.Values(n.pods), func(a, b *cachedPod) int { return strings.Compare(a.key, b.key) })
	pods := make([]*corev1.Pod, len(sorted))
	for i, cached := range sorted {
		pods[i] = cached.placed()
	}
	return pods
}

// namedClaims returns the keys of the claims that a pod's volumes name, each once. Ephemeral volumes do not name theirs (SCHED-187).
func namedClaims(pod *corev1.Pod) []string {
	var keys []string
	for i := range pod.Spec.Volumes {
		// SCHED-187: no other pod can use the claim of an ephemeral volume.
		if source := pod.Spec.Volumes[i].PersistentVolumeClaim; source != nil {
			if key := api.Key(pod.Namespace, source.ClaimName); !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}
