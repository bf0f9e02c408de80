package mount

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/engine"
)

// fsGroup is the group that the pod wants its files to belong to, zero for none (MNT-330).
func fsGroup(pod *corev1.Pod) int64 {
	if context := pod.Spec.SecurityContext; context != nil && context.FSGroup != nil {
		// MNT-330
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

// localGroup is the group that a local volume's files get for the pod: the first pod's, as long as another one has them. changes says
// that this pod's mount gives it to them.
func (k *kubelet) localGroup(p *engine.Proc, spec *volumeSpec, pod *corev1.Pod) (group int64, changes bool) {
	group = fsGroup(pod)
	for _, m := range k.node.disk.Mounts() {
		if m.Plugin != spec.plugin.Name || m.Volume != spec.ID() || m.Pod == "" || m.Pod == string(pod.UID) {
			continue
		}
		// MNT-332, MNT-397: the mount proceeds all the same.
		if group != 0 && m.Group != group {
			k.event(p, pod, corev1.EventTypeWarning, "AlreadyMountedVolume",
				"The requested fsGroup is %d, but the volume %s has GID %d. The volume may not be shareable.", group, spec.Name(), m.Group)
		}
		return m.Group, false
	}
	return group, group != 0
}

// changeGroup gives the files of a volume, mounted at dir, to a group. That takes its time (MNT-333), unless they have it and the pod
// leaves it at that (MNT-330).
func (k *kubelet) changeGroup(p *engine.Proc, spec *volumeSpec, pod *corev1.Pod, dir string, group int64) {
	groups, volume := k.node.nodes.groups, spec.plugin.Name+"/"+spec.plugin.Driver+"/"+spec.ID()
	policy := pod.Spec.SecurityContext.FSGroupChangePolicy
	if policy != nil && *policy == corev1.FSGroupChangeOnRootMismatch && groups[volume] == group {
		// MNT-330: the root of the volume stands for all that is in it.
		return
	}
	if k.adopting || k.cfg.GroupChange == 0 {
		groups[volume] = group
		return
	}
	told := dir
	if at := strings.Index(dir, string(pod.UID)); at >= 0 {
		told = dir[at:]
	}
	begin := p.Now()
	end := begin.Add(k.cfg.GroupChange)
	for next := begin.Add(firstGroupWarning); next.Before(end); next = next.Add(groupWarningPeriod) {
		p.Sleep(next.Sub(p.Now()))
		text := fmt.Sprintf("Setting volume ownership for %s, processed %d files.", told, p.Now().Sub(begin).Milliseconds())
		if p.Now().Sub(begin) == firstGroupWarning {
			text = fmt.Sprintf("Setting volume ownership for %s is taking longer than expected, consider using OnRootMismatch - %s", told, groupChangeHelp)
		}
		// MNT-012, MNT-333, MNT-397
		k.event(p, pod, corev1.EventTypeWarning, "VolumePermissionChangeInProgress", "%s", text)
	}
	p.Sleep(end.Sub(p.Now()))
	// The root comes last, so a change that is cut short is done again.
	groups[volume] = group
	afterPasses(p)
}

const groupChangeHelp = "https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#configure-volume-permission-and-ownership-change-policy-for-pods"
