package upstream

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/util"
)

// emptyDirPlugin is our plugin for emptyDir volumes. The real one needs most of a kubelet to compute a pod's memory limit.
type emptyDirPlugin struct{ machine *machine }

const emptyDirName = "kubernetes.io/empty-dir"

func (p *emptyDirPlugin) Init(volume.VolumeHost) error                           { return nil }
func (p *emptyDirPlugin) GetPluginName() string                                  { return emptyDirName }
func (p *emptyDirPlugin) GetVolumeName(spec *volume.Spec) (string, error)        { return spec.Name(), nil }
func (p *emptyDirPlugin) RequiresRemount(*volume.Spec) bool                      { return false }
func (p *emptyDirPlugin) SupportsMountOption() bool                              { return false }
func (p *emptyDirPlugin) SupportsSELinuxContextMount(*volume.Spec) (bool, error) { return false, nil }
func (p *emptyDirPlugin) CanSupport(spec *volume.Spec) bool {
	return spec.Volume != nil && spec.Volume.EmptyDir != nil
}

func (p *emptyDirPlugin) NewMounter(spec *volume.Spec, pod *corev1.Pod) (volume.Mounter, error) {
	return &emptyDir{machine: p.machine, pod: pod.UID, name: spec.Name(),
		inMemory: spec.Volume.EmptyDir.Medium == corev1.StorageMediumMemory}, nil
}

func (p *emptyDirPlugin) NewUnmounter(name string, pod types.UID) (volume.Unmounter, error) {
	return &emptyDir{machine: p.machine, pod: pod, name: name}, nil
}

func (p *emptyDirPlugin) ConstructVolumeSpec(name, _ string) (volume.ReconstructedVolume, error) {
	source := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	return volume.ReconstructedVolume{Spec: volume.NewSpecFromVolume(&corev1.Volume{Name: name, VolumeSource: source})}, nil
}

// emptyDir is a directory for a pod, in memory or on disk, and a second directory with a file that marks it as ready.
type emptyDir struct {
	volume.MetricsNil
	machine  *machine
	pod      types.UID
	name     string
	inMemory bool
}

func (d *emptyDir) GetAttributes() volume.Attributes { return volume.Attributes{Managed: true} }

func (d *emptyDir) GetPath() string {
	return filepath.Join(d.machine.podDir(d.pod), "volumes", "kubernetes.io~empty-dir", d.name)
}

func (d *emptyDir) readyDir() string {
	return filepath.Join(d.machine.podDir(d.pod), "plugins", "kubernetes.io~empty-dir", d.name)
}

func (d *emptyDir) SetUp(args volume.MounterArgs) error { return d.SetUpAt(d.GetPath(), args) }

func (d *emptyDir) SetUpAt(dir string, _ volume.MounterArgs) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	mounted, err := d.machine.mounter.IsMountPoint(dir)
	if err == nil && d.inMemory && !mounted {
		err = d.machine.mounter.Mount("tmpfs", dir, "tmpfs", nil)
	}
	if err == nil {
		util.SetReady(d.readyDir())
	}
	return err
}

func (d *emptyDir) TearDown() error { return d.TearDownAt(d.GetPath()) }

func (d *emptyDir) TearDownAt(dir string) error {
	if err := os.RemoveAll(d.readyDir()); err != nil {
		return err
	}
	if mounted, err := d.machine.mounter.IsMountPoint(dir); mounted {
		if err := d.machine.mounter.Unmount(dir); err != nil {
			return err
		}
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(dir)
}
