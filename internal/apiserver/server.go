package apiserver

import (
	"bytes"
	"errors"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/auth"
	"github.com/volsim/volsim/internal/apiserver/clock"
	"github.com/volsim/volsim/internal/apiserver/definition"
	"github.com/volsim/volsim/internal/apiserver/kinds"
	"github.com/volsim/volsim/internal/apiserver/openapi"
	"github.com/volsim/volsim/internal/apiserver/ownership"
	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/store"
)

// Server answers requests. It is safe for concurrent use.
type Server struct {
	cfg   Config
	codec *codec
	clock *clock.Clock // nil for none

	clients *clients

	encoded  encodings
	currents currents

	mu        sync.Mutex // guards the cluster and everything below
	store     *store.Store
	resources *resources.Table
	documents *openapi.Documents
	fields    *ownership.Tracker // nil without managedFields
	webhooks  configuredWebhooks
	policies  policies
	auth      *auth.Authority
	flows     flowCache
	watches   int // that have begun

	controllers controllers
	conversions conversions
	podSecurity bool // a namespace has, or had, a label of the Pod Security Standards
}

// New returns a server.
func New(cfg Config) *Server {
	if cfg.BodyLimit == 0 {
		cfg.BodyLimit = defaultBodyLimit
	}
	if cfg.Actor == nil {
		cfg.Actor = func(_ *http.Request, manager string) string { return manager }
	}
	if cfg.WatchTimeout == 0 {
		cfg.WatchTimeout = defaultWatchTimeout
	}
	if cfg.Inject == nil {
		cfg.Inject = func(api.Call) api.Fault { return api.Fault{} }
	}
	if cfg.Sent == nil {
		cfg.Sent = func(Sent, int) {}
	}
	if cfg.Wrote == nil {
		cfg.Wrote = func() {}
	}
	clients := newClients()
	if cfg.Hooks.Delay == nil {
		cfg.Hooks.Delay = func(string) time.Duration { return 0 }
	}
	if cfg.Hooks.Lag == nil {
		cfg.Hooks.Lag = clients.lagOf
	}
	s := &Server{cfg: cfg, codec: newCodec(), clients: clients, store: cfg.Backend.Store(), resources: resources.NewTable(cfg.Backend.Store())}
	s.auth = &auth.Authority{Store: s.store, Now: cfg.Backend.Now, TokenKey: cfg.TokenKey, StoredRoles: cfg.StoredRoles}
	s.documents = openapi.NewDocuments(s.resources, s.patches)
	switch {
	case cfg.Base != nil:
		s.fields = cfg.Base.fields // a tracker of its own would attribute the requests to other servers to itself
	case !cfg.NoManagedFields:
		s.fields = s.newTracker()
		s.store.TrackFields(s.fields.Track)
	}
	s.store.UseDefinitionRules(store.DefinitionRules{Check: definition.Validate, Warn: definition.Warn})
	for kind, rules := range kinds.Rules {
		s.store.UseKindRules(kind, rules)
	}
	for kind, rules := range kinds.DeviceRules(kinds.Surroundings{Now: cfg.Backend.Now, NamespaceLabels: s.labelsOfNamespace}) {
		s.store.UseKindRules(kind, rules)
	}
	s.store.UseConverter(s)
	s.followWebhooks()
	s.followPolicies()
	s.followPodSecurity()
	s.followFlows()
	if cfg.PodPriority {
		s.store.CompletePriorities()
	}
	if cfg.Hooks.Await != nil {
		for _, r := range s.resources.Builtin {
			if !r.Review && r.Presented == nil {
				s.count(r)
			}
		}
	}
	return s
}

// NewWithClock returns a server, and the clock of its cluster. The server answers requests for /volsim/clock, as Clock.Serve describes it.
func NewWithClock(cfg Config, cluster *engine.Engine, pace clock.Pace) (*Server, *clock.Clock) {
	var s *Server
	c := clock.New(cluster, pace, func(fn func()) { s.Do(fn) })
	wrote := cfg.Wrote
	cfg.Wrote = func() {
		if wrote != nil {
			wrote()
		}
		c.Wrote()
	}
	s = New(cfg)
	s.clock = c
	return s, c
}

// Issued reports whether this server, or one with the same key, has issued a token. It may have expired.
func (s *Server) Issued(token string) bool { return s.auth.Issued(token) }

// Do calls fn with the server's lock held: no request is served meanwhile. fn must not wait.
func (s *Server) Do(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conversions.forget()
	fn()
}

// count counts the changes of a resource from now on, in the order in which watches see them. It must be called before any watch.
func (s *Server) count(r *resources.Resource) {
	_, err := s.store.Watch(r.Kind, store.WatchOptions[api.Object]{}, func(api.Change[api.Object]) { r.Changes++ })
	if err != nil {
		panic(err) // a watch from now on needs no history
	}
}

// Changes returns the number of changes of a kind so far. It needs Hooks.Await.
func (s *Server) Changes(kind api.Kind) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.resources.Builtin {
		if r.Kind == kind {
			return r.Changes
		}
	}
	return 0
}

// resource returns the resource of that name, or nil.
func (s *Server) resource(gvr schema.GroupVersionResource) *resources.Resource {
	if r := s.resources.Served(gvr); r != nil {
		return r
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.resources.Named(gvr)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if s.clients.check(managerOf(req.UserAgent())) != nil {
		panic(http.ErrAbortHandler)
	}
	a, err := s.serve(req)
	if errors.Is(err, errCrashed) {
		panic(http.ErrAbortHandler) // ends the connection without an answer
	}
	if err != nil {
		return // the client gave up
	}
	a.setHeaders(w.Header())
	w.WriteHeader(a.code)
	if a.stream != nil {
		a.stream.copyTo(w, writePatience)
		return
	}
	_, _ = w.Write(a.data) // a client that is gone does not need it
	if a.items != nil {
		_, _ = w.Write(a.items)
		_, _ = w.Write(a.tail)
	}
}

// RoundTrip implements http.RoundTripper: it answers a request of the same process.
func (s *Server) RoundTrip(req *http.Request) (*http.Response, error) {
	a, err := s.serve(req)
	if err != nil {
		return nil, err
	}
	resp := &http.Response{
		StatusCode: a.code, Status: strconv.Itoa(a.code) + " " + http.StatusText(a.code),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Request: req, ContentLength: -1,
	}
	a.setHeaders(resp.Header)
	if a.stream != nil {
		resp.Body = a.stream
		return resp, nil
	}
	resp.ContentLength = int64(a.size())
	if a.items != nil {
		resp.Body = &receivedList{net.Buffers{a.data, a.items, a.tail}}
		return resp, nil
	}
	body := &received{}
	body.Reset(a.data)
	resp.Body = body
	return resp, nil
}

// receivedList is received for a list in parts.
type receivedList struct{ net.Buffers }

// Close implements io.Closer.
func (*receivedList) Close() error { return nil }

// received is the body of an answer that is complete.
type received struct{ bytes.Reader }

// Close implements io.Closer.
func (*received) Close() error { return nil }

// serve answers any request. The error is that of a request whose client gave up.
func (s *Server) serve(req *http.Request) (*answer, error) {
	if s.clock != nil {
		switch req.URL.Path {
		case "/volsim/clock":
			code, text := s.clock.Serve(req)
			return plainText(code, text), nil
		case "/volsim/client":
			return s.clients.serve(req), nil
		}
	}
	if req.URL.Path == answersPath {
		if _, again := answersIn(req.Context()); again {
			return s.serveAnswers(req), nil
		}
	}
	if err := checkTimeout(req); err != nil {
		return failure(req, nil, err), nil
	}
	user, err := s.userOf(req)
	var f *flow
	if err == nil || user != nil {
		f = s.flowOf(req, user)
	}
	a, gone := s.serveAuthorized(req, user, err)
	if a != nil {
		a.flow = f
	}
	return a, gone
}

// userOf returns the user of a request, nil for the administrator, or the error that forbids the request.
func (s *Server) userOf(req *http.Request) (*authenticationv1.UserInfo, error) {
	identity, err := s.auth.Identify(req.Header)
	if identity == nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.auth.Admit(req, identity)
}

// serveAuthorized answers a request of a user, which may be forbidden.
func (s *Server) serveAuthorized(req *http.Request, user *authenticationv1.UserInfo, err error) (*answer, error) {
	if err != nil {
		return refusal(req, err), nil
	}
	if a := s.serveDiscovery(req); a != nil {
		return a, nil
	}
	if a := s.serveOpenAPI(req); a != nil {
		return a, nil
	}
	if a := s.serveOpenAPIV2(req); a != nil {
		return a, nil
	}
	r, err := s.parse(req)
	if err != nil {
		return failure(req, r, err), nil
	}
	r.user, r.sent.User = user, user
	if err := s.sleep(req, r); err != nil {
		return nil, err
	}
	if r.verb == resources.VerbWatch {
		a, err := s.startWatch(req, r)
		if err != nil {
			return failure(req, r, err), nil
		}
		return a, nil
	}
	if err := s.awaitPermit(req, r); err != nil {
		return nil, err
	}
	a, err := s.execute(r)
	if sleepErr := s.sleep(req, r); sleepErr != nil {
		return nil, sleepErr
	}
	if errors.Is(err, errCrashed) {
		return nil, err
	}
	if err != nil {
		return failure(req, r, err), nil
	}
	return a, nil
}

// execute carries out a request for objects, except a watch.
func (s *Server) execute(r *request) (*answer, error) {
	data, code, err := s.carryOut(r)
	if err != nil {
		return nil, err
	}
	if code == http.StatusNoContent {
		return &answer{code: code, warnings: r.warnings}, nil
	}
	a := &answer{code: code, contentType: r.format.contentType(), warnings: r.warnings, data: data}
	if r.items != nil {
		a.items, a.tail = r.items, []byte(r.tail+r.format.end())
		return a, nil
	}
	if r.shown != nil {
		e, err := s.encoded.make(*r.shown, r.format.protobuf)
		if err != nil {
			return nil, err
		}
		data = e.data
	}
	if a.data, err = r.format.write(data); err != nil {
		return nil, err
	}
	return a, nil
}

// carryOut does what a request asks for, with the server's lock held. It returns the encoded answer, or sets r.shown.
func (s *Server) carryOut(r *request) (data []byte, code int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.verb != resources.VerbGet && r.verb != resources.VerbList {
		defer s.cfg.Wrote()
		defer func() {
			code := http.StatusOK
			if err != nil {
				code = int(statusOf(err).Code)
			}
			s.cfg.Sent(r.sent, code)
			s.beginReviews()
		}()
	}
	return s.faulty(r)
}

// handle carries out a request. It returns its encoded answer, or sets r.shown.
func (s *Server) handle(r *request) ([]byte, int, error) {
	if r.subresource == resources.SubresourceScale {
		return s.scale(r)
	}
	if r.subresource == resources.SubresourceLog {
		return s.podLog(r)
	}
	if reason := r.resource.Refusal(r.subresource); reason != "" {
		obj, err := s.store.Get(r.resource.Kind, r.key())
		if err != nil {
			return nil, 0, err
		}
		return nil, 0, errRefused(r, obj, reason)
	}
	switch r.verb {
	case resources.VerbList:
		data, err := s.list(r)
		return data, http.StatusOK, err
	case resources.VerbGet:
		return s.get(r)
	case resources.VerbCreate:
		return s.create(r)
	case resources.VerbUpdate:
		return s.update(r)
	case resources.VerbPatch:
		return s.patch(r)
	case resources.VerbDelete:
		return s.delete(r)
	default:
		data, err := s.deleteCollection(r)
		return data, http.StatusOK, err
	}
}

// sleep waits before a request takes effect or its answer arrives, or until the client gives up.
func (s *Server) sleep(req *http.Request, r *request) error {
	return sleep(req.Context().Done(), s.cfg.Hooks.Delay(r.actor), req.Context().Err)
}

func sleep(done <-chan struct{}, d time.Duration, err func() error) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-done:
		return err()
	}
}

// inGroup reports whether a path is one of a group that Kubernetes serves. The server answers there with a Status.
func inGroup(path string) bool {
	if strings.HasPrefix(path, "/api/v1/") {
		return true
	}
	rest, ok := strings.CutPrefix(path, "/apis/")
	group, _, _ := strings.Cut(rest, "/")
	return ok && slices.ContainsFunc(objkinds.All(), func(k *objkinds.Kind) bool { return k.Group == group && group != "" })
}
