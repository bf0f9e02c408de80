package schedule

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/internal/core/objects"
)

// zoneLabels are the labels that VolumeZone compares, and the newer key of each (SCHED-010).
var zoneLabels = [...]struct{ key, newer string }{
	{corev1.LabelFailureDomainBetaZone, corev1.LabelTopologyZone},
	{corev1.LabelFailureDomainBetaRegion, corev1.LabelTopologyRegion},
	{corev1.LabelTopologyZone, corev1.LabelTopologyZone},
	{corev1.LabelTopologyRegion, corev1.LabelTopologyRegion},
}

// zoneSeparator separates the zones in the label of a volume that is in several (SCHED-011).
const zoneSeparator = "__"

// zoneLabel is a zone or region label of a volume.
type zoneLabel struct {
	key, newer string
	values     []string // sorted, each once
}

func (z zoneLabel) equal(other zoneLabel) bool {
	return z.key == other.key && slices.Equal(z.values, other.values)
}

// zonesOf returns the zone and region labels of a volume (SCHED-201).
func zonesOf(pv *corev1.PersistentVolume) []zoneLabel {
	var zones []zoneLabel
	for _, label := range zoneLabels {
		value, ok := pv.Labels[label.key]
		if !ok {
			continue
		}
		// SCHED-201, SCHED-011: a label with an empty zone is ignored.
		values := strings.Split(value, zoneSeparator)
		for i := range values {
			values[i] = strings.TrimSpace(values[i])
		}
		if !slices.Contains(values, "") {
			slices.Sort(values)
			zones = append(zones, zoneLabel{label.key, label.newer, slices.Compact(values)})
		}
	}
	return zones
}

// preFilterZone collects the zones of the pod's volumes (SCHED-200, SCHED-201).
func (c *cycle) preFilterZone() status {
	for i := range c.pod.Spec.Volumes {
		// SCHED-200: ephemeral volumes are skipped.
		source := c.pod.Spec.Volumes[i].PersistentVolumeClaim
		if source == nil {
			continue
		}
		claim, ok := c.look.claim(c.keys[i])
		if !ok {
			return rejectFor(noClaim(source.ClaimName).Error()).by("SCHED-200")
		}
		if claim.Spec.VolumeName == "" {
			if s := c.unboundZone(claim); s.code != success {
				return s
			}
			continue
		}
		pv, ok := c.look.volume(claim.Spec.VolumeName)
		if !ok {
			// SCHED-064: therefore such a pod never gets reasonNoVolume.
			return rejectFor(noVolume(claim.Spec.VolumeName).Error()).by("SCHED-200")
		}
		c.zones = append(c.zones, zonesOf(pv)...)
	}
	// SCHED-201: without zones the plugin is skipped.
	if len(c.zones) == 0 {
		return status{code: skipped}
	}
	return status{}
}

// unboundZone checks a claim without a volume: only a delayed one is accepted (SCHED-200).
func (c *cycle) unboundZone(claim *corev1.PersistentVolumeClaim) status {
	// SCHED-200: the class decides whether the claim is delayed.
	name := objects.ClassOf(claim)
	if name == "" {
		return rejectFor("PersistentVolumeClaim had no pv name and storageClass name").by("SCHED-200")
	}
	class, ok := c.look.class(name)
	switch {
	case !ok:
		return rejectFor(noClass(name).Error()).by("SCHED-200")
	case class.VolumeBindingMode == nil || *class.VolumeBindingMode != storagev1.VolumeBindingWaitForFirstConsumer:
		return rejectFor("PersistentVolume had no name").by("SCHED-200")
	}
	return status{}
}

// filterZone rejects a node outside the zones of the pod's volumes (SCHED-202).
func (c *cycle) filterZone(at *nodeState) status {
	if len(c.zones) == 0 {
		return status{}
	}
	labels := at.node.Labels
	// SCHED-202: a node without zone labels is accepted, as in a cluster without zones.
	zoned := slices.ContainsFunc(zoneLabels[:], func(label struct{ key, newer string }) bool { _, ok := labels[label.key]; return ok })
	if !zoned {
		return status{}
	}
	for _, zone := range c.zones {
		value, ok := labels[zone.key]
		if !ok {
			// SCHED-202: a volume's old key matches a node's new one, but not the reverse.
			value, ok = labels[zone.newer]
		}
		if !ok || !slices.Contains(zone.values, value) {
			return rejectFor(reasonZone)
		}
	}
	return status{}
}
