package explore

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// possible is an event that may come next.
type possible struct {
	id    digest
	index int // in the engine's list of events that are due
}

// ready returns the events that are due now, until the next call of ready or later.
func (t *tracker) ready() []engine.Due {
	t.due = append(t.engine.AppendReady(t.due[:0]), t.taken...)
	return t.due
}

// later returns those that are due later.
func (t *tracker) later() []engine.Due {
	t.due = t.engine.AppendLater(t.due[:0])
	return t.due
}

// possibilities returns the events of which one comes next, and in t.next what is known of each. Of equal events it returns one, because it makes no
// difference which comes first.
func (t *tracker) possibilities() []possible {
	t.possible, t.next = t.possible[:0], t.next[:0]
	for i, d := range t.ready() {
		if d.Stopped {
			continue
		}
		p := possible{id: t.id(d), index: i}
		if !slices.ContainsFunc(t.possible, func(other possible) bool { return other.id == p.id }) {
			t.possible, t.next = append(t.possible, p), append(t.next, d)
		}
	}
	return slices.Clone(t.possible)
}

// state returns the state of the run. Call noteUser before.
func (t *tracker) state() digest {
	now := &t.now
	out := binary.LittleEndian.AppendUint64(t.text[:0], uint64(t.engine.Now().UnixNano()))
	for _, d := range []*digest{&now.objects.all, &now.rest, &now.user, &now.trace, &now.faults} {
		out = append(out, d[:]...)
	}
	for i := range now.storage {
		out = append(out, now.storage[i].value[:]...)
	}
	for a := range t.engine.EachActor {
		out = t.appendActor(out, a)
	}
	out = t.appendDue(out, t.ready())
	out = t.appendDue(out, t.later())
	t.text = out
	return digestOf(out)
}

// appendActor appends the state of an actor.
func (t *tracker) appendActor(out []byte, a *engine.Actor) []byte {
	for _, q := range a.Queues() {
		out = append(q.AppendState(out), ';')
	}
	memory := t.now.actors.get(a.Name()).memory
	out = append(out, memory[:]...)
	begin := len(t.digests)
	for _, p := range a.Processes() {
		t.digests = append(t.digests, t.process(p))
	}
	out = t.appendUnordered(out, begin)
	for i, v := range a.Views() {
		if !v.Current() { // few informers
			out = t.appendUndelivered(out, i, v)
		}
	}
	return append(out, '.')
}

// appendUndelivered appends the changes that an informer has not delivered.
func (t *tracker) appendUndelivered(out []byte, index int, v engine.View) []byte {
	for n := 0; ; n++ {
		late, ok := v.NthUndelivered(n)
		if !ok {
			return out
		}
		object, old := t.content(late.Object), t.contentOrNone(late.Old)
		out = binary.LittleEndian.AppendUint64(out, uint64(index))
		out = binary.LittleEndian.AppendUint64(out, uint64(late.Written))
		out = append(append(out, late.Type...), ' ')
		out = append(append(out, object[:]...), old[:]...)
	}
}

func (t *tracker) contentOrNone(obj api.Object) digest {
	if obj == nil {
		return digest{}
	}
	return t.content(obj)
}

// appendDue appends events. Their order in the list does not matter, because any event of an instant may come next.
func (t *tracker) appendDue(out []byte, list []engine.Due) []byte {
	begin := len(t.digests)
	for _, d := range list {
		if !d.Stopped {
			t.digests = append(t.digests, t.id(d))
		}
	}
	return t.appendUnordered(out, begin)
}

// appendUnordered appends the digests from begin on, independent of their order, and removes them.
func (t *tracker) appendUnordered(out []byte, begin int) []byte {
	all := t.digests[begin:]
	slices.SortFunc(all, func(a, b digest) int { return bytes.Compare(a[:], b[:]) })
	out = binary.LittleEndian.AppendUint64(out, uint64(len(all)))
	for _, d := range all {
		out = append(out, d[:]...)
	}
	t.digests = t.digests[:begin]
	return out
}
