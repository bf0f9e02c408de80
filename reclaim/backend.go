package reclaim

import (
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/storage"
)

// ask makes a call to a backend, which takes as long as the backend says. id is the volume's handle, or the name for Create. A
// panic of the backend is an error (BIND-095).
func ask(p *engine.Proc, b storage.Backend, op storage.Op, id string, fn func() error) error {
	call := api.Call{Target: b.Name(), Verb: string(op), Key: id}
	return p.Backend(call, backends.Delay(b, op, id), func() error { return backends.Safely(b.Name(), op, fn) })
}
