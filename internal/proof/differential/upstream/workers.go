package upstream

import (
	"context"
	"reflect"

	"k8s.io/client-go/util/workqueue"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/proof/differential/apiserver"
)

// workVerb is the verb of a transition in which a worker starts on a key from its queue. The object has the key.
const workVerb = "work"

func (t *transition) isWork() bool { return t.Verb == workVerb }

// asks reports whether the transition is a request or a storage call.
func (t *transition) asks() bool { return t.Verb != "" && !t.isWork() && loopOf(t) < 0 }

// permitQueue is a work queue whose workers wait for a permit after they took a key. Any time may pass between an event and the worker
// that handles it, so other events of the instant may arrive first, as they do in volsim.
type permitQueue struct {
	workqueue.TypedRateLimitingInterface[string]
	sequencer *sequencer
	component string
	closed    <-chan struct{}
}

// Get takes the next key and waits for the permit.
func (q permitQueue) Get() (key string, over bool) {
	key, over = q.TypedRateLimitingInterface.Get()
	if !over {
		q.sequencer.await(apiserver.Transition{Component: q.component, Verb: workVerb, Object: api.Ref{Key: key}}, q.closed)
	}
	return key, over
}

// sequenceWorkers makes the workers of a controller wait for permits, with Variation.Workers. queues are the names of the fields with its
// queues.
func (c *Cluster) sequenceWorkers(ctx context.Context, component string, controller any, queues ...string) {
	if c.sequencer == nil || !c.sequencer.variation.Workers {
		return
	}
	for _, name := range queues {
		field := unexported(reflect.ValueOf(controller).Elem().FieldByName(name))
		field.Set(reflect.ValueOf(permitQueue{field.Interface().(workqueue.TypedRateLimitingInterface[string]), c.sequencer, component,
			ctx.Done()}))
	}
}
