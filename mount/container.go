package mount

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/mount/internal/disk"
)

// newContainer is the containers of a pod with what its volumes give them.
func (k *kubelet) newContainer(pod *corev1.Pod) (*container, error) {
	outers, c := k.outers(pod.UID), &container{pod: pod}
	// MNT-385: looked at again, volume by volume, where they are needed.
	if err := k.checkContainers(pod); err != nil {
		return nil, err
	}
	var specs []*volumeSpec
	for i := range pod.Spec.Volumes {
		v, ok := outers[pod.Spec.Volumes[i].Name]
		if !ok {
			continue
		}
		dp, _ := v.pods.Get(pod.UID)
		specs = append(specs, dp.spec)
		cv := containerVolume{name: pod.Spec.Volumes[i].Name, id: dp.spec.ID(), readOnly: dp.spec.readOnly()}
		if dp.spec.Inline != nil && dp.spec.Inline.CSI != nil {
			cv.id = inlineHandle(pod.UID, dp.spec.Name())
		}
		cv.data, _ = dp.spec.plugin.Backend.(fake.DataHolder)
		c.volumes = append(c.volumes, cv)
	}
	// MNT-386
	c.groups = supplementalGroups(pod, specs)
	k.mountSubpaths(pod, outers)
	return c, nil
}

// checkContainers reports the first volume that a container needs and that is not mounted (MNT-385).
func (k *kubelet) checkContainers(pod *corev1.Pod) error {
	// MNT-357
	mounted := k.mountedNames(pod.UID)
	there := func(name string) bool { return slices.Contains(mounted, name) }
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, m := range c.VolumeMounts {
			if !there(m.Name) {
				// MNT-385
				return fmt.Errorf("cannot find volume %q to mount into container %q", m.Name, c.Name)
			}
		}
		for _, d := range c.VolumeDevices {
			if !there(d.Name) {
				// MNT-385
				return fmt.Errorf("cannot find volume %q to pass into container %q", d.Name, c.Name)
			}
		}
	}
	return nil
}

// mountSubpaths mounts parts of volumes for containers that want no more (MNT-037).
func (k *kubelet) mountSubpaths(pod *corev1.Pod, outers map[string]*desiredVolume) {
	for _, c := range pod.Spec.Containers {
		for i, m := range c.VolumeMounts {
			v, ok := outers[m.Name]
			if !ok || m.SubPath == "" && m.SubPathExpr == "" {
				continue
			}
			dp, _ := v.pods.Get(pod.UID)
			of := k.files(dp.spec, pod.UID)
			// MNT-037: a bad disk shows when the mount is to go.
			_ = k.mountFiles(disk.Mount{
				Path: k.layout.Subpath(pod.UID, dp.spec.Name(), c.Name, i), Source: k.podMountPath(dp.spec, pod),
				Plugin: of.plugin, Volume: of.volume, Pod: string(pod.UID),
			})
		}
	}
}

// podMountPath is where the volume is mounted for the pod.
func (k *kubelet) podMountPath(spec *volumeSpec, pod *corev1.Pod) string {
	if spec.plugin.Name == objects.CSIPluginName {
		return k.layout.CSIMount(pod.UID, spec.Name())
	}
	return k.layout.PodVolume(pod.UID, spec.plugin.Name, spec.Name())
}
