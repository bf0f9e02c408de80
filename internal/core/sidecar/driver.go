package sidecar

import (
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/storage"
)

// Driver is the CSI driver of a sidecar.
type Driver struct {
	// Backend is the driver.
	Backend storage.Backend
	// Timeout is how long a call may take. Negative is no limit.
	Timeout time.Duration
}

// Name returns the name of the driver.
func (d Driver) Name() string { return d.Backend.Name() }

// Call makes a call about a volume, on a node unless that is "". It takes the time that the backend returns for it. If that is longer than
// the timeout, Call returns DeadlineExceeded after the timeout (ATT-172, ATT-175). A panic of the backend is an error.
func (d Driver) Call(p *engine.Process, op storage.Op, handle, node string, fn func() error) error {
	call := api.Call{Target: d.Name(), Verb: string(op), Key: handle, Node: node}
	delay := backends.Delay(d.Backend, op, handle)
	safely := func() error { return backends.Safely(d.Name(), op, fn) }
	if d.Timeout < 0 {
		return p.Backend(call, delay, safely)
	}
	return p.BackendWithin(call, delay, d.Timeout, Expired(), safely)
}

// Expired returns the error of a call that takes longer than the timeout.
func Expired() error { return errExpired }

var errExpired = storage.Errorf(storage.DeadlineExceeded, "context deadline exceeded")
