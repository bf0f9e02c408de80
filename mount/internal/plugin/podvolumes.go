package plugin

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount/internal/disk"
	"github.com/volsim/volsim/mount/internal/volumes"
)

const emptyDirPluginName = "kubernetes.io/empty-dir"

// errGitRepo is the error for a gitRepo volume: the plugin is disabled (MNT-313).
var errGitRepo = errors.New("git-repo volume plugin has been disabled; if necessary, it may be re-enabled by enabling the feature-gate `GitRepoVolumeDriver`")

// podPlugin makes volumes that need no storage backend: directories on the node
// (MNT-310 to MNT-313, MNT-316 to MNT-319).
type podPlugin struct {
	inTreePlugin
}

// isPodPlugin reports whether the plugin needs no storage backend.
func isPodPlugin(name string) bool { return slices.Contains(podPlugins, name) }

var podPlugins = []string{emptyDirPluginName, "kubernetes.io/configmap", "kubernetes.io/secret", "kubernetes.io/projected",
	"kubernetes.io/downward-api", imagePluginName, "kubernetes.io/git-repo"}

const imagePluginName = "kubernetes.io/image"

// inMemory reports whether the directory is a file system in the memory of the node (MNT-310).
func inMemory(volume *corev1.Volume) bool {
	switch source := &volume.VolumeSource; {
	case source.EmptyDir != nil:
		// MNT-310: an emptyDir with a medium.
		return source.EmptyDir.Medium != corev1.StorageMediumDefault
	case source.ConfigMap != nil:
		// MNT-310: secrets never touch the disk; a configMap may.
		return false
	}
	return true
}

// readyDir returns the directory of the file that marks a volume as set up (MNT-039).
func (t podPlugin) readyDir(pod types.UID, name string) string {
	if t.name != emptyDirPluginName {
		// MNT-039: all others wrap an unnamed emptyDir.
		name = "wrapped_" + name
	}
	return t.h.Layout.PodPlugins(pod) + "/" + disk.EscapePlugin(emptyDirPluginName) + "/" + name
}

const readyFile = "ready"

func (t podPlugin) SetUp(p *engine.Process, spec *volumes.Spec, pod *corev1.Pod, _ SetUpOptions) error {
	switch {
	case spec.Inline.Image != nil:
		// MNT-313: the container runtime provides the image.
		return nil
	case spec.Inline.GitRepo != nil:
		// MNT-313: gitRepo is disabled.
		return errGitRepo
	}
	if !t.h.Silent {
		// MNT-316: nothing is made while an object is missing. The volumes of an adopted pod are mounted already.
		if err := t.findFiles(spec.Inline, pod, func(token *corev1.ServiceAccountTokenProjection) error {
			// MNT-318: like the tokens of CSI drivers.
			_, _, err := t.h.API.Token(p, pod, storagev1.TokenRequest{Audience: token.Audience, ExpirationSeconds: token.ExpirationSeconds})
			return err
		}); err != nil {
			return err
		}
	}
	target, fs := t.h.Layout.PodVolume(pod.UID, t.name, spec.Name()), t.h.Disk
	if err := fs.Mkdir(target); err != nil {
		return err
	}
	if inMemory(spec.Inline) && !fs.Mounted(target) {
		// MNT-311: missing after a reboot.
		if err := fs.Mount(disk.Mount{Path: target, Plugin: t.name, Volume: spec.Name(), Pod: string(pod.UID)}); err != nil {
			return err
		}
	}
	return fs.WriteMetadata(t.readyDir(pod.UID, spec.Name())+"/"+readyFile, disk.Metadata{})
}

func (t podPlugin) NewUnmounter(pod types.UID, name string) (func(*engine.Process) error, error) {
	target, fs := t.h.Layout.PodVolume(pod, t.name, name), t.h.Disk
	return func(*engine.Process) error {
		// MNT-312: the ready file goes first, then the mount, then the directory.
		if err := fs.RemoveAll(t.readyDir(pod, name)); err != nil {
			return err
		}
		if err := fs.Unmount(target); err != nil {
			return err
		}
		return fs.RemoveAll(target)
	}, nil
}
