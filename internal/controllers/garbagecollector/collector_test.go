package garbagecollector_test

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/garbagecollector"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

func owner(apiVersion, kind, name string, uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: uid}
}

// owned is claim default/c1 without finalizers, with these owners.
func owned(owners ...metav1.OwnerReference) *corev1.PersistentVolumeClaim {
	claim := newClaim("c1", "u1")
	claim.OwnerReferences = owners
	return claim
}

func podOwner(name string, uid types.UID) metav1.OwnerReference { return owner("v1", "Pod", name, uid) }

func TestGarbageCollector(t *testing.T) {
	now := metav1.NewTime(engine.DefaultStart)
	protected := owned(podOwner("gone", "g"))
	protected.Finalizers = []string{objects.ClaimProtectionFinalizer}
	terminatingClaim := owned(podOwner("gone", "g"), podOwner("p", "p-uid"))
	terminatingClaim.DeletionTimestamp = &now
	terminatingClaim.Finalizers = []string{"example.com/x"}
	elsewhere := newPod("p")
	elsewhere.Namespace = "other"
	going := newPod("p")
	going.DeletionTimestamp, going.DeletionGracePeriodSeconds = &now, new(int64(30))
	clusterScoped := newVolume()
	clusterScoped.OwnerReferences = []metav1.OwnerReference{podOwner("gone", "g")}
	csi := csiNode("n1")
	csi.OwnerReferences = []metav1.OwnerReference{owner("v1", "Node", "n1", "n1-uid")}
	remove, trim := "delete PersistentVolumeClaim/default/c1", "patch PersistentVolumeClaim/default/c1"
	tests := []struct {
		rule, name string
		objects    []api.Object
		writes     []string
	}{
		{rule: "API-270", name: "no owners", objects: []api.Object{owned()}},
		{rule: "API-270", name: "the owner lives", objects: []api.Object{owned(podOwner("p", "p-uid")), newPod("p")}},
		{rule: "API-270", name: "the owner is absent", objects: []api.Object{owned(podOwner("p", "p-uid"))}, writes: []string{remove}},
		{rule: "API-270", name: "another object has its name", objects: []api.Object{owned(podOwner("p", "old")), newPod("p")},
			writes: []string{remove}},
		{rule: "API-270", name: "it is looked for in the dependent's namespace",
			objects: []api.Object{owned(podOwner("p", "p-uid")), elsewhere}, writes: []string{remove}},
		{rule: "API-270", name: "a cluster-scoped owner", objects: []api.Object{owned(owner("v1", "PersistentVolume", "pv1", "pv1-uid")),
			newVolume()}},
		{rule: "GC-040", name: "an owner of a kind of which nothing was loaded",
			objects: []api.Object{owned(owner("apps/v1", "StatefulSet", "web", "s"))}},
		{rule: "API-270", name: "an owner under another version", objects: []api.Object{owned(owner("v2", "Pod", "gone", "g"))}},
		{rule: "API-271", name: "all owners gone", objects: []api.Object{owned(podOwner("gone", "g"), podOwner("lost", "l"))},
			writes: []string{remove}},
		{rule: "API-271", name: "finalizers hold it: marked", objects: []api.Object{protected}, writes: []string{remove}},
		{rule: "API-272", name: "one owner lives: the other is forgotten",
			objects: []api.Object{owned(podOwner("gone", "g"), podOwner("p", "p-uid")), newPod("p")}, writes: []string{trim}},
		{rule: "API-272", name: "an owner that is going still lives", objects: []api.Object{owned(podOwner("p", "p-uid")), going}},
		{rule: "API-273", name: "a dependent appears with a missing owner, whatever its kind", objects: []api.Object{csi},
			writes: []string{"delete CSINode/n1"}},
		{rule: "API-274", name: "going already: left alone", objects: []api.Object{terminatingClaim, newPod("p")}},
		{rule: "API-275", name: "a cluster-scoped object with a namespaced owner", objects: []api.Object{clusterScoped}},
	}
	for _, when := range []string{"before", "after"} {
		for _, test := range tests {
			t.Run(test.rule+" "+test.name+", loaded "+when+" the start", func(t *testing.T) {
				w := newFixture(t)
				if when == "before" {
					w.Load(test.objects...)
				}
				w.must(garbagecollector.New(w.Engine))
				w.settle()
				if when == "after" {
					w.Load(test.objects...)
				}
				w.settle()
				equal(t, "writes", w.writes(0), test.writes)
				claim, ok := w.Store().Claims.Lookup("default/c1")
				if test.rule == "API-272" && (!ok || len(claim.OwnerReferences) != 1 || claim.OwnerReferences[0].Name != "p") {
					t.Errorf("owners = %+v, want p alone", claim.OwnerReferences)
				}
				if claim != nil && len(claim.Finalizers) > 0 && len(test.writes) > 0 && claim.DeletionTimestamp == nil {
					t.Errorf("the claim is not marked")
				}
			})
		}
	}
}

// API-273: the end of the owner counts, not its mark; there is no delay.
func TestGarbageCollectorOwnerDeleted(t *testing.T) {
	w := newFixture(t)
	w.must(garbagecollector.New(w.Engine))
	pod := newPod("p")
	pod.Finalizers = []string{"example.com/wait"}
	w.Load(pod, owned(podOwner("p", "p-uid")))
	w.settle()
	if _, err := w.Store().Pods.Delete("default/p", api.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
		t.Fatal(err)
	}
	w.settle()
	equal(t, "API-272: writes while the owner is marked", w.writes(0), nil)
	marked := *w.Store().Pods.List()[0]
	marked.Finalizers = nil
	if _, err := w.Store().Update(&marked); err != nil {
		t.Fatal(err)
	}
	w.Advance(0)
	equal(t, "API-273: writes at the owner's end", w.writes(0), []string{"delete PersistentVolumeClaim/default/c1"})
}

// API-271: only what has the owners that were judged is deleted: a conflict is looked into, and retried without the version.
func TestGarbageCollectorConflict(t *testing.T) {
	tests := []struct {
		rule, name string
		change     func(*corev1.PersistentVolumeClaim)
		gone       bool
	}{
		{"API-271", "something else has changed", func(c *corev1.PersistentVolumeClaim) { c.Labels = map[string]string{"a": "b"} }, true},
		{"API-271", "the owners have changed", func(c *corev1.PersistentVolumeClaim) {
			c.OwnerReferences = []metav1.OwnerReference{podOwner("p", "p-uid")}
		}, false},
		{"API-271", "it is another object", func(c *corev1.PersistentVolumeClaim) {
			c.UID = "u2"
			c.OwnerReferences = nil
		}, false},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			w := newFixture(t)
			w.must(garbagecollector.New(w.Engine))
			w.settle()
			changed := false
			w.faults = append(w.faults, func(c api.Call) api.Fault {
				if c.Verb == "delete" && !changed {
					changed = true
					claim := owned(podOwner("gone", "g"))
					test.change(claim)
					w.Load(claim)
				}
				return api.Fault{}
			})
			w.Load(newPod("p"), owned(podOwner("gone", "g")))
			w.settle()
			if got := !w.hasClaim("default/c1"); got != test.gone {
				t.Errorf("the claim is gone: %v, want %v", got, test.gone)
			}
			if !changed {
				t.Errorf("nothing was deleted")
			}
		})
	}
}

// API-271, API-272: a failure is retried.
func TestGarbageCollectorRetry(t *testing.T) {
	broken := errors.New("broken")
	for _, test := range []struct {
		verb string
		err  error
	}{
		{"get", broken}, {"patch", broken}, {"delete", broken},
		// A conflict although the version is the same: it is not deleted at once without the version.
		{"delete", apierrors.NewConflict(schema.GroupResource{Resource: "persistentvolumeclaims"}, "c1", broken)},
	} {
		verb := test.verb
		t.Run("API-271 "+verb+" "+test.err.Error(), func(t *testing.T) {
			w := newFixture(t)
			w.must(garbagecollector.New(w.Engine))
			w.settle()
			failures := 1
			w.faults = append(w.faults, func(c api.Call) api.Fault {
				if c.Verb == verb && failures > 0 {
					failures--
					return api.Fault{Err: test.err}
				}
				return api.Fault{}
			})
			claim := owned(podOwner("gone", "g"))
			if verb == "patch" {
				w.Load(newPod("p"))
				claim.OwnerReferences = append(claim.OwnerReferences, podOwner("p", "p-uid"))
			}
			w.Load(claim)
			w.Advance(4 * time.Millisecond)
			equal(t, "writes before the retry", w.writes(0), nil)
			w.Advance(time.Millisecond)
			if got := len(w.writes(0)); got != 1 || failures != 0 {
				t.Errorf("%d writes after the retry, want 1", got)
			}
		})
	}
}
