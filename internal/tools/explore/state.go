package explore

import (
	"maps"
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
	d := digest{}.mix([]byte(t.engine.Now().String()))
	d = d.with(t.now.objects.all, t.now.rest, t.now.user, t.now.trace, t.now.faults)
	for _, name := range slices.Sorted(maps.Keys(t.now.storage)) {
		d = d.with(t.now.storage[name])
	}
	for _, a := range t.engine.Actors() {
		d = d.with(t.actor(a))
	}
	return d.with(t.due(t.ready()), t.due(t.engine.Later()))
}

// actor returns the state of an actor.
func (t *tracker) actor(a *engine.Actor) digest {
	var out []byte
	for _, q := range a.Queues() {
		out = append(q.AppendState(out), ';')
	}
	var procs []digest
	for _, p := range a.Processes() {
		procs = append(procs, t.activity(p))
	}
	d := digest{}.mix(out).with(t.now.memories[a.Name()], unordered(procs))
	for i, v := range a.Views() {
		for late := range v.Undelivered {
			d = d.mix(number(i), []byte(late.Type), []byte(late.Key), number(int(late.Written))).with(t.content(late.Object),
				t.contentOrNone(late.Old))
		}
	}
	return d
}

func (t *tracker) contentOrNone(obj api.Object) digest {
	if obj == nil {
		return digest{}
	}
	return t.content(obj)
}

// due returns a digest of events. Their order in the list does not matter, because any event of an instant may come next.
func (t *tracker) due(list []engine.Due) digest {
	var ids []digest
	for _, d := range list {
		if !d.Stopped {
			ids = append(ids, t.id(d))
		}
	}
	return unordered(ids)
}
