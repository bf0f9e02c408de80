package schedule

import (
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/podresources"
)

// maxScore is the highest score of a plugin for a node.
const maxScore = 100

// PluginScore is the score of a plugin for a node, from 0 to 100, before its weight.
type PluginScore struct {
	Plugin string
	Score  int64
}

// NodeScore is the score of a node: the sum of the scores of the plugins with their weights.
type NodeScore struct {
	Node    string
	Total   int64
	Plugins []PluginScore
}

// scorers are the plugins that score the nodes that a pod fits on, with their weights (SCHED-121). VolumeBinding does not (SCHED-120). A plugin
// that does not score the pod returns nil.
var scorers = [...]struct {
	name   string
	weight int64
	run    func(*cycle, []*nodeState) ([]int64, error)
}{
	{taintToleration, 3, (*cycle).scoreTaints},
	{nodeAffinity, 2, (*cycle).scoreAffinity},
	{nodeResourcesFit, 1, (*cycle).scoreFree},
	{podTopologySpread, 2, (*cycle).scoreSpread},
	{interPodAffinity, 2, (*cycle).scorePods},
	{nodeResourcesBalancedAllocation, 1, (*cycle).scoreBalance},
	{imageLocality, 1, (*cycle).scoreImages},
}

// score returns the scores of nodes for the pod, in their order (SCHED-121). each, if not nil, receives the scores of each plugin.
func (c *cycle) score(nodes []*nodeState, each func(plugin string, scores []int64)) ([]int64, error) {
	totals := zeros(&c.look.totals, len(nodes))
	for _, plugin := range scorers {
		list, err := plugin.run(c, nodes)
		if err != nil {
			// SCHED-237: an error fails the attempt.
			return nil, fmt.Errorf("running PreScore plugin %q: %w", plugin.name, err)
		}
		for i, n := range list {
			totals[i] += plugin.weight * n
		}
		if each != nil && list != nil {
			each(plugin.name, list)
		}
	}
	return totals, nil
}

// noScores returns n zeros, in memory that is valid until the next call: the lists of plugins are added up one by one.
func (c *cycle) noScores(n int) []int64 { return zeros(&c.look.scores, n) }

// zeros returns n zeros in memory.
func zeros(memory *[]int64, n int) []int64 {
	if cap(*memory) < n {
		*memory = make([]int64, n)
	}
	list := (*memory)[:n]
	clear(list)
	return list
}

// normalize scales scores so that the highest becomes 100, or 0 if low ones are better.
func normalize(scores []int64, lowIsBetter bool) []int64 {
	most := slices.Max(scores)
	for i := range scores {
		if most > 0 {
			scores[i] = maxScore * scores[i] / most
		}
		if lowIsBetter {
			scores[i] = maxScore - scores[i]
		}
	}
	return scores
}

// scoreTaints prefers nodes with few taints PreferNoSchedule that the pod does not tolerate (SCHED-122).
func (c *cycle) scoreTaints(nodes []*nodeState) ([]int64, error) {
	scores := c.noScores(len(nodes))
	for i, at := range nodes {
		if !at.avoided {
			continue
		}
		for j := range at.node.Spec.Taints {
			if taint := &at.node.Spec.Taints[j]; taint.Effect == corev1.TaintEffectPreferNoSchedule && !objects.Tolerated(c.pod, taint) {
				scores[i]++
			}
		}
	}
	return normalize(scores, true), nil
}

// scoreAffinity prefers nodes that the preferred terms of the pod's node affinity select (SCHED-123).
func (c *cycle) scoreAffinity(nodes []*nodeState) ([]int64, error) {
	affinity := c.pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || len(affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) == 0 {
		return nil, nil
	}
	scores := c.noScores(len(nodes))
	for i, at := range nodes {
		for j := range affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			term := &affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[j]
			if objects.TermSelectsNode(&term.Preference, at.node) {
				scores[i] += int64(term.Weight)
			}
		}
	}
	return normalize(scores, false), nil
}

// scoreFree prefers nodes with much free cpu and memory (SCHED-124).
func (c *cycle) scoreFree(nodes []*nodeState) ([]int64, error) {
	scores := c.noScores(len(nodes))
	own := assumedRequests(c.pod)
	for i := range nodes {
		at := nodes[i]
		sum, n := int64(0), int64(0)
		for j, have := range at.capacity {
			if have == 0 {
				continue
			}
			n++
			if want := at.on.assumed[j] + own[j]; want <= have {
				sum += (have - want) * maxScore / have
			}
		}
		if n > 0 {
			scores[i] = sum / n
		}
	}
	return scores, nil
}

// scoreBalance prefers nodes on which the pod makes the use of cpu and memory more even (SCHED-125).
func (c *cycle) scoreBalance(nodes []*nodeState) ([]int64, error) {
	// SCHED-125: a pod without requests is not scored.
	if c.requests[corev1.ResourceCPU] == 0 && c.requests[corev1.ResourceMemory] == 0 {
		return nil, nil
	}
	scores := c.noScores(len(nodes))
	for i, at := range nodes {
		before, after := balance(at.capacity, at.on.used, nil), balance(at.capacity, at.on.used, c.requests)
		scores[i] = maxScore/2 + (maxScore/2+after-before)/2
	}
	return scores, nil
}

// balance returns 100 for a node that uses the same share of its cpu and memory, and less the more these differ.
func balance(capacity assumedAmounts, used, more podresources.Amounts) int64 {
	var shares []float64
	for i, name := range scoredResources {
		if have := capacity[i]; have != 0 {
			shares = append(shares, min(float64(used[name]+more[name])/float64(have), 1))
		}
	}
	off := 0.0
	if len(shares) == 2 {
		off = math.Abs((shares[0] - shares[1]) / 2)
	}
	return int64((1 - off) * maxScore)
}

// scoreImages prefers nodes that have the images of the pod (SCHED-126).
func (c *cycle) scoreImages(nodes []*nodeState) ([]int64, error) {
	const (
		least = 23 << 20
		most  = 1000 << 20
	)
	limit := int64(most * (len(c.pod.Spec.InitContainers) + len(c.pod.Spec.Containers)))
	score := func(sum int64) int64 { return maxScore * (min(max(sum, least), limit) - least) / (limit - least) }
	without := score(0)
	scores := c.noScores(len(nodes))
	var names []string
	var shares map[string]float64
	for i, at := range nodes {
		if !at.images {
			scores[i] = without
			continue
		}
		if shares == nil {
			names, shares = c.imageNames(), imageShares(c.look.nodes())
		}
		sum := int64(0)
		for _, name := range names {
			if size, ok := imageSize(at.node, name); ok {
				// SCHED-126: an image that few nodes have counts less, so that not all pods go there.
				sum += int64(float64(size) * shares[name])
			}
		}
		scores[i] = score(sum)
	}
	return scores, nil
}

// imageNames returns the names of the images that the pod uses, those of its containers and of its volumes.
func (c *cycle) imageNames() []string {
	var names []string
	for _, list := range [][]corev1.Container{c.pod.Spec.InitContainers, c.pod.Spec.Containers} {
		for i := range list {
			names = append(names, tagged(list[i].Image))
		}
	}
	for i := range c.pod.Spec.Volumes {
		if image := c.pod.Spec.Volumes[i].Image; image != nil {
			names = append(names, tagged(image.Reference))
		}
	}
	return names
}

// softConstraints returns the spread constraints of a pod that only score nodes: its own, or else those that every pod of a service or a
// controller has (SCHED-127).
func (c *cycle) softConstraints() ([]spreadConstraint, error) {
	if len(c.pod.Spec.TopologySpreadConstraints) > 0 {
		return spreadConstraints(c.pod, corev1.ScheduleAnyway)
	}
	selector := c.look.siblings(c.pod)
	if selector.Empty() {
		return nil, nil
	}
	return []spreadConstraint{
		{key: corev1.LabelHostname, maxSkew: 3, minDomains: 1, pods: selector, affinity: true},
		{key: corev1.LabelTopologyZone, maxSkew: 5, minDomains: 1, pods: selector, affinity: true},
	}, nil
}

// scoreSpread prefers nodes in domains with few pods that the pod is spread with (SCHED-127, SCHED-128).
func (c *cycle) scoreSpread(nodes []*nodeState) ([]int64, error) {
	constraints, err := c.softConstraints()
	if err != nil {
		return nil, fmt.Errorf("calculating preScoreState: obtaining pod's soft topology spread constraints: %w", err)
	}
	if len(constraints) == 0 {
		return nil, nil
	}
	all := len(c.pod.Spec.TopologySpreadConstraints) > 0
	ignored := make([]bool, len(nodes))
	counts, weights, n := make([]map[string]int, len(constraints)), make([]float64, len(constraints)), 0
	for i, at := range nodes {
		// SCHED-128: of the pod's own constraints a node needs the labels of all.
		if ignored[i] = all && !hasAllKeys(at.node, constraints); !ignored[i] {
			n++
		}
	}
	for j := range constraints {
		counts[j] = map[string]int{}
		size := n
		if key := constraints[j].key; key != corev1.LabelHostname {
			for i, at := range nodes {
				if !ignored[i] {
					counts[j][at.node.Labels[key]] = 0
				}
			}
			size = len(counts[j])
		}
		weights[j] = math.Log(float64(size + 2))
	}
	c.countSpread(constraints, all, counts)
	scores := c.noScores(len(nodes))
	for i, at := range nodes {
		if ignored[i] {
			continue
		}
		sum := 0.0
		for j := range constraints {
			sc := &constraints[j]
			value, ok := at.node.Labels[sc.key]
			if !ok {
				continue
			}
			number := counts[j][value]
			if sc.key == corev1.LabelHostname {
				number = sc.count(c.pod, at.pods())
			}
			sum += float64(number)*weights[j] + float64(sc.maxSkew-1)
		}
		scores[i] = int64(math.Round(sum))
	}
	return normalizeSpread(scores, ignored), nil
}

// countSpread counts the pods in the domains of counts, other than those of single nodes.
func (c *cycle) countSpread(constraints []spreadConstraint, all bool, counts []map[string]int) {
	for _, node := range c.look.nodes() {
		if all && !hasAllKeys(node, constraints) {
			continue
		}
		for j := range constraints {
			sc := &constraints[j]
			value := node.Labels[sc.key]
			if _, known := counts[j][value]; known && sc.includes(c.pod, node) {
				counts[j][value] += sc.count(c.pod, c.look.podsOn(node.Name))
			}
		}
	}
}

// normalizeSpread turns numbers of pods into scores: the fewest pods give the highest one. Ignored nodes get 0.
func normalizeSpread(scores []int64, ignored []bool) []int64 {
	fewest, most := int64(math.MaxInt64), int64(0)
	for i, n := range scores {
		if !ignored[i] {
			fewest, most = min(fewest, n), max(most, n)
		}
	}
	for i, n := range scores {
		switch {
		case ignored[i]:
		case most == 0:
			scores[i] = maxScore
		default:
			scores[i] = maxScore * (most + fewest - n) / most
		}
	}
	return scores
}
