package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/volsim/volsim/internal/core/engine"
)

// pending runs fn in an actor that has a set of operations.
func pending(t *testing.T, fn func(e *engine.Engine, o *engine.NestedOperations)) {
	t.Helper()
	e := newEngine(t, engine.Config{})
	var ops *engine.NestedOperations
	if _, err := e.NewActor("actor", func(a *engine.Actor) { ops = a.NewNestedOperations() }); err != nil {
		t.Fatal(err)
	}
	fn(e, ops)
}

func lasting(d time.Duration, err error) func(*engine.Process) error {
	return func(p *engine.Process) error { p.Sleep(d); return err }
}

var errBroken = errors.New("broken")

func TestPendingKeys(t *testing.T) {
	tests := []struct {
		rule, name string
		a, b       engine.OperationKey
		exclude    bool
	}{
		{"ATT-082", "the same volume and node", engine.OperationKey{Volume: "v", Node: "a"}, engine.OperationKey{Volume: "v", Node: "a"}, true},
		{"ATT-082", "any node matches every node", engine.OperationKey{Volume: "v"}, engine.OperationKey{Volume: "v", Node: "a"}, true},
		{"ATT-082", "every node matches any node", engine.OperationKey{Volume: "v", Node: "a"}, engine.OperationKey{Volume: "v"}, true},
		{"ATT-081", "two nodes are two operations", engine.OperationKey{Volume: "v", Node: "a"}, engine.OperationKey{Volume: "v", Node: "b"}, false},
		{"ATT-081", "two volumes are two operations", engine.OperationKey{Volume: "v"}, engine.OperationKey{Volume: "w"}, false},
		{"ATT-081", "without a volume nothing excludes anything", engine.OperationKey{}, engine.OperationKey{}, false},
		{"MNT-154", "two pods are two operations", engine.OperationKey{Volume: "v", Pod: "p"}, engine.OperationKey{Volume: "v", Pod: "q"}, false},
		{"MNT-154", "the volume excludes its pods", engine.OperationKey{Volume: "v"}, engine.OperationKey{Volume: "v", Pod: "q"}, true},
		{"MNT-154", "a pod excludes the volume", engine.OperationKey{Volume: "v", Pod: "p"}, engine.OperationKey{Volume: "v"}, true},
		{"ATT-213", "the same key twice", engine.OperationKey{Volume: "v", Pod: "p"}, engine.OperationKey{Volume: "v", Pod: "p"}, true},
	}
	for _, tt := range tests {
		pending(t, func(e *engine.Engine, o *engine.NestedOperations) {
			if err := o.Run(tt.a, "first", lasting(time.Second, nil)); err != nil {
				t.Fatalf("%s %s: the first Run: %v", tt.rule, tt.name, err)
			}
			if got := o.Running(tt.b); got != tt.exclude {
				t.Errorf("%s %s: Running = %v, want %v", tt.rule, tt.name, got, tt.exclude)
			}
			if got := o.Startable(tt.b, "second"); got == tt.exclude {
				t.Errorf("%s %s: Startable = %v, want %v", tt.rule, tt.name, got, !tt.exclude)
			}
			err := o.Run(tt.b, "second", lasting(0, nil))
			if got := errors.Is(err, engine.ErrRunning); got != tt.exclude {
				t.Errorf("%s %s: the second Run = %v, refused %v, want %v", tt.rule, tt.name, err, got, tt.exclude)
			}
			e.Advance(2 * time.Second)
			if o.Len() != 0 || o.Running(tt.a) {
				t.Errorf("%s %s: %d operations are left after success, want none (ATT-084)", tt.rule, tt.name, o.Len())
			}
		})
	}
}

// attempt is a try to start an operation, and what comes of it.
type attempt struct {
	at   time.Duration
	key  engine.OperationKey
	name string
	err  error // of the operation
	want error // of Run
}

func TestPendingBackoff(t *testing.T) {
	v, va, vb := engine.OperationKey{Volume: "v"}, engine.OperationKey{Volume: "v", Node: "a"}, engine.OperationKey{Volume: "v", Node: "b"}
	const ms = time.Millisecond
	tests := []struct {
		rule, name string
		attempts   []attempt
	}{
		{"ATT-084", "the delay doubles, and its end is still too early", []attempt{
			{0, v, "x", errBroken, nil},
			{500 * ms, v, "x", errBroken, engine.ErrBackoff},
			{501 * ms, v, "x", errBroken, nil},
			{1501 * ms, v, "x", errBroken, engine.ErrBackoff},
			{1502 * ms, v, "x", errBroken, nil},
		}},
		{"ATT-083", "another operation does not wait, and resets the delay", []attempt{
			{0, v, "attach", errBroken, nil},
			{600 * ms, v, "attach", errBroken, nil},
			{700 * ms, v, "detach", errBroken, nil},
			{1200 * ms, v, "detach", errBroken, engine.ErrBackoff},
			{1201 * ms, v, "detach", errBroken, nil},
		}},
		{"ATT-085", "after the delay the record keeps its name, so the other operation has a free try", []attempt{
			{0, v, "attach", errBroken, nil},
			{600 * ms, v, "detach", errBroken, nil}, // runs as attach, and doubles its delay
			{601 * ms, v, "attach", nil, engine.ErrBackoff},
			{602 * ms, v, "detach", errBroken, nil}, // another name: at once
			{1102 * ms, v, "detach", errBroken, engine.ErrBackoff},
			{1103 * ms, v, "detach", errBroken, nil},
		}},
		{"ATT-089", "two operations that alternate do not delay each other", []attempt{
			{0, v, "attach", errBroken, nil},
			{100 * ms, v, "detach", errBroken, nil},
			{200 * ms, v, "attach", errBroken, nil},
			{300 * ms, v, "detach", errBroken, nil},
		}},
		{"ATT-086", "time alone does not reset the delay", []attempt{
			{0, v, "x", errBroken, nil},
			{501 * ms, v, "x", errBroken, nil},
			{3600_000 * ms, v, "x", errBroken, nil},
			{3602_000 * ms, v, "x", errBroken, engine.ErrBackoff},
			{3602_001 * ms, v, "x", errBroken, nil},
		}},
		{"ATT-084", "success resets it", []attempt{
			{0, v, "x", errBroken, nil},
			{501 * ms, v, "x", nil, nil},
			{502 * ms, v, "x", errBroken, nil},
			{1002 * ms, v, "x", errBroken, engine.ErrBackoff},
			{1003 * ms, v, "x", errBroken, nil},
		}},
		{"ATT-088", "a record for any node delays every node", []attempt{
			{0, v, "x", errBroken, nil},
			{100 * ms, va, "x", errBroken, engine.ErrBackoff},
			{501 * ms, vb, "x", errBroken, nil},              // takes over the key (ATT-082)
			{502 * ms, va, "x", errBroken, nil},              // so this is another record
			{503 * ms, v, "x", errBroken, engine.ErrBackoff}, // the first that matches
		}},
		{"MNT-155", "the very key comes before the first that matches", []attempt{
			{0, va, "x", errBroken, nil},
			{100 * ms, vb, "x", errBroken, nil},
			{501 * ms, va, "x", errBroken, nil},
			{601 * ms, vb, "x", errBroken, nil},
			{1501 * ms, va, "x", errBroken, engine.ErrBackoff},
			{1502 * ms, va, "x", errBroken, nil},
		}},
	}
	for _, tt := range tests {
		pending(t, func(e *engine.Engine, o *engine.NestedOperations) {
			for i, a := range tt.attempts {
				e.Advance(a.at - since(e))
				if _, got := o.RetryAfter(a.key, a.name); got != (a.want == engine.ErrBackoff) {
					t.Errorf("%s %s: attempt %d at %v: RetryAfter says %v", tt.rule, tt.name, i, a.at, got)
				}
				if got := o.Run(a.key, a.name, lasting(0, a.err)); !errors.Is(got, a.want) {
					t.Errorf("%s %s: attempt %d at %v: Run = %v, want %v", tt.rule, tt.name, i, a.at, got, a.want)
				}
				e.Advance(0)
			}
		})
	}
}

// MNT-014: a pass at the instant at which an operation ends still sees it running.
func TestPendingAtTick(t *testing.T) {
	pending(t, func(e *engine.Engine, o *engine.NestedOperations) {
		o.AtTicks = true
		ofVolume, ofPod := engine.OperationKey{Volume: "v"}, engine.OperationKey{Volume: "v", Pod: "p"}
		if err := o.Run(ofVolume, "mount", lasting(100*time.Millisecond, nil)); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			after           time.Duration
			running, atTick bool
		}{{99 * time.Millisecond, true, true}, {time.Millisecond, false, true}, {1, false, false}} {
			e.Advance(tt.after)
			if got := o.Running(ofPod); got != tt.running {
				t.Errorf("MNT-014 after %v: Running = %v, want %v", since(e), got, tt.running)
			}
			if got := o.RunningAtTick(ofPod); got != tt.atTick {
				t.Errorf("MNT-014 after %v: RunningAtTick = %v, want %v", since(e), got, tt.atTick)
			}
			if o.RunningAtTick(engine.OperationKey{Volume: "w"}) {
				t.Errorf("MNT-014 after %v: RunningAtTick of another volume = true, want false", since(e))
			}
		}
	})
}

// TestPendingDelays holds MNT-005 and the sequence of ATT-084.
func TestPendingDelays(t *testing.T) {
	pending(t, func(e *engine.Engine, o *engine.NestedOperations) {
		key := engine.OperationKey{Volume: "v"}
		for i, want := range []time.Duration{500, 1000, 2000, 4000, 8000, 16000, 32000, 64000, 122000, 122000} {
			if err := o.Run(key, "x", lasting(0, errBroken)); err != nil {
				t.Fatalf("run %d: %v", i+1, err)
			}
			e.Advance(0)
			if got, _ := o.RetryAfter(key, "x"); got != want*time.Millisecond {
				t.Errorf("ATT-084, MNT-005: after failure %d the delay is %v, want %v", i+1, got, want*time.Millisecond)
			}
			e.Advance(want*time.Millisecond + 1)
		}
	})
}

// A panic is a failure like any other (MNT-156), and the key is free when the operation has returned (ATT-090).
func TestPendingPanic(t *testing.T) {
	pending(t, func(e *engine.Engine, o *engine.NestedOperations) {
		key := engine.OperationKey{Volume: "v"}
		during := false
		if err := o.Run(key, "x", func(p *engine.Process) error { during = o.Running(key); panic("broken") }); err != nil {
			t.Fatal(err)
		}
		e.Advance(0)
		if !during {
			t.Error("ATT-090: the key was free while the operation ran")
		}
		if o.Running(key) {
			t.Error("ATT-090: the key is still taken after the operation")
		}
		if err := o.Run(key, "x", lasting(0, nil)); !errors.Is(err, engine.ErrBackoff) {
			t.Errorf("MNT-156: Run after a panic = %v, want %v", err, engine.ErrBackoff)
		}
		// ATT-087: another operation may start, as if nothing had been.
		if o.Startable(key, "x") || !o.Startable(key, "y") {
			t.Errorf("ATT-087: Startable of the same and another operation = %v, %v, want false, true", o.Startable(key, "x"), o.Startable(key, "y"))
		}
	})
}

// MNT-155, MNT-156: an operation that takes over the memory of an earlier one inherits nothing, also beside others of its volume.
func TestPendingRecordsAreUsedAgain(t *testing.T) {
	pending(t, func(e *engine.Engine, o *engine.NestedOperations) {
		run := func(volume, pod string, err error) {
			t.Helper()
			if got := o.Run(engine.OperationKey{Volume: volume, Pod: pod}, "mount", lasting(0, err)); got != nil {
				t.Fatalf("after %v: Run(%s, %s) = %v, want nil", since(e), volume, pod, got)
			}
			e.Advance(0)
		}
		run("v", "p", errBroken)
		run("v", "q", errBroken)
		e.Advance(501 * time.Millisecond)
		run("v", "p", errBroken) // now it backs off for a second
		e.Advance(1001 * time.Millisecond)
		run("v", "p", nil)
		run("w", "r", errBroken)
		if wait, ok := o.RetryAfter(engine.OperationKey{Volume: "w", Pod: "r"}, "mount"); !ok || wait != 500*time.Millisecond {
			t.Errorf("the backoff of the second volume is %v, %v; want 500ms, true", wait, ok)
		}
		run("v", "q", nil)
		if got := o.Len(); got != 1 {
			t.Errorf("%d records, want that of the second volume", got)
		}
		if o.Running(engine.OperationKey{Volume: "v"}) || !o.Startable(engine.OperationKey{Volume: "v"}, "mount") {
			t.Errorf("the first volume is busy, want it free")
		}
	})
}

// MNT-156: After follows the code of an operation while its key is taken, unless the code panicked.
func TestPendingAfter(t *testing.T) {
	pending(t, func(e *engine.Engine, o *engine.NestedOperations) {
		var after []string
		o.After = func(key engine.OperationKey, name string) {
			after = append(after, fmt.Sprint(key.Volume, " ", name, " ", o.Running(key)))
		}
		object := node("n", nil)
		for volume, code := range map[string]func(p *engine.Process) error{
			"fails": func(*engine.Process) error { return errBroken }, "panics": func(*engine.Process) error { panic("broken") },
			"succeeds": func(p *engine.Process) error {
				if got := p.Object(); got.Key != "n" {
					t.Errorf("the operation works on %v, want the node", got)
				}
				return nil
			},
		} {
			if err := o.RunAbout(engine.OperationKey{Volume: volume}, "mount", object, code); err != nil {
				t.Fatal(err)
			}
		}
		e.Advance(0)
		slices.Sort(after)
		if want := []string{"fails mount true", "succeeds mount true"}; !slices.Equal(after, want) {
			t.Errorf("After was called for %q, want %q", after, want)
		}
	})
}

// MNT-155, MNT-160: a record keeps the name of the operation that failed; what follows an operation depends on the one that ran.
func TestAfterOperation(t *testing.T) {
	for _, tt := range []struct {
		rule, name string
		second     string
		at         time.Duration
	}{
		{"MNT-160", "the same operation", "first", 2 * time.Second},
		{"MNT-160", "another one during the backoff", "second", 100 * time.Millisecond},
		{"MNT-160", "another one after the backoff", "second", 2 * time.Second},
	} {
		pending(t, func(e *engine.Engine, o *engine.NestedOperations) {
			var ended []string
			o.After = func(_ engine.OperationKey, name string) { ended = append(ended, name) }
			key := engine.OperationKey{Volume: "v"}
			if err := o.Run(key, "first", lasting(0, errBroken)); err != nil {
				t.Fatal(err)
			}
			e.Advance(tt.at)
			if err := o.Run(key, tt.second, lasting(0, nil)); err != nil {
				t.Fatal(err)
			}
			e.Advance(time.Second)
			if want := []string{"first", tt.second}; !slices.Equal(ended, want) {
				t.Errorf("%s %s: After was called for %v, want %v", tt.rule, tt.name, ended, want)
			}
		})
	}
}
