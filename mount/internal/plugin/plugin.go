package plugin

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/mount/internal/disk"
	"github.com/volsim/volsim/mount/internal/volumes"
	"github.com/volsim/volsim/storage"
)

// Host is the node that plugins work on.
type Host struct {
	Node     string
	Layout   disk.Layout
	Disk     *disk.Disk
	Backends *backends.Set
	// Unregistered are the CSI drivers that are not registered with the kubelet.
	Unregistered map[string]bool
	// Failed are drivers whose registration has failed (MNT-362). The kubelet tries again.
	Failed map[string]bool
	// Owners are the groups of the files of volumes, shared by all nodes.
	Owners *Owners
	// GroupChange is how long it takes to change the group of the files of a volume; zero is no time.
	GroupChange time.Duration
	// Silent makes calls to backends without trace, delay and faults, for pods that a loaded node already runs.
	Silent bool
	// API gives access to the API server.
	API API
	// Rank is that of the ends of calls among the passes of one instant: the passes of the kubelet come first (MNT-014).
	Rank uint8
}

// API is the part of the API server that plugins use.
type API interface {
	// CSIDriver returns the object of that name as the kubelet has cached it, nil if there is none.
	CSIDriver(name string) *storagev1.CSIDriver
	// GetAttachment reads a VolumeAttachment from the API server.
	GetAttachment(p *engine.Process, name string) (*storagev1.VolumeAttachment, error)
	// Secret reads the content of a Secret from the API server; nil for no reference.
	Secret(p *engine.Process, ref *corev1.SecretReference) (map[string]string, error)
	// Files returns which keys a Secret or a ConfigMap has, and whether it exists, as the kubelet has watched it.
	Files(kind api.Kind, namespace, name string, fields ...string) (value func(key string) (string, bool), ok bool)
	// Token returns a token of the pod's service account, and when it expires.
	Token(p *engine.Process, pod *corev1.Pod, request storagev1.TokenRequest) (token string, expires time.Time, err error)
	// Event emits an Event.
	Event(p *engine.Process, obj api.Object, eventType, reason, text string, args ...any)
}

// Plugin is the node part of a volume plugin. Methods with a Process may take time. After MountDevice, SetUp, the function of NewUnmounter, and
// UnmountDevice the operation must let passes come first, if they ask for that: with Process.Then.
type Plugin interface {
	// WaitForAttach returns the device path of an attached volume, and an error for any other. It does not wait.
	WaitForAttach(p *engine.Process, spec *volumes.Spec, devicePath string) (string, error)
	// DeviceMountPath returns where the device is mounted, "" for a plugin that mounts no device.
	DeviceMountPath(spec *volumes.Spec) (string, error)
	MountDevice(p *engine.Process, spec *volumes.Spec, pod *corev1.Pod, mountPath string) error
	SetUp(p *engine.Process, spec *volumes.Spec, pod *corev1.Pod, how SetUpOptions) error
	// NewUnmounter returns the function that unmounts a volume from a pod. It reads from the disk which volume it is.
	NewUnmounter(pod types.UID, name string) (tearDown func(*engine.Process) error, err error)
	UnmountDevice(p *engine.Process, spec *volumes.Spec, mountPath string) error

	// GlobalMapPath returns the directory with the bind files of a block volume.
	GlobalMapPath(spec *volumes.Spec) string
	// PrepareMap prepares mapping a block volume for a pod.
	PrepareMap(spec *volumes.Spec) error
	// MapsDevice reports whether SetUpDevice and MapPodDevice do anything.
	MapsDevice(spec *volumes.Spec) bool
	// SetUpDevice stages the device and returns where; "" if the plugin does not stage.
	SetUpDevice(p *engine.Process, spec *volumes.Spec) (stagingPath string, err error)
	MapPodDevice(p *engine.Process, spec *volumes.Spec, pod *corev1.Pod) (devicePath string, err error)
	// NewUnmapper returns the function that unmaps a block volume from a pod. It reads from the disk which volume it is.
	NewUnmapper(pod types.UID, name string) (unmap func(*engine.Process) error, err error)
	TearDownDevice(p *engine.Process, spec *volumes.Spec) error
	// CanExpandOnNode reports whether NodeExpand may be called.
	CanExpandOnNode(spec *volumes.Spec) bool
	StagingPath(spec *volumes.Spec) string
	// NodeExpand expands the volume on the node. Its errors may contain NotSupportedError, InfeasibleError and InUseError.
	NodeExpand(p *engine.Process, spec *volumes.Spec, req ExpandRequest) error
}

const (
	// MNT-012: when a slow change of the group of files is reported first, and how often after that.
	firstGroupWarning  = 30 * time.Second
	groupWarningPeriod = time.Minute
	// MNT-006: the time that a method of the CSI plugin has for its calls, and for the requests before them.
	csiTimeout = 2 * time.Minute
)

// SetUpOptions says what is special about a SetUp.
type SetUpOptions struct {
	Reconstructed bool // the mount is known only from the disk
	Remount       bool // the pod has it already
}

// For returns the plugin of that name.
func (h *Host) For(name string) Plugin {
	if name == objects.CSIPluginName {
		return csiPlugin{h}
	}
	if isPodPlugin(name) {
		return podPlugin{inTreePlugin{h, name}}
	}
	return inTreePlugin{h, name}
}

// backendCall is a call to a backend about a volume on the node.
type backendCall struct {
	begun   time.Time // when the method of the plugin began that makes the call; zero is now
	backend storage.Backend
	op      storage.Op
	id      string
	pod     types.UID // whose volume it is, "" if it is the volume of the node
}

// call makes a call to a backend. effect changes the node when the call takes effect; nil is for a call that does not.
func (h *Host) call(p *engine.Process, c backendCall, call, effect func() error) error {
	defer p.Yield()
	return h.lastCall(p, c, call, effect)
}

// lastCall is like call, and leaves it to the operation to let passes come first, before its next step.
func (h *Host) lastCall(p *engine.Process, c backendCall, call, effect func() error) error {
	begun := c.begun
	if begun.IsZero() {
		begun = p.Now()
	}
	what := api.Call{Target: c.backend.Name(), Verb: string(c.op), Key: c.id, Node: h.Node, Pod: string(c.pod)}
	do := func() error {
		if err := backends.Safely(c.backend.Name(), c.op, call); err != nil || effect == nil {
			return err
		}
		return effect()
	}
	if h.Silent {
		return do()
	}
	// MNT-014: a pass that is due at the instant at which the call ends does not see its result yet.
	p.YieldToPasses(h.Rank)
	delay := backends.Delay(c.backend, c.op, c.id)
	if backends.IsInTree(c.backend) {
		return p.Backend(what, delay, do)
	}
	left := timeLeft(p, begun)
	if left <= 0 {
		return errLate // the driver is not called
	}
	// MNT-006: here, a call that takes longer has no effect.
	return p.BackendWithin(what, delay, left, errLate, do)
}

// timeLeft returns how long a method of the CSI plugin that began then may take (MNT-006).
func timeLeft(p *engine.Process, begun time.Time) time.Duration {
	return begun.Add(csiTimeout).Sub(p.Now())
}

var errLate = storage.Errorf(storage.DeadlineExceeded, "context deadline exceeded")

// unimplemented is the error of a driver that lacks the call.
func unimplemented(op storage.Op) error {
	return storage.Errorf(storage.Unimplemented, "method %s not implemented", op)
}

// PodRef returns a reference to the pod.
func PodRef(pod *corev1.Pod) storage.PodRef {
	return storage.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
}

// removeMountDir removes an unmounted directory, the metadata beside it, and the directory around both.
func (h *Host) removeMountDir(mountPath string) error {
	fs := h.Disk
	if fs.Mounted(mountPath) {
		return nil
	}
	around := disk.Parent(mountPath)
	for _, p := range []string{mountPath, around + "/" + disk.MetadataFile, around} {
		if err := fs.RemoveIfExists(p); err != nil {
			return err
		}
	}
	return nil
}
