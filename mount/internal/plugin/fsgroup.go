package plugin

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

// fsGroup returns the group that the pod wants its files to belong to, nil for none. Zero is a group, too.
func fsGroup(pod *corev1.Pod) *int64 {
	if context := pod.Spec.SecurityContext; context != nil {
		// MNT-330: the group comes from the pod.
		return context.FSGroup
	}
	return nil
}

// changesGroup reports whether the kubelet changes the group of the files of a CSI volume (MNT-331).
func changesGroup(policy storagev1.FSGroupPolicy, fsType string, modes []corev1.PersistentVolumeAccessMode, inline, readOnly bool) bool {
	switch {
	case readOnly, policy == storagev1.NoneFSGroupPolicy:
		// MNT-331, MNT-334: never for read-only volumes, and never with policy None.
		return false
	case policy == storagev1.FileFSGroupPolicy:
		// MNT-331: policy File: always.
		return true
	case fsType == "":
		return false
	}
	// MNT-331: by default, only for volumes that one node at a time can write to.
	return inline || slices.Contains(modes, corev1.ReadWriteOnce) || slices.Contains(modes, corev1.ReadWriteOncePod)
}

// mountGroup returns the group that the driver mounts the volume with, nil if the kubelet changes the group.
func mountGroup(driver storage.Backend, pod *corev1.Pod) *int64 {
	if !backends.MountsWithGroup(driver) {
		return nil
	}
	// MNT-331: independent of the policy of the driver and of read-only.
	return fsGroup(pod)
}

// fsGroupPolicy returns the policy of the driver.
func (c csiPlugin) fsGroupPolicy(driver string) storagev1.FSGroupPolicy {
	if object := c.h.API.CSIDriver(driver); object != nil && object.Spec.FSGroupPolicy != nil {
		return *object.Spec.FSGroupPolicy
	}
	return storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy
}

// takeGroup changes the group of the files of a CSI volume, if the kubelet has to do that. policy is that of the driver before the volume
// was mounted.
func (c csiPlugin) takeGroup(p *engine.Process, spec *volumes.Spec, source csiSource, pod *corev1.Pod, target string,
	policy storagev1.FSGroupPolicy) {
	var modes []corev1.PersistentVolumeAccessMode
	if spec.PV != nil {
		modes = spec.PV.Spec.AccessModes
	}
	if group := fsGroup(pod); group != nil && changesGroup(policy, source.fsType, modes, spec.PV == nil, spec.MountsReadOnly()) {
		// MNT-304: after the volume is mounted; here this cannot fail.
		c.h.changeGroup(p, spec, pod, target, *group)
	}
}

// takeLocalGroup changes the group of a local volume that is being mounted, or reports which group it has: used says that another pod uses
// it.
func (h *Host) takeLocalGroup(p *engine.Process, spec *volumes.Spec, pod *corev1.Pod, target string, used bool) {
	group := fsGroup(pod)
	switch {
	case group == nil:
	case !used && !spec.MountsReadOnly():
		// MNT-332: the first mount on the node changes the group.
		h.changeGroup(p, spec, pod, target, *group)
	case used:
		if old := h.Owners.groups[h.Files(spec, pod.UID)]; old != *group {
			// MNT-332, MNT-397: only an Event; the mount proceeds.
			h.API.Event(p, pod, corev1.EventTypeWarning, "AlreadyMountedVolume",
				"The requested fsGroup is %d, but the volume %s has GID %d. The volume may not be shareable.", *group, spec.Name(), old)
		}
	}
}

// fileSet identifies the files of a volume, in all its mounts.
type fileSet struct {
	node           string // "" for what every node can reach
	Plugin, Volume string // as in Mount
}

// Files returns the files of a pod's volume.
func (h *Host) Files(spec *volumes.Spec, pod types.UID) fileSet {
	switch {
	case spec.Plugin.Name != objects.CSIPluginName:
		return fileSet{h.Node, spec.Plugin.Name, spec.ID()}
	case spec.PV == nil:
		// MNT-303: an inline volume belongs to one pod.
		return fileSet{"", spec.Plugin.Driver, objects.InlineHandle(pod, spec.Name())}
	}
	return fileSet{"", spec.Plugin.Driver, spec.ID()}
}

// changeGroup changes the group of the files of a volume that is mounted at dir. It takes time (MNT-333), unless the files have the group
// already and the pod does not insist (MNT-330).
func (h *Host) changeGroup(p *engine.Process, spec *volumes.Spec, pod *corev1.Pod, dir string, group int64) {
	files, policy := h.Files(spec, pod.UID), pod.Spec.SecurityContext.FSGroupChangePolicy
	old, known := h.Owners.groups[files]
	if known && old == group && policy != nil && *policy == corev1.FSGroupChangeOnRootMismatch {
		// MNT-330: with OnRootMismatch, the group of the root decides.
		return
	}
	if h.Silent || h.GroupChange == 0 {
		h.Owners.set(files, group)
		return
	}
	shown := dir
	if at := strings.Index(dir, string(pod.UID)); at >= 0 {
		shown = dir[at:]
	}
	begin := p.Now()
	end := begin.Add(h.GroupChange)
	for next := begin.Add(firstGroupWarning); next.Before(end); next = next.Add(groupWarningPeriod) {
		p.Sleep(next.Sub(p.Now()))
		text := fmt.Sprintf("Setting volume ownership for %s, processed %d files.", shown, p.Now().Sub(begin).Milliseconds())
		if p.Now().Sub(begin) == firstGroupWarning {
			text = fmt.Sprintf("Setting volume ownership for %s is taking longer than expected, consider using OnRootMismatch - %s", shown,
				groupChangeHelp)
		}
		// MNT-012, MNT-333, MNT-397: a slow change emits an Event after 30 s, then every minute.
		h.API.Event(p, pod, corev1.EventTypeWarning, "VolumePermissionChangeInProgress", "%s", text)
	}
	p.Sleep(end.Sub(p.Now()))
	// The group of the root changes last, so an interrupted change starts again.
	h.Owners.set(files, group)
	p.YieldToPasses(h.Rank)
}

const groupChangeHelp = "https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#configure-volume-permission-and-ownership-change-policy-for-pods"

// Owners records which group owns the files of each volume, as the last change left them.
type Owners struct {
	groups map[fileSet]int64
	onSet  func(node, plugin, volume string, group int64)
}

// NewOwners returns an empty record. onSet is called for each change; node is "" for a volume that every node can reach.
func NewOwners(onSet func(node, plugin, volume string, group int64)) *Owners {
	return &Owners{onSet: onSet}
}

func (o *Owners) set(f fileSet, group int64) {
	old, known := o.groups[f]
	if o.groups == nil {
		o.groups = map[fileSet]int64{}
	}
	o.groups[f] = group
	if !known || old != group {
		o.onSet(f.node, f.Plugin, f.Volume, group)
	}
}

// MountFiles mounts a volume. Its files keep their group.
func (h *Host) MountFiles(m disk.Mount) error {
	for _, node := range []string{"", h.Node} {
		if group, known := h.Owners.groups[fileSet{node, m.Plugin, m.Volume}]; known {
			m.Group = group
		}
	}
	return h.Disk.Mount(m)
}
