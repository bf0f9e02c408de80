package engine_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/trace"
)

var errOperation = errors.New("operation failed")

// operationsWorld is an actor with operations, run from outside.
type operationsWorld struct {
	e          *engine.Engine
	d          *diary
	operations *engine.NestedOperations
}

func newOperationsWorld(t *testing.T) *operationsWorld {
	w := &operationsWorld{e: newEngine(t, engine.Config{Trace: &trace.Trace{}})}
	w.d = &diary{e: w.e}
	startActor(t, w.e, "a", func(a *engine.Actor) { w.operations = a.NewNestedOperations() })
	return w
}

// start starts an operation that excludes only others of its name, and reports whether it began.
func (w *operationsWorld) start(name string, fn func(p *engine.Process) error) bool {
	return w.operations.Run(engine.OperationKey{Volume: name}, name, fn) == nil
}

func (w *operationsWorld) running(name string) bool {
	return w.operations.Running(engine.OperationKey{Volume: name})
}

// run tries to start an operation that takes so long and ends with err, and lets the instant pass.
func (w *operationsWorld) run(name string, took time.Duration, err error) bool {
	started := w.start(name, func(p *engine.Process) error {
		w.d.note(name)
		p.Sleep(took)
		return err
	})
	w.e.Advance(0)
	return started
}

func TestOperations(t *testing.T) {
	tests := []struct {
		rule string
		name string
		do   func(t *testing.T, w *operationsWorld)
		want []string
	}{
		{
			rule: "BIND-091", name: "a name that runs is dropped, and not queued",
			do: func(t *testing.T, w *operationsWorld) {
				first := w.run("a", time.Second, nil)
				second := w.run("a", time.Second, nil)
				if !first || second || !w.running("a") {
					t.Errorf("started %v, then %v, running %v; want true, false, true", first, second, w.running("a"))
				}
				w.e.Advance(time.Hour)
				if w.running("a") {
					t.Errorf("running after its end")
				}
			},
			want: []string{"0s a"},
		},
		{
			rule: "BIND-091", name: "a name counts as running before it begins",
			do: func(t *testing.T, w *operationsWorld) {
				nothing := func(*engine.Process) error { return nil }
				if !w.start("a", nothing) || w.start("a", nothing) {
					t.Errorf("two attempts at one instant: want the first to start")
				}
			},
		},
		{
			rule: "BIND-091", name: "different names run side by side, without limit",
			do: func(t *testing.T, w *operationsWorld) {
				for i := range 5 {
					if !w.run(fmt.Sprint(i), time.Second, nil) {
						t.Errorf("%d did not start", i)
					}
				}
			},
			want: []string{"0s 0", "0s 1", "0s 2", "0s 3", "0s 4"},
		},
		{
			rule: "BIND-092", name: "after a success the name can run at once",
			do: func(t *testing.T, w *operationsWorld) {
				w.run("a", 0, nil)
				if !w.run("a", 0, nil) {
					t.Errorf("dropped after a success")
				}
			},
			want: []string{"0s a", "0s a"},
		},
		{
			rule: "BIND-092", name: "a success resets the backoff",
			do: func(t *testing.T, w *operationsWorld) {
				w.run("a", 0, errOperation)
				w.e.Advance(time.Second)
				w.run("a", 0, errOperation) // now 1 s
				w.e.Advance(2 * time.Second)
				w.run("a", 0, nil)
				w.run("a", 0, errOperation) // now 500 ms again
				w.e.Advance(500*time.Millisecond + 1)
				w.run("a", 0, nil)
			},
			want: []string{"0s a", "1s a", "3s a", "3s a", "3.500000001s a"},
		},
		{
			rule: "BIND-093", name: "the backoff of one name is not that of another",
			do: func(t *testing.T, w *operationsWorld) {
				w.run("a", 0, errOperation)
				w.run("b", 0, nil)
			},
			want: []string{"0s a", "0s b"},
		},
		{
			rule: "BIND-094", name: "nothing begins when a backoff is over",
			do: func(t *testing.T, w *operationsWorld) {
				w.run("a", 0, errOperation)
				if pending := w.e.Pending(); len(pending) != 0 {
					t.Errorf("pending during a backoff: %q", pending)
				}
				w.e.Advance(time.Hour)
			},
			want: []string{"0s a"},
		},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			w := newOperationsWorld(t)
			test.do(t, w)
			w.e.Advance(time.Hour)
			w.d.want(t, test.want...)
		})
	}
}

// BIND-093: 500 ms the first time, doubled on each further error, at most 122 s; measured from the end of the failed run. At the
// very end of the backoff it is still too early.
func TestOperationBackoff(t *testing.T) {
	w := newOperationsWorld(t)
	const took = 3 * time.Second
	if !w.run("a", took, errOperation) {
		t.Fatalf("the first run did not start")
	}
	for n, want := range []time.Duration{500, 1000, 2000, 4000, 8000, 16000, 32000, 64000, 122000, 122000, 122000} {
		want *= time.Millisecond
		w.e.Advance(took)
		if w.run("a", took, errOperation) {
			t.Errorf("BIND-093: error %d: started at the end of the failed run", n+1)
		}
		w.e.Advance(want)
		if w.run("a", took, errOperation) {
			t.Errorf("BIND-093: error %d: started after %v, which is still too early", n+1, want)
		}
		w.e.Advance(1)
		if !w.run("a", took, errOperation) {
			t.Fatalf("BIND-093: error %d: not started right after %v", n+1, want)
		}
	}
}

// BIND-095: a panic is an error of the operation, with the same backoff.
func TestOperationPanics(t *testing.T) {
	w := newOperationsWorld(t)
	cause := errors.New("cause")
	broken := func(p *engine.Process) error {
		p.Sleep(time.Second)
		panic(fmt.Errorf("value at %p: %w", p, cause))
	}
	if !w.start("a", broken) {
		t.Fatalf("not started")
	}
	w.e.Advance(time.Second)
	if w.running("a") || w.run("a", 0, nil) {
		t.Errorf("BIND-095: still running after a panic, or without a backoff")
	}
	w.e.Advance(500*time.Millisecond + 1)
	if !w.run("a", 0, nil) {
		t.Errorf("BIND-095: not started after the backoff")
	}
	var got *engine.PanicError
	for entry := range w.e.Trace().Entries() {
		if entry.Type == trace.OperationFailed && errors.As(entry.Err, &got) && entry.Text != "a" {
			t.Errorf("the retry is of %q, want a", entry.Text)
		}
	}
	if got == nil {
		t.Fatalf("no PanicError in the trace")
	}
	if want := "operation a panicked: value at 0x?: cause"; got.Error() != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	if !errors.Is(got, cause) {
		t.Errorf("the cause is lost")
	}
	lines := strings.Split(got.Stack, "\n")
	if len(lines) != 1 || !strings.Contains(lines[0], "engine_test.TestOperationPanics.") || !strings.Contains(lines[0], " operations_test.go:") {
		t.Errorf("Stack = %q, want the one function of this test", got.Stack)
	}
}

// A stack that is deeper than anyone wants to read is cut.
func TestOperationPanicsDeep(t *testing.T) {
	w := newOperationsWorld(t)
	var dive func(n int)
	dive = func(n int) {
		if n == 0 {
			panic("deep")
		}
		dive(n - 1)
	}
	w.start("a", func(*engine.Process) error { dive(1000); return nil })
	w.e.Advance(0)
	for entry := range w.e.Trace().Entries() {
		var got *engine.PanicError
		if errors.As(entry.Err, &got) {
			lines := strings.Split(got.Stack, "\n")
			if len(lines) > 70 || lines[len(lines)-1] != "..." || got.Unwrap() != nil {
				t.Errorf("%d lines that end in %q and unwrap to %v, want fewer, dots, nothing", len(lines), lines[len(lines)-1], got.Unwrap())
			}
			return
		}
	}
	t.Errorf("no PanicError in the trace")
}

// What is no failure of the operation is not taken for one: the end of a test, and a crash of the actor.
func TestOperationEndsOtherwise(t *testing.T) {
	w := newOperationsWorld(t)
	w.start("a", func(*engine.Process) error { runtime.Goexit(); return nil })
	done := make(chan bool)
	go func() {
		defer func() { done <- true }()
		w.e.Advance(0)
		t.Errorf("Advance returned after runtime.Goexit")
	}()
	<-done

	w = newOperationsWorld(t)
	a, _ := w.e.Actor("a")
	w.start("b", func(p *engine.Process) error { p.Sleep(time.Hour); return nil })
	w.start("c", func(p *engine.Process) error { a.Crash(); return nil })
	w.e.Advance(time.Minute)
	for entry := range w.e.Trace().Entries() {
		if entry.Type == trace.OperationFailed {
			t.Errorf("a crash made the trace entry %+v", entry)
		}
	}
}

func TestOperationBefore(t *testing.T) {
	w := newOperationsWorld(t)
	w.operations.Before = func(p *engine.Process, name string) { w.d.note("before " + name) }
	w.run("a", 0, nil)
	w.d.want(t, "0s before a", "0s a")
}
