package mount

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/kubeletstatus"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/mount/internal/disk"
	"github.com/volsim/volsim/mount/internal/plugin"
	"github.com/volsim/volsim/mount/internal/volumes"
	"github.com/volsim/volsim/storage"
)

// newContainer returns the containers of a pod, with the volumes and groups that they get.
func (k *kubelet) newContainer(pod *corev1.Pod) *container {
	c := &container{pod: pod}
	var specs []*volumes.Spec
	for i := range pod.Spec.Volumes {
		v := k.desiredVolume(pod.UID, pod.Spec.Volumes[i].Name)
		if v == nil {
			continue
		}
		dp, _ := v.Pods.Get(pod.UID)
		if dp.Spec.GID() != "" {
			specs = append(specs, dp.Spec)
		}
		cv := containerVolume{name: pod.Spec.Volumes[i].Name, id: dp.Spec.ID(), readOnly: dp.Spec.MountsReadOnly()}
		if dp.Spec.Inline != nil && dp.Spec.Inline.CSI != nil {
			cv.id = objects.InlineHandle(pod.UID, dp.Spec.Name())
		}
		cv.data, _ = dp.Spec.Plugin.Backend.(storage.DataHolder)
		c.volumes = append(c.volumes, cv)
	}
	// MNT-386: the groups of the volumes are added to those of the pod.
	c.groups = supplementalGroups(pod, specs)
	k.mountSubpaths(pod)
	return c
}

// failures returns the containers of a pod that cannot be created. After an init container that fails, the kubelet tries no other (MNT-378).
// mounts says that one of them lacks a volume, and not a Secret or a ConfigMap.
func (k *kubelet) failures(pod *corev1.Pod) (failed []kubeletstatus.Failure, mounts bool) {
	try := func(c *corev1.Container) {
		if err := k.createError(pod, c); err != nil {
			failed = append(failed, kubeletstatus.Failure{Container: c.Name, Message: err.Error()})
			mounts = mounts || !errors.As(err, &plugin.MissingError{})
		}
	}
	for i := range pod.Spec.InitContainers {
		if try(&pod.Spec.InitContainers[i]); len(failed) > 0 {
			return failed, mounts
		}
	}
	for i := range pod.Spec.Containers {
		try(&pod.Spec.Containers[i])
	}
	return failed, mounts
}

// createError returns why a container cannot be created: first its devices, then its environment, then its mounts (MNT-378, MNT-385,
// MNT-402).
func (k *kubelet) createError(pod *corev1.Pod, c *corev1.Container) error {
	if err := k.missingDevice(pod.UID, c); err != nil {
		return err
	}
	if err := k.plugins.FindEnvironment(c, pod.Namespace); err != nil {
		return err
	}
	if err := k.missingMount(pod.UID, c); err != nil {
		return err
	}
	return k.plugins.FindSubPaths(c, pod)
}

// missingMount returns an error for the first file system that a container needs and that is not mounted.
func (k *kubelet) missingMount(uid types.UID, c *corev1.Container) error {
	// MNT-357: mounted volumes count under their names in the pod.
	for i := range c.VolumeMounts {
		if name := c.VolumeMounts[i].Name; !k.isMounted(uid, name) {
			// MNT-385: a missing file system is an error of the container.
			return fmt.Errorf("cannot find volume %q to mount into container %q", name, c.Name)
		}
	}
	return nil
}

// missingDevice returns an error for the first device that a container needs and that is not mapped.
func (k *kubelet) missingDevice(uid types.UID, c *corev1.Container) error {
	for i := range c.VolumeDevices {
		if name := c.VolumeDevices[i].Name; !k.isMounted(uid, name) {
			// MNT-385: a missing device is an error of the container.
			return fmt.Errorf("cannot find volume %q to pass into container %q", name, c.Name)
		}
	}
	return nil
}

// mountSubpaths mounts the parts of volumes that containers use by subPath (MNT-037).
func (k *kubelet) mountSubpaths(pod *corev1.Pod) {
	for n := range pod.Spec.Containers {
		c := &pod.Spec.Containers[n]
		for i := range c.VolumeMounts {
			m := &c.VolumeMounts[i]
			if m.SubPath == "" && m.SubPathExpr == "" {
				continue
			}
			v := k.desiredVolume(pod.UID, m.Name)
			if v == nil {
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
