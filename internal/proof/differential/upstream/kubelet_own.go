package upstream

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/configmap"
	"k8s.io/kubernetes/pkg/volume/downwardapi"
	gitrepo "k8s.io/kubernetes/pkg/volume/git_repo"
	"k8s.io/kubernetes/pkg/volume/hostpath"
	"k8s.io/kubernetes/pkg/volume/image"
	"k8s.io/kubernetes/pkg/volume/local"
	"k8s.io/kubernetes/pkg/volume/projected"
	"k8s.io/kubernetes/pkg/volume/secret"
	volumetypes "k8s.io/kubernetes/pkg/volume/util/types"
)

// ownPlugins are the plugins of volumes that need nothing but the node, and of local volumes. All are real except emptyDir.
func ownPlugins(m *machine) []volume.VolumePlugin {
	return slices.Concat([]volume.VolumePlugin{&emptyDirPlugin{machine: m}}, configmap.ProbeVolumePlugins(), secret.ProbeVolumePlugins(),
		projected.ProbeVolumePlugins(), downwardapi.ProbeVolumePlugins(), gitrepo.ProbeVolumePlugins(), image.ProbeVolumePlugins(),
		hostpath.ProbeVolumePlugins(volume.VolumeConfig{}), local.ProbeVolumePlugins())
}

// NewWrapperMounter and NewWrapperUnmounter return the emptyDir that contains the files of another plugin.
func (h *volumeHost) NewWrapperMounter(name string, spec volume.Spec, pod *corev1.Pod) (volume.Mounter, error) {
	spec.Volume.Name = "wrapped_" + name
	plugin, err := h.plugins.FindPluginBySpec(&spec)
	if err != nil {
		return nil, err
	}
	return plugin.NewMounter(&spec, pod)
}

func (h *volumeHost) NewWrapperUnmounter(name string, spec volume.Spec, pod types.UID) (volume.Unmounter, error) {
	spec.Volume.Name = "wrapped_" + name
	plugin, err := h.plugins.FindPluginBySpec(&spec)
	if err != nil {
		return nil, err
	}
	return plugin.NewUnmounter(spec.Name(), pod)
}

// GetSecretFunc and GetConfigMapFunc return an empty object for any name: the store has neither kind.
func (h *volumeHost) GetSecretFunc() func(string, string) (*corev1.Secret, error) {
	return func(string, string) (*corev1.Secret, error) { return &corev1.Secret{}, nil }
}

func (h *volumeHost) GetConfigMapFunc() func(string, string) (*corev1.ConfigMap, error) {
	return func(string, string) (*corev1.ConfigMap, error) { return &corev1.ConfigMap{}, nil }
}

// mountSubpaths mounts the subPaths of containers, like package mount (MNT-037).
func (k *kubelet) mountSubpaths(pod *corev1.Pod) error {
	volumes := k.volumes.GetMountedVolumesForPod(volumetypes.UniquePodName(pod.UID))
	for _, c := range pod.Spec.Containers {
		for i, m := range c.VolumeMounts {
			if m.SubPath == "" && m.SubPathExpr == "" {
				continue
			}
			v := volumes[m.Name]
			path := filepath.Join(k.podDir(pod.UID), "volume-subpaths", v.InnerVolumeSpecName, c.Name, strconv.Itoa(i))
			if err := os.MkdirAll(path, 0o750); err != nil {
				return err
			}
			if mounted, err := k.mounter.IsMountPoint(path); mounted || err != nil {
				continue
			}
			if err := k.mounter.Mount(v.Mounter.GetPath(), path, "", []string{"bind"}); err != nil {
				return err
			}
		}
	}
	return nil
}
