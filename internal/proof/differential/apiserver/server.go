package apiserver

import (
	"net/http"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/trace"
)

// What determines when requests take effect and when events arrive; see package internal/apiserver.
type (
	Transition = apiserver.Transition
	Permit     = apiserver.Permit
	Burst      = apiserver.Burst
)

// The bursts.
const (
	Alone    = apiserver.Alone
	Together = apiserver.Together
	Merged   = apiserver.Merged
)

// Config configures a server. The zero value answers immediately and reports nothing.
type Config struct {
	// Now is the server's clock; nil is time.Now.
	Now func() time.Time
	// Delay, Lag and Await are those of apiserver.Hooks. Actors are the names of components.
	Delay, Lag func(component string) time.Duration
	Await      func(what Transition, canceled <-chan struct{}) Permit
	// Inject is called before each request except lists and watches, and may make it fail. The server's lock is held. Nil injects
	// nothing.
	Inject func(api.Call) api.Fault
	// Wrote is called for each write, refused or not, in the order in which they take effect. The server's lock is held. Nil reports
	// nothing.
	Wrote func(trace.Entry)
}

// Server answers requests from a store. It is safe for concurrent use.
type Server struct {
	*apiserver.Server
	backend *backend
}

// history is how many changes of a kind a watch can go back: clients list and then watch, with delays in between.
const history = 100_000

// New returns a server with an empty store.
func New(cfg Config) *Server {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Inject == nil {
		cfg.Inject = func(api.Call) api.Fault { return api.Fault{} }
	}
	if cfg.Wrote == nil {
		cfg.Wrote = func(trace.Entry) {}
	}
	b := &backend{cfg: cfg, store: store.New(store.Config{Now: cfg.Now, History: history, CountedNames: true})}
	return &Server{
		Server: apiserver.New(apiserver.Config{
			Backend:      b,
			Actor:        func(req *http.Request, _ string) string { return req.UserAgent() },
			WatchTimeout: -1, NoManagedFields: true,
			Hooks: apiserver.Hooks{Delay: cfg.Delay, Lag: cfg.Lag, Await: cfg.Await},
		}),
		backend: b,
	}
}

// Client returns a clientset for the component of that name, without rate limit.
func (s *Server) Client(component string) (kubernetes.Interface, error) {
	return ClientThrough(s, component)
}

// ClientThrough is Client with a transport of the caller between clientset and server.
func ClientThrough(transport http.RoundTripper, component string) (kubernetes.Interface, error) {
	return kubernetes.NewForConfig(config(transport, component))
}

// Config returns the configuration of Client, for clients of other packages.
func (s *Server) Config(component string) *rest.Config { return config(s, component) }

func config(transport http.RoundTripper, component string) *rest.Config {
	return &rest.Config{
		Host:          "http://apiserver.invalid",
		Transport:     transport,
		UserAgent:     component,
		QPS:           -1,
		ContentConfig: rest.ContentConfig{ContentType: "application/json"},
	}
}

// Do calls fn with exclusive access to the store. fn must not wait.
func (s *Server) Do(fn func(*store.Store)) {
	s.Server.Do(func() { fn(s.backend.store) })
}

// backend is a store with faults and a record.
type backend struct {
	cfg   Config
	store *store.Store
}

func (b *backend) Store() *store.Store { return b.store }

func (b *backend) Now() time.Time { return b.cfg.Now() }

func (b *backend) Call(call api.Call, fn func() (api.Object, error)) (api.Object, error) {
	ref := api.Ref{Kind: api.Kind(call.Kind), Key: call.Key}
	fault := b.cfg.Inject(call)
	if fault.Err != nil && !fault.Effect {
		b.report(call, ref, nil, nil, fault.Err)
		return nil, fault.Err
	}
	old := b.stored(ref)
	obj, err := fn()
	if err == nil {
		ref = api.RefTo(obj) // its name may be generated
	}
	b.report(call, ref, old, b.stored(ref), err)
	if fault.Err != nil {
		return nil, fault.Err
	}
	return obj, err
}

func (b *backend) stored(ref api.Ref) api.Object {
	obj, err := b.store.Get(ref.Kind, ref.Key)
	if err != nil {
		return nil
	}
	return obj
}

// report reports a write.
func (b *backend) report(call api.Call, ref api.Ref, old, now api.Object, err error) {
	if call.Verb != "get" {
		b.cfg.Wrote(trace.Entry{Time: b.cfg.Now(), Actor: call.Actor, Type: trace.Write, Verb: call.Verb, Object: ref, Old: old, New: now, Err: err})
	}
}
