package mount

import (
	"github.com/tidwall/btree"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// attachability says whether a volume that is there has to be attached (MNT-100).
type attachability int

const (
	attachableNo attachability = iota
	attachableYes
	attachableUncertain // found on the disk, and not yet compared with the node's status
)

// deviceState is how far a volume is mounted on the node as such (MNT-101).
type deviceState string

const (
	deviceNotMounted deviceState = "DeviceNotMounted"
	deviceMounted    deviceState = "DeviceGloballyMounted"
	deviceUncertain  deviceState = "DeviceMountUncertain"
)

// podState is how far a volume is mounted for a pod (MNT-102). Without a record it is not mounted.
type podState string

const (
	volumeNotMounted podState = "VolumeNotMounted"
	volumeMounted    podState = "VolumeMounted"
	volumeUncertain  podState = "VolumeMountUncertain"
)

// actualState is what a kubelet knows to be mounted, or takes for possible (MNT-100).
type actualState struct {
	volumes btree.Map[corev1.UniqueVolumeName, *actualVolume]
	// reconstructed are the volumes found on the disk, with the pods they were found for (MNT-106).
	reconstructed map[corev1.UniqueVolumeName]map[types.UID]bool
	// failedExpansions are the volumes of which an expansion failed for good at some time (MNT-425).
	failedExpansions map[corev1.UniqueVolumeName]bool
}

type actualVolume struct {
	name       corev1.UniqueVolumeName
	spec       *volumeSpec
	attachable attachability
	devicePath string
	mountPath  string // of the device
	device     deviceState
	size       int64 // that the node makes use of, in bytes; zero until it is known
	// inUseError says that the driver refused to expand the volume while it is in use (MNT-419).
	inUseError bool
	pods       btree.Map[types.UID, *actualPod]
}

type actualPod struct {
	uid     types.UID
	spec    *volumeSpec
	state   podState
	remount bool
}

func newActualState() *actualState {
	return &actualState{
		reconstructed:    map[corev1.UniqueVolumeName]map[types.UID]bool{},
		failedExpansions: map[corev1.UniqueVolumeName]bool{},
	}
}

func (a *actualState) get(name corev1.UniqueVolumeName) (*actualVolume, bool) {
	return a.volumes.Get(name)
}

// pod is the record of a volume for a pod.
func (a *actualState) pod(name corev1.UniqueVolumeName, uid types.UID) (*actualPod, bool) {
	v, ok := a.volumes.Get(name)
	if !ok {
		return nil, false
	}
	return v.pods.Get(uid)
}

// markAttached makes a record of the volume, or gives the one that is there a new device path.
func (a *actualState) markAttached(name corev1.UniqueVolumeName, spec *volumeSpec, attachable attachability, devicePath string) *actualVolume {
	v, known := a.volumes.Get(name)
	if known {
		// MNT-103: nothing else of it is touched.
		v.devicePath = devicePath
		return v
	}
	// MNT-100, MNT-103: to have a record is to be attached, as far as the node is concerned.
	v = &actualVolume{name: name, spec: spec, attachable: attachable, devicePath: devicePath, device: deviceNotMounted}
	a.volumes.Set(name, v)
	return v
}

// setDevice changes how the device is mounted.
func (v *actualVolume) setDevice(state deviceState, devicePath, mountPath string) {
	v.device = state
	v.mountPath = mountPath
	// MNT-104, MNT-917: unmounting keeps the device path, so that the volume need not be verified again.
	if devicePath != "" {
		v.devicePath = devicePath
	}
}

// setPod changes how the volume is mounted for a pod, making a record if there is none. There must be one of the volume.
func (a *actualState) setPod(name corev1.UniqueVolumeName, uid types.UID, spec *volumeSpec, state podState) {
	v, ok := a.volumes.Get(name)
	if !ok {
		// MNT-105: without the volume nothing can be said about its pods.
		return
	}
	ap, known := v.pods.Get(uid)
	if !known || ap.state == volumeUncertain {
		// MNT-105: what was uncertain is known by the newest data alone.
		ap = &actualPod{uid: uid, spec: spec}
		v.pods.Set(uid, ap)
	}
	ap.state = state
	// MNT-105: however it was mounted, it was mounted now.
	ap.remount = false
	if state == volumeMounted {
		// MNT-105, MNT-929: the mark of the device stays.
		delete(a.reconstructed[name], uid)
	}
}

// removePod forgets that the volume was mounted for a pod.
func (a *actualState) removePod(name corev1.UniqueVolumeName, uid types.UID) {
	if v, ok := a.volumes.Get(name); ok {
		v.pods.Delete(uid)
	}
}

// remove deletes the record of a volume, unless pods still have it. It reports whether the volume is gone.
func (a *actualState) remove(name corev1.UniqueVolumeName) bool {
	v, ok := a.volumes.Get(name)
	switch {
	case !ok:
		return true
	case v.pods.Len() > 0:
		// MNT-107, MNT-902: uncertain mounts count as well.
		return false
	}
	a.volumes.Delete(name)
	// MNT-106: the device was reconstructed as long as there was a record. MNT-107: that it could not be expanded is remembered.
	delete(a.reconstructed, name)
	return true
}

// podReconstructed and deviceReconstructed say what is known only from the disk (MNT-106).
func (a *actualState) podReconstructed(name corev1.UniqueVolumeName, uid types.UID) bool {
	ap, ok := a.pod(name, uid)
	// MNT-106: once mounted, however it ends, the pod's mount is known at first hand.
	return ok && ap.state == volumeUncertain && a.reconstructed[name][uid]
}

func (a *actualState) deviceReconstructed(name corev1.UniqueVolumeName) bool {
	_, ok := a.reconstructed[name]
	return ok
}

// answer is what there is to do about a pair that is desired (MNT-108).
type answer int

const (
	notAttached answer = iota
	notMounted
	remountRequired
	allDone
)

// query tells how a desired pair stands (MNT-108).
func (a *actualState) query(name corev1.UniqueVolumeName, uid types.UID) answer {
	v, ok := a.volumes.Get(name)
	if !ok {
		return notAttached
	}
	ap, ok := v.pods.Get(uid)
	switch {
	case !ok, ap.state == volumeUncertain:
		// MNT-108: an uncertain mount is none, whatever else is asked of it.
		return notMounted
	case ap.remount:
		// MNT-108
		return remountRequired
	}
	return allDone
}

// mounted reports whether the volume is usable for the pod, possibly whether it may be mounted (MNT-109).
func (a *actualState) mounted(name corev1.UniqueVolumeName, uid types.UID) bool {
	ap, ok := a.pod(name, uid)
	// MNT-109, MNT-249: uncertain is not usable.
	return ok && ap.state == volumeMounted
}

func (a *actualState) possibly(name corev1.UniqueVolumeName, uid types.UID) bool {
	_, ok := a.pod(name, uid)
	// MNT-109: what may be there must be unmounted.
	return ok
}

// mountedOf lists the volumes mounted for a pod, in order; with uncertain also those that may be (MNT-109).
func (a *actualState) mountedOf(uid types.UID, uncertain bool) []corev1.UniqueVolumeName {
	var names []corev1.UniqueVolumeName
	a.volumes.Scan(func(name corev1.UniqueVolumeName, v *actualVolume) bool {
		if ap, ok := v.pods.Get(uid); ok && (uncertain || ap.state == volumeMounted) {
			names = append(names, name)
		}
		return true
	})
	return names
}

// actualPair is one pod's volume as it is.
type actualPair struct {
	volume *actualVolume
	pod    *actualPod
}

// pairs lists all possibly mounted pairs, in the order of volume and pod (MNT-014).
func (a *actualState) pairs() []actualPair {
	var pairs []actualPair
	a.volumes.Scan(func(_ corev1.UniqueVolumeName, v *actualVolume) bool {
		v.pods.Scan(func(_ types.UID, ap *actualPod) bool {
			pairs = append(pairs, actualPair{v, ap})
			return true
		})
		return true
	})
	return pairs
}

// all lists the volumes in order.
func (a *actualState) all() []*actualVolume {
	return a.volumes.Values()
}
