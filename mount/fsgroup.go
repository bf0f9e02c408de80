package mount

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/engine"
)

// fsGroup is the group that the pod wants its files to belong to, zero for none (MNT-330).
func fsGroup(pod *corev1.Pod) int64 {
	if context := pod.Spec.SecurityContext; context != nil && context.FSGroup != nil {
		// MNT-330: the simulated change takes no time, so whether it is skipped at an equal root makes no difference.
		return *context.FSGroup
	}
	return 0
}

// changesGroup reports whether the kubelet changes the group of the files of a CSI volume (MNT-331).
func changesGroup(policy storagev1.FSGroupPolicy, fsType string, modes []corev1.PersistentVolumeAccessMode, inline, readOnly bool) bool {
	switch {
	case readOnly, policy == storagev1.NoneFSGroupPolicy:
		// MNT-331, MNT-334
		return false
	case policy == storagev1.FileFSGroupPolicy:
		// MNT-331
		return true
	case fsType == "":
		return false
	}
	// MNT-331: by default only where one node at a time can write.
	return inline || slices.Contains(modes, corev1.ReadWriteOnce) || slices.Contains(modes, corev1.ReadWriteOncePod)
}

// group is the group that a CSI volume's files get for the pod, zero if they stay as they are.
func (c csiPlugin) group(spec *volumeSpec, source csiSource, pod *corev1.Pod) int64 {
	policy := storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy
	if object := c.k.driver(source.driver); object != nil && object.Spec.FSGroupPolicy != nil {
		policy = *object.Spec.FSGroupPolicy
	}
	var modes []corev1.PersistentVolumeAccessMode
	if spec.PV != nil {
		modes = spec.PV.Spec.AccessModes
	}
	if !changesGroup(policy, source.fsType, modes, spec.PV == nil, spec.readOnly()) {
		return 0
	}
	return fsGroup(pod)
}

// localGroup is the group that a local volume's files get for the pod: the first pod's, as long as another one has them.
func (k *kubelet) localGroup(p *engine.Proc, spec *volumeSpec, pod *corev1.Pod) int64 {
	group := fsGroup(pod)
	for _, m := range k.node.disk.Mounts() {
		if m.Plugin != spec.plugin.Name || m.Volume != spec.ID() || m.Pod == "" || m.Pod == string(pod.UID) {
			continue
		}
		// MNT-332, MNT-397: the mount proceeds all the same.
		if group != 0 && m.Group != group {
			k.event(p, pod, corev1.EventTypeWarning, "AlreadyMountedVolume",
				"The requested fsGroup is %d, but the volume %s has GID %d. The volume may not be shareable.", group, spec.Name(), m.Group)
		}
		return m.Group
	}
	return group
}
