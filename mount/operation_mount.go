package mount

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/mount/internal/plugin"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// errOnePod is the error of a second pod that uses a ReadWriteOncePod volume (MNT-194).
var errOnePod = errors.New("volume uses the ReadWriteOncePod access mode and is already in use by another pod")

// errNodeAffinity is the error of a volume whose node affinity excludes this node (MNT-191).
var errNodeAffinity = errors.New("no matching NodeSelectorTerms")

// mounting is an operation that mounts a file system for a pod. After a step that calls the driver, passes come first (MNT-014). Many operations
// wait for them at the same time, so they wait without a stack, and go on in another function.
type mounting struct {
	op *operations
	// MNT-159: the operation uses the desired state as it was at its start, even if that changes.
	v    volumes.DesiredVolume
	spec *volumes.Spec
	pod  *corev1.Pod

	plugin                plugin.Plugin
	devicePath, mountPath string
	device                *volumes.ActualVolume // while it is mounted
	how                   plugin.SetUpOptions
}

// mountVolume starts to mount a file system for a pod.
func (op *operations) mountVolume(p *engine.Process, pr volumes.DesiredPair) {
	m := &mounting{op: op, v: *pr.Volume, spec: pr.Pod.Spec, pod: pr.Pod.Pod}
	// MNT-151: volumes that are mounted once per node share a key.
	op.start(mountKey(pr.Volume, m.pod.UID), opMount, m.pod, func(p *engine.Process) error {
		ap, known := op.k.actual.PodVolume(m.v.Name, m.pod.UID)
		op.k.log.mountStarted(m.v.Name, m.spec, m.pod, known && ap.State == volumes.Mounted)
		return m.mount(p)
	})
}

// mount runs the operation step by step (MNT-203).
func (m *mounting) mount(p *engine.Process) (err error) {
	op, v, spec, pod := m.op, &m.v, m.spec, m.pod
	// MNT-190: step 1: a plugin supports the volume.
	if _, err := objects.PluginOf(op.k.node.nodes.backends, spec.VolumeSpec); err != nil {
		return m.fails(p, "MountVolume.FindPluginBySpec failed", err)
	}
	if err := op.checkAffinity(spec); err != nil {
		return m.fails(p, "MountVolume.NodeAffinity check failed", err)
	}
	// MNT-192: step 3: the plugin creates a mounter.
	m.plugin = op.k.plugins.For(spec.Plugin.Name)
	if err := op.checkMounter(spec); err != nil {
		return m.fails(p, "MountVolume.NewMounter initialization failed", err)
	}
	// MNT-193: step 4: the plugin supports the mount options.
	if spec.PV != nil && len(spec.PV.Spec.MountOptions) > 0 && !takesMountOptions(spec.Plugin) {
		return m.fails(p, "MountVolume.MountOptionSupport check failed", fmt.Errorf("mount options are not supported for this volume type"))
	}
	// MNT-194, MNT-922: step 5: a ReadWriteOncePod volume has one pod; the storage is not called otherwise.
	if spec.SinglePod() && op.usedByOther(v.Name, pod.UID) {
		return m.fails(p, "MountVolume.SetUp failed", errOnePod)
	}
	if av, ok := op.k.actual.Volume(v.Name); ok {
		m.devicePath = av.DevicePath
	}
	if op.mustAttach(*v, spec) {
		// MNT-195, MNT-177: step 6: the volume must be attached. CSI checks that again at each mount.
		op.k.log.waitForAttach("entering", v.Name, spec, pod, m.devicePath)
		if m.devicePath, err = m.plugin.WaitForAttach(p, spec, m.devicePath); err != nil {
			return m.fails(p, "MountVolume.WaitForAttach failed", err)
		}
		op.k.log.waitForAttach("succeeded", v.Name, spec, pod, m.devicePath)
	}
	// MNT-196, MNT-201, MNT-916: step 7: the device is mounted on the node, also if its state is uncertain.
	if av, ok := op.k.actual.Volume(v.Name); ok && v.DeviceMountable && av.Device != volumes.DeviceMounted {
		m.device = av
		if m.mountPath, err = m.plugin.DeviceMountPath(spec); err != nil {
			return m.fails(p, "MountVolume.GetDeviceMountPath failed", err)
		}
		return p.Then(m.plugin.MountDevice(p, spec, pod, m.mountPath), m.deviceMounted)
	}
	return m.setUp(p)
}

// deviceMounted is the end of step 7.
func (m *mounting) deviceMounted(p *engine.Process, err error) error {
	op, spec := m.op, m.spec
	if err != nil {
		op.reportMismatch(p, spec, err)
		op.deviceFailed(m.device, spec, err, m.devicePath, m.mountPath)
		return m.fails(p, "MountVolume.MountDevice failed", err)
	}
	// MNT-203: other operations see the mounted device before the next step.
	m.device.SetDevice(volumes.DeviceMounted, m.devicePath, m.mountPath)
	m.device.SetLabel(spec)
	op.k.log.deviceMounted(m.v.Name, spec, m.pod, m.mountPath)
	return m.setUp(p)
}

// setUp is step 8: the volume is mounted for the pod (MNT-197).
func (m *mounting) setUp(p *engine.Process) error {
	actual, name, uid := m.op.k.actual, m.v.Name, m.pod.UID
	ap, known := actual.PodVolume(name, uid)
	m.how = plugin.SetUpOptions{Reconstructed: actual.PodReconstructed(name, uid), Remount: known && ap.State == volumes.Mounted}
	return p.Then(m.plugin.SetUp(p, m.spec, m.pod, m.how), m.isSetUp)
}

// isSetUp is the end of step 8, and what follows it.
func (m *mounting) isSetUp(p *engine.Process, err error) error {
	op, name, spec, pod := m.op, m.v.Name, m.spec, m.pod
	op.await(mountKey(&m.v, pod.UID), is[plugin.MissingError](err))
	if err != nil {
		op.reportMismatch(p, spec, err)
		// MNT-912: the state of the device stays.
		op.podFailed(name, pod.UID, spec, err)
		return m.fails(p, "MountVolume.SetUp failed", err)
	}
	op.k.log.mounted(name, spec, pod, m.how.Remount)
	if err := op.k.expansion.expandAtMount(p, name, spec, pod, ""); is[panicError](err) {
		// MNT-430: the volume is mounted for the pod, but the kubelet does not record it.
		return err
	} else if err != nil {
		// MNT-198, MNT-923: step 9: the volume is mounted, but the pod must not use it, even if it did before.
		op.setPodState(name, pod.UID, spec, volumes.MountUncertain)
		return m.fails(p, "MountVolume.Setup failed while expanding volume", err)
	}
	// MNT-199: step 10: the volume is mounted for the pod.
	op.setPodState(name, pod.UID, spec, volumes.Mounted)
	// MNT-200: success emits no Event.
	if p.Tracing() && !op.k.plugins.Silent {
		p.Decide("MNT-199", pod, "volume %s is mounted as %s", name, spec.PodName)
	}
	return nil
}

// fails ends the operation with the error of a step.
func (m *mounting) fails(p *engine.Process, step string, err error) error {
	if m.op.k.plugins.Silent || is[panicError](err) {
		return err
	}
	err = fmt.Errorf("%s for volume %q : %w", step, m.spec.Name(), err)
	// MNT-390: each failed operation emits an Event.
	m.op.k.Event(p, m.pod, corev1.EventTypeWarning, "FailedMount", "%s", err.Error())
	return err
}

// errFilesystemMismatch is the error of an in-tree plugin that finds another file system on the volume than it should have. Only a broken
// disk or a fault of a backend causes it.
var errFilesystemMismatch = errors.New("wrong file system type")

// reportMismatch emits an Event on the PersistentVolume if it has the wrong file system (MNT-202).
func (op *operations) reportMismatch(p *engine.Process, spec *volumes.Spec, err error) {
	if spec.PV != nil && errors.Is(err, errFilesystemMismatch) {
		// MNT-202, MNT-397: the wrong file system emits an Event on the PersistentVolume.
		op.k.Event(p, spec.PV, corev1.EventTypeWarning, "FailedMountOnFilesystemMismatch", "MountVolume failed for volume %q %s", spec.Name(),
			err.Error())
	}
}

// checkMounter returns an error for a volume that no mounter can be created for: a CSI source without a driver.
func (op *operations) checkMounter(spec *volumes.Spec) error {
	if spec.Plugin.Name == objects.CSIPluginName && spec.Plugin.Driver == "" {
		return fmt.Errorf("kubernetes.io/csi: volume %s names no driver", spec.Name())
	}
	return nil
}

// takesMountOptions reports whether the plugin supports mount options (MNT-193).
func takesMountOptions(plugin objects.Plugin) bool {
	if plugin.Name == objects.CSIPluginName {
		return true
	}
	return plugin.Backend != nil && backends.TakesMountOptions(plugin.Backend)
}

// usedByOther reports whether the volume is, or may be, mounted for another pod.
func (op *operations) usedByOther(name corev1.UniqueVolumeName, uid types.UID) bool {
	v, ok := op.k.actual.Volume(name)
	if !ok {
		return false
	}
	other := false
	v.Pods.Scan(func(pod types.UID, _ *volumes.ActualPod) bool {
		other = pod != uid
		return !other
	})
	return other
}

// deviceFailed and podFailed record the state that a failed step leaves (MNT-243 to MNT-248).
func (op *operations) deviceFailed(av *volumes.ActualVolume, spec *volumes.Spec, err error, devicePath, mountPath string) {
	class := volumes.ClassOf(err)
	switch after := volumes.DeviceAfterFailure(av.Device, class, op.k.actual.DeviceReconstructed(av.Name)); {
	case after == volumes.DeviceNotMounted && av.Device != volumes.DeviceNotMounted:
		// MNT-911: a final error shows that the device is not mounted.
		av.SetDevice(volumes.DeviceNotMounted, devicePath, "")
	case after == volumes.DeviceUncertain && class == volumes.Uncertain:
		av.SetDevice(volumes.DeviceUncertain, devicePath, mountPath)
		av.SetLabel(spec)
	}
}

func (op *operations) podFailed(name corev1.UniqueVolumeName, uid types.UID, spec *volumes.Spec, err error) {
	prior := volumes.NotMounted
	if ap, ok := op.k.actual.PodVolume(name, uid); ok {
		prior = ap.State
	}
	switch volumes.PodAfterFailure(prior, volumes.ClassOf(err), op.k.actual.PodReconstructed(name, uid)) {
	case volumes.NotMounted:
		if prior != volumes.NotMounted {
			op.k.actual.RemovePodVolume(name, uid)
			op.k.podVolumesChanged(uid)
		}
	case volumes.MountUncertain:
		if prior != volumes.MountUncertain {
			op.setPodState(name, uid, spec, volumes.MountUncertain)
		}
	case volumes.Mounted:
		// MNT-248: the mount stays, and the next pass repeats the remount.
	}
}

// setPodState records the state of a pod's mount and wakes the pod's worker.
func (op *operations) setPodState(name corev1.UniqueVolumeName, uid types.UID, spec *volumes.Spec, state volumes.PodState) {
	op.k.actual.SetPodState(name, uid, spec, state)
	op.k.podVolumesChanged(uid)
}

// checkAffinity returns an error if the volume cannot be mounted on this node (MNT-191, MNT-220).
func (op *operations) checkAffinity(spec *volumes.Spec) error {
	switch {
	case spec.PV == nil:
		return nil
	case op.k.object == nil:
		// MNT-191: without the Node object there are no labels to compare, so even volumes without affinity fail.
		return fmt.Errorf("error retrieving node: node %q not found", op.k.node.name)
	case !objects.AdmitsNode(spec.PV, op.k.object.Labels):
		// MNT-191, MNT-919: the required node affinity does not match the labels of the node.
		return errNodeAffinity
	}
	return nil
}
