package storage

import "errors"
import "fmt"

// Code is a gRPC status code by name.
type Code string

// The gRPC codes.
const (
	OK                 Code = "OK"
	Canceled           Code = "Canceled"
	Unknown            Code = "Unknown"
	InvalidArgument    Code = "InvalidArgument"
	DeadlineExceeded   Code = "DeadlineExceeded"
	NotFound           Code = "NotFound"
	AlreadyExists      Code = "AlreadyExists"
	PermissionDenied   Code = "PermissionDenied"
	ResourceExhausted  Code = "ResourceExhausted"
	FailedPrecondition Code = "FailedPrecondition"
	Aborted            Code = "Aborted"
	OutOfRange         Code = "OutOfRange"
	Unimplemented      Code = "Unimplemented"
	Internal           Code = "Internal"
	Unavailable        Code = "Unavailable"
	DataLoss           Code = "DataLoss"
	Unauthenticated    Code = "Unauthenticated"
)

// codes are in the order of their numbers.
var codes = []Code{OK, Canceled, Unknown, InvalidArgument, DeadlineExceeded, NotFound, AlreadyExists, PermissionDenied,
	ResourceExhausted, FailedPrecondition, Aborted, OutOfRange, Unimplemented, Internal, Unavailable, DataLoss, Unauthenticated}

// Number is the code as gRPC numbers it, which is what a VolumeAttachment shows as errorCode; -1 for a name that gRPC does not have.
func (c Code) Number() int {
	for i, code := range codes {
		if c == code {
			return i
		}
	}
	return -1
}

// Valid reports whether gRPC has the code.
func (c Code) Valid() bool { return c.Number() >= 0 }

// Error is an error with a gRPC status: what a CSI driver answers.
type Error struct {
	Code    Code
	Message string
}

// Errorf makes an [Error]; code OK makes nil.
func Errorf(code Code, format string, args ...any) error {
	if code == OK {
		return nil
	}
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Error prints as gRPC status errors do.
func (e *Error) Error() string {
	return fmt.Sprintf("rpc error: code = %s desc = %s", e.Code, e.Message)
}

// CodeOf is the code of the error, also when it is wrapped: OK for nil, Internal for a panic, Unknown for an error without status.
func CodeOf(err error) Code {
	if err == nil {
		return OK
	}
	code, ok := status(err)
	if !ok {
		return Unknown
	}
	return code
}

// status tells an error with status from any other.
func status(err error) (Code, bool) {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code, true
	}
	if _, ok := errors.AsType[*PanicError](err); ok {
		return Internal, true
	}
	return "", false
}

// UnknownOutcome reports whether the one who asked a CSI driver for op has to reckon that it took effect in spite of the error:
// now, later, or in part. The callers differ in what they conclude from the same error:
//
//   - Create, by the external provisioner: Canceled, DeadlineExceeded, Unavailable, Aborted and errors without status (XPROV-032).
//   - Expand and Modify, by the external resizer: those, and ResourceExhausted (EXP-025, VAC-012).
//   - Stage and Publish, by the kubelet: the same as Expand (MNT-240).
//   - NodeExpand, by the kubelet: never; it takes every error as final (MNT-422).
//   - Everything else: always. The attach/detach controller takes a failed attachment or detachment as uncertain, the kubelet a
//     failed unmount, and a failed deletion is asked for again whatever the error.
//
// It is about CSI drivers: a failed mount by an in-tree plugin is final.
func UnknownOutcome(op Op, err error) bool {
	if err == nil {
		return false
	}
	code, ok := status(err)
	switch op {
	case Create:
		// XPROV-032: not gRPC, or one of four codes, leaves provisioning in the background.
		return !ok || interrupted(code)
	case Expand, Modify, Stage, Publish:
		// EXP-025, VAC-012, MNT-240: here a driver short of resources may have begun as well.
		return !ok || interrupted(code) || code == ResourceExhausted
	case NodeExpand:
		// MNT-422: the error arrives wrapped, and its class is lost.
		return false
	}
	return true
}

func interrupted(code Code) bool {
	switch code {
	case Canceled, DeadlineExceeded, Unavailable, Aborted:
		return true
	}
	return false
}

// Infeasible reports whether an error of Expand or NodeExpand says that the request itself cannot be met, so that to repeat it is of
// little use: InvalidArgument, OutOfRange and NotFound (EXP-025, MNT-416).
func Infeasible(err error) bool {
	code, ok := status(err)
	// EXP-025, MNT-416: these are final as well.
	return ok && (code == InvalidArgument || code == OutOfRange || code == NotFound)
}

// ErrVolumeInUse is what an in-tree plugin answers to Delete when the volume is still in use. The PersistentVolume then stays
// Released and the deletion is tried again (RECL-027). Test for it with errors.Is.
var ErrVolumeInUse = errors.New("volume is in use")

// VolumeInUse is an error with exactly this message that is [ErrVolumeInUse].
func VolumeInUse(message string) error { return volumeInUse(message) }

type volumeInUse string

func (e volumeInUse) Error() string { return string(e) }

// RECL-027: the special error that the PersistentVolume controller tells from all others.
func (e volumeInUse) Is(target error) bool { return target == ErrVolumeInUse }
