package reclaim

import (
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/storage"
)

// callBackend calls a backend. The call takes the time that the backend returns for it. id is the volume's handle, or the name for Create.
// A panic of the backend is an error (BIND-095).
func callBackend(p *engine.Process, b storage.Backend, op storage.Op, id string, fn func() error) error {
	call := api.Call{Target: b.Name(), Verb: string(op), Key: id}
	return p.Backend(call, backends.Delay(b, op, id), func() error { return backends.Safely(b.Name(), op, fn) })
}
