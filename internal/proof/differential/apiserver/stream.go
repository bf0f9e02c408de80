package apiserver

import (
	"encoding/json"
	"io"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/volsim/volsim/api"
)

// stream is the body of the answer to a watch: events in order, each after its delay.
type stream struct {
	actor     string
	permitFor func(Transition, <-chan struct{}) Permit
	lag       func() time.Duration
	canceled  <-chan struct{}
	err       func() error
	stop      func()
	once      sync.Once
	closed    chan struct{}
	ready     chan struct{} // not empty if there may be events

	mu     sync.Mutex
	events []event

	rest []byte // rest of the frame being read; used by the reader only
	free int    // how many further events arrive together with the last one; used by the reader only
}

// event is an event of a watch. Initial events need no permit, and have no object.
type event struct {
	changeType watch.EventType
	data       []byte
	object     api.Object
	number     int
}

// frame returns the event as sent on the wire.
func (e event) frame() []byte {
	data := make([]byte, 0, len(e.data)+40)
	data = append(data, `{"type":"`...)
	data = append(data, e.changeType...)
	data = append(data, `","object":`...)
	data = append(data, e.data...)
	return append(data, "}\n"...)
}

func errorEvent(err error) event {
	status := apierrors.NewInternalError(err).ErrStatus
	status.Kind, status.APIVersion = "Status", "v1"
	data, err := json.Marshal(status)
	if err != nil {
		data = []byte("null")
	}
	return event{changeType: watch.Error, data: data}
}

// deliver queues changes. The caller holds the server's lock.
func (st *stream) deliver(r *resource) func(change) {
	return func(c change) {
		data, err := r.encode(c.object)
		e := event{watch.EventType(c.changeType), data, c.object, r.changes}
		if err != nil {
			e = errorEvent(err)
		}
		st.mu.Lock()
		st.events = append(st.events, e)
		st.mu.Unlock()
		select {
		case st.ready <- struct{}{}:
		default:
		}
	}
}

// next removes and returns the next event.
func (st *stream) next() (e event, ok bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if len(st.events) == 0 {
		return event{}, false
	}
	e = st.events[0]
	st.events = st.events[1:]
	return e, true
}

// await waits until the event may arrive, and returns it, or its merged replacement; ok is false if nothing is left of it.
func (st *stream) await(e event) (arrived event, ok bool, err error) {
	if err := sleep(st.canceled, st.lag(), st.err); err != nil {
		return e, false, err
	}
	if st.permitFor == nil || e.object == nil {
		return e, true, nil
	}
	if st.free > 0 {
		st.free--
		return e, true, nil
	}
	v, err := version(e.object.GetResourceVersion())
	if err != nil {
		return e, false, err
	}
	permit := st.permitFor(Transition{Component: st.actor, Object: api.RefTo(e.object), Number: e.number, Order: v}, st.canceled)
	if permit.Burst == Alone {
		return e, true, nil
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	n := 0 // how many come besides
	for n < len(st.events) && (permit.Until == 0 || st.events[n].number <= permit.Until) {
		n++
	}
	if permit.Burst == Merged {
		left := merged(append([]event{e}, st.events[:n]...))
		st.events = append(left, st.events[n:]...)
		if n = len(left) - 1; n < 0 {
			return e, false, nil
		}
		e, st.events = st.events[0], st.events[1:]
	}
	st.free = n
	return e, true, nil
}

// merged reduces the events of each object to their net effect.
func merged(events []event) []event {
	var out []event
	for _, e := range events {
		i := slices.IndexFunc(out, func(other event) bool { return other.object.GetUID() == e.object.GetUID() })
		switch {
		case i < 0:
			out = append(out, e)
		case out[i].changeType == watch.Added && e.changeType == watch.Deleted:
			out = slices.Delete(out, i, i+1)
		case out[i].changeType == watch.Added:
			out[i].data, out[i].object, out[i].number = e.data, e.object, e.number
		default:
			out[i] = e
		}
	}
	return out
}

// Read waits for the next event.
func (st *stream) Read(p []byte) (int, error) {
	for len(st.rest) == 0 {
		if e, ok := st.next(); ok {
			e, ok, err := st.await(e)
			if err != nil {
				return 0, err
			}
			if ok {
				st.rest = e.frame()
			}
			continue
		}
		select {
		case <-st.ready:
		case <-st.canceled:
			return 0, st.err()
		case <-st.closed:
			return 0, io.EOF
		}
	}
	n := copy(p, st.rest)
	st.rest = st.rest[n:]
	return n, nil
}

// Close ends the watch.
func (st *stream) Close() error {
	st.once.Do(func() {
		close(st.closed)
		st.stop()
	})
	return nil
}
