package apiserver

import (
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/leases"
	"github.com/volsim/volsim/internal/core/store"
)

// ForEngine returns the backend of a cluster. Writes appear in its trace as those of user/ACTOR.
func ForEngine(e *engine.Engine) Backend {
	return &engineBackend{engine: e, clients: map[string]*engine.Process{}, leases: leases.BookOf(e)}
}

type engineBackend struct {
	engine  *engine.Engine
	clients map[string]*engine.Process // by actor
	leases  *leases.Book               // nil without kubelets
}

// Renewed implements Leaser.
func (b *engineBackend) Renewed(node string) (time.Time, bool) {
	return b.leases.At(b.engine.Now())(node)
}

func (b *engineBackend) Store() *store.Store { return b.engine.Store() }

// Writer implements Attributor.
func (b *engineBackend) Writer() string { return b.engine.Writer() }

func (b *engineBackend) Now() time.Time { return b.engine.Now() }

func (b *engineBackend) Call(call api.Call, fn func() (api.Object, error)) (api.Object, error) {
	if call.Verb == resources.VerbGet {
		return fn()
	}
	client := b.clients[call.Actor]
	if client == nil {
		client = b.engine.Client(call.Actor)
		b.clients[call.Actor] = client
	}
	return b.engine.API().Write(client, call.Verb, api.Ref{Kind: api.Kind(call.Kind), Key: call.Key}, fn)
}
