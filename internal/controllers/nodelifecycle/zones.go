package nodelifecycle

import corev1 "k8s.io/api/core/v1"

// ZoneState says how many nodes of a zone are ready (NODE-041).
type ZoneState string

// The states of a zone. Initial is the state before the first pass.
const (
	Initial           ZoneState = "Initial"
	Normal            ZoneState = "Normal"
	PartialDisruption ZoneState = "PartialDisruption"
	FullDisruption    ZoneState = "FullDisruption"
)

// Flags of the controller, with their defaults.
const (
	evictionRate          = float32(0.1)  // NODE-004: --node-eviction-rate, per second
	secondaryEvictionRate = float32(0.01) // NODE-004: --secondary-node-eviction-rate
	largeZone             = 50            // NODE-005: --large-cluster-size-threshold
	unhealthyShare        = float32(0.55) // NODE-005: --unhealthy-zone-threshold
)

// excludeLabel excludes a node from the states of zones (NODE-045).
const excludeLabel = "node.kubernetes.io/exclude-disruption"

// ZoneOf returns the zone of a node: its region and its zone, each by the label that was used first, else by the newer one. It is "" for a
// node with neither (NODE-040).
func ZoneOf(node *corev1.Node) string {
	zone, ok := node.Labels[corev1.LabelFailureDomainBetaZone]
	if !ok {
		zone = node.Labels[corev1.LabelTopologyZone]
	}
	region, ok := node.Labels[corev1.LabelFailureDomainBetaRegion]
	if !ok {
		region = node.Labels[corev1.LabelTopologyRegion]
	}
	if region == "" && zone == "" {
		return ""
	}
	return region + "/" + zone
}

// StateOf returns the state of a zone with so many nodes that are ready and that are not (NODE-041).
func StateOf(ready, notReady int) ZoneState {
	switch {
	case ready == 0 && notReady > 0:
		return FullDisruption
	case notReady > 2 && float32(notReady)/float32(notReady+ready) >= unhealthyShare:
		return PartialDisruption
	}
	return Normal
}

// RateOf returns how many nodes of a zone of that size may be tainted in a second (NODE-042). It does not apply if all zones are fully
// disrupted (NODE-043).
func RateOf(state ZoneState, size int) float32 {
	switch {
	case state != PartialDisruption:
		return evictionRate
	case size > largeZone:
		return secondaryEvictionRate
	}
	return 0
}

// Disruption lists the actions of a pass that follow from the states of zones.
type Disruption struct {
	// States are the new states of the zones.
	States map[string]ZoneState
	// Stop: all zones are fully disrupted since this pass. Taints are removed, and none is added (NODE-043).
	Stop bool
	// Restart: that is over. Every node counts as seen alive now (NODE-044).
	Restart bool
	// Changed lists the zones whose rate is set, in no order.
	Changed []string
}

// Disrupt compares the states of zones before a pass with those that it found (NODE-042 to NODE-044, NODE-048).
func Disrupt(before, found map[string]ZoneState) Disruption {
	all := func(states map[string]ZoneState) bool {
		for _, state := range states {
			if state != FullDisruption {
				return false
			}
		}
		return true
	}
	known := map[string]ZoneState{}
	for zone := range found {
		known[zone] = Initial
	}
	for zone, state := range before {
		// NODE-048: a zone without nodes is forgotten.
		if _, ok := found[zone]; ok {
			known[zone] = state
		}
	}
	d := Disruption{States: known}
	isFull, wasFull := all(found), all(known)
	switch {
	case isFull && wasFull:
		return d
	case isFull:
		d.Stop = true
	case wasFull:
		d.Restart = true
	}
	for zone, state := range found {
		if d.Restart || known[zone] != state {
			d.Changed = append(d.Changed, zone)
		}
		d.States[zone] = state
	}
	return d
}
