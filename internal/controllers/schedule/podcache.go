package schedule

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
)

// podCache has the pods on each node: those bound to it and those assumed to be bound (SCHED-030). The zero value has none.
type podCache struct {
	pods    map[string]*corev1.Pod
	assumed map[string]bool
	nodes   map[string]*nodePods
	// uses counts the pods with a volume that names a claim, by claim and node.
	uses map[string]map[string]int
	// exclusive are the pods with required anti-affinity to other pods.
	exclusive map[string]*corev1.Pod
	// attracting are the pods whose affinity may change the scores of nodes for others.
	attracting map[string]*corev1.Pod
}

// nodePods are the pods on one node. Terminating ones count until they are deleted or completed (SCHED-030).
type nodePods struct {
	pods map[string]*corev1.Pod
	n    int // their number
	used amounts
	// assumed is the sum of what the pods count for in scores.
	assumed assumedAmounts
}

// prepare makes the maps of a cache without pods.
func (c *podCache) prepare() {
	*c = podCache{pods: map[string]*corev1.Pod{}, assumed: map[string]bool{}, nodes: map[string]*nodePods{},
		uses: map[string]map[string]int{}, exclusive: map[string]*corev1.Pod{}, attracting: map[string]*corev1.Pod{}}
}

// assume adds a pod to the node that was chosen for it.
func (c *podCache) assume(key string, pod *corev1.Pod) {
	c.put(key, pod)
	c.assumed[key] = true
}

// put adds or replaces a pod on its node. The pod is no longer assumed.
func (c *podCache) put(key string, pod *corev1.Pod) {
	if c.pods == nil {
		c.prepare()
	}
	if old := c.pods[key]; old != nil && sameDemand(old, pod) {
		delete(c.assumed, key)
		c.pods[key], c.nodes[pod.Spec.NodeName].pods[key] = pod, pod
		if c.exclusive[key] != nil {
			c.exclusive[key] = pod
		}
		return
	}
	c.remove(key)
	c.pods[key] = pod
	on := c.nodes[pod.Spec.NodeName]
	if on == nil {
		on = &nodePods{}
		c.nodes[pod.Spec.NodeName] = on
	}
	if on.pods == nil {
		on.pods = map[string]*corev1.Pod{}
	}
	on.pods[key] = pod
	on.n++
	on.used = on.used.plus(requestsOf(pod), 1)
	on.assumed = on.assumed.plus(assumedRequests(pod), 1)
	if len(requiredAntiAffinity(pod)) > 0 {
		c.exclusive[key] = pod
	}
	if attracts(pod) {
		c.attracting[key] = pod
	}
	for _, claim := range namedClaims(pod) {
		if c.uses[claim] == nil {
			c.uses[claim] = map[string]int{}
		}
		c.uses[claim][pod.Spec.NodeName]++
	}
}

// sameDemand reports whether two versions of a pod share, on the same node, all that the cache counts. It may return false if they do.
func sameDemand(a, b *corev1.Pod) bool {
	x, y := &a.Spec, &b.Spec
	return x.NodeName == y.NodeName && sharedList(x.Volumes, y.Volumes) && sharedList(x.Containers, y.Containers) &&
		sharedList(x.InitContainers, y.InitContainers) && len(x.Overhead) == 0 && len(y.Overhead) == 0 && x.Affinity == y.Affinity
}

// sharedList reports whether two lists are the same memory, or both empty.
func sharedList[E any](a, b []E) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// remove removes a pod. It reports whether it was there.
func (c *podCache) remove(key string) bool {
	pod, known := c.pods[key]
	if !known {
		return false
	}
	delete(c.pods, key)
	delete(c.assumed, key)
	delete(c.exclusive, key)
	delete(c.attracting, key)
	on := c.nodes[pod.Spec.NodeName]
	delete(on.pods, key)
	if on.n--; on.n == 0 {
		*on = nodePods{}
	} else {
		on.used = on.used.plus(requestsOf(pod), -1)
		on.assumed = on.assumed.plus(assumedRequests(pod), -1)
	}
	for _, claim := range namedClaims(pod) {
		uses := c.uses[claim]
		if uses[pod.Spec.NodeName]--; uses[pod.Spec.NodeName] == 0 {
			delete(uses, pod.Spec.NodeName)
		}
		if len(uses) == 0 {
			delete(c.uses, claim)
		}
	}
	return true
}

// usedOn reports whether a pod on an existing node uses the claim.
func (c *podCache) usedOn(claim string, exists func(node string) bool) bool {
	for node := range c.uses[claim] {
		// SCHED-181: pods whose node was deleted do not count.
		if exists(node) {
			return true
		}
	}
	return false
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
	pods := make([]*corev1.Pod, 0, len(n.pods))
	for _, key := range objects.SortedKeys(n.pods) {
		pods = append(pods, n.pods[key])
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
