package mount

import (
	"path"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/mount/internal/disk"
	"github.com/volsim/volsim/mount/internal/volumes"
	"github.com/volsim/volsim/storage"
)

// volumePlugin is what a plugin does on a node. Methods that get a Proc may take time.
type volumePlugin interface {
	// waitForAttach is the path of the device, if the volume is attached. It does not wait.
	waitForAttach(p *engine.Proc, spec *volumes.Spec, devicePath string) (string, error)
	// deviceMountPath is where the device is mounted, "" for a plugin without a device step.
	deviceMountPath(spec *volumes.Spec) (string, error)
	mountDevice(p *engine.Proc, spec *volumes.Spec, pod *corev1.Pod, mountPath string) error
	setUp(p *engine.Proc, spec *volumes.Spec, pod *corev1.Pod, how setUpHow) error
	// unmounter makes what tears a volume down for a pod, from what the disk says about it.
	unmounter(pod types.UID, name string) (tearDown func(*engine.Proc) error, err error)
	unmountDevice(p *engine.Proc, spec *volumes.Spec, mountPath string) error

	// globalMapPath is the directory that holds the devices of a block volume.
	globalMapPath(spec *volumes.Spec) string
	// mapper prepares mapping a block volume for a pod.
	mapper(spec *volumes.Spec) error
	// custom reports whether setUpDevice and mapPodDevice do anything.
	custom(spec *volumes.Spec) bool
	// setUpDevice tells where the device is staged; "" if it is not.
	setUpDevice(p *engine.Proc, spec *volumes.Spec) (stagingPath string, err error)
	mapPodDevice(p *engine.Proc, spec *volumes.Spec, pod *corev1.Pod) (devicePath string, err error)
	// unmapper makes what takes a block volume from a pod, from what the disk says about it.
	unmapper(pod types.UID, name string) (unmap func(*engine.Proc) error, err error)
	tearDownDevice(p *engine.Proc, spec *volumes.Spec) error
	// nodeExpandable reports whether nodeExpand may be asked. stagingPath is where the device of a block volume is staged.
	nodeExpandable(spec *volumes.Spec) bool
	stagingPath(spec *volumes.Spec) string
	// nodeExpand has what is on the volume grow. It may fail with notSupportedError, infeasibleError and inUseError.
	nodeExpand(p *engine.Proc, spec *volumes.Spec, req resizeRequest) error
}

// setUpHow says what is special about a SetUp.
type setUpHow struct {
	reconstructed bool // the mount is known only from the disk
	remount       bool // the pod has it already
}

// pluginFor is the plugin of that name.
func (k *kubelet) pluginFor(name string) volumePlugin {
	if name == objects.CSIPluginName {
		return csiPlugin{k}
	}
	if isPodPlugin(name) {
		return podPlugin{treePlugin{k, name}}
	}
	return treePlugin{k, name}
}

// ask makes a call to a backend about a volume on the node. effect is what happens on the node when the call has its effect.
func (k *kubelet) ask(p *engine.Proc, b storage.Backend, op storage.Op, id string, call, effect func() error) error {
	return k.askFor(p, b, op, id, "", call, effect)
}

// askFor is ask about a volume for a pod.
func (k *kubelet) askFor(p *engine.Proc, b storage.Backend, op storage.Op, id string, pod types.UID, call, effect func() error) error {
	what := api.Call{Target: b.Name(), Verb: string(op), Key: id, Node: k.node.name, Pod: string(pod)}
	do := func() error {
		if err := backends.Safely(b.Name(), op, call); err != nil {
			return err
		}
		return effect()
	}
	if k.adopting {
		return do()
	}
	// MNT-014: a pass that is due at the instant at which the call ends does not see that yet.
	defer afterPasses(p)
	delay := backends.Delay(b, op, id)
	if storage.IsInTree(b) {
		return p.Backend(what, delay, do)
	}
	// MNT-006: the CSI plugin gives its calls two minutes; a call that takes longer has no effect.
	late := storage.Errorf(storage.DeadlineExceeded, "context deadline exceeded")
	return p.BackendWithin(what, delay, csiBudget, late, do)
}

// unimplemented is what a driver answers that does not have the call.
func unimplemented(op storage.Op) error {
	return storage.Errorf(storage.Unimplemented, "method %s not implemented", op)
}

func podRef(pod *corev1.Pod) storage.PodRef {
	return storage.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
}

// removeMountDir takes away an unmounted directory, the metadata beside it, and the directory around both.
func (k *kubelet) removeMountDir(mountPath string) error {
	fs := k.node.disk
	if fs.Mounted(mountPath) {
		return nil
	}
	around := path.Dir(mountPath)
	for _, p := range []string{mountPath, around + "/" + disk.MetadataFile, around} {
		if err := fs.RemoveIfExists(p); err != nil {
			return err
		}
	}
	return nil
}
