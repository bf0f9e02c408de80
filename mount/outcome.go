package mount

import (
	"github.com/volsim/volsim/storage"
)

// errorClass is what an error of a plugin says about what was done (MNT-240 to MNT-242).
type errorClass int

const (
	// final: it was not done, and nothing is under way.
	final errorClass = iota
	// uncertain: it may have been done, or may yet be.
	uncertain
	// transient: it was not tried.
	transient
)

// uncertainError and transientError carry a class. The text is that of the error inside.
type uncertainError struct{ error }
type transientError struct{ error }

// classOf tells the class of a plugin's error. Only the outermost error counts (MNT-242).
func classOf(err error) errorClass {
	switch err.(type) {
	case uncertainError:
		// MNT-240
		return uncertain
	case transientError:
		// MNT-241
		return transient
	}
	// MNT-242: a wrapped uncertain error is final.
	return final
}

// rpcError gives the error of a call to a CSI driver its class.
func rpcError(op storage.Op, err error) error {
	// MNT-240: the outcome is open after some codes, and after whatever is no code.
	if storage.UnknownOutcome(op, err) {
		return uncertainError{err}
	}
	return err
}

// deviceAfter is the state of a device after a failed attempt to mount it (MNT-243, MNT-244). A device that is globally mounted is
// not mounted again (MNT-245). reconstructed says that it is known from the disk.
func deviceAfter(prior deviceState, class errorClass, reconstructed bool) deviceState {
	switch {
	case prior == deviceMounted:
		// MNT-245
		return prior
	case class == uncertain:
		// MNT-243, MNT-244: it must be unmounted before it is forgotten (MNT-249).
		return deviceUncertain
	case prior == deviceUncertain && (class == transient || reconstructed):
		// MNT-244, MNT-913, MNT-929: nothing was learned, or an earlier kubelet may have mounted it.
		return deviceUncertain
	}
	// MNT-243, MNT-244
	return deviceNotMounted
}

// podAfter is the state of a pod's mount after a failed attempt (MNT-246 to MNT-248).
func podAfter(prior podState, class errorClass, reconstructed bool) podState {
	switch {
	case prior == volumeMounted:
		// MNT-248, MNT-914: a failed remount takes nothing away.
		return volumeMounted
	case class == uncertain:
		// MNT-246, MNT-247
		return volumeUncertain
	case prior == volumeUncertain && (class == transient || reconstructed):
		// MNT-247, MNT-456: its files are kept for a later unmount.
		return volumeUncertain
	}
	// MNT-246, MNT-247
	return volumeNotMounted
}
