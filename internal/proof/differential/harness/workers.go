package harness

import (
	"context"
	"reflect"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

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

// AwaitWork returns when a worker of a component may start on an object, with Variation.Workers; else at once. It is for queues whose keys have a
// type that is not exported.
func (c *Cluster) AwaitWork(component string, object api.Ref, canceled <-chan struct{}) {
	if c.Sequencer != nil && c.Sequencer.variation.Workers {
		c.Sequencer.AwaitWork(component, object, canceled)
	}
}

// SequenceByLog makes the workers of a controller wait for permits, with Variation.Workers, where they log that they start on a key. It is for
// queues whose keys have a type that is not exported. keyOf returns the key that our side has, from the first value of the message. The
// controller must run with the context that it returns.
func (c *Cluster) SequenceByLog(ctx context.Context, component, message string, keyOf func(any) string) context.Context {
	if c.Sequencer == nil || !c.Sequencer.variation.Workers {
		return ctx
	}
	return klog.NewContext(ctx, logr.New(permitLog{c.Sequencer, component, message, keyOf, ctx.Done()}))
}

// permitLog is a logger that drops all messages. With one of them a worker waits for a permit.
type permitLog struct {
	sequencer          *Sequencer
	component, message string
	keyOf              func(any) string
	closed             <-chan struct{}
}

// Info waits for the permit. Values are pairs of a name and a value.
func (l permitLog) Info(_ int, message string, values ...any) {
	if message == l.message {
		l.sequencer.AwaitWork(l.component, api.Ref{Key: l.keyOf(values[1])}, l.closed)
	}
}

// Init implements logr.LogSink.
func (permitLog) Init(logr.RuntimeInfo) {}

// Enabled lets levels up to 2 through, as --v=2 does.
func (permitLog) Enabled(level int) bool { return level <= 2 }

// Error implements logr.LogSink.
func (permitLog) Error(error, string, ...any) {}

// WithValues implements logr.LogSink.
func (l permitLog) WithValues(...any) logr.LogSink { return l }

// WithName implements logr.LogSink.
func (l permitLog) WithName(string) logr.LogSink { return l }
