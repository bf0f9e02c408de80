package upstream

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/plain"
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

// GetSecretFunc and GetConfigMapFunc return what the API server has, with the errors of the kubelet's watches.
func (h *volumeHost) GetSecretFunc() func(string, string) (*corev1.Secret, error) {
	return func(namespace, name string) (*corev1.Secret, error) {
		return watched(h, objects.SecretKind, namespace, name, &corev1.Secret{})
	}
}

func (h *volumeHost) GetConfigMapFunc() func(string, string) (*corev1.ConfigMap, error) {
	return func(namespace, name string) (*corev1.ConfigMap, error) {
		return watched(h, objects.ConfigMapKind, namespace, name, &corev1.ConfigMap{})
	}
}

func watched[T api.Object](h *volumeHost, kind api.Kind, namespace, name string, into T) (T, error) {
	for _, obj := range h.cluster.Objects(kind) {
		if api.KeyOf(obj) == api.Key(namespace, name) {
			return into, plain.Write(obj.(*plain.Object), into)
		}
	}
	return into, apierrors.NewNotFound(corev1.Resource(strings.ToLower(string(kind))), name)
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
