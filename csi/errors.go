package csi

import (
	"time"

	"google.golang.org/grpc/status"

	"github.com/volsim/volsim/storage"
)

// statusError is an error that the driver returned. storage.CodeOf returns its code; status.FromError of grpc also its details.
type statusError struct{ status *status.Status }

// Error formats the error as gRPC does.
func (e statusError) Error() string { return e.status.Err().Error() }

// Status returns code and message.
func (e statusError) Status() (storage.Code, string) {
	return storage.Code(e.status.Code().String()), e.status.Message()
}

// GRPCStatus returns the error with its details.
func (e statusError) GRPCStatus() *status.Status { return e.status }

// lateError is the error of a caller that gives up when its timeout is over.
type lateError struct {
	error
	after time.Duration
}

// ReplyAfter returns the virtual time that the caller waits, at most: its own timeout may be over before.
func (e lateError) ReplyAfter() time.Duration { return e.after }

// Unwrap returns the error with its code.
func (e lateError) Unwrap() error { return e.error }

// Status returns code and message.
func (e lateError) Status() (storage.Code, string) {
	return storage.DeadlineExceeded, "context deadline exceeded"
}

const (
	// provisionerTimeout is the timeout of the external-provisioner, kubeletTimeout that of the kubelet, the longest of all.
	provisionerTimeout = 10 * time.Second
	kubeletTimeout     = 2 * time.Minute
)

// late returns the error of a call whose reply arrives after the deadline.
func (d *Driver) late(r rpc) error {
	after := kubeletTimeout
	if r.name == "CreateVolume" || r.name == "DeleteVolume" {
		after = provisionerTimeout
	}
	return lateError{storage.Errorf(storage.DeadlineExceeded, "context deadline exceeded"), after}
}
