package apiserver

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/resources"
)

// errCrashed is the error of a request whose client is as if it had crashed: it gets no answer.
var errCrashed = errors.New("the client has crashed")

// clients knows what was asked to go wrong with clients, by their names in User-Agent. It is safe for concurrent use.
type clients struct {
	mu      sync.Mutex
	lag     map[string]time.Duration
	down    map[string]time.Time // until when; the zero time is forever
	crashed map[string]chan struct{}
}

func newClients() *clients {
	return &clients{lag: map[string]time.Duration{}, down: map[string]time.Time{}, crashed: map[string]chan struct{}{}}
}

// lagOf returns how much later than others a client sees changes.
func (c *clients) lagOf(name string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lag[name]
}

// check returns errCrashed for a client that is down.
func (c *clients) check(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	until, down := c.down[name]
	if !down {
		return nil
	}
	if !until.IsZero() && time.Now().After(until) {
		delete(c.down, name)
		return nil
	}
	return errCrashed
}

// ended returns a channel that is closed when the client crashes.
func (c *clients) ended(name string) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.crashed[name] == nil {
		c.crashed[name] = make(chan struct{})
	}
	return c.crashed[name]
}

// crash ends the watches of a client. Its requests get no answer for that long in real time.
func (c *clients) crash(name string, down time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ended := c.crashed[name]; ended != nil {
		close(ended)
		delete(c.crashed, name)
	}
	if down > 0 {
		c.down[name] = time.Now().Add(down)
	}
}

// stop is crash until restart.
func (c *clients) stop(name string) {
	c.crash(name, 0)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down[name] = time.Time{}
}

// serve answers a request for a client: POST with name=NAME and do=lag&by=5s, do=crash, do=crash&by=5s or do=restart. Durations are real time.
func (c *clients) serve(req *http.Request) *answer {
	query := req.URL.Query()
	name := query.Get("name")
	code, text := http.StatusOK, "ok"
	fail := func(status int, format string, args ...any) { code, text = status, fmt.Sprintf(format, args...) }
	by, err := time.ParseDuration(query.Get("by"))
	if query.Get("by") == "" {
		by, err = 0, nil
	}
	switch do := query.Get("do"); {
	case req.Method != http.MethodPost:
		fail(http.StatusMethodNotAllowed, "%s %s: want POST", req.Method, req.URL.Path)
	case name == "":
		fail(http.StatusBadRequest, "client: missing name")
	case err != nil || by < 0:
		fail(http.StatusBadRequest, "client: invalid by=%s: want a duration such as 5s", query.Get("by"))
	case do == "lag":
		c.mu.Lock()
		c.lag[name] = by
		c.mu.Unlock()
	case do == "crash" && by == 0:
		c.stop(name)
	case do == "crash":
		c.crash(name, by)
	case do == "restart":
		c.mu.Lock()
		delete(c.down, name)
		c.mu.Unlock()
	default:
		fail(http.StatusBadRequest, "client: want do=lag, do=crash or do=restart")
	}
	return plainText(code, text+"\n")
}

// faulty is handle, with the faults of the client.
func (s *Server) faulty(r *request) ([]byte, int, error) {
	var fault api.Fault
	if r.verb != resources.VerbGet && r.verb != resources.VerbList {
		t := r.transition()
		fault = s.cfg.Inject(api.Call{
			Actor: api.User + "/" + r.actor, Target: api.APIServer, Verb: t.Verb, Kind: string(t.Object.Kind), Key: t.Object.Key,
		})
	}
	failed := fault.Err
	if fault.Crash {
		s.clients.crash(r.client, fault.Restart)
		failed = errCrashed
	}
	if failed != nil && !fault.Effect {
		return nil, 0, failed
	}
	data, code, err := s.reviewed(r)
	if failed != nil {
		return nil, 0, failed
	}
	return data, code, err
}
