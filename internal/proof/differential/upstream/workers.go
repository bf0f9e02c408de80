package upstream

import (
	"context"
	"reflect"

	"k8s.io/client-go/util/workqueue"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/proof/differential/apiserver"
)

// workVerb is the verb of the turn of a worker that has taken something from its queue. What it is about is the key.
const workVerb = "work"

func (t *turn) isWork() bool { return t.Verb == workVerb }

// asks reports whether it is the turn of a request or a call.
func (t *turn) asks() bool { return t.Verb != "" && !t.isWork() && loopOf(t) < 0 }

// turnQueue is one whose workers wait for their turns with what they have taken. Between an event that has something queued and the worker that takes it
// there may be any time, so others may come first that arrive at the same instant, as they do here.
type turnQueue struct {
	workqueue.TypedRateLimitingInterface[string]
	director  *director
	component string
	closed    <-chan struct{}
}

// Get takes what is next, and waits for the turn.
func (q turnQueue) Get() (key string, over bool) {
	key, over = q.TypedRateLimitingInterface.Get()
	if !over {
		q.director.await(apiserver.Turn{Component: q.component, Verb: workVerb, Object: api.Ref{Key: key}}, q.closed)
	}
	return key, over
}

// turnWorkers has the workers of a controller wait for their turns, if the manner says so. Its queues are fields of those names.
func (c *Cluster) turnWorkers(ctx context.Context, component string, controller any, queues ...string) {
	if c.director == nil || !c.director.manner.Workers {
		return
	}
	for _, name := range queues {
		field := unexported(reflect.ValueOf(controller).Elem().FieldByName(name))
		field.Set(reflect.ValueOf(turnQueue{field.Interface().(workqueue.TypedRateLimitingInterface[string]), c.director, component, ctx.Done()}))
	}
}
