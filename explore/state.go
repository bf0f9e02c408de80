package explore

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/volsim/volsim/engine"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/store"
)

// digest stands for a text. That two texts have the same one is taken to be impossible.
type digest [16]byte

// mix adds parts to a digest, each with its length, so that no two lists of parts are the same text.
func (d digest) mix(parts ...[]byte) digest {
	h := sha256.New()
	h.Write(d[:])
	var size [8]byte
	for _, part := range parts {
		binary.LittleEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write(part)
	}
	var sum [sha256.Size]byte
	return digest(h.Sum(sum[:0])[:len(d)])
}

// number is a number as a part of a digest.
func number(n int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }

// tracker follows one run event by event, and tells at each choice what state the run is in. The package comment says what is in a state.
type tracker struct {
	engine   *engine.Engine
	backends []fake.Backend

	version uint64 // of the store when it was last read
	world   digest // the objects
	objects map[store.Ref]*tracked
	orders  map[store.Kind]digest // in which order those changes of a kind came that are still on their way to somebody
	deeds   map[string]digest     // what each actor did about each object, in order
	told    uint64                // the last entry of the trace that is in deeds

	pending   []string            // what was queued before the event that comes next
	next      int                 // of pending, the one that comes next; -1 if that is not known
	tags      map[string][]digest // by line of pending: what the processes behind it have seen
	delivered map[string]int      // by watch: how many changes have arrived
}

// tracked is an object as it was at the last look.
type tracked struct {
	resourceVersion string
	changes         int // how often it was found changed
	content         digest
	seenAt          uint64 // the version of the store at which it was last there
}

func newTracker(run *Run) *tracker {
	t := &tracker{
		engine: run.Engine, backends: run.Backends,
		objects: map[store.Ref]*tracked{}, orders: map[store.Kind]digest{}, deeds: map[string]digest{},
		tags: map[string][]digest{}, delivered: map[string]int{},
	}
	t.look()
	t.queue(digest{})
	run.Engine.AfterEvent(t.after)
	return t
}

// after follows the event that has just ended.
func (t *tracker) after() {
	seen := t.world // what the event could see as it began
	var tag digest
	if t.next >= 0 && t.next < len(t.pending) {
		line := t.pending[t.next]
		if isWatch(line) {
			what, _, _ := strings.Cut(line, " at +")
			t.delivered[what]++
		}
		// Of processes that look alike it is not known which went on: what any of them has seen, this one may have.
		for _, other := range t.tags[line] {
			tag = tag.mix(other[:])
		}
		delete(t.tags, line)
	}
	t.look()
	t.queue(tag.mix(seen[:]))
}

// queue takes up what is queued now. Lines that were not there before are processes of the event that has just ended, or begun by it.
func (t *tracker) queue(tag digest) {
	t.pending, t.next = t.engine.Pending(), 0
	tags := make(map[string][]digest, len(t.pending))
	for _, line := range t.pending {
		before, have := t.tags[line], tags[line]
		switch {
		case isWatch(line) || isQueue(line):
			// What they are about to do stands in the store and in the queue.
			tags[line] = append(have, digest{})
		case len(have) < len(before):
			tags[line] = append(have, before[len(have)])
		default:
			tags[line] = append(have, tag)
		}
	}
	t.tags = tags
}

// picked is told which of n events comes next. With a timer among them that was stopped it is not known which that is.
func (t *tracker) picked(n, i int) {
	due := 0
	for due < len(t.pending) && when(t.pending[due]) == when(t.pending[0]) {
		due++
	}
	t.next = i
	if due != n {
		t.next = -1
	}
}

// when is the end of a line of Engine.Pending.
func when(line string) string { return line[max(strings.LastIndex(line, " at +"), 0):] }

func isWatch(line string) bool { return strings.Contains(line, ": watch of ") }

func isQueue(line string) bool { return strings.Contains(line, ": queue ") }

// look sees what the last event has changed.
func (t *tracker) look() {
	t.readObjects()
	t.readTrace()
}

// refresh sees what the user has done since the last event. It is called before each choice.
func (t *tracker) refresh() {
	t.look()
	t.queue(digest{})
}

// state is the state before a choice among n events.
func (t *tracker) state(n int) digest {
	pending := slices.Clone(t.pending)
	slices.Sort(pending)
	// The order of changes is of no more interest once all of them have arrived.
	for kind := range t.orders {
		watch := "watch of " + string(kind) + " at +"
		if !slices.ContainsFunc(pending, func(line string) bool { return strings.Contains(line, watch) }) {
			delete(t.orders, kind)
		}
	}
	d := digest{}.mix([]byte(t.engine.Now().String()), number(n), t.world[:], t.storage(), []byte(strings.Join(pending, "\n")))
	for _, kind := range slices.Sorted(maps.Keys(t.orders)) {
		order := t.orders[kind]
		d = d.mix([]byte(kind), order[:])
	}
	for _, line := range slices.Sorted(maps.Keys(t.tags)) {
		for _, tag := range t.tags[line] {
			d = d.mix([]byte(line), tag[:])
		}
	}
	for _, watch := range slices.Sorted(maps.Keys(t.delivered)) {
		d = d.mix([]byte(watch), number(t.delivered[watch]))
	}
	for _, who := range slices.Sorted(maps.Keys(t.deeds)) {
		deeds := t.deeds[who]
		d = d.mix([]byte(who), deeds[:])
	}
	return d
}

// readObjects brings the digest of the objects up to date. Kubernetes Events are left out: no controller reads them.
func (t *tracker) readObjects() {
	s := t.engine.Store()
	if t.version == s.Version() && t.version != 0 {
		return
	}
	t.version = s.Version()
	t.world = digest{}
	for _, kind := range kindsOfOutcome() {
		for _, obj := range s.List(kind) {
			o, changed := t.readObject(obj)
			if changed {
				t.note(kind, o.content)
			}
			t.world = t.world.mix([]byte(kind), o.content[:], number(o.changes))
		}
	}
	var gone []store.Ref
	for ref, o := range t.objects {
		if o.seenAt != t.version {
			gone = append(gone, ref)
		}
	}
	slices.SortFunc(gone, func(a, b store.Ref) int { return strings.Compare(a.String(), b.String()) })
	for _, ref := range gone {
		t.note(ref.Kind, t.objects[ref].content)
		delete(t.objects, ref)
	}
}

// note remembers that an object changed, or went.
func (t *tracker) note(kind store.Kind, content digest) {
	order := t.orders[kind]
	t.orders[kind] = order.mix(content[:])
}

func (t *tracker) readObject(obj store.Object) (o *tracked, changed bool) {
	ref := store.RefTo(obj)
	if o = t.objects[ref]; o == nil {
		o = &tracked{}
		t.objects[ref] = o
	}
	o.seenAt = t.version
	if o.resourceVersion == obj.GetResourceVersion() {
		return o, false
	}
	o.resourceVersion, o.content = obj.GetResourceVersion(), contentOf(obj)
	o.changes++
	return o, true
}

// contentOf is an object without its resourceVersion, which counts the writes of all.
func contentOf(obj store.Object) digest {
	bare := obj.DeepCopyObject().(store.Object)
	bare.SetResourceVersion("")
	data, err := json.Marshal(bare)
	if err != nil {
		data = fmt.Appendf(nil, "%#v", bare)
	}
	return digest{}.mix([]byte(store.RefTo(obj).String()), data)
}

// readTrace adds what actors and the user decided, called, wrote and failed at.
func (t *tracker) readTrace() {
	if t.engine.Trace() == nil {
		return
	}
	for e := range t.engine.Trace().Since(t.told) {
		t.told = e.Seq
		if e.Type == engine.Emitted {
			continue
		}
		who := e.Actor + " " + e.Object.String() + " " + e.Call.Key
		failure := ""
		if e.Err != nil {
			failure = e.Err.Error()
		}
		deeds := t.deeds[who]
		t.deeds[who] = deeds.mix([]byte(e.Type), []byte(e.Rule), []byte(e.Verb), []byte(e.Reason), []byte(e.Text), []byte(failure))
	}
}

// holder is a backend that tells what it holds: a fake.Memory.
type holder interface {
	Volumes() []fake.VolumeState
	Deleted() []fake.VolumeState
	Problems() []fake.Problem
}

// storage is what the backends hold, as far as they tell.
func (t *tracker) storage() []byte {
	var out []byte
	for _, b := range t.backends {
		if m, ok := b.(holder); ok {
			out = fmt.Appendf(out, "%s %+v %+v %v\n", b.Name(), m.Volumes(), m.Deleted(), m.Problems())
		}
	}
	return out
}
