package engine

import (
	"errors"
	"time"

	"github.com/volsim/volsim/trace"
)

// PendingKey says what an operation works on: a volume, for one pod or at one node or, with the other two fields empty, for all of
// them. No volume at all is a key that nothing else has: such operations run whatever else does.
type PendingKey struct {
	Volume, Pod, Node string
}

// matches reports whether operations with these keys exclude each other (ATT-082, MNT-154).
func (k PendingKey) matches(other PendingKey) bool {
	// ATT-082, MNT-154: the same volume, and nothing that tells the two apart.
	return k.Volume == other.Volume &&
		(k.Pod == other.Pod || k.Pod == "" || other.Pod == "") &&
		(k.Node == other.Node || k.Node == "" || other.Node == "")
}

// What Pending.Run refuses with.
var (
	// ErrPending says that an operation with a matching key runs.
	ErrPending = errors.New("an operation with that name is already executing")
	// ErrBackoff says that the operation failed not long enough ago.
	ErrBackoff = errors.New("no retries permitted yet after the last error")
)

// Pending runs operations on volumes in the background: of those with matching keys one at a time, with exponential backoff after
// an error (ATT-081 to ATT-090, MNT-150 to MNT-158). Controllers and kubelets have one each.
type Pending struct {
	actor   *Actor
	records map[string][]*pendingRecord // by volume, in the order in which they were made
}

// pendingRecord is an operation that runs, or one that failed.
type pendingRecord struct {
	key     PendingKey
	name    string
	running bool
	failed  time.Duration // when the last run ended in error
	backoff time.Duration
}

// NewPending gives the actor a set of operations on volumes.
func (a *Actor) NewPending() *Pending {
	return &Pending{actor: a, records: map[string][]*pendingRecord{}}
}

// Run starts the operation of that name at this instant, behind what is already due. It refuses with ErrPending while an operation
// with a matching key runs, and with ErrBackoff while the same operation backs off from an error; then nothing happens. A panic in
// fn is an error of the operation, a *PanicError (MNT-156). The key is free again when fn has returned (ATT-090).
func (o *Pending) Run(key PendingKey, name string, fn func(p *Proc) error) error {
	// As with Operations, an attempt that is refused is worth another one later.
	o.actor.engine.effects++
	rec := o.find(key)
	switch {
	case rec == nil:
		// ATT-083, MNT-155: nothing is known of it.
		rec = &pendingRecord{name: name}
		if key.Volume != "" {
			o.records[key.Volume] = append(o.records[key.Volume], rec)
		}
	case rec.running:
		// ATT-083, MNT-155: refused, not queued.
		return ErrPending
	case o.backsOff(rec) && rec.name == name:
		// ATT-083, MNT-155: too early.
		return ErrBackoff
	case o.backsOff(rec):
		// ATT-083, MNT-155: another operation need not wait for this one, and takes its place.
		rec.name, rec.backoff = name, 0
	}
	// ATT-083, ATT-085, MNT-155: once the delay is over the record keeps its name and its delay, whatever runs under it now.
	// ATT-082: it takes over the key.
	rec.key, rec.running = key, true
	o.actor.Go(name, func(p *Proc) { o.complete(rec, guarded(p, name, fn), p) })
	return nil
}

// complete notes the end of an operation.
func (o *Pending) complete(rec *pendingRecord, err error, p *Proc) {
	rec.running = false
	if err == nil {
		// ATT-084, MNT-156: success is forgotten.
		o.forget(rec)
		return
	}
	// ATT-084, ATT-086, MNT-156: 500 ms, doubled on each further error, at most 2 m 2 s; time alone never resets it.
	rec.failed = p.engine.now
	rec.backoff = min(max(firstBackoff, 2*rec.backoff), maxBackoff)
	p.Record(trace.Entry{Type: trace.OperationFailed, Text: rec.name + " of " + rec.key.Volume, Err: err})
}

// forget drops a record; the last one takes its place, as upstream has it.
func (o *Pending) forget(rec *pendingRecord) {
	records := o.records[rec.key.Volume]
	last := len(records) - 1
	for i := range records {
		if records[i] != rec {
			continue
		}
		records[i], records[last] = records[last], nil
		if last == 0 {
			delete(o.records, rec.key.Volume)
		} else {
			o.records[rec.key.Volume] = records[:last]
		}
		return
	}
}

// find looks for the record that decides about a key, nil if there is none.
func (o *Pending) find(key PendingKey) *pendingRecord {
	if key.Volume == "" {
		return nil
	}
	var found *pendingRecord
	for _, rec := range o.records[key.Volume] {
		switch {
		case !rec.key.matches(key):
		case rec.running:
			// ATT-082, MNT-155: what runs comes first,
			return rec
		case found == nil, rec.key == key:
			// then the very key, then the first that matches.
			found = rec
		}
	}
	return found
}

// backsOff reports whether the delay after the last error is not over.
func (o *Pending) backsOff(rec *pendingRecord) bool {
	// ATT-084, MNT-005: the boundary itself is too early as well.
	return rec.backoff > 0 && o.actor.engine.now-rec.failed <= rec.backoff
}

// Running reports whether an operation with a matching key runs.
func (o *Pending) Running(key PendingKey) bool {
	rec := o.find(key)
	return rec != nil && rec.running
}

// Startable reports whether Run would start the operation (ATT-087).
func (o *Pending) Startable(key PendingKey, name string) bool {
	rec := o.find(key)
	// ATT-087: a delay of another operation does not count.
	return rec == nil || !rec.running && !(rec.name == name && o.backsOff(rec))
}

// RetryAfter reports whether the operation backs off, and for how long: Run refuses it up to and including that moment from now, as
// long as nothing else happens to its key. An operation that runs now is not meant.
func (o *Pending) RetryAfter(key PendingKey, name string) (wait time.Duration, backsOff bool) {
	rec := o.find(key)
	if rec == nil || rec.running || rec.name != name || !o.backsOff(rec) {
		return 0, false
	}
	return rec.failed + rec.backoff - o.actor.engine.now, true
}

// Len is the number of operations that run or back off.
func (o *Pending) Len() int {
	n := 0
	for _, records := range o.records {
		n += len(records)
	}
	return n
}
