package schedule

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// cycle is the attempt to find a node for one pod. It is made anew for each attempt; nothing happens meanwhile.
type cycle struct {
	look *lookups
	pod  *corev1.Pod

	requests     amounts
	restrictions podRestrictions
	countVolumes bool // NodeVolumeLimits has something to do
	// brings is what the pod's volumes count as; nil before anybody asked.
	brings  map[csiVolume]bool
	binding podClaims
	zones   []zoneLabel

	// found is what the pod's unbound claims would get on each node that fits.
	found map[string]nodeVolumes
}

func newCycle(look *lookups, pod *corev1.Pod) *cycle {
	return &cycle{look: look, pod: pod, requests: requestsOf(pod), found: map[string]nodeVolumes{}}
}

// place is a node with the pods on it.
type place struct {
	node *corev1.Node
	// pods lists the pods on the node; it is only called when they matter.
	pods func() []*corev1.Pod
	used amounts
	n    int // pods
}

// preFilters are the plugins that look at the pod alone. SCHED-023: in this order.
var preFilters = [...]struct {
	name string
	run  func(*cycle) status
}{
	{volumeRestrictions, (*cycle).preFilterRestrictions},
	{nodeVolumeLimits, (*cycle).preFilterLimits},
	{volumeBinding, (*cycle).preFilterBinding},
	{volumeZone, (*cycle).preFilterZone},
}

// filters are the plugins that look at the pod on a node. SCHED-024: in this order; one that has nothing to do with the pod says so
// by itself.
var filters = [...]struct {
	name string
	run  func(*cycle, place) status
}{
	{nodeUnschedulable, (*cycle).filterUnschedulable},
	{taintToleration, (*cycle).filterTaints},
	{nodeAffinity, (*cycle).filterAffinity},
	{nodeResourcesFit, (*cycle).filterResources},
	{volumeRestrictions, (*cycle).filterRestrictions},
	{nodeVolumeLimits, (*cycle).filterLimits},
	{volumeBinding, (*cycle).filterBinding},
	{volumeZone, (*cycle).filterZone},
}

// preFilter looks at the pod alone (SCHED-023).
func (c *cycle) preFilter() status {
	var turnedDown status
	for _, plugin := range preFilters {
		s := plugin.run(c)
		s.plugin = plugin.name
		switch s.code {
		case unresolvable:
			// SCHED-023: nothing helps, so no other plugin is asked.
			return s
		case unschedulable:
			// SCHED-023: the others may find something worse.
			turnedDown = s
		case failed:
			// SCHED-237
			s.err = fmt.Errorf("running PreFilter plugin %q: %w", plugin.name, s.err)
			return s
		}
	}
	return turnedDown
}

// filter looks at the pod on a node: the first plugin that turns it down decides (SCHED-024).
func (c *cycle) filter(at place) status {
	for _, plugin := range filters {
		s := plugin.run(c, at)
		if s.code == success {
			continue
		}
		s.plugin = plugin.name
		if s.code == failed {
			// SCHED-237
			s.err = fmt.Errorf("running %q filter plugin: %w", plugin.name, s.err)
		}
		return s
	}
	return status{}
}

// filterWith looks at the pod on a node where other pods are expected, and on the same node without them: it has to fit both times.
func (c *cycle) filterWith(expected []*corev1.Pod, at func(expected []*corev1.Pod) place) status {
	if len(expected) > 0 {
		restrictions := c.restrictions
		for _, pod := range expected {
			// SCHED-188
			c.restrictions = c.restrictions.with(pod)
		}
		answer := c.filter(at(expected))
		c.restrictions = restrictions
		if answer.code != success {
			return answer
		}
	}
	return c.filter(at(nil))
}
