package apiserver

import (
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/resources"
)

// stream is the body of the answer to a watch: events in order, each after its delay.
type stream struct {
	number    int // the order in which watches began
	format    format
	actor     string
	permitFor func(Transition, <-chan struct{}) Permit
	lag       func() time.Duration
	now       func() time.Time
	canceled  <-chan struct{}
	err       func() error
	stop      func()
	once      sync.Once
	closed    chan struct{}
	crashed   <-chan struct{} // closed when the client crashes
	ready     chan struct{}   // not empty if there may be events
	expires   *time.Timer     // ends the watch; nil for never
	late      encoder         // encodes objects when they are read; nil if that is done when they are queued
	last      func() event    // the event that a watch ends with when it expires; nil for none

	mu       sync.Mutex
	events   []event
	finished bool // nothing comes after events
	queued   int  // bytes of events

	// Used by the reader only: the last frame, what is left to read of it, and how many further events arrive together with the last one.
	frame, rest []byte
	free        int
}

// event is an event of a watch. Initial events need no permit, and have no object. late is an object that is yet to be encoded.
type event struct {
	changeType watch.EventType
	data       []byte
	object     api.Object
	number     int
	at         time.Time
	late       api.Object
}

// appendFrame appends the event as sent on the wire.
func (e event) appendFrame(data []byte, f format) []byte {
	if f.protobuf {
		return appendEventMessage(data, e)
	}
	data = append(data, `{"type":"`...)
	data = append(data, e.changeType...)
	data = append(data, `","object":`...)
	data = append(data, e.data...)
	return append(data, "}\n"...)
}

// deliver queues changes. The caller has the server's lock.
func (st *stream) deliver(r *resources.Resource, encode encoder) func(api.Change[api.Object]) {
	return func(c api.Change[api.Object]) {
		e := event{changeType: watch.EventType(c.Type), object: c.Object, number: r.Changes, at: st.now(), late: c.Object}
		if st.late == nil {
			e = e.encoded(encode, st.format)
		}
		st.mu.Lock()
		if st.queued += len(e.data); st.queued > maxQueued {
			st.events, st.finished = nil, true
		}
		if !st.finished {
			st.events = append(st.events, e)
		}
		st.mu.Unlock()
		st.wake()
	}
}

// encoded returns the event with its object encoded.
func (e event) encoded(encode encoder, f format) event {
	if e.late == nil {
		return e
	}
	var err error
	if e.data, err = encode(e.late); err != nil {
		return errorEvent(err, f)
	}
	e.late = nil
	return e
}

// maxQueued is how many bytes of events may wait for a client that reads slowly. Its watch then ends, as with kube-apiserver.
const maxQueued = 256 << 20

// wake makes the reader look for events.
func (st *stream) wake() {
	select {
	case st.ready <- struct{}{}:
	default:
	}
}

// more reports whether another event arrives at once.
func (st *stream) more() bool {
	if st.permitFor != nil || st.lag() > 0 {
		return false
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	return len(st.events) > 0
}

// finish ends the stream after the events that are queued.
func (st *stream) finish() {
	st.mu.Lock()
	st.finished = true
	st.mu.Unlock()
	st.wake()
}

// next removes and returns the next event. end reports that none will come.
func (st *stream) next() (e event, ok, end bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if len(st.events) == 0 {
		return event{}, false, st.finished
	}
	e = st.events[0]
	st.events = st.events[1:]
	st.queued -= len(e.data)
	return e, true, false
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
	v, err := parseVersion(e.object.GetResourceVersion())
	if err != nil {
		return e, false, err
	}
	permit := st.permitFor(Transition{Component: st.actor, Object: api.RefTo(e.object), Number: e.number, Order: v, Watch: st.number, At: e.at}, st.canceled)
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
			e.changeType = watch.Added
			out[i] = e
		default:
			out[i] = e
		}
	}
	return out
}

// Read waits for the next event.
func (st *stream) Read(p []byte) (int, error) {
	for len(st.rest) == 0 {
		e, ok, end := st.next()
		if end {
			return 0, io.EOF
		}
		if ok {
			e, ok, err := st.await(e)
			if err != nil {
				return 0, err
			}
			if ok {
				st.frame = e.encoded(st.late, st.format).appendFrame(st.frame[:0], st.format)
				st.rest = st.frame
			}
			continue
		}
		select {
		case <-st.ready:
		case <-st.expired():
			st.expire()
		case <-st.canceled:
			return 0, st.err()
		case <-st.closed:
			return 0, io.EOF
		case <-st.crashed:
			return 0, errCrashed
		}
	}
	n := copy(p, st.rest)
	st.rest = st.rest[n:]
	return n, nil
}

// expired is ready when the watch has lasted long enough.
func (st *stream) expired() <-chan time.Time {
	if st.expires == nil {
		return nil
	}
	return st.expires.C
}

// expire ends the stream with its last event. It takes the server's lock, so nothing is delivered meanwhile.
func (st *stream) expire() {
	var last []event
	if st.last != nil {
		last = []event{st.last()}
	}
	st.stop()
	st.mu.Lock()
	st.events = append(st.events, last...)
	st.finished = true
	st.mu.Unlock()
}

// Close ends the watch.
func (st *stream) Close() error {
	st.once.Do(func() {
		close(st.closed)
		if st.expires != nil {
			st.expires.Stop()
		}
		st.stop()
	})
	return nil
}

// writePatience is how long a client may take to accept data.
const writePatience = time.Minute

// copyTo writes the events to a client until the watch ends, the client is gone, or it has not accepted data for as long as patience.
func (st *stream) copyTo(w http.ResponseWriter, patience time.Duration) {
	defer st.Close()
	control := http.NewResponseController(w)
	var extended time.Time
	extend := func() {
		if now := time.Now(); now.Sub(extended) > patience/10 {
			extended = now
			_ = control.SetWriteDeadline(now.Add(patience)) // a connection without deadlines has none
		}
	}
	// With HTTP/2 a deadline that passes ends the watch even if nothing is left to write, so it has one only while something is.
	flush := func() {
		_ = control.Flush() // the next write reports that the client is gone
		extended = time.Time{}
		_ = control.SetWriteDeadline(extended)
	}
	extend()
	flush()
	buffer := make([]byte, 32<<10)
	for {
		n, err := st.Read(buffer)
		if n > 0 {
			extend()
			if _, err := w.Write(buffer[:n]); err != nil {
				return
			}
			// Events that come together are sent together.
			if len(st.rest) == 0 && !st.more() {
				flush()
			}
		}
		if err != nil {
			return
		}
	}
}
