package engine_test

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/trace"
)

// Replace is an update without a copy: the object that is given is the one that is stored.
func TestReplace(t *testing.T) {
	e := newEngine(t, engine.Config{})
	claims := e.Store().Claims
	stored := mustCreate(t, claims, claim("default/c"))
	startActor(t, e, "a", func(a *engine.Actor) {
		a.Go("write", func(p *engine.Process) {
			next := *stored
			next.Labels = map[string]string{"a": "b"}
			got, err := p.API().Claims.Replace(p, &next)
			if err != nil || got != &next || next.ResourceVersion != "2" {
				t.Errorf("Replace = %v, %v, want the object that was given, with a new version", got, err)
			}
			shown := next
			shown.Labels, shown.Status.Phase = nil, corev1.ClaimBound
			got, err = p.API().Claims.ReplaceStatus(p, &shown)
			if err != nil || got != &shown || got.Status.Phase != corev1.ClaimBound {
				t.Errorf("ReplaceStatus = %v, %v, want the object that was given", got, err)
			}
			late := *stored
			if _, err := p.API().Claims.Replace(p, &late); !apierrors.IsConflict(err) {
				t.Errorf("Replace of an old version: %v, want a conflict", err)
			}
		})
	})
	if err := e.Settle(time.Minute); err != nil {
		t.Fatal(err)
	}
	if got, _ := claims.Lookup("default/c"); got.ResourceVersion != "3" {
		t.Errorf("the claim has version %s, want 3", got.ResourceVersion)
	}
}

// PatchWith patches the version that the server has when the patch takes effect.
func TestPatchWith(t *testing.T) {
	e := newEngine(t, engine.Config{Latency: time.Second, Trace: &trace.Trace{}})
	claims := e.Store().Claims
	mustCreate(t, claims, claim("default/c"))
	broken := errors.New("no")
	asked := 0
	startActor(t, e, "a", func(a *engine.Actor) {
		a.Go("write", func(p *engine.Process) {
			got, err := p.API().Claims.PatchWith(p, "default/c", func(newest *corev1.PersistentVolumeClaim) error {
				newest.Labels = map[string]string{"seen": newest.Labels["other"]}
				return nil
			}, api.Main)
			if err != nil || got.Labels["seen"] != "late" {
				t.Errorf("PatchWith = %v, %v, want what came on the way", got, err)
			}
			_, err = p.API().Claims.PatchWith(p, "default/c", func(*corev1.PersistentVolumeClaim) error { return broken }, api.Main)
			if err != broken {
				t.Errorf("PatchWith of what cannot be patched: %v, want %v", err, broken)
			}
			_, err = p.API().Claims.PatchWith(p, "default/gone", func(*corev1.PersistentVolumeClaim) error { asked++; return nil }, api.Main)
			if !apierrors.IsNotFound(err) || asked != 0 {
				t.Errorf("PatchWith of nothing: %v, asked %d times, want not found, not asked", err, asked)
			}
		})
	})
	e.Advance(500 * time.Millisecond)
	if _, err := claims.Patch("default/c", []byte(`{"metadata":{"labels":{"other":"late"}}}`), api.Main); err != nil {
		t.Fatal(err)
	}
	if err := e.Settle(time.Minute); err != nil {
		t.Fatal(err)
	}
}

// KeyOf allocates no key for the object that a handler receives, and one for any other.
func TestInformerKeyOf(t *testing.T) {
	e := newEngine(t, engine.Config{})
	claims := e.Store().Claims
	first := mustCreate(t, claims, claim("default/first"))
	var keys []string
	startActor(t, e, "a", func(a *engine.Actor) {
		inf := engine.NewInformer(a, claims)
		note := func(c *corev1.PersistentVolumeClaim) { keys = append(keys, inf.KeyOf(c), inf.KeyOf(first)) }
		inf.Handle(engine.Handler[*corev1.PersistentVolumeClaim]{
			Add: note, Update: func(_, c *corev1.PersistentVolumeClaim) { note(c) }, Delete: note,
		})
	})
	second := mustCreate(t, claims, claim("default/second"))
	if _, err := claims.Delete(api.KeyOf(second), api.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := e.Settle(time.Minute); err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(keys); i += 2 {
		want := "default/second"
		if i == 0 {
			want = "default/first"
		}
		if keys[i] != want || keys[i+1] != "default/first" {
			t.Errorf("keys %d are %q, want %q and default/first", i, keys[i:i+2], want)
		}
	}
	// The finalizer that protects claims makes an update of the deletion.
	if len(keys) != 6 {
		t.Errorf("handlers were told %d times, want 3: %q", len(keys)/2, keys)
	}
}

// Without a trace, an observer and reviews, a write through a client allocates what the store allocates, and nothing more.
func TestPlainWritesAllocateNothing(t *testing.T) {
	e := newEngine(t, engine.Config{})
	nodes, client := e.Store().Nodes, e.API().Nodes
	mustCreate(t, nodes, node("n", nil))
	flip := func(n *corev1.Node) error {
		n.Spec.Unschedulable = !n.Spec.Unschedulable
		return nil
	}
	patch := func() {
		if _, err := nodes.PatchWith("n", flip, api.Main); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		patch() // the text of a small version takes no memory
	}
	byStore := testing.AllocsPerRun(100, patch)
	byClient := testing.AllocsPerRun(100, func() {
		if _, err := client.PatchWith(e.User(), "n", flip, api.Main); err != nil {
			t.Fatal(err)
		}
	})
	if byClient > byStore {
		t.Errorf("a patch takes %v allocations through a client, want the %v of the store", byClient, byStore)
	}
}
