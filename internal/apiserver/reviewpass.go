package apiserver

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/apiserver/webhooks"
)

// A request that webhooks review runs in passes. A pass carries the request out without storing anything, up to the first answer that is missing.
// Then the server calls the webhook without its lock, and the next pass finds the answer. When a pass finds all answers, the request is carried
// out. An answer holds for exactly what the webhook was shown. So a request that another write has overtaken is reviewed again, as on a real
// server, which repeats an update whose object has changed meanwhile.

// requestTimeout is how long, in real time, a write may take with all its webhooks.
const requestTimeout = 34 * time.Second

// reviewed is handle with the policies and the webhooks that are about the request.
func (s *Server) reviewed(r *request) ([]byte, int, error) {
	answers, again := answersIn(r.context)
	s.beginConversions(answers, again)
	defer func() { s.conversions.again = false }()
	writes := r.verb != resources.VerbGet && r.verb != resources.VerbList
	asks, policies := writes && s.asksWebhooks(r), writes && s.needsPolicies(r)
	online := s.cfg.Webhooks != nil && !again
	switch {
	case answers != nil && answers.Ended:
		return nil, 0, errEnded
	case answers != nil && (asks || policies || answers.Conversions != nil):
		r.reviews = &reviews{server: s, request: r, again: true, recorded: answers.Webhooks, number: answers.Number}
	case online && (asks || s.resources.ConversionOf(r.resource) != nil):
		return s.handleOnline(r, &reviews{server: s, known: map[string]*webhooks.Answer{}, silent: !asks})
	case policies:
		// API-399: a server without a network only knows answers of the past.
		r.reviews = &reviews{server: s, request: r, silent: true}
	}
	return s.handle(r)
}

// handleOnline asks webhooks until all have answered, and carries out the request. The caller has the server's lock, which is free while webhooks
// are asked.
func (s *Server) handleOnline(r *request, q *reviews) ([]byte, int, error) {
	ctx, cancel := context.WithTimeout(r.context, requestTimeout)
	defer cancel()
	begin := func(r *request) {
		s.conversions.begin()
		q.begin(r)
	}
	for {
		// API-394: each pass takes the objects as they are by then.
		begin(r.copy(s.codec))
		s.conversions.passes = true
		s.store.DryRun(func() { _, _, _ = s.handle(q.request) }) // its error is that of the request, too
		s.conversions.passes = false
		objs := s.conversions.pending
		if len(q.pending) == 0 && len(objs) == 0 {
			break
		}
		s.mu.Unlock()
		s.askAll(ctx, q.pending, objs)
		s.mu.Lock()
		if ctx.Err() != nil {
			r.sent.Answers = &Answers{Ended: true} // API-541
		}
		if err := ctx.Err(); errors.Is(err, context.DeadlineExceeded) {
			return nil, 0, apierrors.NewTimeoutError("request did not complete within requested timeout - "+err.Error(), 0)
		} else if err != nil {
			return nil, 0, err // the client gave up
		}
		for _, asked := range q.pending {
			q.known[asked.key] = asked.answer
		}
		for _, o := range objs {
			s.conversions.keep(o.Key, o.Answer)
		}
	}
	begin(r)
	data, code, err := s.handle(r)
	if used := s.usedConversions(); !q.silent || used != nil {
		r.sent.Answers = &Answers{Number: q.number, Webhooks: q.used, Conversions: used}
	}
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

// askAll asks webhooks at the same time. The caller does not have the lock.
func (s *Server) askAll(ctx context.Context, calls []*webhookCall, objs []*webhooks.Conversion) {
	var all sync.WaitGroup
	all.Go(func() { s.cfg.Webhooks.ConvertAll(ctx, objs) })
	for _, asked := range calls {
		all.Go(func() { asked.answer = s.cfg.Webhooks.Ask(ctx, &asked.webhook.Webhook, asked.review) })
	}
	all.Wait()
}

// Answers are those of the webhooks that a request went through, for doing it again.
type Answers struct {
	// Number is that of a generated name.
	Number   uint64             `json:"number,omitempty"`
	Webhooks []*webhooks.Answer `json:"webhooks,omitempty"`
	// Conversions are the objects that conversion webhooks have converted, by what they were asked.
	Conversions map[string]*webhooks.Converted `json:"conversions,omitempty"`
	// Ended says that the request ended before all had answered: it took too long, or its client gave up.
	Ended bool `json:"ended,omitempty"`
}

// answersKey is where the context of a request has the answers of webhooks.
type answersKey struct{}

// WithAnswers returns a request that is done again: its webhooks have answered before. Nil is a request that went through none.
func WithAnswers(req *http.Request, answers *Answers) *http.Request {
	return req.WithContext(context.WithValue(req.Context(), answersKey{}, answers))
}

// answersIn returns the answers of WithAnswers; ok is false for a request that is new.
func answersIn(ctx context.Context) (answers *Answers, ok bool) {
	answers, ok = ctx.Value(answersKey{}).(*Answers)
	return answers, ok
}

// errEnded is the error of a request that is done again and ended the first time.
var errEnded = errors.New("the request ended before its webhooks answered")

// describe tells webhooks about the options of the request.
func (r *request) describe(options any, dryRun []string) {
	if r.reviews != nil {
		r.options, r.reviews.dryRun = options, len(dryRun) > 0
	}
}
