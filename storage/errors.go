package storage

import (
	"errors"
	"fmt"
)

// Code is the name of a gRPC status code.
type Code string

// The gRPC codes that controllers distinguish or that package fake returns. Other codes can be written as Code("PermissionDenied").
const (
	Canceled           Code = "Canceled"           // the outcome is unknown
	Unknown            Code = "Unknown"            // also of errors without a code
	InvalidArgument    Code = "InvalidArgument"    // no volume can have what was requested
	DeadlineExceeded   Code = "DeadlineExceeded"   // the outcome is unknown
	NotFound           Code = "NotFound"           // there is no such volume
	AlreadyExists      Code = "AlreadyExists"      // with other properties
	ResourceExhausted  Code = "ResourceExhausted"  // no space, or too many volumes on the node
	FailedPrecondition Code = "FailedPrecondition" // the volume is in use, or not yet attached or staged
	Aborted            Code = "Aborted"            // another operation on the volume is running; the outcome is unknown
	OutOfRange         Code = "OutOfRange"         // no volume can have that size
	Unimplemented      Code = "Unimplemented"      // the driver cannot do it
	Internal           Code = "Internal"           // any other error
	Unavailable        Code = "Unavailable"        // the driver cannot be reached; the outcome is unknown
)

// ok is the code of no error.
const ok Code = "OK"

// Errorf returns an error with a gRPC code, as a CSI driver returns it. Its text is that of gRPC: "rpc error: code = ... desc = ...".
// For the code "OK" it returns nil.
func Errorf(code Code, format string, args ...any) error {
	if code == ok {
		return nil
	}
	return &statusError{code: code, message: fmt.Sprintf(format, args...)}
}

// CodeOf returns the code of an error, also of a wrapped one: "OK" for nil, [Internal] for a panic of a backend, [Unknown] for an error
// without a code.
func CodeOf(err error) Code {
	if err == nil {
		return ok
	}
	if e, found := errors.AsType[status](err); found {
		code, _ := e.Status()
		return code
	}
	if _, found := errors.AsType[panicked](err); found {
		return Internal
	}
	return Unknown
}

// status is an error with a code: one of Errorf, or of a backend that has errors of its own, with details for example.
type status interface {
	error
	Status() (Code, string)
}

// statusError is an error with a gRPC status.
type statusError struct {
	code    Code
	message string
}

// Error formats the status as gRPC does.
func (e *statusError) Error() string {
	return fmt.Sprintf("rpc error: code = %s desc = %s", e.code, e.message)
}

// Status returns the two parts of the status.
func (e *statusError) Status() (Code, string) { return e.code, e.message }

// panicked is the error of a call to a backend that panicked.
type panicked interface {
	error
	BackendPanicked()
}
