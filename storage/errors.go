package storage

import (
	"errors"
	"fmt"
)

// Code is a gRPC status code by name.
type Code string

// The gRPC codes that drivers use. Other codes can be written as Code("PermissionDenied").
const (
	OK                 Code = "OK"
	Canceled           Code = "Canceled"
	Unknown            Code = "Unknown"
	InvalidArgument    Code = "InvalidArgument"
	DeadlineExceeded   Code = "DeadlineExceeded"
	NotFound           Code = "NotFound"
	AlreadyExists      Code = "AlreadyExists"
	ResourceExhausted  Code = "ResourceExhausted"
	FailedPrecondition Code = "FailedPrecondition"
	Aborted            Code = "Aborted"
	OutOfRange         Code = "OutOfRange"
	Unimplemented      Code = "Unimplemented"
	Internal           Code = "Internal"
	Unavailable        Code = "Unavailable"
)

// Error is an error with a gRPC status, as a CSI driver returns it.
type Error struct {
	Code    Code   // of the status; OK is no error, see Errorf
	Message string // of the status
}

// Errorf returns an [Error]; with code OK it returns nil.
func Errorf(code Code, format string, args ...any) error {
	if code == OK {
		return nil
	}
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Error prints the status as gRPC does.
func (e *Error) Error() string {
	return fmt.Sprintf("rpc error: code = %s desc = %s", e.Code, e.Message)
}

// CodeOf returns the code of an error, also of a wrapped one: OK for nil, Internal for a panic, Unknown for an error without status.
func CodeOf(err error) Code {
	if err == nil {
		return OK
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	if _, ok := errors.AsType[panicked](err); ok {
		return Internal
	}
	return Unknown
}

// panicked is the error for a call to a backend that panicked.
type panicked interface {
	error
	BackendPanicked()
}

// ErrVolumeInUse is the error of an in-tree plugin's Delete while the volume is in use. The PersistentVolume then stays
// Released, and the deletion is retried (RECL-027). Test for it with errors.Is.
var ErrVolumeInUse = errors.New("volume is in use")

// VolumeInUse returns an error with exactly this message that is [ErrVolumeInUse].
func VolumeInUse(message string) error { return volumeInUse(message) }

type volumeInUse string

func (e volumeInUse) Error() string { return string(e) }

// RECL-027: the one error that the PersistentVolume controller distinguishes from all others.
func (e volumeInUse) Is(target error) bool { return target == ErrVolumeInUse }
