package trace

import "iter"
import "time"
import "github.com/volsim/volsim/api"

// EntryType says what an entry of the trace is about.
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

// Entry is one thing that happened. Which fields are set depends on the type.
type Entry struct {
	// Seq counts the entries from 1.
	Seq   uint64
	Time  time.Time
	Actor string
	// Activity is the number of the activity of the actor that made the entry (see Proc.ID), Cause that of the activity which asked for
	// it, as a sync asks for an operation. They are zero for the user, and where there was none. No output shows them.
	Activity, Cause uint64
	Type            EntryType
	// Rule is the ID of the rule behind a Decision.
	Rule string
	// Object is what the entry is about.
	Object api.Ref
	// Verb is the API verb of a Write; "begin" or "end" of a Storage call; the type, Normal or Warning, of an Emitted event.
	Verb string
	// Reason is that of an Emitted event, or the queue of a KeyFailed entry.
	Reason string
	// Text is the decision in words, the message of an event, the fault in words, the key of a KeyFailed entry, or the name of the
	// operation that failed. Decisions and faults are worded for people; the wording may change.
	Text string
	// Detach holds the details of a Decision about detaching a volume from a node; nil in all other entries.
	Detach *Detach
	// Call is the call of a Storage or Injected entry.
	Call api.Call
	// Old and New are the stored object before and after a Write: the same if nothing changed, Old nil for a new object, New nil
	// for one that is gone. They are shared: read only.
	Old, New api.Object
	// Err is how a Write, a Storage call or an activity failed; nil if it did not.
	Err error
}

// Detach holds the details of a decision of the attach/detach controller about a volume that no pod on a node needs (ATT-064).
type Detach struct {
	// Volume is the name under which nodes know the volume: plugin and volume, or driver and handle (ATT-001).
	Volume string
	Node   string
	// Since is when the controller first found that the volume should be detached (ATT-045).
	Since time.Time
	// Waiting: the volume is still mounted, and is not detached yet. Otherwise the detachment begins now.
	Waiting bool
	// Forced: the volume is detached although the node has it mounted.
	Forced bool
	// Why is the reason in words.
	Why string
}

// Trace records what happens in an engine. The zero value keeps everything.
//
// An entry takes about 300 bytes, and keeps alive the two versions of the object that a Write refers to.
type Trace struct {
	// Limit is how many entries are kept, the newest ones; zero keeps all.
	Limit int
	// Sink, when set, gets each entry as it happens.
	Sink func(Entry)

	seq     uint64
	entries []Entry
	first   int // where the oldest entry stands once Limit is reached
	// Start is the virtual time that the offsets in WriteText count from; zero is the time of the first entry.
	Start time.Time
}

// Len is the number of entries kept.
func (t *Trace) Len() int { return len(t.entries) }

// Entries walks the entries that are kept, oldest first.
func (t *Trace) Entries() iter.Seq[Entry] {
	return t.Since(0)
}

// Since walks the entries that are kept and have a Seq greater than seq, oldest first.
func (t *Trace) Since(seq uint64) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		n := len(t.entries)
		if n == 0 {
			return
		}
		// Numbers have no gaps, so the place of an entry follows from its number.
		skip := uint64(0)
		if oldest := t.entries[t.first%n].Seq; seq >= oldest {
			skip = seq - oldest + 1
		}
		for i := skip; i < uint64(n); i++ {
			if !yield(t.entries[(t.first+int(i))%n]) {
				return
			}
		}
	}
}

// Seq is that of the newest entry, zero before the first.
func (t *Trace) Seq() uint64 { return t.seq }

func (t *Trace) Add(e Entry) {
	t.seq++
	e.Seq = t.seq
	if t.Sink != nil {
		t.Sink(e)
	}
	if t.Limit <= 0 || len(t.entries) < t.Limit {
		t.entries = append(t.entries, e)
		return
	}
	t.entries[t.first] = e
	t.first = (t.first + 1) % t.Limit
}
