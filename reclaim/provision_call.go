package reclaim

import (
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/sidecar"
	"github.com/volsim/volsim/storage"
)

// driverCalls makes the calls of an external-provisioner to its driver. A call goes on in the driver when the provisioner stops to wait, or
// crashes.
type driverCalls struct {
	backend storage.Backend
	timeout time.Duration
	ends    map[driverCall]time.Time
}

type driverCall struct {
	op storage.Op
	id string
}

func newDriverCalls(backend storage.Backend, timeout time.Duration) *driverCalls {
	return &driverCalls{backend: backend, timeout: timeout, ends: map[driverCall]time.Time{}}
}

// call makes a call, which takes effect after the time that the driver returns for it. If that is longer than the timeout, call returns
// DeadlineExceeded, and the next call waits for the rest (XPROV-001). A panic is an error.
func (d *driverCalls) call(p *engine.Process, op storage.Op, id string, fn func() error) error {
	key := driverCall{op, id}
	end, begun := d.ends[key]
	if !begun {
		end = p.Now().Add(backends.Delay(d.backend, op, id))
		d.ends[key] = end
	}
	c := api.Call{Target: d.backend.Name(), Verb: string(op), Key: id}
	left := max(0, end.Sub(p.Now()))
	if d.timeout > 0 && left > d.timeout {
		// XPROV-001: each CSI call has a timeout.
		return p.Backend(c, d.timeout, sidecar.Expired)
	}
	err := p.Backend(c, left, func() error { return backends.Safely(d.backend.Name(), op, fn) })
	delete(d.ends, key)
	return err
}
