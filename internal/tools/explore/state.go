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
	due   engine.Due
}

// ready returns the events that are due now.
func (t *tracker) ready() []engine.Due { return append(t.engine.Ready(), t.taken...) }

// possibilities returns the events of which one comes next. Of equal events it returns one, because it makes no difference which comes
// first.
func (t *tracker) possibilities() []possible {
	var all []possible
	for i, d := range t.ready() {
		if d.Stopped {
			continue
		}
		p := possible{id: t.id(d), index: i, due: d}
		if !slices.ContainsFunc(all, func(other possible) bool { return other.id == p.id }) {
			all = append(all, p)
		}
	}
	return all
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
	out = t.appendDue(out, t.engine.Later())
	t.text = out
	return digest{}.mix(out)
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
		t.digests = append(t.digests, t.activity(p))
	}
	out = t.appendUnordered(out, begin)
	for i, v := range a.Views() {
		if v.Current() {
			continue // most informers
		}
		for late := range v.Undelivered {
			object, old := t.content(late.Object), t.contentOrNone(late.Old)
			out = binary.LittleEndian.AppendUint64(out, uint64(i))
			out = binary.LittleEndian.AppendUint64(out, uint64(late.Written))
			out = append(append(out, late.Type...), ' ')
			out = append(append(out, object[:]...), old[:]...)
		}
	}
	return append(out, '.')
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
