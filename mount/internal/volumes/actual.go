package volumes

import (
	"iter"

	"github.com/tidwall/btree"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Attachability says whether a recorded volume has to be attached (MNT-100).
type Attachability int

const (
	NotAttachable Attachability = iota
	Attachable
	AttachableUncertain // reconstructed from the disk, not yet compared with the node's status
)

// DeviceState says how far the device of a volume is mounted on the node (MNT-101).
type DeviceState string

const (
	DeviceNotMounted DeviceState = "DeviceNotMounted"
	DeviceMounted    DeviceState = "DeviceGloballyMounted"
	DeviceUncertain  DeviceState = "DeviceMountUncertain"
)

// PodState says how far a volume is mounted for a pod (MNT-102). A pod without a record is NotMounted.
type PodState string

const (
	NotMounted     PodState = "VolumeNotMounted"
	Mounted        PodState = "VolumeMounted"
	MountUncertain PodState = "VolumeMountUncertain"
)

// Actual contains the volumes that a kubelet knows to be mounted, or must assume to be mounted (MNT-100). Build it with NewActual.
type Actual struct {
	volumes btree.Map[corev1.UniqueVolumeName, *ActualVolume]
	// pods has the first volume of each pod, which leads to the others.
	pods chains[ActualPod, *ActualPod]
	// Reconstructed are the volumes found on the disk, with the pods they were found for (MNT-106).
	Reconstructed map[corev1.UniqueVolumeName]map[types.UID]bool
	// FailedExpansions are the volumes for which an expansion has failed with a final error (MNT-425).
	FailedExpansions map[corev1.UniqueVolumeName]bool
}

// ActualVolume is the record of a volume that the node has.
type ActualVolume struct {
	Name            corev1.UniqueVolumeName
	Spec            *Spec
	Attachable      Attachability
	DevicePath      string
	DeviceMountPath string
	Device          DeviceState
	// Label is the SELinux label that the volume is mounted with, "" for a mount without. It is nil until the volume is mounted.
	Label *string
	Size  int64 // bytes that the node uses; zero until it is known
	// RefusesExpansionInUse says that the driver refused to expand the volume while it is in use (MNT-419).
	RefusesExpansionInUse bool
	Pods                  ByPod[ActualPod]
}

// ActualPod is the record of a volume's mount for a pod. NeedsRemount asks for another SetUp.
type ActualPod struct {
	UID          types.UID
	Spec         *Spec
	State        PodState
	NeedsRemount bool

	volume *ActualVolume
	next   *ActualPod // of the pod's volumes, ordered by name
}

// newActual is the memory of a new volume, with room for its first pod: most volumes have one.
type newActual struct {
	volume ActualVolume
	list   [1]podRecord[ActualPod]
}

// NewActual returns an empty state.
func NewActual() *Actual {
	return &Actual{
		pods:             chains[ActualPod, *ActualPod]{},
		Reconstructed:    map[corev1.UniqueVolumeName]map[types.UID]bool{},
		FailedExpansions: map[corev1.UniqueVolumeName]bool{},
	}
}

// Volume returns the record of a volume.
func (a *Actual) Volume(name corev1.UniqueVolumeName) (*ActualVolume, bool) {
	return a.volumes.Get(name)
}

// PodVolume returns the record of a volume for a pod.
func (a *Actual) PodVolume(name corev1.UniqueVolumeName, uid types.UID) (*ActualPod, bool) {
	for ap := a.pods[uid]; ap != nil; ap = ap.next {
		if ap.volume.Name == name {
			return ap, true
		}
	}
	return nil, false
}

// MarkAttached adds a record of the volume. An existing record only gets the new device path.
func (a *Actual) MarkAttached(name corev1.UniqueVolumeName, spec *Spec, attachable Attachability, devicePath string) *ActualVolume {
	v, known := a.volumes.Get(name)
	if known {
		// MNT-103: nothing else changes.
		v.DevicePath = devicePath
		return v
	}
	// MNT-100, MNT-103: a record means that the node regards the volume as attached.
	memory := &newActual{volume: ActualVolume{Name: name, Spec: spec, Attachable: attachable, DevicePath: devicePath, Device: DeviceNotMounted}}
	v = &memory.volume
	v.Pods.list = memory.list[:0]
	a.volumes.Set(name, v)
	return v
}

// SetDevice records how the device is mounted, and where.
func (v *ActualVolume) SetDevice(state DeviceState, devicePath, mountPath string) {
	v.Device = state
	v.DeviceMountPath = mountPath
	// MNT-104, MNT-917: unmounting keeps the device path, so the volume is not verified again.
	if devicePath != "" {
		v.DevicePath = devicePath
	}
}

// SetLabel records the label that the device is mounted with.
func (v *ActualVolume) SetLabel(spec *Spec) {
	if spec.Label != "" {
		v.Label = &spec.Label
	}
}

// SetPodState records how the volume is mounted for a pod. Without a record of the volume it does nothing.
func (a *Actual) SetPodState(name corev1.UniqueVolumeName, uid types.UID, spec *Spec, state PodState) {
	v, ok := a.volumes.Get(name)
	if !ok {
		// MNT-105: a pod's record needs a record of the volume.
		return
	}
	ap, known := v.Pods.Get(uid)
	if !known || ap.State == MountUncertain {
		// MNT-105: the latest data replaces an uncertain record.
		if known {
			a.pods.unlink(uid, ap)
		}
		ap = &ActualPod{UID: uid, Spec: spec, volume: v}
		v.Pods.set(uid, ap)
		a.pods.link(uid, ap)
	}
	ap.State = state
	if v.Label == nil {
		// MNT-100: the first mount decides.
		v.Label = &spec.Label
	}
	// MNT-105: any new state ends a pending remount.
	ap.NeedsRemount = false
	if state == Mounted {
		// MNT-105, MNT-929: the pod's mount is known first-hand; the device stays marked as reconstructed.
		delete(a.Reconstructed[name], uid)
	}
}

// RemovePodVolume drops the record of the volume for a pod.
func (a *Actual) RemovePodVolume(name corev1.UniqueVolumeName, uid types.UID) {
	if ap, ok := a.PodVolume(name, uid); ok {
		ap.volume.Pods.remove(uid)
		a.pods.unlink(uid, ap)
	}
}

func (r *ActualPod) volumeName() corev1.UniqueVolumeName { return r.volume.Name }
func (r *ActualPod) following() **ActualPod              { return &r.next }

// Forget drops the record of a volume, unless pods still have it. It reports whether the volume is gone.
func (a *Actual) Forget(name corev1.UniqueVolumeName) bool {
	v, ok := a.volumes.Get(name)
	switch {
	case !ok:
		return true
	case v.Pods.Len() > 0:
		// MNT-107, MNT-902: uncertain mounts count too.
		return false
	}
	a.volumes.Delete(name)
	// MNT-106: the reconstructed mark ends with the record. MNT-107: failed expansions are remembered.
	delete(a.Reconstructed, name)
	return true
}

// PodReconstructed reports whether a pod's mount is known from the disk only (MNT-106).
func (a *Actual) PodReconstructed(name corev1.UniqueVolumeName, uid types.UID) bool {
	ap, ok := a.PodVolume(name, uid)
	// MNT-106: after a successful mount, the pod's mount is known first-hand.
	return ok && ap.State == MountUncertain && a.Reconstructed[name][uid]
}

// DeviceReconstructed reports whether a volume was found on the disk (MNT-106).
func (a *Actual) DeviceReconstructed(name corev1.UniqueVolumeName) bool {
	_, ok := a.Reconstructed[name]
	return ok
}

// Gap is the next thing that a desired pair lacks (MNT-108).
type Gap int

const (
	GapNotAttached Gap = iota
	GapOtherLabel
	GapNotMounted
	GapRemount
	NoGap
)

// Missing returns what a desired pair lacks.
func (a *Actual) Missing(name corev1.UniqueVolumeName, uid types.UID) Gap {
	return a.Describe(name, uid).Gap()
}

// Describe returns the recorded part of a PodVolume: everything but Desired, Block and Busy.
func (a *Actual) Describe(name corev1.UniqueVolumeName, uid types.UID) PodVolume {
	if ap, ok := a.PodVolume(name, uid); ok {
		return PodVolume{Attached: true, State: ap.State, Remount: ap.NeedsRemount}
	}
	_, attached := a.volumes.Get(name)
	return PodVolume{Attached: attached}
}

// IsMounted reports whether the pod can use the volume.
func (a *Actual) IsMounted(name corev1.UniqueVolumeName, uid types.UID) bool {
	ap, ok := a.PodVolume(name, uid)
	// MNT-109, MNT-249: an uncertain mount is not usable.
	return ok && ap.State == Mounted
}

// MayBeMounted reports whether the volume is, or may be, mounted for the pod.
func (a *Actual) MayBeMounted(name corev1.UniqueVolumeName, uid types.UID) bool {
	_, ok := a.PodVolume(name, uid)
	// MNT-109: an uncertain mount must be unmounted.
	return ok
}

// PodMounts lists the volumes mounted for a pod, in order; with uncertain, also those that may be mounted (MNT-109).
func (a *Actual) PodMounts(uid types.UID, uncertain bool) []corev1.UniqueVolumeName {
	var names []corev1.UniqueVolumeName
	for ap := a.pods[uid]; ap != nil; ap = ap.next {
		if uncertain || ap.State == Mounted {
			names = append(names, ap.volume.Name)
		}
	}
	return names
}

// HasMounts reports whether PodMounts lists anything.
func (a *Actual) HasMounts(uid types.UID, uncertain bool) bool {
	for ap := a.pods[uid]; ap != nil; ap = ap.next {
		if uncertain || ap.State == Mounted {
			return true
		}
	}
	return false
}

// VolumesOf yields the volumes that are, or may be, mounted for a pod, in the order of their names.
func (a *Actual) VolumesOf(uid types.UID) iter.Seq2[*ActualVolume, *ActualPod] {
	return func(yield func(*ActualVolume, *ActualPod) bool) {
		for ap := a.pods[uid]; ap != nil && yield(ap.volume, ap); {
			ap = ap.next
		}
	}
}

// ActualPair is one volume that is, or may be, mounted for one pod.
type ActualPair struct {
	Volume *ActualVolume
	Pod    *ActualPod
}

// PodVolumes lists all pairs, ordered by volume and pod (MNT-014: the order of a pass is fixed).
func (a *Actual) PodVolumes() []ActualPair {
	if a.volumes.Len() == 0 {
		return nil
	}
	pairs := make([]ActualPair, 0, a.volumes.Len()) // most volumes have one pod
	a.volumes.Scan(func(_ corev1.UniqueVolumeName, v *ActualVolume) bool {
		v.Pods.Scan(func(_ types.UID, ap *ActualPod) bool {
			pairs = append(pairs, ActualPair{v, ap})
			return true
		})
		return true
	})
	return pairs
}

// Volumes lists the records of volumes, ordered by name.
func (a *Actual) Volumes() []*ActualVolume {
	return a.volumes.Values()
}

// EachVolume visits the records of volumes, ordered by name, until visit returns false. The visit must not add or forget volumes.
func (a *Actual) EachVolume(visit func(v *ActualVolume) bool) {
	a.volumes.Scan(func(_ corev1.UniqueVolumeName, v *ActualVolume) bool { return visit(v) })
}
