package mount

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/mount/internal/disk"
	"github.com/volsim/volsim/mount/internal/plugin"
	"github.com/volsim/volsim/mount/internal/volumes"
	"github.com/volsim/volsim/storage"
)

// newContainer returns the containers of a pod, with the volumes and groups that they get.
func (k *kubelet) newContainer(pod *corev1.Pod) (*container, error) {
	outers, c := k.desiredByPodName(pod.UID), &container{pod: pod}
	// MNT-385: whether the volumes are still mounted is checked again here.
	if err := k.checkContainers(pod); err != nil {
		return nil, err
	}
	var specs []*volumes.Spec
	for i := range pod.Spec.Volumes {
		v, ok := outers[pod.Spec.Volumes[i].Name]
		if !ok {
			continue
		}
		dp, _ := v.Pods.Get(pod.UID)
		specs = append(specs, dp.Spec)
		cv := containerVolume{name: pod.Spec.Volumes[i].Name, id: dp.Spec.ID(), readOnly: dp.Spec.MountsReadOnly()}
		if dp.Spec.Inline != nil && dp.Spec.Inline.CSI != nil {
			cv.id = plugin.InlineHandle(pod.UID, dp.Spec.Name())
		}
		cv.data, _ = dp.Spec.Plugin.Backend.(storage.DataHolder)
		c.volumes = append(c.volumes, cv)
	}
	// MNT-386: the groups of the volumes are added to those of the pod.
	c.groups = supplementalGroups(pod, specs)
	k.mountSubpaths(pod, outers)
	return c, nil
}

// checkContainers returns an error for the first volume that a container needs and that is not mounted (MNT-385).
func (k *kubelet) checkContainers(pod *corev1.Pod) error {
	// MNT-357: mounted volumes count under their names in the pod.
	mounted := k.mountedNames(pod.UID)
	there := func(name string) bool { return slices.Contains(mounted, name) }
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, m := range c.VolumeMounts {
			if !there(m.Name) {
				// MNT-385: a missing file system is an error of the container.
				return fmt.Errorf("cannot find volume %q to mount into container %q", m.Name, c.Name)
			}
		}
		for _, d := range c.VolumeDevices {
			if !there(d.Name) {
				// MNT-385: a missing device is an error of the container.
				return fmt.Errorf("cannot find volume %q to pass into container %q", d.Name, c.Name)
			}
		}
	}
	return nil
}

// mountSubpaths mounts the parts of volumes that containers use by subPath (MNT-037).
func (k *kubelet) mountSubpaths(pod *corev1.Pod, outers map[string]*volumes.DesiredVolume) {
	for _, c := range pod.Spec.Containers {
		for i, m := range c.VolumeMounts {
			v, ok := outers[m.Name]
			if !ok || m.SubPath == "" && m.SubPathExpr == "" {
				continue
			}
			dp, _ := v.Pods.Get(pod.UID)
			of := k.plugins.Files(dp.Spec, pod.UID)
			// MNT-037: an error of a broken disk shows when the mount is removed.
			_ = k.plugins.MountFiles(disk.Mount{
				Path: k.layout.Subpath(pod.UID, dp.Spec.Name(), c.Name, i), Source: k.podMountPath(dp.Spec, pod),
				Plugin: of.Plugin, Volume: of.Volume, Pod: string(pod.UID),
			})
		}
	}
}

// podMountPath returns where the volume is mounted for the pod.
func (k *kubelet) podMountPath(spec *volumes.Spec, pod *corev1.Pod) string {
	if spec.Plugin.Name == objects.CSIPluginName {
		return k.layout.CSIMount(pod.UID, spec.Name())
	}
	return k.layout.PodVolume(pod.UID, spec.Plugin.Name, spec.Name())
}
