package schedule

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
)

// podRestrictions is what VolumeRestrictions has to watch for one pod (SCHED-181).
type podRestrictions struct {
	skip bool
	// single are the names of the pod's claims that one pod at a time may use.
	single []string
	// inUse is how many of them other pods use.
	inUse int
}

// preFilterRestrictions looks for claims that only one pod may use (SCHED-180 to SCHED-182).
func (c *cycle) preFilterRestrictions() status {
	inline := slices.ContainsFunc(c.pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.GCEPersistentDisk != nil || v.AWSElasticBlockStore != nil || v.ISCSI != nil || v.RBD != nil
	})
	r := podRestrictions{}
	for _, key := range namedClaims(c.pod) {
		claim, ok := c.look.claim(key)
		if !ok {
			// SCHED-180, SCHED-041: the first plugin to miss it.
			_, name := api.SplitKey(key)
			return rejectFor(noClaim(name).Error())
		}
		// SCHED-181
		if slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteOncePod) {
			r.single = append(r.single, claim.Name)
			if c.look.inUse(key) {
				r.inUse++
			}
		}
	}
	// SCHED-182
	r.skip = r.inUse == 0 && !inline
	c.restrictions = r
	if r.skip {
		return status{code: skipped}
	}
	return status{}
}

// filterRestrictions keeps a pod from disks and claims that others hold (SCHED-183, SCHED-184).
func (c *cycle) filterRestrictions(at place) status {
	if c.restrictions.skip {
		return status{}
	}
	// SCHED-183: a disk of the pod itself is attached for another pod.
	for _, other := range at.pods() {
		if disksConflict(c.pod, other) {
			return reject(reasonDiskConflict)
		}
	}
	// SCHED-184: wherever the other pod is, this one also on its node.
	if c.restrictions.inUse > 0 {
		return reject(reasonPodConflict)
	}
	return status{}
}

// without is what is left of the restrictions when another pod is gone.
func (r podRestrictions) without(other *corev1.Pod) podRestrictions {
	r.inUse -= r.heldBy(other)
	return r
}

// with is what the restrictions are when another pod has come.
func (r podRestrictions) with(other *corev1.Pod) podRestrictions {
	r.inUse += r.heldBy(other)
	return r
}

// heldBy counts the volumes of another pod for which it has a claim that only one pod may use.
func (r podRestrictions) heldBy(other *corev1.Pod) int {
	n := 0
	for i := range other.Spec.Volumes {
		// SCHED-186: by name, in whatever namespace.
		if source := other.Spec.Volumes[i].PersistentVolumeClaim; source != nil && slices.Contains(r.single, source.ClaimName) {
			n++
		}
	}
	return n
}

// disksConflict reports whether two pods name the same disk in their volumes and cannot both have it (SCHED-185).
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
	// SCHED-185: readers may share, except on EBS.
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
