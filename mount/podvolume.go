package mount

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount/internal/disk"
	"github.com/volsim/volsim/mount/internal/volumes"
)

const emptyDirPluginName = "kubernetes.io/empty-dir"

// errGitRepo is what a pod gets that wants a repository cloned: that is switched off (MNT-313).
var errGitRepo = errors.New("git-repo volume plugin has been disabled; if necessary, it may be re-enabled by enabling the feature-gate `GitRepoVolumeDriver`")

// podPlugin makes the volumes that need no storage but what the node has for its pods: directories, with files in them or without
// (MNT-310 to MNT-313).
type podPlugin struct {
	treePlugin
}

// isPodPlugin reports whether a plugin is one of those.
func isPodPlugin(name string) bool { return slices.Contains(podPlugins, name) }

var podPlugins = []string{emptyDirPluginName, "kubernetes.io/configmap", "kubernetes.io/secret", "kubernetes.io/projected",
	"kubernetes.io/downward-api", imagePluginName, "kubernetes.io/git-repo"}

const imagePluginName = "kubernetes.io/image"

// inMemory reports whether the directory is a file system of its own, which takes memory of the node (MNT-310).
func inMemory(volume *corev1.Volume) bool {
	switch source := &volume.VolumeSource; {
	case source.EmptyDir != nil:
		// MNT-310
		return source.EmptyDir.Medium != corev1.StorageMediumDefault
	case source.ConfigMap != nil:
		// MNT-310: what is secret does not touch the disk; a configuration may.
		return false
	}
	return true
}

// readyDir is the directory whose file says that a volume has been made (MNT-039).
func (t podPlugin) readyDir(pod types.UID, name string) string {
	if t.name != emptyDirPluginName {
		// MNT-039: all others are files in an emptyDir that nobody named.
		name = "wrapped_" + name
	}
	return t.k.layout.Pod(pod) + "/plugins/" + disk.EscapePlugin(emptyDirPluginName) + "/" + name
}

const readyFile = "ready"

func (t podPlugin) setUp(_ *engine.Proc, spec *volumes.Spec, pod *corev1.Pod, _ setUpHow) error {
	switch {
	case spec.Inline.Image != nil:
		// MNT-313: the runtime has it.
		return nil
	case spec.Inline.GitRepo != nil:
		// MNT-313
		return errGitRepo
	}
	target, fs := t.k.layout.PodVolume(pod.UID, t.name, spec.Name()), t.k.node.disk
	if err := fs.Mkdir(target); err != nil {
		return err
	}
	if inMemory(spec.Inline) && !fs.Mounted(target) {
		// MNT-311: a reboot has taken it off.
		if err := fs.Mount(disk.Mount{Path: target, Plugin: t.name, Volume: spec.Name(), Pod: string(pod.UID)}); err != nil {
			return err
		}
	}
	return fs.WriteMetadata(t.readyDir(pod.UID, spec.Name())+"/"+readyFile, disk.Metadata{})
}

func (t podPlugin) unmounter(pod types.UID, name string) (func(*engine.Proc) error, error) {
	target, fs := t.k.layout.PodVolume(pod, t.name, name), t.k.node.disk
	return func(*engine.Proc) error {
		// MNT-312
		if err := fs.RemoveAll(t.readyDir(pod, name)); err != nil {
			return err
		}
		if err := fs.Unmount(target); err != nil {
			return err
		}
		return fs.RemoveAll(target)
	}, nil
}
