package attach

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/internal/core/objects"
)

// resolve returns the spec of a volume of a pod, from the caches (ATT-011, ATT-012). It reports false for a volume that cannot be resolved
// yet; there is no Event and no retry.
func (c *controller) resolve(pod *corev1.Pod, volume *corev1.Volume) (objects.VolumeSpec, bool) {
	name := objects.ClaimOf(pod, volume)
	if name == "" {
		return translated(objects.SpecOfInline(volume), pod.Namespace)
	}
	var none objects.VolumeSpec
	claim, ok := c.infClaims.GetNamed(pod.Namespace, name)
	// ATT-012: the claim of a generic ephemeral volume must be owned by the pod.
	if !ok || volume.Ephemeral != nil && !objects.OwnsClaim(pod, claim) {
		return none, false
	}
	// ATT-011: the claim must be bound, and the volume must point back at it.
	if claim.Status.Phase != corev1.ClaimBound || claim.Spec.VolumeName == "" {
		return none, false
	}
	pv, ok := c.infVolumes.Get(claim.Spec.VolumeName)
	if !ok || pv.Spec.ClaimRef == nil || pv.Spec.ClaimRef.UID != claim.UID {
		return none, false
	}
	return translated(objects.SpecOfVolume(volume, pv), pod.Namespace)
}

// translated returns the spec of a volume whose in-tree plugin was replaced as that of the CSI driver.
func translated(spec objects.VolumeSpec, namespace string) (objects.VolumeSpec, bool) {
	// ATT-200: one that cannot be translated is skipped silently.
	spec, err := spec.Translated(namespace)
	return spec, err == nil
}

// driverObject returns the cached CSIDriver of that name, nil if there is none.
func (c *controller) driverObject(name string) *storagev1.CSIDriver {
	driver, _ := c.infDrivers.Get(name)
	return driver
}

// attachable returns the plugin that attaches the volume. It reports false if the volume needs no attaching or has no plugin (ATT-010).
func (c *controller) attachable(spec objects.VolumeSpec) (objects.Plugin, bool) {
	plugin, err := objects.PluginOf(c.set, spec)
	// ATT-010, ATT-013: the CSIDriver as it is now decides; without the object the volume needs attaching.
	if err != nil || !plugin.Attachable(spec, c.driverObject(plugin.Driver)) {
		return objects.Plugin{}, false
	}
	return plugin, true
}

// nameAmong returns the unique name of a volume, and the volume among the desired ones of a node, which is nil if it is not there.
func nameAmong(volumes map[corev1.UniqueVolumeName]*desiredVolume, plugin objects.Plugin, spec objects.VolumeSpec) (corev1.UniqueVolumeName,
	*desiredVolume) {
	var room [256]byte
	name := objects.AppendVolumeName(room[:0], plugin, spec)
	if v, ok := volumes[corev1.UniqueVolumeName(name)]; ok {
		return v.name, v
	}
	return corev1.UniqueVolumeName(name), nil
}

// attachableVolumes calls fn for each volume of the pod that needs attaching, in the order of the pod's volumes, with what nameAmong returns for it.
func (c *controller) attachableVolumes(pod *corev1.Pod, fn func(at pair, v *desiredVolume, spec objects.VolumeSpec)) {
	volumes := c.desired.nodes[pod.Spec.NodeName]
	for i := range pod.Spec.Volumes {
		spec, ok := c.resolve(pod, &pod.Spec.Volumes[i])
		if !ok {
			continue
		}
		if plugin, ok := c.attachable(spec); ok {
			name, v := nameAmong(volumes, plugin, spec)
			fn(pair{name, pod.Spec.NodeName}, v, spec)
		}
	}
}
