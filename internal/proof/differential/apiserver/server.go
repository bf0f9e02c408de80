package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/trace"
)

// Config configures a server. The zero value answers immediately and reports nothing.
type Config struct {
	// Now is the server's clock; nil is time.Now.
	Now func() time.Time
	// Delay returns how long a request of a component waits before it takes effect, and again before its answer arrives; Lag how long a
	// watch event takes. Both are called from any goroutine. Nil is no delay.
	Delay, Lag func(component string) time.Duration
	// Await returns when a transition may happen, or when it is canceled. Nil lets all of them happen at once.
	Await func(what Transition, canceled <-chan struct{}) Permit
	// Inject is called before each request except lists and watches, and may make it fail. The server's lock is held. Nil injects
	// nothing.
	Inject func(api.Call) api.Fault
	// Wrote is called for each write, refused or not, in the order in which they take effect. The server's lock is held. Nil reports
	// nothing.
	Wrote func(trace.Entry)
}

// Server answers requests from a store. It is safe for concurrent use.
type Server struct {
	cfg Config

	mu        sync.Mutex // guards the store and everything below
	store     *store.Store
	resources []*resource
}

// New returns a server with an empty store.
func New(cfg Config) *Server {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	none := func(string) time.Duration { return 0 }
	if cfg.Delay == nil {
		cfg.Delay = none
	}
	if cfg.Lag == nil {
		cfg.Lag = none
	}
	if cfg.Inject == nil {
		cfg.Inject = func(api.Call) api.Fault { return api.Fault{} }
	}
	if cfg.Wrote == nil {
		cfg.Wrote = func(trace.Entry) {}
	}
	s := &Server{cfg: cfg, store: store.New(store.Config{Now: cfg.Now, History: history})}
	s.resources = resourcesOf(s.store)
	for _, r := range s.resources {
		r.count()
	}
	return s
}

// history is how many changes of a kind a watch can go back: clients list and then watch, with delays in between.
const history = 100_000

// Client returns a clientset for the component of that name, without rate limit.
func (s *Server) Client(component string) (kubernetes.Interface, error) {
	return ClientThrough(s, component)
}

// ClientThrough is Client with a transport of the caller between clientset and server.
func ClientThrough(transport http.RoundTripper, component string) (kubernetes.Interface, error) {
	return kubernetes.NewForConfig(&rest.Config{
		Host:          "http://" + host,
		Transport:     transport,
		UserAgent:     component,
		QPS:           -1,
		ContentConfig: rest.ContentConfig{ContentType: "application/json"},
	})
}

const host = "apiserver.invalid"

// Do calls fn with exclusive access to the store. fn must not wait.
func (s *Server) Do(fn func(*store.Store)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn(s.store)
}

// Changes returns the number of changes of a kind so far.
func (s *Server) Changes(kind api.Kind) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.resources {
		if r.kind == kind {
			return r.changes
		}
	}
	return 0
}

// RoundTrip implements http.RoundTripper.
func (s *Server) RoundTrip(req *http.Request) (*http.Response, error) {
	r, err := s.parse(req)
	if err != nil {
		return failed(req, err)
	}
	if r.watch {
		return s.startWatch(req, r)
	}
	if err := s.sleep(req); err != nil {
		return nil, err
	}
	s.awaitPermit(req, r)
	data, code, err := s.answer(r)
	if sleepErr := s.sleep(req); sleepErr != nil {
		return nil, sleepErr
	}
	if err != nil {
		return failed(req, err)
	}
	return respond(req, code, data), nil
}

// sleep waits for the given time, or until the caller gives up.
func (s *Server) sleep(req *http.Request) error {
	return sleep(req.Context().Done(), s.cfg.Delay(req.UserAgent()), req.Context().Err)
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

// failed answers with a Status.
func failed(req *http.Request, err error) (*http.Response, error) {
	var status metav1.Status
	if api, ok := err.(apierrors.APIStatus); ok {
		status = api.Status()
	} else {
		status = apierrors.NewInternalError(err).ErrStatus
	}
	status.Kind, status.APIVersion = "Status", "v1"
	data, err := json.Marshal(status)
	if err != nil {
		return nil, fmt.Errorf("encode status: %w", err)
	}
	return respond(req, int(status.Code), data), nil
}

func respond(req *http.Request, code int, data []byte) *http.Response {
	return response(req, code, io.NopCloser(bytes.NewReader(data)), int64(len(data)))
}

func response(req *http.Request, code int, body io.ReadCloser, length int64) *http.Response {
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   body, ContentLength: length, Request: req,
	}
}
