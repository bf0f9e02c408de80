package engine_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/trace"
)

func TestSleep(t *testing.T) {
	e := newEngine(t, engine.Config{})
	d := &diary{e: e}
	startActor(t, e, "a", func(a *engine.Actor) {
		a.Go("sleeper", func(p *engine.Process) {
			if p.Actor() != a || p.Engine() != e || p.String() != "sleeper" || !p.Now().Equal(e.Now()) {
				t.Errorf("the process does not know itself: %v of %v", p, p.Actor().Name())
			}
			d.note("begins")
			p.Sleep(time.Second)
			d.note("wakes")
			p.Sleep(0)
			d.note("is polite")
		})
		a.After(time.Second, "other", d.noted("other"))
	})
	e.Advance(time.Minute)
	// The timer of the other was set first: it comes first within the second.
	d.want(t, "0s begins", "1s other", "1s wakes", "1s is polite")
}

func TestLatency(t *testing.T) {
	e := newEngine(t, engine.Config{Latency: 100 * time.Millisecond})
	d := &diary{e: e}
	startActor(t, e, "a", func(a *engine.Actor) {
		a.Go("writer", func(p *engine.Process) {
			if _, err := p.API().Nodes.Create(p, node("n", nil)); err != nil {
				t.Errorf("create: %v", err)
			}
			d.note("created")
			if _, err := p.API().Nodes.Get(p, "n"); err != nil {
				t.Errorf("get: %v", err)
			}
			d.note("read")
			call := api.Call{Target: "csi", Verb: "Attach"}
			if err := p.Backend(call, time.Second, func() error { d.note("effect"); return nil }); err != nil {
				t.Errorf("Backend: %v", err)
			}
			d.note("attached")
		})
	})
	e.Advance(50 * time.Millisecond)
	if _, ok := e.Store().Nodes.Lookup("n"); ok {
		t.Errorf("the node exists before the latency has passed")
	}
	e.Advance(time.Minute)
	d.want(t, "100ms created", "200ms read", "1.2s effect", "1.2s attached")
}

// The user's process never waits, is not asked for faults, and has its calls take effect at once.
func TestUser(t *testing.T) {
	refuse := engine.InjectorFunc(func(api.Call) api.Fault { return api.Fault{Err: errors.New("injected")} })
	e := newEngine(t, engine.Config{Seed: 1, Latency: time.Hour, Injector: refuse})
	p := e.User()
	p.Sleep(time.Hour)
	p.Switch()
	created, err := e.API().Nodes.Create(p, node("n", nil))
	if err != nil || created.Name != "n" {
		t.Fatalf("create = %v, %v", created, err)
	}
	if got, err := e.API().Nodes.Get(p, "n"); err != nil || got != created {
		t.Errorf("get = %v, %v, want what create returned", got, err)
	}
	if since(e) != 0 {
		t.Errorf("the clock stands at +%v, want +0s", since(e))
	}
}

// The methods for objects of any kind, and those of one kind, do the same.
func TestAPIVerbs(t *testing.T) {
	var verbs []string
	note := engine.InjectorFunc(func(c api.Call) api.Fault {
		verbs = append(verbs, c.Verb+" "+c.Kind+"/"+c.Key)
		if c.Actor != "a" || c.Target != api.APIServer {
			t.Errorf("call %+v, want it from a to %s", c, api.APIServer)
		}
		return api.Fault{}
	})
	e := newEngine(t, engine.Config{Injector: note})
	check := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	startActor(t, e, "a", func(a *engine.Actor) {
		a.Go("caller", func(p *engine.Process) {
			server := p.API()
			n, err := server.Nodes.Create(p, node("n", nil))
			check("create", err)
			changed := n.DeepCopy()
			changed.Labels = map[string]string{"a": "b"}
			n, err = server.Nodes.Update(p, changed)
			check("update", err)
			_, err = server.Nodes.UpdateStatus(p, n)
			check("update status", err)
			_, err = server.Nodes.Patch(p, "n", []byte(`{"metadata":{"labels":{"c":"d"}}}`), api.Main)
			check("patch", err)
			_, err = server.Nodes.Patch(p, "n", []byte(`{"status":{"phase":"Running"}}`), api.Status)
			check("patch status", err)
			list, err := server.Nodes.List(p, "")
			check("list", err)
			if len(list) != 1 || list[0].Labels["c"] != "d" {
				t.Errorf("list = %v, want the one node with both labels", list)
			}
			_, err = server.Nodes.Delete(p, "n", api.DeleteOptions{})
			check("delete", err)
			if _, err = server.Nodes.Get(p, "n"); err == nil {
				t.Errorf("get of what is deleted: no error")
			}

			_, err = server.Create(p, claim("default/c"), store.CreateOptions{})
			check("create of any kind", err)
			other, err := server.Claims.List(p, "other")
			check("list", err)
			same, err := server.Claims.List(p, "default")
			check("list", err)
			if len(other) != 0 || len(same) != 1 {
				t.Errorf("lists of two namespaces have %d and %d claims, want 0 and 1", len(other), len(same))
			}
			ref := api.Ref{Kind: api.PersistentVolumeClaim, Key: "default/c"}
			loaded := claim("default/c")
			loaded.UID = "from elsewhere"
			stored, err := server.Load(p, loaded)
			check("load", err)
			_, err = server.Update(p, stored, api.Status, store.UpdateOptions{})
			check("update of any kind", err)
			_, err = server.Patch(p, ref, []byte(`{"metadata":{"labels":{"c":"d"}}}`), api.Main)
			check("patch of any kind", err)
			_, err = server.Delete(p, ref, api.DeleteOptions{})
			check("delete of any kind", err)
		})
	})
	e.Advance(0)
	want := "create Node/n, update Node/n, update-status Node/n, patch Node/n, patch-status Node/n, list Node/, delete Node/n, " +
		"get Node/n, create PersistentVolumeClaim/default/c, list PersistentVolumeClaim/other, list PersistentVolumeClaim/default, " +
		"load PersistentVolumeClaim/default/c, update-status PersistentVolumeClaim/default/c, patch PersistentVolumeClaim/default/c, delete PersistentVolumeClaim/default/c"
	if got := strings.Join(verbs, ", "); got != want {
		t.Errorf("calls:\n%s\nwant:\n%s", got, want)
	}
}

// With a seed every call lets others get in between; without one, none does.
func TestSwitchPoints(t *testing.T) {
	between := func(seed int64) bool {
		e := newEngine(t, engine.Config{Seed: seed})
		mustCreate(t, e.Store().Nodes, node("n", nil))
		inside, seen := false, false
		startActor(t, e, "a", func(a *engine.Actor) {
			a.Go("reader", func(p *engine.Process) {
				inside = true
				if _, err := p.API().Nodes.Get(p, "n"); err != nil {
					t.Errorf("get: %v", err)
				}
				inside = false
			})
			a.Go("other", func(*engine.Process) { seen = seen || inside })
		})
		e.Advance(0)
		return seen
	}
	if between(0) {
		t.Errorf("seed 0: another process got in between")
	}
	seeds := 0
	for seed := int64(1); seed <= 20; seed++ {
		if between(seed) {
			seeds++
		}
	}
	if seeds == 0 || seeds == 20 {
		t.Errorf("another process got in between with %d of 20 seeds, want some and not all", seeds)
	}
}

// A coroutine serves one process after the other, and all are let go of once the engine pauses.
func TestCoroutinesAreReusedAndReleased(t *testing.T) {
	before := goroutines()
	e := newEngine(t, engine.Config{})
	most := 0
	startActor(t, e, "a", func(a *engine.Actor) {
		for i := range 1000 {
			a.After(time.Duration(i)*time.Millisecond, "short", func(p *engine.Process) {
				p.Sleep(time.Millisecond / 2)
				most = max(most, runtime.NumGoroutine()-before)
			})
		}
	})
	e.Advance(time.Minute)
	if most > 2 {
		t.Errorf("%d coroutines at once for processes that do not overlap, want no more than 2", most)
	}
	if now := goroutines(); now > before {
		t.Errorf("%d goroutines more than before", now-before)
	}
}

func TestClose(t *testing.T) {
	before := goroutines()
	e := newEngine(t, engine.Config{})
	unwound := 0
	a := startActor(t, e, "a", func(a *engine.Actor) {
		for range 10 {
			a.Go("for ever", func(p *engine.Process) {
				defer func() { unwound++ }()
				p.Sleep(time.Hour)
				t.Errorf("a process went on after Close")
			})
		}
	})
	e.Advance(time.Second)
	e.Close()
	if now := goroutines(); now > before || unwound != 10 || a.Alive() {
		t.Errorf("after Close: %d more goroutines, %d processes unwound, alive %v; want 0, 10, false", now-before, unwound, a.Alive())
	}
	if e.Step() {
		t.Errorf("Step() after Close = true, want false")
	}
	e.Close()
}

// processPanic returns what a process panicked with, if its stack names this package.
func processPanic(recovered any) any {
	p, ok := recovered.(*engine.Panic)
	if !ok || !strings.Contains(p.Stack, "engine_test.Test") || strings.Contains(p.Stack, "loopRecovering") {
		return fmt.Sprintf("not a panic of a process: %v", recovered)
	}
	return p.Value
}

// A panic in a process reaches the caller that runs the engine, with its stack. The engine can continue.
func TestPanicReachesTheCaller(t *testing.T) {
	e := newEngine(t, engine.Config{})
	d := &diary{e: e}
	startActor(t, e, "a", func(a *engine.Actor) {
		a.Go("broken", func(p *engine.Process) {
			p.Sleep(time.Second)
			panic("broken invariant")
		})
		a.After(2*time.Second, "next", d.noted("next"))
	})
	value := func() (value any) {
		defer func() { value = processPanic(recover()) }()
		e.Advance(time.Minute)
		return nil
	}()
	if value != "broken invariant" {
		t.Errorf("recovered %v, want what the process panicked with", value)
	}
	e.Advance(time.Minute)
	d.want(t, "2s next")
	a, _ := e.Actor("a")
	a.Crash() // the broken process is no more in the way than any other
}

func TestGoexitReachesTheCaller(t *testing.T) {
	e := newEngine(t, engine.Config{})
	startActor(t, e, "a", func(a *engine.Actor) {
		a.Go("failing test", func(*engine.Process) { runtime.Goexit() })
	})
	done := make(chan bool)
	go func() {
		defer func() { done <- true }()
		e.Advance(0)
		t.Errorf("Advance returned after runtime.Goexit")
	}()
	<-done
}

// workplace is an actor that does everything that could survive a crash.
type workplace struct {
	e      *engine.Engine
	a      *engine.Actor
	d      *diary
	stops  int
	onWork func(p *engine.Process)
}

func newWorkplace(t *testing.T, cfg engine.Config) *workplace {
	w := &workplace{e: newEngine(t, cfg), onWork: func(*engine.Process) {}}
	w.d = &diary{e: w.e}
	lives := 0
	w.a = startActor(t, w.e, "a", func(a *engine.Actor) {
		lives++
		life := lives
		note := func(what string) { w.d.note(fmt.Sprintf("%s of life %d", what, life)) }
		a.OnStop(func() { w.stops++ })
		queue := a.NewQueue(engine.QueueConfig{Name: "queue", Workers: 2, Sync: func(p *engine.Process, key string) error {
			note(key)
			p.Sleep(10 * time.Second)
			note(key + " done")
			return nil
		}})
		operations := a.NewNestedOperations()
		loop := a.NewTicker(engine.TickerConfig{Name: "loop", Period: time.Minute, Pass: func(p *engine.Process) { note("pass") }})
		informer := engine.NewInformer(a, w.e.Store().Nodes)
		informer.Handle(engine.Handler[*corev1.Node]{Add: func(n *corev1.Node) { note("add " + n.Name) }})
		a.After(time.Second, "work", func(p *engine.Process) {
			defer func() {
				// What a dying process schedules must not reach the next life.
				queue.Add("posthumous")
				a.Go("posthumous", func(*engine.Process) { note("posthumous process") })
			}()
			queue.Add("one")
			queue.Add("two")
			queue.Add("three")
			queue.AddAfter("four", 5*time.Second)
			_ = operations.Run(engine.OperationKey{Volume: "operation"}, "operation", func(p *engine.Process) error {
				p.Sleep(5 * time.Second)
				note("operation")
				return nil
			})
			loop.ArmBackground()
			mustCreate(t, w.e.Store().Nodes, node(fmt.Sprintf("n%d", life), nil))
			p.Sleep(time.Second)
			w.onWork(p)
			note("work done")
		})
	})
	return w
}

// A crash ends everything that is on its way, wherever it stands; another life begins with nothing.
func TestCrashFromOutside(t *testing.T) {
	for seed := range int64(10) {
		w := newWorkplace(t, engine.Config{Seed: seed})
		w.e.Advance(1500 * time.Millisecond)
		if len(w.d.entries) != 3 {
			t.Fatalf("seed %d: before the crash %q happened, want two keys and a node", seed, w.d.entries)
		}
		w.d.entries = nil
		w.a.Crash()
		if w.a.Alive() || w.stops != 1 {
			t.Errorf("seed %d: after Crash alive %v and %d OnStop calls, want false and 1", seed, w.a.Alive(), w.stops)
		}
		if pending := w.e.Pending(); len(pending) != 0 {
			t.Errorf("seed %d: pending after Crash: %q", seed, pending)
		}
		w.a.Crash() // a second time does nothing
		w.e.Advance(time.Hour)
		w.d.want(t)

		w.a.Start()
		w.a.Start() // a second time does nothing
		w.e.Advance(1500 * time.Millisecond)
		if len(w.d.entries) != 4 || w.stops != 1 {
			t.Errorf("seed %d: in the second life %q happened, want two keys and two nodes", seed, w.d.entries)
		}
		for _, entry := range w.d.entries {
			if !strings.HasSuffix(entry, "of life 2") {
				t.Errorf("seed %d: %q happened in the second life", seed, entry)
			}
		}
	}
}

// A process may crash its own actor or another one.
func TestCrashFromWithin(t *testing.T) {
	for _, own := range []bool{true, false} {
		w := newWorkplace(t, engine.Config{})
		if own {
			w.onWork = func(p *engine.Process) { w.a.Crash(); t.Errorf("Crash returned to a process of the crashed actor") }
		} else {
			startActor(t, w.e, "killer", func(a *engine.Actor) {
				a.After(1500*time.Millisecond, "kill", func(p *engine.Process) { w.a.Crash(); w.d.note("killed it") })
			})
		}
		w.e.Advance(time.Hour)
		want := []string{"1s one of life 1", "1s two of life 1", "1s add n1 of life 1"}
		if !own {
			want = append(want, "1.5s killed it")
		}
		w.d.want(t, want...)
		if w.a.Alive() || len(w.e.Pending()) != 0 {
			t.Errorf("own %v: alive %v with %q pending, want nothing of it left", own, w.a.Alive(), w.e.Pending())
		}
		if err := w.e.Settle(0); err != nil {
			t.Errorf("own %v: Settle: %v", own, err)
		}
	}
}

// An injected crash comes before or after the effect of the call, and the actor comes back.
func TestCrashByFault(t *testing.T) {
	for _, effect := range []bool{false, true} {
		for seed := range int64(5) {
			armed := true
			cfg := engine.Config{Seed: seed, Trace: &trace.Trace{}, Injector: engine.InjectorFunc(func(c api.Call) api.Fault {
				if armed && c.Verb == "create" {
					armed = false
					return api.Fault{Crash: true, Effect: effect, Restart: 10 * time.Second}
				}
				return api.Fault{}
			})}
			w := newWorkplace(t, cfg)
			w.onWork = func(p *engine.Process) {
				_, err := p.API().Nodes.Create(p, node("crashing", nil))
				w.d.note(fmt.Sprintf("create: %v", err))
			}
			w.e.Advance(11 * time.Second)
			if _, exists := w.e.Store().Nodes.Lookup("crashing"); exists != effect {
				t.Errorf("effect %v, seed %d: the node exists: %v", effect, seed, exists)
			}
			if w.a.Alive() || len(w.d.entries) != 3 {
				t.Errorf("effect %v, seed %d: alive %v after %q", effect, seed, w.a.Alive(), w.d.entries)
			}
			if got, want := fmt.Sprint(w.e.Pending()), "[restart of a at +12s]"; got != want {
				t.Errorf("effect %v, seed %d: pending %s, want %s", effect, seed, got, want)
			}
			w.e.Advance(time.Second)
			if !w.a.Alive() {
				t.Errorf("effect %v, seed %d: the actor is not back after 10 s", effect, seed)
			}
			if err := w.e.Settle(time.Hour); err != nil {
				t.Errorf("effect %v, seed %d: Settle: %v", effect, seed, err)
			}
			for _, entry := range w.d.entries[3:] {
				if strings.HasSuffix(entry, "of life 1") || strings.Contains(entry, "posthumous of life 1") {
					t.Errorf("effect %v, seed %d: %q happened in the second life", effect, seed, entry)
				}
			}
			var lives []string
			for entry := range w.e.Trace().Entries() {
				if entry.Type == trace.Started || entry.Type == trace.Crashed {
					lives = append(lives, fmt.Sprintf("%v %s", entry.Time.Sub(engine.DefaultStart), entry.Type))
				}
			}
			if got, want := strings.Join(lives, ", "), "0s started, 2s crashed, 12s started"; got != want {
				t.Errorf("effect %v, seed %d: %s, want %s", effect, seed, got, want)
			}
		}
	}
}

// A restart that a crash has arranged is off once the actor has lived again.
func TestRestartIsForOneCrash(t *testing.T) {
	crash := engine.InjectorFunc(func(c api.Call) api.Fault { return api.Fault{Crash: true, Restart: time.Minute} })
	e := newEngine(t, engine.Config{Injector: crash})
	lives := 0
	a := startActor(t, e, "a", func(a *engine.Actor) {
		if lives++; lives == 1 {
			a.Go("crashes", func(p *engine.Process) {
				if _, err := p.API().Nodes.List(p, ""); err == nil {
					t.Errorf("a call returned after a crash")
				}
			})
		}
	})
	e.Advance(time.Second)
	a.Start()
	a.Crash()
	e.Advance(time.Hour)
	if a.Alive() || lives != 2 {
		t.Errorf("alive %v after %d lives, want it down after the second", a.Alive(), lives)
	}
}

// Deferred functions of a process run when its actor crashes, but have no effect on the store or on backends.
func TestDeferredCallsOfTheDead(t *testing.T) {
	for _, self := range []bool{true, false} {
		e := newEngine(t, engine.Config{Trace: &trace.Trace{}})
		var steps []string
		a := startActor(t, e, "a", func(a *engine.Actor) {
			recorder := a.NewRecorder("a")
			a.Go("holds", func(p *engine.Process) {
				n := mustCreate(t, e.Store().Nodes, node("n", nil))
				defer func() { steps = append(steps, "released") }()
				defer func() {
					steps = append(steps, "deferred")
					recorder.Event(p, n, corev1.EventTypeNormal, "Late", "too late")
					_, err := p.API().Nodes.Delete(p, "n", api.DeleteOptions{})
					steps = append(steps, fmt.Sprintf("delete: %v", err))
				}()
				defer func() {
					p.Sleep(time.Second)
					steps = append(steps, "slept")
				}()
				if self {
					p.Sleep(time.Second)
					a.Crash()
				}
				p.Sleep(time.Hour)
			})
		})
		e.Advance(time.Minute)
		a.Crash()
		e.Advance(time.Hour)
		if got := strings.Join(steps, ", "); got != "deferred, released" {
			t.Errorf("self %v: %s, want only: deferred, released", self, got)
		}
		if e.Store().Nodes.Len() != 1 || e.Store().Events.Len() != 0 {
			t.Errorf("self %v: a dead process has written", self)
		}
	}
}

func TestFaults(t *testing.T) {
	injected := errors.New("injected")
	tests := []struct {
		name   string
		fault  api.Fault
		err    error
		exists bool
		at     time.Duration
		text   string
	}{
		{"an error, and nothing happens", api.Fault{Err: injected}, injected, false, 0, "error injected"},
		{"the reply is lost", api.Fault{Err: injected, Effect: true}, injected, true, 0, "error injected (it took effect)"},
		{"it takes longer", api.Fault{Delay: time.Second}, nil, true, time.Second, "delay 1s"},
		{"it takes longer and fails", api.Fault{Delay: time.Second, Err: injected}, injected, false, time.Second, "delay 1s, error injected"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := newEngine(t, engine.Config{Trace: &trace.Trace{}, Injector: engine.InjectorFunc(func(api.Call) api.Fault { return test.fault })})
			var errs [2]error
			effect := false
			startActor(t, e, "a", func(a *engine.Actor) {
				a.Go("api", func(p *engine.Process) {
					_, errs[0] = p.API().Nodes.Create(p, node("n", nil))
					if since(e) != test.at {
						t.Errorf("the call returned at +%v, want +%v", since(e), test.at)
					}
				})
				a.Go("backend", func(p *engine.Process) {
					errs[1] = p.Backend(api.Call{Target: "csi", Verb: "Attach"}, 0, func() error { effect = true; return nil })
				})
			})
			e.Advance(time.Minute)
			_, exists := e.Store().Nodes.Lookup("n")
			if errs[0] != test.err || exists != test.exists {
				t.Errorf("create = %v, the node exists: %v; want %v, %v", errs[0], exists, test.err, test.exists)
			}
			if errs[1] != test.err || effect != test.exists {
				t.Errorf("Backend = %v, it took effect: %v; want %v, %v", errs[1], effect, test.err, test.exists)
			}
			texts := 0
			for entry := range e.Trace().Entries() {
				if entry.Type == trace.Injected && entry.Text == test.text {
					texts++
				}
			}
			if texts != 2 {
				t.Errorf("%d faults with the text %q in the trace, want 2", texts, test.text)
			}
		})
	}
	if got, want := engine.FaultText(api.Fault{Crash: true, Restart: time.Second}), "crash, restart after 1s"; got != want {
		t.Errorf("FaultText = %q, want %q", got, want)
	}
}

// Effects counts attempted writes and storage calls, and nothing else.
func TestEffects(t *testing.T) {
	e := newEngine(t, engine.Config{})
	n := mustCreate(t, e.Store().Nodes, node("n", nil))
	startActor(t, e, "a", func(a *engine.Actor) {
		recorder := a.NewRecorder("a")
		operations := a.NewNestedOperations()
		a.Go("steps", func(p *engine.Process) {
			steps := []struct {
				name string
				do   func()
				want uint64
			}{
				{"a read", func() { _, _ = p.API().Nodes.Get(p, "n"); _, _ = p.API().Nodes.List(p, "") }, 0},
				{"a decision", func() { p.Decide("BIND-091", n, "nothing") }, 0},
				{"waiting", func() { p.Sleep(time.Second) }, 0},
				{"a write that changes nothing", func() { _, _ = p.API().Nodes.Update(p, n) }, 1},
				{"a write that fails", func() { _, _ = p.API().Nodes.Delete(p, "none", api.DeleteOptions{}) }, 1},
				{"an Event", func() { recorder.Event(p, n, corev1.EventTypeNormal, "Reason", "text") }, 1},
				{"a backend call", func() { _ = p.Backend(api.Call{}, 0, func() error { return nil }) }, 1},
				{"an operation", func() {
					_ = operations.Run(engine.OperationKey{Volume: "op"}, "op", func(*engine.Process) error { return nil })
				}, 1},
				{"an operation that is dropped", func() {
					_ = operations.Run(engine.OperationKey{Volume: "op"}, "op", func(*engine.Process) error { return nil })
				}, 1},
			}
			for _, step := range steps {
				before := p.Effects()
				step.do()
				if got := p.Effects() - before; got != step.want {
					t.Errorf("%s: %d effects, want %d", step.name, got, step.want)
				}
			}
		})
	})
	e.Advance(time.Minute)
}
