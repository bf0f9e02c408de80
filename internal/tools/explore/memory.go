package explore

import (
	"encoding/binary"
	"reflect"
	"unsafe"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/engine"
)

// reader reads values by their types (codec): everything reachable from the registered state of an actor, or an object. It skips Events, and what
// the engine reports itself (informers, queues, the store). Functions count as constant. It writes each value so that the text determines
// it: scalars in a fixed size, and the rest with its length or type before it.
type reader struct {
	tracker *tracker
	seen    map[place]int
	out     []byte
	// counters are numbers of which only differences are used, in the order in which the reader meets them.
	counters []uint64
	// object is true while an object is read. Of unversioned, a reference in it, the resourceVersion is not read.
	object      bool
	unversioned *corev1.ObjectReference
}

// place identifies the target of a pointer: its address, and the type of the pointer.
type place struct {
	at  unsafe.Pointer
	typ *codec
}

// memory is the digest of an actor's memory, and its counters.
func (t *tracker) memory(a *engine.Actor) (digest, []uint64) {
	r := t.newReader()
	for _, root := range a.Memory() {
		r.read(reflect.ValueOf(root))
	}
	counters := r.counters
	return r.close(), counters
}

// newReader returns a reader. Only one of a tracker is in use at a time, except that an object is read within the memory that refers to it.
func (t *tracker) newReader() *reader {
	if n := len(t.readers); n > 0 {
		r := t.readers[n-1]
		t.readers = t.readers[:n-1]
		return r
	}
	return &reader{tracker: t, seen: map[place]int{}}
}

// close returns the digest of what was read. The reader is used again.
func (r *reader) close() digest {
	d := digest{}.mix(r.out)
	r.free()
	return d
}

// free ends the use of the reader, and of what it has read.
func (r *reader) free() {
	clear(r.seen)
	*r = reader{tracker: r.tracker, seen: r.seen, out: r.out[:0]}
	r.tracker.readers = append(r.tracker.readers, r)
}

func (r *reader) number(n uint64) { r.out = binary.LittleEndian.AppendUint64(r.out, n) }

// length writes the length of a list or a map.
func (r *reader) length(n int) { r.out = binary.AppendUvarint(r.out, uint64(n)) }

func (r *reader) flag(b bool) {
	if b {
		r.out = append(r.out, 1)
	} else {
		r.out = append(r.out, 0)
	}
}

func (r *reader) text(s string) {
	r.out = binary.AppendUvarint(r.out, uint64(len(s)))
	r.out = append(r.out, s...)
}

// read reads a value.
func (r *reader) read(v reflect.Value) {
	if !v.IsValid() {
		r.flag(false)
		return
	}
	codecOf(v.Type()).readValue(r, v)
}
