package backends

import (
	"errors"
	"slices"

	"github.com/volsim/volsim/storage"
)

// codes are in the order of their gRPC numbers.
var codes = []storage.Code{"OK", storage.Canceled, storage.Unknown, storage.InvalidArgument, storage.DeadlineExceeded, storage.NotFound,
	storage.AlreadyExists, "PermissionDenied", storage.ResourceExhausted, storage.FailedPrecondition, storage.Aborted, storage.OutOfRange,
	storage.Unimplemented, storage.Internal, storage.Unavailable, "DataLoss", "Unauthenticated"}

// CodeNumber returns the gRPC number of the code, which a VolumeAttachment shows as errorCode; -1 for a name that gRPC does not have.
func CodeNumber(c storage.Code) int { return slices.Index(codes, c) }

// Status returns the code of an error that a backend returned with [storage.Errorf], also if it was wrapped, and its message. The message
// of a wrapped error is its whole text. ok is false for errors without a code.
func Status(err error) (code storage.Code, message string, ok bool) {
	type status interface {
		error
		Status() (storage.Code, string)
	}
	if s, ok := err.(status); ok {
		code, message = s.Status()
		return code, message, true
	}
	if s, ok := errors.AsType[status](err); ok {
		code, _ = s.Status()
		return code, err.Error(), true
	}
	return "", "", false
}

// codeOrPanic returns the code of an error that has one, or Internal for a panic.
func codeOrPanic(err error) (storage.Code, bool) {
	if code, _, ok := Status(err); ok {
		return code, true
	}
	if _, ok := errors.AsType[*PanicError](err); ok {
		return storage.Internal, true
	}
	return "", false
}

// UnknownOutcome reports whether the operation may have taken effect despite the error: now, later, or in part. Callers treat the same
// error of a CSI driver differently:
//
//   - Create, by the external provisioner: Canceled, DeadlineExceeded, Unavailable, Aborted and errors without a code (XPROV-032).
//   - Expand and Modify, by the external resizer: those, and ResourceExhausted (EXP-025, VAC-012).
//   - Stage and Publish, by the kubelet: the same as Expand (MNT-240).
//   - NodeExpand, by the kubelet: never; it treats every error as final (MNT-422).
//   - Everything else: always. The attach/detach controller treats a failed attachment or detachment as uncertain, the kubelet a
//     failed unmount, and a failed deletion is retried after any error.
//
// A failed mount by an in-tree plugin is final.
func UnknownOutcome(op storage.Op, err error) bool {
	if err == nil {
		return false
	}
	code, ok := codeOrPanic(err)
	switch op {
	case storage.Create:
		// XPROV-032: after an error without a code, or with one of four codes, provisioning may continue in the background.
		return !ok || interrupted(code)
	case storage.Expand, storage.Modify, storage.Stage, storage.Publish:
		// EXP-025, VAC-012, MNT-240: here a driver that lacks resources may have begun, too.
		return !ok || interrupted(code) || code == storage.ResourceExhausted
	case storage.NodeExpand:
		// MNT-422: the kubelet wraps the error, which hides its code.
		return false
	}
	return true
}

func interrupted(code storage.Code) bool {
	switch code {
	case storage.Canceled, storage.DeadlineExceeded, storage.Unavailable, storage.Aborted:
		return true
	}
	return false
}

// Infeasible reports whether an error of Expand or NodeExpand means that the request can never succeed: InvalidArgument, OutOfRange and
// NotFound (EXP-025, MNT-416).
func Infeasible(err error) bool {
	// EXP-025, MNT-416: these codes are final.
	switch storage.CodeOf(err) {
	case storage.InvalidArgument, storage.OutOfRange, storage.NotFound:
		return true
	}
	return false
}
