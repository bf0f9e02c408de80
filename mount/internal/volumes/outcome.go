package volumes

import (
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/storage"
)

// ErrorClass says what an error of a plugin reveals about the outcome of the call (MNT-240 to MNT-242).
type ErrorClass int

const (
	// Final: the call had no effect, and nothing is in progress.
	Final ErrorClass = iota
	// Uncertain: the call may have had its effect, or may still have it.
	Uncertain
	// Transient: the call was not attempted.
	Transient
)

// UncertainError marks an error as Uncertain. Its text is that of Err.
type UncertainError struct{ Err error }

// TransientError marks an error as Transient. Its text is that of Err.
type TransientError struct{ Err error }

func (e UncertainError) Error() string { return e.Err.Error() }
func (e TransientError) Error() string { return e.Err.Error() }

// ClassOf returns the class of a plugin's error. Only the outermost error counts.
func ClassOf(err error) ErrorClass {
	switch err.(type) {
	case UncertainError:
		// MNT-240: the outcome is unknown.
		return Uncertain
	case TransientError:
		// MNT-241: the call was not attempted.
		return Transient
	}
	// MNT-242: a wrapped uncertain error is final.
	return Final
}

// ClassifyRPC marks the error of a CSI call as uncertain if the outcome of the call is unknown.
func ClassifyRPC(op storage.Op, err error) error {
	// MNT-240: some gRPC codes, and every error without a code, leave the outcome open.
	if backends.UnknownOutcome(op, err) {
		return UncertainError{err}
	}
	return err
}

// DeviceAfterFailure returns the state of a device after a failed attempt to mount it. reconstructed means that the volume is known from
// the disk only. An attempt is made only for a device that is not globally mounted (MNT-245).
func DeviceAfterFailure(prior DeviceState, class ErrorClass, reconstructed bool) DeviceState {
	switch {
	case prior == DeviceMounted:
		// MNT-245: a mounted device stays mounted.
		return prior
	case class == Uncertain:
		// MNT-243, MNT-244: it may be mounted, and must be unmounted before it is forgotten (MNT-249).
		return DeviceUncertain
	case prior == DeviceUncertain && (class == Transient || reconstructed):
		// MNT-244, MNT-913, MNT-929: the attempt revealed nothing, or an earlier kubelet may have mounted the device.
		return DeviceUncertain
	}
	// MNT-243, MNT-244: a final error means that it is not mounted.
	return DeviceNotMounted
}

// PodAfterFailure returns the state of a pod's mount after a failed attempt (MNT-246 to MNT-248).
func PodAfterFailure(prior PodState, class ErrorClass, reconstructed bool) PodState {
	switch {
	case prior == Mounted:
		// MNT-248, MNT-914: a failed remount leaves the mount in place.
		return Mounted
	case class == Uncertain:
		// MNT-246, MNT-247: it may be mounted, and must be unmounted (MNT-249).
		return MountUncertain
	case prior == MountUncertain && (class == Transient || reconstructed):
		// MNT-247, MNT-456: its files stay for a later unmount.
		return MountUncertain
	}
	// MNT-246, MNT-247: a final error means that it is not mounted.
	return NotMounted
}
