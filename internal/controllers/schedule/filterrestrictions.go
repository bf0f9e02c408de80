package schedule

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/objects"
)

// podRestrictions is the state of VolumeRestrictions for one pod (SCHED-181).
type podRestrictions struct {
	skip bool
	// single are the names of the pod's ReadWriteOncePod claims.
	single []string
	// inUse counts the uses of these claims by other pods.
	inUse int
}

// preFilterRestrictions collects the claims that only one pod may use (SCHED-180 to SCHED-182).
func (c *cycle) preFilterRestrictions() status {
	inline := false
	for i := range c.pod.Spec.Volumes {
		v := &c.pod.Spec.Volumes[i]
		inline = inline || v.GCEPersistentDisk != nil || v.AWSElasticBlockStore != nil || v.ISCSI != nil || v.RBD != nil
	}
	r := podRestrictions{}
	for i, key := range c.keys {
		if !c.keys.named(c.pod, i) {
			continue
		}
		claim, ok := c.look.claim(key)
		if !ok {
			// SCHED-180, SCHED-041: this is the first plugin that finds a claim missing.
			_, name := objects.SplitKey(key)
			return rejectFor(noClaim(name).Error()).by("SCHED-041")
		}
		// SCHED-181: only ReadWriteOncePod claims matter.
		if slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteOncePod) {
			r.single = append(r.single, claim.Name)
			if c.look.inUse(key) {
				r.inUse++
			}
		}
	}
	// SCHED-182: without inline disks and claims in use there is nothing to filter.
	r.skip = r.inUse == 0 && !inline
	c.restrictions = r
	if r.skip {
		return status{code: skipped}
	}
	return status{}
}

// filterRestrictions rejects a node because other pods use a disk or a claim of the pod (SCHED-183, SCHED-184).
func (c *cycle) filterRestrictions(at *nodeState) status {
	if c.restrictions.skip {
		return status{}
	}
	// SCHED-183: another pod on the node uses an inline disk of this pod.
	for _, other := range at.pods() {
		if disksConflict(c.pod, other) {
			return reject(reasonDiskConflict)
		}
	}
	// SCHED-184: on whatever node the other pod is.
	if c.restrictions.inUse > 0 {
		return reject(reasonPodConflict)
	}
	return status{}
}

// without returns the restrictions after another pod is gone.
func (r podRestrictions) without(other *corev1.Pod) podRestrictions {
	r.inUse -= r.usesBy(other)
	return r
}

// with returns the restrictions after another pod was added.
func (r podRestrictions) with(other *corev1.Pod) podRestrictions {
	r.inUse += r.usesBy(other)
	return r
}

// usesBy counts the volumes of another pod that use one of the ReadWriteOncePod claims.
func (r podRestrictions) usesBy(other *corev1.Pod) int {
	n := 0
	for i := range other.Spec.Volumes {
		// SCHED-186: claims are compared by name only, not by namespace.
		if source := other.Spec.Volumes[i].PersistentVolumeClaim; source != nil && slices.Contains(r.single, source.ClaimName) {
			n++
		}
	}
	return n
}

// disksConflict reports whether two pods name the same inline disk and cannot share it (SCHED-185).
func disksConflict(a, b *corev1.Pod) bool {
	for i := range a.Spec.Volumes {
		for j := range b.Spec.Volumes {
			if diskConflict(&a.Spec.Volumes[i], &b.Spec.Volumes[j]) {
				return true
			}
		}
	}
	return false
}

func diskConflict(a, b *corev1.Volume) bool {
	// SCHED-185: read-only volumes can share a disk, except on EBS.
	switch {
	case a.GCEPersistentDisk != nil && b.GCEPersistentDisk != nil:
		x, y := a.GCEPersistentDisk, b.GCEPersistentDisk
		return x.PDName == y.PDName && !(x.ReadOnly && y.ReadOnly)
	case a.AWSElasticBlockStore != nil && b.AWSElasticBlockStore != nil:
		return a.AWSElasticBlockStore.VolumeID == b.AWSElasticBlockStore.VolumeID
	case a.ISCSI != nil && b.ISCSI != nil:
		return a.ISCSI.IQN == b.ISCSI.IQN && !(a.ISCSI.ReadOnly && b.ISCSI.ReadOnly)
	case a.RBD != nil && b.RBD != nil:
		x, y := a.RBD, b.RBD
		return x.RBDPool == y.RBDPool && x.RBDImage == y.RBDImage && !(x.ReadOnly && y.ReadOnly) &&
			slices.ContainsFunc(x.CephMonitors, func(monitor string) bool { return slices.Contains(y.CephMonitors, monitor) })
	}
	return false
}
