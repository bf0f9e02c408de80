package schedule

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
)

// csiVolume is what a volume counts as at a node's limit (SCHED-212).
type csiVolume struct{ driver, handle string }

// preFilterLimits leaves out pods without volumes that could count (SCHED-210).
func (c *cycle) preFilterLimits() status {
	for i := range c.pod.Spec.Volumes {
		// SCHED-218: what CSI drivers mount for the pod alone is not attached.
		if v := &c.pod.Spec.Volumes[i]; v.PersistentVolumeClaim != nil || v.Ephemeral != nil {
			c.countVolumes = true
			return status{}
		}
	}
	// SCHED-210
	return status{code: skipped}
}

// filterLimits keeps a pod off a node that can attach no more (SCHED-211 to SCHED-217).
func (c *cycle) filterLimits(at place) status {
	if !c.countVolumes {
		return status{}
	}
	if c.brings == nil {
		brings := map[csiVolume]bool{}
		if s := c.count(c.pod, true, brings); s.code != success {
			return s
		}
		c.brings = brings
	}
	// SCHED-213: nothing that counts, or nobody who counts. SCHED-217: a driver that is not on the node sets no limit.
	limits := c.limitsOf(at.node.Name)
	if len(c.brings) == 0 || len(limits) == 0 {
		return status{}
	}
	added := maps.Clone(c.brings)
	// SCHED-214: each volume once, however many pods use it.
	held := map[csiVolume]bool{}
	for _, pod := range at.pods() {
		if s := c.count(pod, false, held); s.code != success {
			return s
		}
	}
	inUse := map[string]int{}
	for volume := range held {
		// SCHED-215: it is there for another pod already.
		delete(added, volume)
		inUse[volume.driver]++
	}
	// SCHED-215, ATT-191: an attachment that no pod accounts for is not taken off what the pod adds, even if it is of the same volume.
	for volume := range c.attached(at.node.Name) {
		if !held[volume] {
			inUse[volume.driver]++
		}
	}
	for volume := range added {
		inUse[volume.driver]++
	}
	for volume := range added {
		// SCHED-216: nil is no limit, zero is one.
		if limit, ok := limits[volume.driver]; ok && inUse[volume.driver] > limit {
			return reject(reasonVolumeCount)
		}
	}
	return status{}
}

// limitsOf is how many volumes of each driver the node can attach (SCHED-216).
func (c *cycle) limitsOf(node string) map[string]int {
	csiNode, ok := c.look.csiNode(node)
	if !ok {
		return nil
	}
	limits := map[string]int{}
	for i := range csiNode.Spec.Drivers {
		// SCHED-216
		if driver := &csiNode.Spec.Drivers[i]; driver.Allocatable != nil && driver.Allocatable.Count != nil {
			limits[driver.Name] = int(*driver.Allocatable.Count)
		}
	}
	return limits
}

// count adds the volumes of a pod that count. incoming is the pod that wants a node.
func (c *cycle) count(pod *corev1.Pod, incoming bool, into map[csiVolume]bool) status {
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		name := objects.ClaimOf(pod, volume)
		if name == "" {
			continue
		}
		claim, ok := c.look.claim(api.Key(pod.Namespace, name))
		switch {
		case !ok && incoming:
			// SCHED-211
			return rejectFor(fmt.Sprintf("looking up PVC %s/%s: %v", pod.Namespace, name, noClaim(name)))
		case !ok:
			// SCHED-214
			continue
		case volume.Ephemeral != nil && !objects.OwnsClaim(pod, claim):
			// SCHED-211
			return failure(notOwner(pod, claim))
		}
		if v, ok := c.identity(claim); ok {
			into[v] = true
		}
	}
	return status{}
}

// identity is what the volume of a claim counts as, if it counts (SCHED-212).
func (c *cycle) identity(claim *corev1.PersistentVolumeClaim) (csiVolume, bool) {
	// SCHED-212: bound, and the volume is there.
	if claim.Spec.VolumeName != "" {
		if pv, ok := c.look.volume(claim.Spec.VolumeName); ok {
			csi := pv.Spec.CSI
			if csi == nil {
				return csiVolume{}, false
			}
			return csiVolume{csi.Driver, csi.VolumeHandle}, csi.Driver != "" && csi.VolumeHandle != ""
		}
	}
	// SCHED-212: it will get one from its class. No volume has a handle like that.
	class, ok := c.look.class(objects.ClassOf(claim))
	if !ok {
		return csiVolume{}, false
	}
	return csiVolume{class.Provisioner, "\x00" + api.KeyOf(claim)}, true
}

// attached is what the node's attachments count as (SCHED-214).
func (c *cycle) attached(node string) map[csiVolume]bool {
	volumes := map[csiVolume]bool{}
	for _, attachment := range c.look.attachments(node) {
		// SCHED-214: attached or not, terminating or not.
		name := attachment.Spec.Source.PersistentVolumeName
		if name == nil {
			continue
		}
		if pv, ok := c.look.volume(*name); ok && pv.Spec.CSI != nil {
			volumes[csiVolume{attachment.Spec.Attacher, pv.Spec.CSI.VolumeHandle}] = true
		}
	}
	return volumes
}

// notOwner says that a claim for an ephemeral volume is not the pod's (SCHED-045).
func notOwner(pod *corev1.Pod, claim *corev1.PersistentVolumeClaim) error {
	return fmt.Errorf("PVC %s/%s was not created for pod %s/%s (pod is not owner)", claim.Namespace, claim.Name, pod.Namespace, pod.Name)
}
