// Package trace records what happens in a cluster as typed entries (decisions, API writes, storage calls, Events, faults), and writes them as
// text or JSON lines.
package trace

import (
	"iter"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/reuse"
)

// EntryType is the type of an entry.
type EntryType string

// The types of entries.
const (
	Decision EntryType = "decision" // an actor decided something, by a rule
	Write    EntryType = "write"    // an API write, refused or not
	Storage  EntryType = "storage"  // a call to a storage backend
	Emitted  EntryType = "event"    // an Event was emitted, before correlation
	Injected EntryType = "fault"    // a fault was injected into a call
	Started  EntryType = "started"  // an actor started
	Crashed  EntryType = "crashed"  // an actor crashed
	// KeyFailed: work on a key of a queue failed; the queue adds the key again after a delay.
	KeyFailed EntryType = "key-failed"
	// OperationFailed: an operation failed; it does not start again before its backoff is over.
	OperationFailed EntryType = "operation-failed"
)

// Entry describes one thing that happened.
type Entry struct {
	// Seq numbers the entries from 1.
	Seq uint64
	// Time is the virtual time.
	Time time.Time
	// Actor is the controller, kubelet or user that did it, as in api.Call.
	Actor string
	// Activity is the number of the process of the actor that made the entry: a worker on a key, an operation, or a pass of a loop. Cause is that
	// of the process that started it, as a sync starts an operation. Both are zero for the user, and if there is none. No output contains them.
	Activity, Cause uint64
	// Type says what happened, and which of the following fields are set.
	Type EntryType
	// Rule is the ID of the rule behind a Decision.
	Rule string
	// Object is the object that the entry is about.
	Object api.Ref
	// Verb is the API verb of a Write; "begin" or "end" of a Storage call; the type, Normal or Warning, of an Emitted event.
	Verb string
	// Reason of an Emitted event, or the queue of a KeyFailed entry.
	Reason string
	// Text is the decision in words, the message of an event, the fault in words, the key of a KeyFailed entry, or the name of the
	// operation that failed. Decisions and faults are worded for people; the wording may change.
	Text string
	// Detach holds the details of a Decision about detaching a volume from a node; nil in all other entries.
	Detach *Detach
	// Call of a Storage or Injected entry.
	Call api.Call
	// Old and New are the stored object before and after a Write: equal if nothing changed, Old nil for a new object, New nil for a
	// removed one. They are shared: read only.
	Old, New api.Object
	// Err is the error of a failed Write, Storage call, sync of a key or operation; else nil.
	Err error
}

// Detach holds the details of a decision of the attach/detach controller about a volume that no pod on a node needs (ATT-064).
type Detach struct {
	// Volume is the name under which nodes know the volume: plugin and volume, or driver and handle (ATT-001).
	Volume string
	// Node is the name of the node.
	Node string
	// Since is when the controller first found that the volume should be detached (ATT-045).
	Since time.Time
	// Waiting: the volume is still mounted, and is not detached yet. Otherwise the detachment begins now.
	Waiting bool
	// Forced: the volume is detached although the node has it mounted.
	Forced bool
	// Why is the reason in words.
	Why string
}

// Trace records what happens in a cluster. The zero value keeps everything.
//
// An entry takes about 300 bytes, and keeps the two versions of the object of a Write in memory.
type Trace struct {
	// Limit is the number of entries that the trace keeps, the newest ones. Zero, the default, keeps all.
	Limit int
	// Sink receives each entry as it happens. The default nil is none.
	Sink func(Entry)

	observe func(*Entry) // receives each entry that the trace keeps, before Sink

	seq    uint64
	chunks [][]Entry // of chunkLen entries each, the last one perhaps of fewer, so that entries are not moved
	unused [][]Entry // chunks without entries
	kept   int       // the number of entries
	first  int       // index of the oldest entry once Limit is reached
	// Start is the virtual time from which the offsets in WriteText and WriteJSON count. Zero, the default, is the time of the first entry.
	Start time.Time
}

const chunkLen = 16

// at returns the entry at an index.
func (t *Trace) at(i int) *Entry { return &t.chunks[i/chunkLen][i%chunkLen] }

// Len returns the number of entries kept.
func (t *Trace) Len() int { return t.kept }

// Entries returns the kept entries, oldest first.
func (t *Trace) Entries() iter.Seq[Entry] {
	return t.Since(0)
}

// Since returns the kept entries with a greater Seq, oldest first.
func (t *Trace) Since(seq uint64) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		n := t.kept
		if n == 0 {
			return
		}
		// Seqs have no gaps, so the index of an entry follows from its Seq.
		skip := uint64(0)
		if oldest := t.at(t.first % n).Seq; seq >= oldest {
			skip = seq - oldest + 1
		}
		for i := skip; i < uint64(n); i++ {
			if !yield(*t.at((t.first + int(i)) % n)) {
				return
			}
		}
	}
}

// Seq returns the number of the newest entry, zero before the first.
func (t *Trace) Seq() uint64 { return t.seq }

// Add records an entry, and gives it the next number.
func (t *Trace) Add(e Entry) {
	t.seq++
	e.Seq = t.seq
	kept := t.keep(&e)
	if t.observe != nil {
		t.observe(kept)
	}
	if t.Sink != nil {
		t.Sink(*kept)
	}
}

// keep adds an entry, in place of the oldest one at the limit.
func (t *Trace) keep(e *Entry) *Entry {
	if t.Limit > 0 && t.kept >= t.Limit {
		kept := t.at(t.first)
		*kept = *e
		t.first = (t.first + 1) % t.Limit
		return kept
	}
	if t.kept%chunkLen == 0 {
		t.chunks = append(t.chunks, t.chunk())
	}
	last := &t.chunks[len(t.chunks)-1]
	*last = append(*last, *e)
	t.kept++
	return &(*last)[len(*last)-1]
}

// chunk returns a chunk without entries, with room for as many as the trace may still have in it.
func (t *Trace) chunk() []Entry {
	room := chunkLen
	if t.Limit > 0 {
		room = min(room, t.Limit-t.kept)
	}
	if last := len(t.unused) - 1; last >= 0 && room == chunkLen {
		c := t.unused[last]
		t.unused[last], t.unused = nil, t.unused[:last]
		return c
	}
	return make([]Entry, 0, room)
}

func init() {
	reuse.Trace = func(to, from any) { to.(*Trace).takeOver(from.(*Trace)) }
	reuse.Observe = func(t, observe any) { t.(*Trace).observe = observe.(func(*Entry)) }
}

// takeOver takes the memory of another trace.
func (t *Trace) takeOver(from *Trace) {
	t.unused = from.unused
	for _, c := range from.chunks {
		clear(c)
		if cap(c) == chunkLen {
			t.unused = append(t.unused, c[:0])
		}
	}
	t.chunks = from.chunks[:0]
	clear(from.chunks)
	*from = Trace{}
}
