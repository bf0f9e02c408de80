package intree

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// zoneSeparator separates the zones in a label.
const zoneSeparator = "__"

// translateTopology makes node affinity and zone labels of a volume affinity with the topology keys of the driver (MIG-010).
func (p *plugin) translateTopology(pv *corev1.PersistentVolume) {
	if p.zone == "" || p.name == "kubernetes.io/azure-disk" {
		// MIG-010: the affinity of an Azure disk stays.
		return
	}
	zone, region := topologyLabels(pv)
	split := zoneSeparator
	if p.region != "" {
		// MIG-010: vSphere has one zone in a label, and its own key for regions.
		split = "\x00"
		defer moveKey(pv, region, p.region, split)
	} else if region == corev1.LabelFailureDomainBetaRegion {
		renameKey(pv, region, corev1.LabelTopologyRegion)
	}
	moveKey(pv, zone, p.zone, split)
}

// moveKey renames a key of the affinity. If the affinity lacks it, the label of that name becomes a requirement.
func moveKey(pv *corev1.PersistentVolume, from, to, separator string) {
	if len(valuesOf(pv, from)) > 0 {
		renameKey(pv, from, to)
		return
	}
	var values []string
	for _, value := range strings.Split(pv.Labels[from], separator) {
		if value = strings.TrimSpace(value); value != "" {
			values = append(values, value)
		}
	}
	if len(values) == 0 {
		return
	}
	slices.Sort(values)
	addRequirement(pv, to, slices.Compact(values))
}

// addRequirement adds a requirement to each term of the affinity.
func addRequirement(pv *corev1.PersistentVolume, key string, values []string) {
	if pv.Spec.NodeAffinity == nil {
		pv.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{}
	}
	if pv.Spec.NodeAffinity.Required == nil {
		pv.Spec.NodeAffinity.Required = &corev1.NodeSelector{}
	}
	required := pv.Spec.NodeAffinity.Required
	if len(required.NodeSelectorTerms) == 0 {
		required.NodeSelectorTerms = make([]corev1.NodeSelectorTerm, 1)
	}
	for i := range required.NodeSelectorTerms {
		term := &required.NodeSelectorTerms[i]
		term.MatchExpressions = append(term.MatchExpressions,
			corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values})
	}
}

// topologyLabels returns the labels for zone and region that a volume uses: the present ones, or those of old versions.
func topologyLabels(pv *corev1.PersistentVolume) (zone, region string) {
	old := func() (string, string) { return corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion }
	_, labelled := pv.Labels[corev1.LabelTopologyZone]
	_, oldLabelled := pv.Labels[corev1.LabelFailureDomainBetaZone]
	switch {
	case hasKey(pv, corev1.LabelTopologyZone):
	case hasKey(pv, corev1.LabelFailureDomainBetaZone):
		return old()
	case !labelled && oldLabelled:
		return old()
	}
	return corev1.LabelTopologyZone, corev1.LabelTopologyRegion
}

// requirements calls fn for each requirement of the affinity.
func requirements(pv *corev1.PersistentVolume, fn func(*corev1.NodeSelectorRequirement)) {
	if pv.Spec.NodeAffinity == nil || pv.Spec.NodeAffinity.Required == nil {
		return
	}
	terms := pv.Spec.NodeAffinity.Required.NodeSelectorTerms
	for i := range terms {
		for j := range terms[i].MatchExpressions {
			fn(&terms[i].MatchExpressions[j])
		}
	}
}

func hasKey(pv *corev1.PersistentVolume, key string) (found bool) {
	requirements(pv, func(r *corev1.NodeSelectorRequirement) { found = found || r.Key == key })
	return found
}

// valuesOf returns the values of a key in the affinity, in order.
func valuesOf(pv *corev1.PersistentVolume, key string) (values []string) {
	requirements(pv, func(r *corev1.NodeSelectorRequirement) {
		if r.Key == key {
			values = append(values, r.Values...)
		}
	})
	slices.Sort(values)
	return slices.Compact(values)
}

func renameKey(pv *corev1.PersistentVolume, from, to string) {
	requirements(pv, func(r *corev1.NodeSelectorRequirement) {
		if r.Key == from {
			r.Key = to
		}
	})
}

// gceRegion returns the region of zones such as us-central1-a.
func gceRegion(zones []string) (string, error) {
	var regions []string
	for _, zone := range zones {
		parts := strings.Split(zone, "-")
		if len(parts) != 3 {
			return "", fmt.Errorf("zone in unexpected format, expected: {locale}-{region}-{zone}, got: %v", zone)
		}
		regions = append(regions, strings.Join(parts[:2], "-"))
	}
	return oneRegion(regions)
}

// awsRegion returns the region of zones such as us-west-2a, us-west-2-lax-1a and us-east-1-wl1-bos-wlz-1.
func awsRegion(zones []string) (string, error) {
	var regions []string
	for _, zone := range zones {
		parts := strings.Split(zone, "-")
		last := parts[len(parts)-1]
		switch {
		case (len(parts) == 3 || len(parts) == 4) && len(last) == 2:
			regions = append(regions, strings.TrimSuffix(zone, last[1:]))
		case len(parts) == 5 || len(parts) == 7:
			regions = append(regions, strings.Join(parts[:3], "-"))
		default:
			return "", fmt.Errorf("Unexpected zone format: %v is not a valid AWS zone", zone)
		}
	}
	return oneRegion(regions)
}

func oneRegion(regions []string) (string, error) {
	if len(regions) == 0 {
		return "", fmt.Errorf("no zones specified")
	}
	set := map[string]struct{}{}
	for _, region := range regions {
		set[region] = struct{}{}
	}
	if len(set) > 1 {
		return "", fmt.Errorf("multiple or no regions gotten from zones, got: %v", set)
	}
	return regions[0], nil
}
