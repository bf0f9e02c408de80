package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/auth"
	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/apiserver/webhooks"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

// Webhooks also review what the simulated controllers write. Such a write waits in the engine, like one with latency, while the server calls the
// webhook. The answer arrives as a request to answersPath, which is part of the script of the run. So a run without the webhooks gets the same
// answers at the same times.

// answersPath is the path of requests that begin the reviews of controllers' writes, and that deliver answers of webhooks.
const answersPath = "/volsim/webhooks"

// reviewMessage is the body of a request to answersPath.
type reviewMessage struct {
	// Begin begins the reviews.
	Begin bool `json:"begin,omitempty"`
	// ID is the number of the call that Answer answers.
	ID     uint64           `json:"id,omitempty"`
	Answer *webhooks.Answer `json:"answer,omitempty"`
	// Conversions are answers of conversion webhooks about the write that follows.
	Conversions map[string]*webhooks.Converted `json:"conversions,omitempty"`
}

// Admitter is a Backend whose controllers' writes can be reviewed.
type Admitter interface {
	SetAdmission(engine.Admission)
	Admission() engine.Admission
}

// SetAdmission implements Admitter.
func (b *engineBackend) SetAdmission(a engine.Admission) { b.engine.SetAdmission(a) }

// Admission implements Admitter.
func (b *engineBackend) Admission() engine.Admission { return b.engine.Admission() }

// controllers is the state of the reviews of controllers' writes. The server's lock guards it.
type controllers struct {
	wanted bool // ReviewControllers was called
	begun  bool // there is, or was, a webhook
	ended  context.Context
	calls  uint64              // so far; the last one has this number
	open   map[uint64]openCall // without an answer, by number
}

// openCall is a call about a write that waits for the answer. key names it in the review.
type openCall struct {
	review *controllerReview
	key    string
}

// ReviewControllers lets webhooks review what the simulated controllers write from now on, until ctx ends. The answers of webhooks arrive on
// goroutines of their own, which run the cluster.
func (s *Server) ReviewControllers(ctx context.Context) {
	s.Do(func() {
		s.controllers.wanted, s.controllers.ended = true, ctx
		s.beginReviews()
	})
}

// reviewControllersByPolicies lets policies review what the simulated controllers write (API-429). They need no network, and no answers in scripts.
func (s *Server) reviewControllersByPolicies() {
	// Another server of the cluster evaluates policies, too, and may ask webhooks.
	if backend, ok := s.cfg.Backend.(Admitter); ok && backend.Admission() == nil {
		backend.SetAdmission(s)
	}
}

// beginReviews begins the reviews as soon as there is a webhook. The caller has the lock.
func (s *Server) beginReviews() {
	if c := &s.controllers; !c.wanted || c.begun || s.currentWebhooks().none() {
		return
	}
	s.record(reviewMessage{Begin: true})
}

// record carries out a message of this server, and records it in the script of the run. The caller has the lock.
func (s *Server) record(msg reviewMessage) {
	if s.receive(msg) != nil {
		return // the write that waited for it is gone
	}
	if data, err := json.Marshal(msg); err == nil {
		s.cfg.Sent(Sent{Method: http.MethodPost, URI: answersPath, Client: "volsim", ContentType: "application/json", Body: data}, http.StatusOK)
	}
}

// receive begins the reviews, or passes an answer on to the write that waits for it. The caller has the lock.
func (s *Server) receive(msg reviewMessage) error {
	c := &s.controllers
	if msg.Begin {
		backend, ok := s.cfg.Backend.(Admitter)
		if !ok {
			return fmt.Errorf("webhooks: the cluster has no controllers")
		}
		c.begun, c.open = true, map[uint64]openCall{}
		backend.SetAdmission(s)
		return nil
	}
	if msg.Conversions != nil {
		s.receiveConversions(msg.Conversions)
		return nil
	}
	asked, ok := c.open[msg.ID]
	if !ok || msg.Answer == nil {
		return fmt.Errorf("webhooks: nothing waits for the answer %d", msg.ID)
	}
	delete(c.open, msg.ID)
	asked.review.known[asked.key] = msg.Answer
	if asked.review.missing--; asked.review.missing == 0 {
		asked.review.answers.Broadcast()
	}
	return nil
}

// serveAnswers answers a request of a script to answersPath.
func (s *Server) serveAnswers(req *http.Request) *answer {
	var msg reviewMessage
	code, text := http.StatusOK, "ok"
	data, err := io.ReadAll(req.Body)
	if err == nil {
		err = json.Unmarshal(data, &msg)
	}
	if err == nil {
		s.Do(func() { err = s.receive(msg) })
	}
	if err != nil {
		code, text = http.StatusBadRequest, err.Error()
	}
	return plainText(code, text+"\n")
}

// controllerReview reviews one write of a simulated controller, or of the user. It implements engine.Review.
type controllerReview struct {
	reviews
	original *request
	// body is a Binding or an Eviction, of this kind; nil for other writes. sent is the Binding that the store gets.
	body    api.Object
	kind    *resources.Resource
	sent    *corev1.Binding
	answers engine.Signal
	missing int
}

// Review implements engine.Admission.
func (s *Server) Review(w engine.Write) engine.Review {
	r := s.requestOf(w)
	if r == nil {
		return nil
	}
	// API-399: the user's writes do not wait.
	asks := s.controllers.begun && w.Actor != api.User && s.asksWebhooks(r)
	if !asks && !s.needsPolicies(r) {
		return nil
	}
	q := &controllerReview{reviews: reviews{server: s, known: map[string]*webhooks.Answer{}, silent: !asks, as: userOfActor(w.Actor)}, original: r}
	switch {
	case w.Binding != nil:
		q.kind, q.body, q.sent = bindingBody, w.Binding.DeepCopy(), w.Binding
	case r.subresource == resources.SubresourceEviction:
		q.kind, q.body = evictionBody, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: r.name}}
	}
	return q
}

// requestOf returns the request of a client that makes the write of a controller; nil for one that is not reviewed.
func (s *Server) requestOf(w engine.Write) *request {
	res := s.resources.OfKind(w.Ref.Kind)
	if res == nil {
		return nil
	}
	r := &request{resource: res, actor: w.Actor, context: context.Background()}
	r.namespace, r.name = objects.SplitKey(w.Ref.Key)
	verb, subresource, _ := strings.Cut(w.Verb, "-")
	r.subresource = subresource
	switch {
	case subresource == resources.SubresourceFinalize:
		return nil // API-395
	case verb == "create":
		r.verb, r.name, r.options = resources.VerbCreate, "", &metav1.CreateOptions{}
	case verb == "update":
		r.verb, r.options = resources.VerbUpdate, &metav1.UpdateOptions{}
	case verb == "patch":
		r.verb, r.options = resources.VerbPatch, &metav1.PatchOptions{}
	case verb == "delete":
		r.verb, r.options = resources.VerbDelete, optionsOfDelete(w.Delete)
		if w.Collection {
			r.verb, r.name = resources.VerbDeleteCollection, ""
		}
	case verb == "bind":
		r.verb, r.subresource, r.options = resources.VerbCreate, resources.SubresourceBinding, &metav1.CreateOptions{}
	case verb == "evict":
		r.verb, r.subresource, r.options = resources.VerbCreate, resources.SubresourceEviction, &metav1.CreateOptions{}
	default:
		return nil
	}
	return r
}

// optionsOfDelete returns the options of a delete as a client sends them.
func optionsOfDelete(opts api.DeleteOptions) *metav1.DeleteOptions {
	sent := &metav1.DeleteOptions{GracePeriodSeconds: opts.GracePeriodSeconds}
	if opts.PropagationPolicy != "" {
		sent.PropagationPolicy = &opts.PropagationPolicy
	}
	if opts.UID != "" || opts.ResourceVersion != "" {
		sent.Preconditions = &metav1.Preconditions{}
	}
	if opts.UID != "" {
		sent.Preconditions.UID = &opts.UID
	}
	if opts.ResourceVersion != "" {
		sent.Preconditions.ResourceVersion = &opts.ResourceVersion
	}
	return sent
}

// Try implements engine.Review.
func (q *controllerReview) Try(fn func() error) (done bool, err error) {
	if !q.silent {
		// A delete is reviewed again between its two parts, so nothing takes effect before all answers have arrived.
		q.server.store.DryRun(func() { _ = q.pass(fn) }) // its error is that of the write, too
		q.missing = len(q.pending)
		for _, asked := range q.pending {
			q.server.askForController(q, asked)
		}
		if q.missing > 0 {
			return false, nil
		}
	}
	return true, q.pass(fn)
}

// pass carries out the write up to the first answer that is missing, or the first one that refuses it.
func (q *controllerReview) pass(fn func() error) (err error) {
	pass := *q.original
	q.begin(&pass)
	if q.body != nil {
		// API-395: the body is reviewed, and not the pod.
		reviewed, err := reviewBody(&pass, q.kind, q.original.name, q.body.DeepCopyObject().(api.Object))
		if err != nil {
			return err
		}
		if binding, ok := reviewed.(*corev1.Binding); ok {
			*q.sent = *binding
		}
		return fn()
	}
	q.server.store.Reviewed(&q.reviews, func() { err = fn() })
	return err
}

// Answers implements engine.Review.
func (q *controllerReview) Answers() *engine.Signal { return &q.answers }

// Answered implements engine.Review.
func (q *controllerReview) Answered() bool { return q.missing == 0 }

// askForController calls a webhook for a write that waits. Without a network its answer comes from the script. The caller has the lock.
func (s *Server) askForController(q *controllerReview, asked *webhookCall) {
	c := &s.controllers
	c.calls++
	id := c.calls
	c.open[id] = openCall{q, asked.key}
	if s.cfg.Webhooks == nil || !c.wanted {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(c.ended, requestTimeout)
		defer cancel()
		answer := s.cfg.Webhooks.Ask(ctx, &asked.webhook.Webhook, asked.review)
		s.Do(func() {
			if c.ended.Err() != nil {
				return // so has the cluster
			}
			s.record(reviewMessage{ID: id, Answer: answer})
			s.cfg.Wrote()
		})
	}()
}

// userOfActor returns the user that an actor is on a real cluster.
func userOfActor(actor string) *authenticationv1.UserInfo {
	program, node, _ := strings.Cut(actor, "/")
	switch program {
	case api.User:
		return &authenticationv1.UserInfo{Username: "kubernetes-admin", Groups: auth.AdministratorGroups}
	case "kubelet":
		return &authenticationv1.UserInfo{Username: "system:node:" + node, Groups: []string{"system:nodes", "system:authenticated"}}
	case "kube-scheduler":
		return &authenticationv1.UserInfo{Username: "system:kube-scheduler", Groups: []string{"system:authenticated"}}
	}
	return &authenticationv1.UserInfo{
		Username: "system:serviceaccount:kube-system:" + program, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"},
	}
}
