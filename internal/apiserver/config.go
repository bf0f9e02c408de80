package apiserver

import (
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/webhooks"
	"github.com/volsim/volsim/internal/core/store"
)

// Backend is the cluster behind a server. The server calls it with its lock held.
type Backend interface {
	// Store contains the objects. The server reads it, and writes to it within Call only.
	Store() *store.Store
	// Now is the clock of the cluster.
	Now() time.Time
	// Call makes a read or a write of one object in the name of call.Actor: fn does it, and returns the object of the answer. Call may add
	// faults and records. The key of a create with a generated name ends with a slash, or is empty.
	Call(call api.Call, fn func() (api.Object, error)) (api.Object, error)
}

// Config configures a server.
type Config struct {
	// Backend is the cluster; it must be set.
	Backend Backend
	// Base is another server of the same cluster, which maintains the managedFields of all objects. Nil lets this server do so.
	Base *Server
	// BodyLimit is the largest request body in bytes. Zero is 3 MiB, as in Kubernetes.
	BodyLimit int64
	// Actor returns in whose name a request writes, given the manager of its fields: the parameter fieldManager, or else the name of the
	// client in User-Agent. Nil is that manager.
	Actor func(req *http.Request, manager string) string
	// WatchTimeout is how long, in real time, a watch lasts that names no timeoutSeconds. Zero is 30 minutes; negative is forever, also for
	// watches that do.
	WatchTimeout time.Duration
	// NoManagedFields disables managedFields and server-side apply, unless there is a Base. The default is false.
	NoManagedFields bool
	// TaintNodes adds the not-ready taint to each Node that a client creates, as the admission of kube-apiserver does. The node lifecycle
	// controller removes it when the node is ready; nothing else does. The default is false.
	TaintNodes bool
	// PodPriority sets the priority of each new pod, also of those that controllers create, as the admission of kube-apiserver does. The default
	// is false.
	PodPriority bool
	// StoredRoles says that the default roles, and the rules of ClusterRoles that aggregate others, are in the store if they apply. By default they
	// apply without being there.
	StoredRoles bool
	// VirtualTime says that clients may share a clock that stands still. Recorders name an Event after its object and the time, so one whose name is
	// taken by another gets the next free name. The default is false: it is refused.
	VirtualTime bool
	// Wrote is called after each request that may have written something, with the lock held. It may run the cluster. Nil does nothing.
	Wrote func()
	// Inject returns what goes wrong with a write: its Err, if it has no effect or if its answer is lost, and Crash, which ends the client's
	// connections. The actor of the call is user/ and that of the request. It is called with the lock held. Nil lets nothing go wrong.
	Inject func(api.Call) api.Fault
	// Sent is called with each request that may have written something, and the code of its answer, with the lock held, before Wrote. Nil
	// does nothing.
	Sent func(Sent, int)
	// TokenKey signs the tokens of ServiceAccounts, so that they cannot be forged. Without a key they have no signature.
	TokenKey []byte
	// Webhooks asks the webhooks that the configurations in the cluster name about the writes of clients. Nil asks none.
	Webhooks *webhooks.Client
	// Hooks slow requests down and order deliveries. The zero value does neither.
	Hooks Hooks
}

// Hooks determine when requests take effect and when events arrive.
type Hooks struct {
	// Delay returns how long a request waits before it takes effect, and again before its answer arrives; Lag how long a watch event takes.
	// Both get the actor and are called from any goroutine. Nil is no time.
	Delay, Lag func(actor string) time.Duration
	// Await returns when a transition may happen, or when it is canceled. Nil lets all of them happen at once.
	Await func(what Transition, canceled <-chan struct{}) Permit
}

// Sent has the parts of a request that are needed to send it again.
type Sent struct {
	Method, URI string
	// Client is the name in User-Agent.
	Client, ContentType string
	Body                []byte
	// User is who makes the request (API-503); nil for the administrator.
	User *authenticationv1.UserInfo
	// Answers are those of webhooks, nil if none was asked. With WithAnswers they are the answers when the request is done again.
	Answers *Answers
}

const defaultBodyLimit = 3 << 20

const defaultWatchTimeout = 30 * time.Minute

// Attributor is a Backend that knows who makes a write that no request makes, as the name of an actor. Without it, no manager is recorded
// for such writes.
type Attributor interface{ Writer() string }
