package mount

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/mount/internal/disk"
	"github.com/volsim/volsim/mount/internal/volumes"
	"github.com/volsim/volsim/storage"
)

// fsGroup is the group that the pod wants its files to belong to, nil for none (MNT-330). Zero is a group, too.
func fsGroup(pod *corev1.Pod) *int64 {
	if context := pod.Spec.SecurityContext; context != nil {
		// MNT-330
		return context.FSGroup
	}
	return nil
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

// mountGroup is the group that the driver is told to mount a volume with, nil if that is the kubelet's affair.
func mountGroup(driver storage.Backend, pod *corev1.Pod) *int64 {
	if !backends.MountsWithGroup(driver) {
		return nil
	}
	// MNT-331: whatever the policy of the driver, and also where nothing may be written.
	return fsGroup(pod)
}

// fsGroupPolicy is what the driver says about groups.
func (c csiPlugin) fsGroupPolicy(driver string) storagev1.FSGroupPolicy {
	if object := c.k.driver(driver); object != nil && object.Spec.FSGroupPolicy != nil {
		return *object.Spec.FSGroupPolicy
	}
	return storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy
}

// takeGroup gives the files of a CSI volume to the group that the pod wants, where that is for the kubelet to do. policy is that of the driver
// when the volume was about to be mounted.
func (c csiPlugin) takeGroup(p *engine.Proc, spec *volumes.Spec, source csiSource, pod *corev1.Pod, target string, policy storagev1.FSGroupPolicy) {
	var modes []corev1.PersistentVolumeAccessMode
	if spec.PV != nil {
		modes = spec.PV.Spec.AccessModes
	}
	if group := fsGroup(pod); group != nil && changesGroup(policy, source.fsType, modes, spec.PV == nil, spec.MountsReadOnly()) {
		// MNT-304: once the volume is there; here that cannot fail.
		c.k.changeGroup(p, spec, pod, target, *group)
	}
}

// takeLocalGroup does so for a local volume that is about to be mounted, or says who has it: used says that another pod does.
func (k *kubelet) takeLocalGroup(p *engine.Proc, spec *volumes.Spec, pod *corev1.Pod, target string, used bool) {
	group := fsGroup(pod)
	switch {
	case group == nil:
	case !used && !spec.MountsReadOnly():
		// MNT-332
		k.changeGroup(p, spec, pod, target, *group)
	case used:
		if old := k.node.nodes.groups[k.files(spec, pod.UID)]; old != *group {
			// MNT-332, MNT-397: the mount proceeds all the same.
			k.event(p, pod, corev1.EventTypeWarning, "AlreadyMountedVolume",
				"The requested fsGroup is %d, but the volume %s has GID %d. The volume may not be shareable.", *group, spec.Name(), old)
		}
	}
}

// files are what is on a volume, wherever it is mounted.
type files struct {
	node           string // "" for what every node can reach
	plugin, volume string // as in Mount
}

// files are those of a pod's volume.
func (k *kubelet) files(spec *volumes.Spec, pod types.UID) files {
	switch {
	case spec.Plugin.Name != objects.CSIPluginName:
		return files{k.node.name, spec.Plugin.Name, spec.ID()}
	case spec.PV == nil:
		// MNT-303: the pod's own, whatever its name.
		return files{"", spec.Plugin.Driver, inlineHandle(pod, spec.Name())}
	}
	return files{"", spec.Plugin.Driver, spec.ID()}
}

// changeGroup gives the files of a volume, mounted at dir, to a group. That takes its time (MNT-333), unless they have it and the pod
// leaves it at that (MNT-330).
func (k *kubelet) changeGroup(p *engine.Proc, spec *volumes.Spec, pod *corev1.Pod, dir string, group int64) {
	files, policy := k.files(spec, pod.UID), pod.Spec.SecurityContext.FSGroupChangePolicy
	old, known := k.node.nodes.groups[files]
	if known && old == group && policy != nil && *policy == corev1.FSGroupChangeOnRootMismatch {
		// MNT-330: the root of the volume stands for all that is in it.
		return
	}
	if k.adopting || k.cfg.GroupChange == 0 {
		k.node.nodes.setGroup(files, group)
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
	k.node.nodes.setGroup(files, group)
	afterPasses(p)
}

const groupChangeHelp = "https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#configure-volume-permission-and-ownership-change-policy-for-pods"

// setGroup has files belong to a group, wherever they are mounted.
func (ns *Nodes) setGroup(f files, group int64) {
	old, known := ns.groups[f]
	ns.groups[f] = group
	if known && old == group {
		return
	}
	for _, name := range ns.names {
		if f.node == "" || f.node == name {
			ns.byName[name].disk.SetGroup(f.plugin, f.volume, group)
		}
	}
}

// mountFiles mounts a volume, whose files belong to whom they belonged to before.
func (k *kubelet) mountFiles(m disk.Mount) error {
	for _, node := range []string{"", k.node.name} {
		if group, known := k.node.nodes.groups[files{node, m.Plugin, m.Volume}]; known {
			m.Group = group
		}
	}
	return k.node.disk.Mount(m)
}
