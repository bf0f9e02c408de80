package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

// What the simulated controllers create is reviewed, too. Such a write waits in the engine, like one with latency, while the webhook is asked
// outside of it. The answer comes back as a request to the path below, which is in the script of the run. So a run without the webhooks gets the
// same answers at the same times.

// answersPath is the path of requests that begin the reviews of controllers, and that bring answers of webhooks.
const answersPath = "/volsim/webhooks"

// controllerNews is the body of such a request.
type controllerNews struct {
	// Begin begins the reviews.
	Begin bool `json:"begin,omitempty"`
	// ID is the number of the question that Answer answers.
	ID     uint64   `json:"id,omitempty"`
	Answer *verdict `json:"answer,omitempty"`
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

// controllers are the writes of simulated controllers that are reviewed. The server's lock guards it.
type controllers struct {
	wanted, begun bool
	ended         context.Context
	questions     uint64
	open          map[uint64]openQuestion
}

// openQuestion is a question of a write that waits.
type openQuestion struct {
	review *controllerReview
	key    string
}

// ReviewControllers lets webhooks review what the simulated controllers create from now on, until ctx ends. The answers of webhooks arrive on
// goroutines of their own, which run the cluster.
func (s *Server) ReviewControllers(ctx context.Context) {
	s.Do(func() {
		s.controllers.wanted, s.controllers.ended = true, ctx
		s.beginReviews()
	})
}

// reviewControllersByPolicies lets policies review what the simulated controllers create (API-429). They need no network, and no answers in scripts.
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
	s.hear(controllerNews{Begin: true})
}

// hear takes news that this server makes, and records them. The caller has the lock.
func (s *Server) hear(news controllerNews) {
	if s.take(news) != nil {
		return // the write that waited for it is gone
	}
	if data, err := json.Marshal(news); err == nil {
		s.cfg.Sent(Sent{Method: http.MethodPost, URI: answersPath, Client: "volsim", ContentType: "application/json", Body: data}, http.StatusOK)
	}
}

// take carries out what news say. The caller has the lock.
func (s *Server) take(news controllerNews) error {
	c := &s.controllers
	if news.Begin {
		backend, ok := s.cfg.Backend.(Admitter)
		if !ok {
			return fmt.Errorf("webhooks: the cluster has no controllers")
		}
		c.begun, c.open = true, map[uint64]openQuestion{}
		backend.SetAdmission(s)
		return nil
	}
	asked, ok := c.open[news.ID]
	if !ok || news.Answer == nil {
		return fmt.Errorf("webhooks: nothing waits for the answer %d", news.ID)
	}
	delete(c.open, news.ID)
	asked.review.verdicts[asked.key] = news.Answer
	if asked.review.missing--; asked.review.missing == 0 {
		asked.review.answers.Broadcast()
	}
	return nil
}

// serveAnswers answers a request of a script that brings news.
func (s *Server) serveAnswers(req *http.Request) *answer {
	var news controllerNews
	code, text := http.StatusOK, "ok"
	data, err := io.ReadAll(req.Body)
	if err == nil {
		err = json.Unmarshal(data, &news)
	}
	if err == nil {
		s.Do(func() { err = s.take(news) })
	}
	if err != nil {
		code, text = http.StatusBadRequest, err.Error()
	}
	return &answer{code: code, contentType: "text/plain; charset=utf-8", data: []byte(text + "\n")}
}

// controllerReview reviews one create of a simulated controller. It implements engine.Review.
type controllerReview struct {
	reviews
	original *request
	answers  engine.Signal
	missing  int
}

// Review implements engine.Admission.
func (s *Server) Review(actor string, ref api.Ref) engine.Review {
	res := s.resourceOf(ref.Kind)
	if res == nil {
		return nil
	}
	namespace, _ := objects.SplitKey(ref.Key)
	r := &request{resource: res, verb: verbCreate, namespace: namespace, actor: actor, context: context.Background(), options: &metav1.CreateOptions{}}
	asks := s.controllers.begun && s.asksWebhooks(r)
	if !asks && !s.needsPolicies(r) {
		return nil
	}
	return &controllerReview{reviews: reviews{server: s, verdicts: map[string]*verdict{}, silent: !asks, as: userOfActor(actor)}, original: r}
}

// Try implements engine.Review.
func (q *controllerReview) Try(fn func()) bool {
	pass := *q.original
	q.begin(&pass)
	q.server.store.Reviewed(&q.reviews, fn)
	q.missing = len(q.pending)
	for _, asked := range q.pending {
		q.server.askForController(q, asked)
	}
	return q.missing == 0
}

// Answers implements engine.Review.
func (q *controllerReview) Answers() *engine.Signal { return &q.answers }

// Answered implements engine.Review.
func (q *controllerReview) Answered() bool { return q.missing == 0 }

// askForController asks a webhook about a write that waits. Without a network its answer comes from the script. The caller has the lock.
func (s *Server) askForController(q *controllerReview, asked *question) {
	c := &s.controllers
	c.questions++
	id := c.questions
	c.open[id] = openQuestion{q, asked.key}
	if s.cfg.Webhooks == nil || !c.wanted {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(c.ended, requestTimeout)
		defer cancel()
		answer := s.cfg.Webhooks.ask(ctx, asked.webhook, asked.review)
		s.Do(func() {
			if c.ended.Err() != nil {
				return // so has the cluster
			}
			s.hear(controllerNews{ID: id, Answer: answer})
			s.cfg.Wrote()
		})
	}()
}

// userOfActor returns the user that an actor is on a real cluster.
func userOfActor(actor string) *authenticationv1.UserInfo {
	program, node, _ := strings.Cut(actor, "/")
	switch program {
	case "kubelet":
		return &authenticationv1.UserInfo{Username: "system:node:" + node, Groups: []string{"system:nodes", "system:authenticated"}}
	case "kube-scheduler":
		return &authenticationv1.UserInfo{Username: "system:kube-scheduler", Groups: []string{"system:authenticated"}}
	}
	return &authenticationv1.UserInfo{
		Username: "system:serviceaccount:kube-system:" + program, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"},
	}
}
