package apiserver

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/internal/core/store"
)

// requestTimeout is how long, in real time, a write may take with all its webhooks.
const requestTimeout = 34 * time.Second

// reviewed is handle for a write, with the policies and the webhooks that are about it.
func (s *Server) reviewed(r *request) ([]byte, int, error) {
	if r.verb == verbGet || r.verb == verbList {
		return s.handle(r)
	}
	asks, policies := s.asksWebhooks(r), s.needsPolicies(r)
	answers, again := answersIn(r.context)
	switch {
	case answers != nil && (asks || policies):
		r.reviews = &reviews{server: s, request: r, again: true, recorded: answers.Webhooks, number: answers.Number}
	case asks && s.cfg.Webhooks != nil && !again:
		return s.handleReviewed(r)
	case policies:
		// API-399: a server without a network only knows answers of the past.
		r.reviews = &reviews{server: s, request: r, silent: true}
	}
	return s.handle(r)
}

// handleReviewed asks webhooks until all have answered, and carries out the request. The caller has the server's lock, which is free while webhooks
// are asked.
func (s *Server) handleReviewed(r *request) ([]byte, int, error) {
	ctx, cancel := context.WithTimeout(r.context, requestTimeout)
	defer cancel()
	q := &reviews{server: s, verdicts: map[string]*verdict{}}
	for {
		// API-394: each pass takes the objects as they are by then.
		q.begin(r.copy(s.codec))
		s.store.DryRun(func() { _, _, _ = s.handle(q.request) }) // its error is that of the request, too
		if len(q.pending) == 0 {
			break
		}
		s.mu.Unlock()
		s.askAll(ctx, q.pending)
		s.mu.Lock()
		if err := ctx.Err(); errors.Is(err, context.DeadlineExceeded) {
			return nil, 0, apierrors.NewTimeoutError("request did not complete within requested timeout - "+err.Error(), 0)
		} else if err != nil {
			return nil, 0, err // the client gave up
		}
		for _, asked := range q.pending {
			q.verdicts[asked.key] = asked.answer
		}
	}
	q.begin(r)
	data, code, err := s.handle(r)
	r.sent.Answers = &Answers{Number: q.number, Webhooks: q.used}
	return data, code, err
}

// begin begins a pass with a copy of the request.
func (q *reviews) begin(r *request) {
	q.request, q.pending, q.used = r, nil, nil
	r.reviews = q
}

// copy returns the request as it was received, for a pass.
func (r *request) copy(c *codec) *request {
	pass := *r
	pass.pass = true
	pass.warnings = slices.Clone(r.warnings)
	pass.decoded, pass.changes = nil, nil
	pass.decode(c)
	return &pass
}

// askAll asks webhooks at the same time.
func (s *Server) askAll(ctx context.Context, questions []*question) {
	var all sync.WaitGroup
	for _, asked := range questions {
		all.Go(func() { asked.answer = s.cfg.Webhooks.ask(ctx, asked.webhook, asked.review) })
	}
	all.Wait()
}

// Answers are those of the webhooks that a request went through, for doing it again.
type Answers struct {
	// Number is that of a generated name.
	Number   uint64     `json:"number,omitempty"`
	Webhooks []*verdict `json:"webhooks,omitempty"`
}

// describe tells webhooks about the options of the request.
func (r *request) describe(options any, dryRun []string) {
	if r.reviews != nil {
		r.options, r.reviews.dryRun = options, len(dryRun) > 0
	}
}

var _ store.Reviewer = (*reviews)(nil)
