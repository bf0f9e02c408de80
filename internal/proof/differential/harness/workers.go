package harness

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

// AwaitWork returns when a worker of a component may start on an object.
func (s *Sequencer) AwaitWork(component string, object api.Ref, canceled <-chan struct{}) {
	s.Await(apiserver.Transition{Component: component, Verb: workVerb, Object: object}, canceled)
}

// permitQueue is a work queue whose workers wait for a permit after they took a key. Any time may pass between an event and the worker
// that handles it, so other events of the instant may arrive first, as they do in volsim.
type permitQueue struct {
	workqueue.TypedRateLimitingInterface[string]
	sequencer *Sequencer
	component string
	closed    <-chan struct{}
}

// Get takes the next key and waits for the permit.
func (q permitQueue) Get() (key string, over bool) {
	key, over = q.TypedRateLimitingInterface.Get()
	if over {
		return key, over
	}
	q.sequencer.AwaitWork(q.component, api.Ref{Key: key}, q.closed)
	if q.Len() > 0 {
		return key, over
	}
	// What queued the key again by now came before the worker took it.
	q.Add(key)
	q.Done(key)
	return q.TypedRateLimitingInterface.Get()
}

// SequenceWorkers makes the workers of a controller wait for permits, with Variation.Workers. queues are the names of the fields with its
// queues.
func (c *Cluster) SequenceWorkers(ctx context.Context, component string, controller any, queues ...string) {
	if c.Sequencer == nil || !c.Sequencer.variation.Workers {
		return
	}
	for _, name := range queues {
		field := Unexported(reflect.ValueOf(controller).Elem().FieldByName(name))
		field.Set(reflect.ValueOf(permitQueue{field.Interface().(workqueue.TypedRateLimitingInterface[string]), c.Sequencer, component,
			ctx.Done()}))
	}
}
