package schedule

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// podTerm is a term of a pod's affinity or anti-affinity to other pods.
type podTerm struct {
	key        string // the label of nodes that delimits a domain
	pods       labels.Selector
	named      []string // namespaces
	namespaces labels.Selector
}

// newPodTerm parses a term of a pod (SCHED-290).
func newPodTerm(pod *corev1.Pod, term *corev1.PodAffinityTerm) (podTerm, error) {
	t := podTerm{key: term.TopologyKey, named: term.Namespaces}
	var err error
	if t.pods, err = metav1.LabelSelectorAsSelector(term.LabelSelector); err != nil {
		return t, err
	}
	// SCHED-290: without names and selector the term is about the pod's own namespace.
	if len(term.Namespaces) == 0 && term.NamespaceSelector == nil {
		t.named = []string{pod.Namespace}
	}
	t.namespaces, err = metav1.LabelSelectorAsSelector(term.NamespaceSelector)
	return t, err
}

func newPodTerms(pod *corev1.Pod, terms []corev1.PodAffinityTerm) ([]podTerm, error) {
	parsed := make([]podTerm, 0, len(terms))
	for i := range terms {
		t, err := newPodTerm(pod, &terms[i])
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, t)
	}
	return parsed, nil
}

// matches reports whether the term selects another pod, whose namespace has these labels.
func (t *podTerm) matches(other *corev1.Pod, namespace labels.Set) bool {
	return (slices.Contains(t.named, other.Namespace) || t.namespaces.Matches(namespace)) && t.pods.Matches(labels.Set(other.Labels))
}

// allMatch reports whether each of the terms selects the pod; false without terms.
func allMatch(terms []podTerm, other *corev1.Pod) bool {
	return len(terms) > 0 && !slices.ContainsFunc(terms, func(t podTerm) bool { return !t.matches(other, nil) })
}

// requiredAffinity returns the required terms of a pod's affinity to other pods.
func requiredAffinity(pod *corev1.Pod) []corev1.PodAffinityTerm {
	if a := pod.Spec.Affinity; a != nil && a.PodAffinity != nil {
		return a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

// requiredAntiAffinity returns the required terms of a pod's anti-affinity to other pods.
func requiredAntiAffinity(pod *corev1.Pod) []corev1.PodAffinityTerm {
	if a := pod.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		return a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

// domain is a set of nodes: those whose label key has the value.
type domain struct{ key, value string }

// podCounts counts pods by domain. It has no zeros.
type podCounts map[domain]int

// add counts a pod on a node n times. A node without the label is in no domain.
func (counts *podCounts) add(node *corev1.Node, key string, n int) {
	value, ok := node.Labels[key]
	if !ok {
		return
	}
	if *counts == nil {
		*counts = podCounts{}
	}
	d := domain{key, value}
	if (*counts)[d] += n; (*counts)[d] == 0 {
		delete(*counts, d)
	}
}

// podAffinity is the state of InterPodAffinity for a pod.
type podAffinity struct {
	skip                bool
	affinity, exclusion []podTerm  // the required terms of the pod
	namespace           labels.Set // the labels of the pod's namespace
	// excluding counts the terms of pods on nodes that exclude the pod. wanted counts the pods that all its affinity terms select, unwanted
	// those that an anti-affinity term selects, once for each term.
	excluding, wanted, unwanted podCounts
}

// preFilterPods counts the pods that the pod's affinity and anti-affinity are about, and the pods that exclude it (SCHED-290, SCHED-291).
func (c *cycle) preFilterPods() status {
	a := &c.affinity
	*a = podAffinity{namespace: c.look.namespaceLabels(c.pod.Namespace)}
	var err error
	if a.affinity, err = newPodTerms(c.pod, requiredAffinity(c.pod)); err == nil {
		a.exclusion, err = newPodTerms(c.pod, requiredAntiAffinity(c.pod))
	}
	if err != nil {
		return rejectFor(fmt.Sprintf("parsing pod: %+v", err)).by("SCHED-290")
	}
	for _, terms := range [][]podTerm{a.affinity, a.exclusion} {
		for i := range terms {
			// SCHED-290: the namespaces that the selector of one of the pod's own terms selects are those of this moment.
			if t := &terms[i]; !t.namespaces.Empty() {
				t.named, t.namespaces = slices.Concat(t.named, c.look.namespaces(t.namespaces)), labels.Nothing()
			}
		}
	}
	// SCHED-291: pods on nodes exclude others by their own anti-affinity.
	if pods := c.look.exclusivePods(); pods != nil {
		for other, node := range pods {
			a.count(c.pod, other, node, 1, true)
		}
	}
	if len(a.affinity)+len(a.exclusion) > 0 {
		for _, node := range c.look.nodes() {
			for _, other := range c.look.podsOn(node.Name) {
				a.count(c.pod, other, node, 1, false)
			}
		}
	}
	// SCHED-291: the plugin is skipped for a pod without terms that no other excludes.
	a.skip = len(a.excluding)+len(a.affinity)+len(a.exclusion) == 0
	if a.skip {
		return status{code: skipped}
	}
	return status{}
}

// count counts another pod n times on a node: as one that excludes the pod, or as one that the terms of the pod select.
func (a *podAffinity) count(pod, other *corev1.Pod, node *corev1.Node, n int, excludes bool) {
	if excludes {
		terms, err := newPodTerms(other, requiredAntiAffinity(other))
		if err != nil {
			return
		}
		for i := range terms {
			if terms[i].matches(pod, a.namespace) {
				a.excluding.add(node, terms[i].key, n)
			}
		}
		return
	}
	// SCHED-292: one pod must match all terms of the affinity.
	if allMatch(a.affinity, other) {
		for i := range a.affinity {
			a.wanted.add(node, a.affinity[i].key, n)
		}
	}
	for i := range a.exclusion {
		if a.exclusion[i].matches(other, nil) {
			a.unwanted.add(node, a.exclusion[i].key, n)
		}
	}
}

// plus returns the state after another pod was added to a node n times.
func (a podAffinity) plus(pod, other *corev1.Pod, node *corev1.Node, n int) podAffinity {
	if a.skip {
		// SCHED-296: a skipped plugin does not notice that pods come and go.
		return a
	}
	a.excluding, a.wanted, a.unwanted = maps.Clone(a.excluding), maps.Clone(a.wanted), maps.Clone(a.unwanted)
	a.count(pod, other, node, n, true)
	a.count(pod, other, node, n, false)
	return a
}

// filterPods rejects a node because of the pods in its domains (SCHED-292 to SCHED-295).
func (c *cycle) filterPods(at *nodeState) status {
	a := &c.affinity
	switch {
	case a.skip:
		return status{}
	case !a.attracted(c.pod, at.node):
		// SCHED-292: evictions add no pods.
		return rejectFor(reasonPodAffinity)
	case slices.ContainsFunc(a.exclusion, func(t podTerm) bool {
		value, ok := at.node.Labels[t.key]
		return ok && a.unwanted[domain{t.key, value}] > 0
	}):
		// SCHED-294: a pod that the pod excludes is in a domain of the node.
		return reject(reasonPodAntiAffinity)
	}
	for key, value := range at.node.Labels {
		if a.excluding[domain{key, value}] > 0 {
			// SCHED-295: a pod that excludes this one is in a domain of the node.
			return reject(reasonExcluded)
		}
	}
	return status{}
}

// attracted reports whether the node satisfies the affinity of the pod (SCHED-292, SCHED-293).
func (a *podAffinity) attracted(pod *corev1.Pod, node *corev1.Node) bool {
	all := true
	for i := range a.affinity {
		value, ok := node.Labels[a.affinity[i].key]
		if !ok {
			// SCHED-292: a node must have all labels.
			return false
		}
		all = all && a.wanted[domain{a.affinity[i].key, value}] > 0
	}
	// SCHED-293: the first pod of a group that only has affinity to itself fits anywhere.
	return all || len(a.wanted) == 0 && allMatch(a.affinity, pod)
}
