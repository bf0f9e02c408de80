package harness

import (
	"slices"
	"sync"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/internal/proof/differential/apiserver"
)

// Variation chooses between legal behaviours of API server and goroutines that our order leaves open. The zero value delivers watch events
// one by one, and lets a controller's workers run as soon as they have a key.
type Variation struct {
	// Burst says which watch events arrive together.
	Burst apiserver.Burst
	// Lazy merges consecutive views of one component at one instant into one.
	Lazy bool
	// Workers makes the workers of controllers wait for a permit after they took a key, so that all events of the instant arrive first.
	Workers bool
	// Strict lets reads take effect only where our order has them. Of several requests that carry out the same action, the last one takes effect
	// first: workers of one component may make the same request, and in our order the requests of one worker often follow one another.
	Strict bool
	// Exact lets all events arrive where our order has them, and each worker start on the key that ours started on.
	Exact bool
}

// Sequencer lets one transition of the real components happen after the other. A transition is a request that takes effect, a storage call,
// a watch event that arrives, a worker that starts on a key, or a pass of a loop. Each waits for a permit. The sequencer gives the next
// permit when every goroutine waits, for a permit or for time to pass. So what the components do follows from the order of permits, as far
// as the goroutines of one component do not race.
//
// It follows our order: what our components read, wrote and called (follow.go). An API server may do the same, because requests and events
// may take any time.
type Sequencer struct {
	wait      func() // until every goroutine waits
	variation Variation
	latency   time.Duration
	// changes counts the changes of a kind so far.
	changes func(api.Kind) int
	// until is how many changes of each kind the component with the next permit may receive; nil is not known.
	until map[api.Kind]int

	mu      sync.Mutex
	waiting []*transition
	coming  []*transition // requests on their way to the server
	order   []ordered
	over    bool
	rules   int // for failing requests, so far
	hitBy   int // of these, those that were there when the transition with the last permit began

	wake  chan struct{}      // not empty if transitions may be waiting
	quiet chan chan struct{} // callers of settle
	done  chan struct{}
}

// transition waits for its permit.
type transition struct {
	apiserver.Transition
	permit chan apiserver.Permit
	rules  int // for failing requests, when it began
}

// ordered is one action of our components, in our order.
type ordered struct {
	differential.Action
	done bool
}

func newSequencer(cfg Config, changes func(api.Kind) int) *Sequencer {
	s := &Sequencer{
		wait: cfg.Wait, variation: cfg.Variation, latency: cfg.Latency, changes: changes,
		wake: make(chan struct{}, 1), quiet: make(chan chan struct{}), done: make(chan struct{}),
	}
	s.setOrder(cfg.Order)
	return s
}

// Await returns when the transition has its permit.
func (s *Sequencer) Await(what apiserver.Transition, canceled <-chan struct{}) apiserver.Permit {
	return s.awaitTransition(s.begin(what), canceled)
}

// begin returns a transition that begins to wait.
func (s *Sequencer) begin(what apiserver.Transition) *transition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &transition{Transition: what, permit: make(chan apiserver.Permit, 1), rules: s.rules}
}

// addRule counts a rule for failing requests.
func (s *Sequencer) addRule() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules++
}

// known is the number of rules for failing requests that may hit the request that takes effect.
func (s *Sequencer) known() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hitBy
}

func (s *Sequencer) awaitTransition(t *transition, canceled <-chan struct{}) apiserver.Permit {
	s.mu.Lock()
	s.coming = without(s.coming, t)
	if s.over {
		s.mu.Unlock()
		return apiserver.Permit{Burst: apiserver.Together}
	}
	s.waiting = append(s.waiting, t)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
	select {
	case permit := <-t.permit:
		return permit
	case <-canceled:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.waiting = without(s.waiting, t)
		return apiserver.Permit{}
	}
}

// AwaitRemote is Await for transitions that come over the network: requests take time on their way.
func (s *Sequencer) AwaitRemote(what apiserver.Transition, canceled <-chan struct{}) apiserver.Permit {
	t := s.begin(what)
	if s.latency > 0 && what.Verb != "" {
		s.mu.Lock()
		s.coming = append(s.coming, t)
		s.mu.Unlock()
		select {
		case <-time.After(s.latency):
		case <-canceled:
		}
	}
	return s.awaitTransition(t, canceled)
}

func without(transitions []*transition, t *transition) []*transition {
	return slices.DeleteFunc(transitions, func(other *transition) bool { return other == t })
}

// run gives permits until the sequencer is closed.
func (s *Sequencer) run() {
	for {
		var asked chan struct{}
		select {
		case <-s.wake:
		case asked = <-s.quiet:
		case <-s.done:
			return
		}
		for {
			s.wait()
			if !s.grant() {
				break
			}
		}
		if asked != nil {
			close(asked)
		}
	}
}

// settle waits until every goroutine waits for time to pass.
func (s *Sequencer) settle() {
	asked := make(chan struct{})
	s.quiet <- asked
	<-asked
}

// close lets all transitions happen as they come.
func (s *Sequencer) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for _, t := range s.waiting {
		t.permit <- apiserver.Permit{Burst: apiserver.Together}
	}
	s.waiting = nil
	close(s.done)
}

// grant gives one permit. It returns false if no transition may have one.
func (s *Sequencer) grant() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		return false
	}
	s.until = nil
	next := s.next()
	if next == nil {
		return false
	}
	s.hitBy = next.rules
	next.permit <- apiserver.Permit{Burst: s.variation.Burst, Until: s.until[next.Object.Kind]}
	s.waiting = without(s.waiting, next)
	return true
}
