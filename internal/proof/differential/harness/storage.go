package harness

import (
	"runtime"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/internal/proof/differential/apiserver"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

// Call makes a call to a backend; its setting says how long it takes and how it ends.
func (c *Cluster) Call(actor, backend string, op storage.Op, id string) error {
	return c.CallAt(actor, backend, op, id, "")
}

// CallAt is Call for a node. A call of a life that has ended ends its goroutine and records nothing, as that of a process that has ended.
func (c *Cluster) CallAt(actor, backend string, op storage.Op, id, node string) error {
	over := c.over(actor)
	call := api.Call{Actor: actor, Target: backend, Verb: string(op), Key: id, Node: node}
	if c.Sequencer != nil {
		verb, object := differential.CallOf(call)
		c.Sequencer.Await(apiserver.Transition{Component: actor, Verb: verb, Object: object}, over)
	}
	pause(0, over)
	e := trace.Entry{Time: time.Now(), Actor: actor, Type: trace.Storage, Verb: "begin", Call: call}
	delay, err := c.Backends[backend].Begin(op)
	if delay > 0 {
		// A call that takes no time has no beginning, as in our trace.
		c.Record(e)
		pause(delay, over)
	}
	if backend == differential.Driver {
		err = differential.Internal(err)
	}
	e.Time, e.Verb, e.Err = time.Now(), "end", err
	c.Record(e)
	return err
}

// pause returns after a time. If the life is over by then, the goroutine ends instead.
func pause(d time.Duration, over <-chan struct{}) {
	if d > 0 {
		select {
		case <-time.After(d):
		case <-over:
		}
	}
	select {
	case <-over:
		runtime.Goexit()
	default:
	}
}
