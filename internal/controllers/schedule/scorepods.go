package schedule

import (
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/volsim/volsim/internal/core/podresources"
)

// weightedTerm is a preferred term of a pod's affinity to other pods. Its weight is negative for anti-affinity.
type weightedTerm struct {
	podTerm
	weight int64
}

// preferredTerms returns the preferred terms of a pod's affinity and anti-affinity to other pods.
func preferredTerms(pod *corev1.Pod) ([]weightedTerm, error) {
	var terms []weightedTerm
	add := func(list []corev1.WeightedPodAffinityTerm, sign int64) error {
		for i := range list {
			t, err := newPodTerm(pod, &list[i].PodAffinityTerm)
			if err != nil {
				return err
			}
			terms = append(terms, weightedTerm{t, sign * int64(list[i].Weight)})
		}
		return nil
	}
	a := pod.Spec.Affinity
	if a == nil {
		return nil, nil
	}
	if a.PodAffinity != nil {
		if err := add(a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution, 1); err != nil {
			return nil, err
		}
	}
	if a.PodAntiAffinity != nil {
		if err := add(a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution, -1); err != nil {
			return nil, err
		}
	}
	return terms, nil
}

// attracts reports whether a pod on a node may change the scores of nodes for others: it has affinity, or preferred anti-affinity.
func attracts(pod *corev1.Pod) bool {
	a := pod.Spec.Affinity
	return a != nil && (a.PodAffinity != nil && len(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)+
		len(a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0 ||
		a.PodAntiAffinity != nil && len(a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0)
}

// podScores has the sum of the weights of the terms, by domain.
type podScores map[domain]int64

func (scores podScores) add(t *podTerm, weight int64, pod *corev1.Pod, namespace labels.Set, node *corev1.Node) {
	if value, ok := node.Labels[t.key]; ok && t.matches(pod, namespace) {
		scores[domain{t.key, value}] += weight
	}
}

// scorePods prefers nodes in domains with pods that the pod prefers, or that prefer the pod (SCHED-129).
func (c *cycle) scorePods(nodes []*nodeState) ([]int64, error) {
	own, err := preferredTerms(c.pod)
	if err != nil {
		return nil, err
	}
	others := c.look.attractingPods()
	if len(own) == 0 && others == nil {
		return nil, nil
	}
	scores := podScores{}
	for i := range own {
		// SCHED-290: the namespaces that a selector selects are those of this moment.
		if t := &own[i]; !t.namespaces.Empty() {
			t.named, t.namespaces = slices.Concat(t.named, c.look.namespaces(t.namespaces)), labels.Nothing()
		}
	}
	if len(own) > 0 {
		for _, node := range c.look.nodes() {
			for _, other := range c.look.podsOn(node.Name) {
				for i := range own {
					scores.add(&own[i].podTerm, own[i].weight, other, nil, node)
				}
			}
		}
	}
	if others != nil {
		namespace := c.look.namespaceLabels(c.pod.Namespace)
		for other, node := range others {
			scores.addTermsOf(other, c.pod, namespace, node)
		}
	}
	if len(scores) == 0 {
		return nil, nil
	}
	list := c.noScores(len(nodes))
	for i, at := range nodes {
		for d, weight := range scores {
			if value, ok := at.node.Labels[d.key]; ok && value == d.value {
				list[i] += weight
			}
		}
	}
	least, most := slices.Min(list), slices.Max(list)
	for i, n := range list {
		list[i] = 0
		if most > least {
			list[i] = int64(maxScore * (float64(n-least) / float64(most-least)))
		}
	}
	return list, nil
}

// addTermsOf adds the terms of a pod on a node that select the pod to be scheduled.
func (scores podScores) addTermsOf(other, pod *corev1.Pod, namespace labels.Set, node *corev1.Node) {
	required, err := newPodTerms(other, requiredAffinity(other))
	if err != nil {
		return
	}
	preferred, err := preferredTerms(other)
	if err != nil {
		return
	}
	for i := range required {
		// SCHED-129: a required term of a pod on a node has weight 1 here.
		scores.add(&required[i], 1, pod, namespace, node)
	}
	for i := range preferred {
		scores.add(&preferred[i].podTerm, preferred[i].weight, pod, namespace, node)
	}
}

// scoredResources are the resources that NodeResourcesFit and NodeResourcesBalancedAllocation score.
var scoredResources = [...]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

// assumedAmounts are amounts of the scored resources.
type assumedAmounts [len(scoredResources)]int64

func (a assumedAmounts) plus(b assumedAmounts, n int64) assumedAmounts {
	for i := range a {
		a[i] += n * b[i]
	}
	return a
}

// unrequested are the requests that scores assume of a container without any (SCHED-124).
var unrequested = podresources.Amounts{corev1.ResourceCPU: 100, corev1.ResourceMemory: 200 << 20}

// assumedRequests returns what a pod counts for in the score of NodeResourcesFit.
func assumedRequests(pod *corev1.Pod) assumedAmounts {
	var a assumedAmounts
	if len(pod.Spec.InitContainers) == 0 && pod.Spec.Overhead == nil && pod.Spec.Resources == nil {
		// The usual case, without maps.
		for i := range pod.Spec.Containers {
			for j, name := range scoredResources {
				if q, given := pod.Spec.Containers[i].Resources.Requests[name]; given {
					a[j] += podresources.UnitsOf(name, q)
				} else {
					a[j] += unrequested[name]
				}
			}
		}
		return a
	}
	requests := podresources.RequestsWith(pod, unrequested)
	for i, name := range scoredResources {
		a[i] = requests[name]
	}
	return a
}

// tagged returns the name of an image with its tag.
func tagged(name string) string {
	if strings.LastIndex(name, ":") <= strings.LastIndex(name, "/") {
		return name + ":latest"
	}
	return name
}

func imageSize(node *corev1.Node, name string) (int64, bool) {
	for i := range node.Status.Images {
		if slices.Contains(node.Status.Images[i].Names, name) {
			return node.Status.Images[i].SizeBytes, true
		}
	}
	return 0, false
}

// imageShares returns the share of the nodes that have an image, by its names.
func imageShares(nodes []*corev1.Node) map[string]float64 {
	numbers := map[string]int{}
	for _, node := range nodes {
		seen := map[string]bool{}
		for i := range node.Status.Images {
			for _, name := range node.Status.Images[i].Names {
				if !seen[name] {
					numbers[name]++
				}
				seen[name] = true
			}
		}
	}
	shares := make(map[string]float64, len(numbers))
	for name, n := range numbers {
		shares[name] = float64(n) / math.Max(float64(len(nodes)), 1)
	}
	return shares
}
