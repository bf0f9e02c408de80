package engine

import (
	"errors"
	"slices"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/trace"
)

// OperationKey names what an operation works on. Two operations exclude each other if their keys have the same Volume, and Pod and Node
// are equal or empty in one of them (ATT-082, MNT-154). An operation without a Volume excludes no other.
type OperationKey struct {
	// Volume is the unique name of a volume. An operation that excludes only others of its own name has that name here.
	Volume string
	// Pod and Node narrow the key to one pod or one node; empty means all of them.
	Pod, Node string
}

// matches reports whether operations with these keys exclude each other (ATT-082, MNT-154).
func (k OperationKey) matches(other OperationKey) bool {
	return k.Volume == other.Volume &&
		(k.Pod == other.Pod || k.Pod == "" || other.Pod == "") &&
		(k.Node == other.Node || k.Node == "" || other.Node == "")
}

// The reasons for which NestedOperations.Run does not start an operation.
var (
	// ErrRunning: an operation with a matching key runs.
	ErrRunning = errors.New("an operation with that name is already executing")
	// ErrBackoff: the backoff of the operation's last error is not over.
	ErrBackoff = errors.New("no retries permitted yet after the last error")
)

// NestedOperations runs operations in the background: one at a time of those with matching keys, with exponential backoff after an
// error (BIND-091 to BIND-095, ATT-081 to ATT-090, MNT-150 to MNT-158). Each controller and each kubelet has one.
type NestedOperations struct {
	actor   *Actor
	records map[string][]*operation // by volume, oldest first
	unused  []*operation            // records of operations that succeeded
	ended   []OperationKey          // of the operations that ended at the time endedAt
	endedAt time.Duration
	// AtTicks enables RunningAtTick. It costs memory for the operations that end at one instant.
	AtTicks bool
	// Before, when set, is called at the beginning of each operation. Tests change objects in it.
	Before func(p *Process, name string)
	// After, when set, is called when the code of an operation has returned, while its key is still taken. It is not called after a panic. The name
	// is that of the operation that ran; its record may have kept another one (MNT-155).
	After func(key OperationKey, name string)
}

// operation is an operation that runs, or one that failed.
type operation struct {
	key     OperationKey
	name    string
	about   api.Object // see RunAbout
	running bool
	begun   bool          // its code
	failed  time.Duration // end of the last run, which failed
	backoff time.Duration
	alone   [1]*operation // the list of a volume with one record
}

const (
	firstBackoff = 500 * time.Millisecond
	maxBackoff   = 2*time.Minute + 2*time.Second
)

// NewNestedOperations adds a set of operations to the actor.
func (a *Actor) NewNestedOperations() *NestedOperations {
	return &NestedOperations{actor: a}
}

// Run starts the operation at this instant, behind what is already due. It returns ErrRunning while an operation with a matching key
// runs, and ErrBackoff during the backoff of the same operation; then nothing happens, now or later (BIND-091, BIND-094). A panic in fn
// is an error of the operation, a *PanicError (BIND-095, MNT-156). The key is free when fn has returned (ATT-090).
func (o *NestedOperations) Run(key OperationKey, name string, fn func(p *Process) error) error {
	return o.RunAbout(key, name, nil, fn)
}

// RunAbout is Run for an operation that works on an object; see Process.WorksOn.
func (o *NestedOperations) RunAbout(key OperationKey, name string, about api.Object, fn func(p *Process) error) error {
	// A rejected attempt may succeed later, so it counts as an effect too.
	o.actor.engine.effects++
	op := o.find(key)
	switch {
	case op == nil:
		// ATT-083, MNT-155: an unknown operation starts.
		op = o.add(key.Volume, name)
	case op.running:
		// BIND-091, ATT-083, MNT-155: a second operation is rejected, not queued.
		return ErrRunning
	case o.backsOff(op) && op.name == name:
		// BIND-093, ATT-083, MNT-155: too early.
		return ErrBackoff
	case o.backsOff(op):
		// ATT-083, MNT-155: the backoff delays the same operation only; another one takes over the record.
		op.name, op.backoff = name, 0
	}
	// ATT-083, ATT-085, MNT-155: once the backoff is over the record keeps its name and its backoff, whatever runs under it now.
	// ATT-082: the new operation takes over the key.
	op.key, op.about, op.running, op.begun = key, about, true, false
	if p := o.actor.startProcess(name); p != nil {
		p.operation, p.of, p.code = op, o, fn
	}
	return nil
}

// execute is the code of the process of an operation, or the rest of it.
func (o *NestedOperations) execute(p *Process, op *operation) {
	if !op.begun {
		if o.Before != nil {
			o.Before(p, p.name)
		}
		p.about, op.about, op.begun = op.about, nil, true
	}
	err := guarded(p, p.name)
	if p.stackless {
		return // that was not all of its code
	}
	if _, panicked := err.(*PanicError); o.After != nil && !panicked {
		o.After(op.key, p.name)
	}
	o.complete(op, err, p)
}

// recordsKept is the number of records that a set retains.
const recordsKept = 1024

// add adds a record.
func (o *NestedOperations) add(volume, name string) *operation {
	var op *operation
	if n := len(o.unused); n > 0 {
		op, o.unused = o.unused[n-1], o.unused[:n-1]
	} else {
		op = &operation{}
	}
	op.name = name
	switch {
	case volume == "":
	case len(o.records[volume]) > 0:
		o.records[volume] = append(o.records[volume], op)
	default:
		if o.records == nil {
			o.records = map[string][]*operation{}
		}
		op.alone[0] = op
		o.records[volume] = op.alone[:]
	}
	return op
}

// complete records the end of an operation.
func (o *NestedOperations) complete(op *operation, err error, p *Process) {
	op.running = false
	if o.AtTicks {
		if o.endedAt != p.engine.now {
			o.ended, o.endedAt = o.ended[:0], p.engine.now
		}
		o.ended = append(o.ended, op.key)
	}
	if err == nil {
		// BIND-092, ATT-084, MNT-156: success deletes the record.
		o.forget(op)
		if len(o.unused) < recordsKept {
			*op = operation{}
			o.unused = append(o.unused, op)
		}
		return
	}
	// BIND-093, ATT-084, ATT-086, MNT-156: 500 ms, doubled on each further error, at most 2 m 2 s; time alone never resets it.
	op.failed = p.engine.now
	op.backoff = min(max(firstBackoff, 2*op.backoff), maxBackoff)
	text := op.name
	if op.key.Volume != op.name {
		text += " of " + op.key.Volume
	}
	p.Record(trace.Entry{Type: trace.OperationFailed, Object: p.Object(), Text: text, Err: err})
}

// forget deletes a record. The last record takes its position, as in Kubernetes.
func (o *NestedOperations) forget(op *operation) {
	records := o.records[op.key.Volume]
	last := len(records) - 1
	for i := range records {
		if records[i] != op {
			continue
		}
		records[i], records[last] = records[last], nil
		if last == 0 {
			delete(o.records, op.key.Volume)
		} else {
			o.records[op.key.Volume] = records[:last]
		}
		return
	}
}

// find returns the record that decides about a key, nil if there is none.
func (o *NestedOperations) find(key OperationKey) *operation {
	if key.Volume == "" {
		return nil
	}
	var found *operation
	for _, op := range o.records[key.Volume] {
		switch {
		case !op.key.matches(key):
		case op.running:
			// ATT-082, MNT-155: a running operation comes first,
			return op
		case found == nil, op.key == key:
			// then the record with exactly this key, then the first that matches.
			found = op
		}
	}
	return found
}

// backsOff reports whether the backoff after the last error is not over.
func (o *NestedOperations) backsOff(op *operation) bool {
	// BIND-093, ATT-084, MNT-005: the exact end of the backoff is still too early.
	return op.backoff > 0 && o.actor.engine.now-op.failed <= op.backoff
}

// Running reports whether an operation with a matching key runs.
func (o *NestedOperations) Running(key OperationKey) bool {
	op := o.find(key)
	return op != nil && op.running
}

// RunningAtTick reports whether an operation with a matching key runs, or ended at this very instant. A pass of the same instant still
// sees it running, because the end of an operation takes some time of the processor, and the tick comes first (MNT-014). It needs AtTicks.
func (o *NestedOperations) RunningAtTick(key OperationKey) bool {
	if o.Running(key) {
		return true
	}
	return key.Volume != "" && o.endedAt == o.actor.engine.now && slices.ContainsFunc(o.ended, key.matches)
}

// Startable reports whether Run would start the operation (ATT-087).
func (o *NestedOperations) Startable(key OperationKey, name string) bool {
	op := o.find(key)
	// ATT-087: the backoff of another operation does not count.
	return op == nil || !op.running && !(op.name == name && o.backsOff(op))
}

// TakesOver reports whether the operation, if Run started it now, would end the backoff of another one (ATT-083).
func (o *NestedOperations) TakesOver(key OperationKey, name string) bool {
	op := o.find(key)
	return op != nil && !op.running && op.name != name && o.backsOff(op)
}

// RetryAfter returns how long the operation backs off from now, and whether it does: Run returns ErrBackoff up to and including that
// moment, unless its key changes hands before. A running operation does not back off.
func (o *NestedOperations) RetryAfter(key OperationKey, name string) (wait time.Duration, backsOff bool) {
	op := o.find(key)
	if op == nil || op.running || op.name != name || !o.backsOff(op) {
		return 0, false
	}
	return op.failed + op.backoff - o.actor.engine.now, true
}

// Len is the number of operations that run or back off.
func (o *NestedOperations) Len() int {
	n := 0
	for _, records := range o.records {
		n += len(records)
	}
	return n
}
