package garbagecollector_test

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/garbagecollector"
	"github.com/volsim/volsim/internal/core/plain"
)

// object is a ConfigMap or a ReplicaSet in namespace default.
func object(apiVersion, kind, name string, owners ...metav1.OwnerReference) *plain.Object {
	o := &plain.Object{TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}}
	o.Namespace, o.Name, o.UID, o.OwnerReferences = "default", name, types.UID(name+"-uid"), owners
	return o
}

func config(name string, owners ...metav1.OwnerReference) *plain.Object {
	return object("v1", "ConfigMap", name, owners...)
}

// by is a reference to a ConfigMap.
func by(name string, blocks bool) metav1.OwnerReference {
	ref := owner("v1", "ConfigMap", name, types.UID(name+"-uid"))
	if blocks {
		ref.BlockOwnerDeletion = new(true)
	}
	return ref
}

func TestPropagation(t *testing.T) {
	held := config("b", by("a", true))
	held.Finalizers = []string{"example.com/x"}
	marked := config("a")
	marked.Finalizers = []string{metav1.FinalizerOrphanDependents}
	tests := []struct {
		rule, name string
		policy     metav1.DeletionPropagation
		objects    []api.Object
		want       []string // writes after the deletion of a
	}{
		{"GC-001", "in the background the owner goes first", metav1.DeletePropagationBackground,
			[]api.Object{config("a"), config("b", by("a", true))}, []string{"delete ConfigMap/default/b"}},
		{"GC-020", "in the foreground the dependents go first", metav1.DeletePropagationForeground,
			[]api.Object{config("a"), config("b", by("a", true)), config("c", by("a", true))},
			[]string{"delete ConfigMap/default/b", "delete ConfigMap/default/c", "patch ConfigMap/default/a"}},
		{"GC-020", "without dependents the owner goes at once", metav1.DeletePropagationForeground,
			[]api.Object{config("a")}, []string{"patch ConfigMap/default/a"}},
		{"GC-020", "the owner does not wait for a dependent that does not block it", metav1.DeletePropagationForeground,
			[]api.Object{config("a"), func() api.Object { o := config("b", by("a", false)); o.Finalizers = held.Finalizers; return o }()},
			[]string{"delete ConfigMap/default/b", "patch ConfigMap/default/a"}},
		{"GC-020", "the owner waits for one that blocks it", metav1.DeletePropagationForeground,
			[]api.Object{config("a"), held}, []string{"delete ConfigMap/default/b"}},
		{"GC-023", "dependents with dependents are deleted in the foreground", metav1.DeletePropagationForeground,
			[]api.Object{config("a"), config("b", by("a", true)), config("c", by("b", true))},
			[]string{"delete ConfigMap/default/b", "delete ConfigMap/default/c", "patch ConfigMap/default/b", "patch ConfigMap/default/a"}},
		{"GC-022", "a dependent with another owner stays without the first", metav1.DeletePropagationForeground,
			[]api.Object{config("a"), config("o"), config("b", by("a", true), by("o", false))},
			[]string{"patch ConfigMap/default/b", "patch ConfigMap/default/a"}},
		{"GC-030", "orphans stay", metav1.DeletePropagationOrphan,
			[]api.Object{config("a"), config("b", by("a", true))}, []string{"patch ConfigMap/default/b", "patch ConfigMap/default/a"}},
		{"GC-003", "without a policy a finalizer of the object decides", "",
			[]api.Object{marked, config("b", by("a", true))}, []string{"patch ConfigMap/default/b", "patch ConfigMap/default/a"}},
		{"GC-003", "a policy overrides the finalizer", metav1.DeletePropagationBackground,
			[]api.Object{marked, config("b", by("a", true))}, []string{"delete ConfigMap/default/b"}},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			w := newFixture(t)
			w.must(garbagecollector.New(w.Engine))
			w.Load(test.objects...)
			w.settle()
			since := w.Trace().Seq()
			_, err := w.Store().Delete("ConfigMap", "default/a", api.DeleteOptions{PropagationPolicy: test.policy})
			w.OK(err)
			w.settle()
			equal(t, "writes", w.writes(since), test.want)
		})
	}
}

// GC-030: the dependents lose their owner at the same time, and the owner its finalizer after the slowest of them. A failure concerns one of them.
func TestOrphansAtTheSameTime(t *testing.T) {
	tests := []struct {
		rule, name string
		fault      api.Fault
		want       []string // writes within two seconds
	}{
		{"GC-030", "slow requests", api.Fault{}, []string{"patch ConfigMap/default/b", "patch ConfigMap/default/c", "patch ConfigMap/default/d", "patch ConfigMap/default/a"}},
		{"GC-030", "one fails for good", api.Fault{Err: errors.New("no")}, []string{"patch ConfigMap/default/b", "patch ConfigMap/default/d"}},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			w := newFixture(t)
			w.must(garbagecollector.New(w.Engine))
			w.Load(config("a"), config("b", by("a", true)), config("c", by("a", true)), config("d", by("a", true)))
			w.settle()
			w.faults = append(w.faults, func(c api.Call) api.Fault {
				switch {
				case c.Verb == "patch" && c.Key == "default/c" && test.fault != (api.Fault{}):
					return test.fault
				case c.Verb == "patch":
					return api.Fault{Delay: 600 * time.Millisecond}
				}
				return api.Fault{}
			})
			since := w.Trace().Seq()
			_, err := w.Store().Delete("ConfigMap", "default/a", api.DeleteOptions{PropagationPolicy: metav1.DeletePropagationOrphan})
			w.OK(err)
			w.Advance(2 * time.Second)
			equal(t, "writes", w.writes(since), test.want)
		})
	}
}

// GC-002: the default of Jobs is Orphan.
func TestDefaultPolicy(t *testing.T) {
	w := newFixture(t)
	rc := object("v1", "ReplicationController", "rc")
	labels := map[string]any{"app": "a"}
	rc.SetContent(map[string]any{"spec": map[string]any{"selector": labels, "template": map[string]any{"metadata": map[string]any{"labels": labels},
		"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}}}}})
	for _, o := range []*plain.Object{object("batch/v1", "Job", "j"), rc, config("c")} {
		w.Load(o)
		deleted, err := w.Store().Delete(api.KindOf(o), api.KeyOf(o), api.DeleteOptions{})
		w.OK(err)
		want := "[orphan]"
		if o.Kind == "ConfigMap" {
			want = "[]"
		}
		if got := fmt.Sprint(deleted.GetFinalizers()); got != want {
			t.Errorf("GC-002: finalizers of a deleted %s = %v, want %v", o.Kind, got, want)
		}
	}
	_, err := w.Store().Delete("ConfigMap", "default/c", api.DeleteOptions{PropagationPolicy: "Later"})
	if err == nil {
		t.Errorf("GC-001: an unknown policy is accepted")
	}
}

// GC-021: an owner that waits goes when its last blocking dependent does.
func TestForegroundWaits(t *testing.T) {
	w := newFixture(t)
	w.must(garbagecollector.New(w.Engine))
	held := config("b", by("a", true))
	held.Finalizers = []string{"example.com/x"}
	w.Load(config("a"), held)
	_, err := w.Store().Delete("ConfigMap", "default/a", api.DeleteOptions{PropagationPolicy: metav1.DeletePropagationForeground})
	w.OK(err)
	w.settle()
	for i, patch := range []string{`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"a","uid":"a-uid"}]}}`,
		`{"metadata":{"finalizers":null}}`} {
		if _, err := w.Store().Get("ConfigMap", "default/a"); (err != nil) != (i == 1) {
			t.Errorf("GC-021: before %s: the owner: %v", patch, err)
		}
		_, err = w.Store().Patch("ConfigMap", "default/b", []byte(patch), api.Main)
		w.OK(err)
		w.settle()
	}
}

// GC-011, GC-013: the API server decides about owners that the informers do not know, or know differently.
func TestVirtualOwners(t *testing.T) {
	other := by("a", false)
	other.Name = "z"
	elsewhere := config("b", by("a", false))
	elsewhere.Namespace = "other"
	pod := newPod("p")
	tests := []struct {
		rule, name string
		objects    []api.Object
		want       []string
	}{
		{"GC-011", "the owner appears later", []api.Object{config("b", by("a", false)), config("a")}, nil},
		{"GC-013", "the reference has another name", []api.Object{config("a"), config("b", other)}, []string{"delete ConfigMap/default/b"}},
		{"GC-013", "the owner is in another namespace", []api.Object{config("a"), elsewhere}, []string{"delete ConfigMap/other/b"}},
		{"GC-013", "two descriptions of one owner, none right", []api.Object{pod, config("b", by("a", false)), config("c", other)},
			[]string{"delete ConfigMap/default/c", "delete ConfigMap/default/b"}},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			w := newFixture(t)
			w.SetLag("garbage-collector", time.Second)
			w.must(garbagecollector.New(w.Engine))
			w.Load(test.objects...)
			w.settle()
			equal(t, "writes", w.writes(0), test.want)
		})
	}
}

// GC-012: an owner that was found absent is not asked about again.
func TestAbsentOwners(t *testing.T) {
	w := newFixture(t)
	w.must(garbagecollector.New(w.Engine))
	gets := 0
	w.faults = append(w.faults, func(c api.Call) api.Fault {
		if c.Verb == "get" && c.Key == "default/gone" {
			gets++
		}
		return api.Fault{}
	})
	for i := range 5 {
		w.Load(config(fmt.Sprint("c", i), owner("v1", "Pod", "gone", "g")))
	}
	w.settle()
	if n := len(w.writes(0)); n != 5 || gets != 1 {
		t.Errorf("GC-012: %d objects deleted after %d reads of the owner, want 5 after 1", n, gets)
	}
}

// GC-005: a conflict while the finalizer is removed is repeated with the newest version.
func TestFinalizerConflict(t *testing.T) {
	w := newFixture(t)
	w.must(garbagecollector.New(w.Engine))
	changed := false
	w.faults = append(w.faults, func(c api.Call) api.Fault {
		if c.Verb == "patch" && !changed {
			changed = true
			_, err := w.Store().Patch("ConfigMap", "default/a", []byte(`{"data":{"k":"v"}}`), api.Main)
			w.OK(err)
		}
		return api.Fault{}
	})
	w.Load(config("a"))
	_, err := w.Store().Delete("ConfigMap", "default/a", api.DeleteOptions{PropagationPolicy: metav1.DeletePropagationForeground})
	w.OK(err)
	w.settle()
	equal(t, "GC-005: writes", w.writes(0), []string{"patch ConfigMap/default/a"})
}

// GC-024: dependents that own each other do not wait for each other.
func TestCycle(t *testing.T) {
	w := newFixture(t)
	w.must(garbagecollector.New(w.Engine))
	w.Load(config("a", by("b", true)), config("b", by("a", true)))
	w.settle()
	_, err := w.Store().Delete("ConfigMap", "default/a", api.DeleteOptions{PropagationPolicy: metav1.DeletePropagationForeground})
	w.OK(err)
	w.settle()
	if n := len(w.Store().List("ConfigMap")); n != 0 {
		t.Errorf("GC-024: %d objects are left, want none: %v", n, w.writes(0))
	}
}

// GC-024: a reference that does not say whether it blocks stays as it is.
func TestCycleWithoutBlock(t *testing.T) {
	for _, tt := range []struct {
		rule   string
		blocks bool
		want   string
	}{
		{"GC-024", true, "false"},
		{"GC-024", false, "unset"},
	} {
		w := newFixture(t)
		w.must(garbagecollector.New(w.Engine))
		b, c := config("b", by("a", tt.blocks)), config("c", by("a", true))
		b.Finalizers, c.Finalizers = []string{"example.com/x"}, []string{"example.com/x"}
		w.Load(config("a", by("b", true)), b, c)
		w.settle()
		_, err := w.Store().Delete("ConfigMap", "default/a", api.DeleteOptions{PropagationPolicy: metav1.DeletePropagationForeground})
		w.OK(err)
		w.settle()
		stored, err := w.Store().Get("ConfigMap", "default/b")
		w.OK(err)
		if stored.GetDeletionTimestamp() == nil {
			t.Errorf("%s: b is not being deleted", tt.rule)
		}
		got := "unset"
		if block := stored.GetOwnerReferences()[0].BlockOwnerDeletion; block != nil {
			got = strconv.FormatBool(*block)
		}
		equal(t, tt.rule, []string{got}, []string{tt.want})
	}
}

// GC-004: references are removed from the newest version of an object, of a custom one from that which was read.
func TestOwnersOfNewestVersion(t *testing.T) {
	w := newFixture(t)
	w.must(garbagecollector.New(w.Engine))
	changed := false
	w.faults = append(w.faults, func(c api.Call) api.Fault {
		if c.Verb == "patch" && !changed {
			changed = true
			_, err := w.Store().Patch(api.PersistentVolumeClaim, "default/c1", []byte(`{"metadata":{"labels":{"a":"b"}}}`), api.Main)
			w.OK(err)
		}
		return api.Fault{}
	})
	w.Load(newPod("p"), owned(podOwner("gone", "g"), podOwner("p", "p-uid")))
	w.settle()
	equal(t, "GC-004: writes", w.writes(0), []string{"patch PersistentVolumeClaim/default/c1"})
	claim := w.Store().Claims.List()[0]
	if len(claim.OwnerReferences) != 1 || claim.Labels["a"] != "b" {
		t.Errorf("GC-004: the claim has owners %v and labels %v", claim.OwnerReferences, claim.Labels)
	}
}

// GC-010: Events have no owners that count.
func TestEventsAreIgnored(t *testing.T) {
	w := newFixture(t)
	w.must(garbagecollector.New(w.Engine))
	event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "e", OwnerReferences: []metav1.OwnerReference{podOwner("gone", "g")}}}
	w.Load(event)
	w.settle()
	equal(t, "GC-010: writes", w.writes(0), nil)
}
