package schedule

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/intree"
	"github.com/volsim/volsim/internal/core/objects"
)

// csiVolume identifies a volume that counts towards a node's limit (SCHED-212).
type csiVolume struct{ driver, handle string }

// preFilterLimits skips pods without volumes that could count (SCHED-210).
func (c *cycle) preFilterLimits() status {
	for i := range c.pod.Spec.Volumes {
		// SCHED-218: inline CSI volumes are not attached, so they do not count.
		if v := &c.pod.Spec.Volumes[i]; v.PersistentVolumeClaim != nil || v.Ephemeral != nil || migratedDriver(v) != "" {
			c.countVolumes = true
			return status{}
		}
	}
	// SCHED-210: nothing to count.
	return status{code: skipped}
}

// filterLimits rejects a node that cannot attach the pod's volumes as well (SCHED-211 to SCHED-217).
func (c *cycle) filterLimits(at *nodeState) status {
	if !c.countVolumes {
		return status{}
	}
	if c.counted == nil {
		counted := map[csiVolume]bool{}
		if s := c.count(c.pod, c.keys, true, counted); s.code != success {
			return s
		}
		c.counted = counted
	}
	// SCHED-213: no volume counts, or the node has no limit. SCHED-217: a driver that is not on the node sets no limit.
	limits := c.limitsOf(at)
	if len(c.counted) == 0 || len(limits) == 0 {
		return status{}
	}
	added := maps.Clone(c.counted)
	// SCHED-214: each volume counts once, however many pods use it.
	present := map[csiVolume]bool{}
	for _, pod := range at.pods() {
		if s := c.count(pod, claimKeysOf(pod), false, present); s.code != success {
			return s
		}
	}
	inUse := map[string]int{}
	for volume := range present {
		// SCHED-215: another pod on the node uses it already.
		delete(added, volume)
		inUse[volume.driver]++
	}
	// SCHED-215, ATT-191: an attachment without a pod counts as well, even if it is of a volume that this pod adds.
	for volume := range c.attached(at.node.Name) {
		if !present[volume] {
			inUse[volume.driver]++
		}
	}
	for volume := range added {
		inUse[volume.driver]++
	}
	for volume := range added {
		// SCHED-216: no count is no limit; zero is a limit.
		if limit, ok := limits[volume.driver]; ok && inUse[volume.driver] > limit {
			return reject(reasonVolumeCount)
		}
	}
	return status{}
}

// limitsOf returns how many volumes the node of a CSINode, which may be nil, can attach, by driver (SCHED-216).
func limitsOf(csiNode *storagev1.CSINode) map[string]int {
	if csiNode == nil {
		return nil
	}
	var limits map[string]int
	for i := range csiNode.Spec.Drivers {
		// SCHED-216: a driver without a count has no limit.
		if driver := &csiNode.Spec.Drivers[i]; driver.Allocatable != nil && driver.Allocatable.Count != nil {
			if limits == nil {
				limits = map[string]int{}
			}
			limits[driver.Name] = int(*driver.Allocatable.Count)
		}
	}
	return limits
}

// count adds the volumes of a pod that count to into. incoming is true for the pod to be scheduled.
func (c *cycle) count(pod *corev1.Pod, keys claimKeys, incoming bool, into map[csiVolume]bool) status {
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if len(keys) == 0 || keys[i] == "" {
			if err := countInPod(pod, volume, into); err != nil {
				return failure(err)
			}
			continue
		}
		claim, ok := c.look.claim(keys[i])
		switch {
		case !ok && incoming:
			_, name := objects.SplitKey(keys[i])
			// SCHED-211: the claim of the incoming pod has to exist.
			return rejectFor(fmt.Sprintf("looking up PVC %s/%s: %v", pod.Namespace, name, noClaim(name)))
		case !ok:
			// SCHED-214: a missing claim of another pod does not count.
			continue
		case volume.Ephemeral != nil && !objects.OwnsClaim(pod, claim):
			// SCHED-211: a claim of another owner fails the attempt.
			return failure(notOwner(pod, claim))
		}
		if v, ok := c.identity(claim); ok {
			into[v] = true
		}
	}
	return status{}
}

// countInPod adds a volume in the pod itself if a CSI driver replaced its plugin.
func countInPod(pod *corev1.Pod, volume *corev1.Volume, into map[csiVolume]bool) error {
	// SCHED-212, SCHED-218: a source of a CSI driver does not count.
	if plugin, ok := intree.PluginInPod(volume); !ok || !translates(plugin) {
		return nil
	}
	pv, err := intree.InPod(volume, pod.Namespace)
	if err != nil {
		return fmt.Errorf("converting volume(%s) from inline to csi: %w", volume.Name, err)
	}
	into[csiVolume{pv.Spec.CSI.Driver, pv.Spec.CSI.VolumeHandle}] = true
	return nil
}

// identity returns as which volume that of a claim counts; ok is false if it does not count (SCHED-212).
func (c *cycle) identity(claim *corev1.PersistentVolumeClaim) (csiVolume, bool) {
	// SCHED-212: the claim is bound and its volume exists.
	if claim.Spec.VolumeName != "" {
		if pv, ok := c.look.volume(claim.Spec.VolumeName); ok {
			csi := pv.Spec.CSI
			if plugin, migrated := intree.PluginOf(&pv.Spec.PersistentVolumeSource); migrated && translates(plugin) {
				// SCHED-212: the volume counts for the driver that replaced its plugin.
				csi = objects.CSIOf(pv)
			}
			if csi == nil {
				return csiVolume{}, false
			}
			return csiVolume{csi.Driver, csi.VolumeHandle}, csi.Driver != "" && csi.VolumeHandle != ""
		}
	}
	// SCHED-212: the provisioner of the class will make one. The handle differs from that of any volume.
	class, ok := c.look.class(objects.ClassOf(claim))
	if !ok {
		return csiVolume{}, false
	}
	driver := class.Provisioner
	if migrated, ok := intree.Driver(driver); ok {
		if !translates(driver) {
			return csiVolume{}, false
		}
		driver = migrated
	}
	return csiVolume{driver, "\x00" + api.KeyOf(claim)}, true
}

// attached returns the volumes of the node's VolumeAttachments (SCHED-214).
func (c *cycle) attached(node string) map[csiVolume]bool {
	volumes := map[csiVolume]bool{}
	for _, attachment := range c.look.attachments(node) {
		// SCHED-214: whether or not it is attached or being deleted.
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

// notOwner returns the error for the claim of an ephemeral volume that belongs to another owner (SCHED-045).
func notOwner(pod *corev1.Pod, claim *corev1.PersistentVolumeClaim) error {
	return fmt.Errorf("PVC %s/%s was not created for pod %s/%s (pod is not owner)", claim.Namespace, claim.Name, pod.Namespace, pod.Name)
}
