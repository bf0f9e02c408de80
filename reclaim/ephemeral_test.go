package reclaim_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/garbagecollector"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/internal/proof/rig"
	"github.com/volsim/volsim/reclaim"
)

// scratchClaim is the claim of the volume "scratch" of pod "p", owned by the pod with that uid.
func scratchClaim(owner *corev1.Pod) *corev1.PersistentVolumeClaim {
	claim := newClaim("p-scratch", "", "")
	claim.Finalizers = nil
	if owner != nil {
		claim.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "Pod", Name: owner.Name, UID: owner.UID, Controller: ptr(true), BlockOwnerDeletion: ptr(true),
		}}
	}
	return claim
}

func TestEphemeral(t *testing.T) {
	now := metav1.NewTime(engine.DefaultStart)
	pod := func(edits ...func(*corev1.Pod)) *corev1.Pod {
		p := ephemeralVolume(newPod("p"), "scratch")
		for _, edit := range edits {
			edit(p)
		}
		return p
	}
	terminating := func(p *corev1.Pod) { p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &now, ptr(int64(30)) }
	completed := func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }
	second := func(p *corev1.Pod) { ephemeralVolume(p, "cache") }
	other := newPod("p")
	other.UID = "another"
	terminatingClaim := scratchClaim(pod())
	terminatingClaim.DeletionTimestamp = &now
	terminatingClaim.Finalizers = []string{objects.ClaimProtectionFinalizer}
	notOwner := "Warning FailedBinding: ephemeral volume scratch: PVC default/p-scratch was not created for pod default/p (pod is not owner)"
	create := "create PersistentVolumeClaim/default/p-scratch"
	tests := []struct {
		rule, name string
		pod        *corev1.Pod
		claims     []api.Object
		prepare    func(w *fixture)
		writes     []string
		events     []string // within 4 ms
	}{
		{rule: "EPH-001", name: "a pod without ephemeral volumes", pod: newPod("p", "c1")},
		{rule: "EPH-001", name: "a pod that is being deleted", pod: pod(terminating)},
		{rule: "EPH-001", name: "the phase does not count (edge 24)", pod: pod(completed), writes: []string{create}},
		{rule: "EPH-002", name: "volumes in order", pod: pod(second), writes: []string{create, "create PersistentVolumeClaim/default/p-cache"}},
		{rule: "EPH-002", name: "the first failure ends the sync", pod: pod(second), claims: []api.Object{scratchClaim(nil)},
			events: []string{notOwner}},
		{rule: "EPH-002", name: "what was done before stays", pod: pod(second), claims: []api.Object{foreign("p-cache")},
			writes: []string{create},
			events: []string{"Warning FailedBinding: ephemeral volume cache: PVC default/p-cache was not created for pod default/p (pod is not owner)"}},
		{rule: "EPH-003", name: "the name is pod-volume", pod: pod(), writes: []string{create}},
		{rule: "EPH-004", name: "its claim is there", pod: pod(), claims: []api.Object{scratchClaim(pod())}},
		{rule: "EPH-004", name: "its claim is being deleted", pod: pod(), claims: []api.Object{terminatingClaim}},
		{rule: "EPH-004", name: "a foreign claim is not adopted (edge 23)", pod: pod(), claims: []api.Object{scratchClaim(nil)},
			events: []string{notOwner}},
		{rule: "EPH-004", name: "nor that of an earlier pod of the name", pod: pod(), claims: []api.Object{scratchClaim(other)},
			events: []string{notOwner}},
		{rule: "EPH-005", name: "the claim cannot be created", pod: pod(), prepare: func(w *fixture) {
			w.fail(actors.Ephemeral, "create PersistentVolumeClaim", errors.New("broken"))
		}, events: []string{"Warning FailedBinding: ephemeral volume scratch: create PVC p-scratch: broken"}},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			w := newFixture(t, options.Reclaimer{})
			w.must(reclaim.New(w.Engine, actors.Ephemeral, nil))
			w.settle()
			w.Load(test.claims...)
			w.Advance(0)
			if test.prepare != nil {
				test.prepare(w)
			}
			w.Load(test.pod)
			w.Advance(4 * time.Millisecond)
			equal(t, "writes", w.writes(0), test.writes)
			equal(t, "events", w.events(0), test.events)
		})
	}
}

func foreign(name string) *corev1.PersistentVolumeClaim {
	claim := newClaim(name, "", "")
	claim.Finalizers = nil
	return claim
}

// EPH-005: the claim. API-276: the pod owns it.
func TestEphemeralClaim(t *testing.T) {
	pod := ephemeralVolume(newPod("p"), "scratch")
	claim := reclaim.EphemeralClaim(pod, &pod.Spec.Volumes[0])
	if claim.Namespace != "default" || claim.Name != "p-scratch" || claim.Labels["l"] != "1" || claim.Annotations["a"] != "2" {
		t.Errorf("EPH-005: metadata %+v", claim.ObjectMeta)
	}
	if len(claim.Spec.AccessModes) != 1 || claim.Spec.AccessModes[0] != corev1.ReadWriteOnce {
		t.Errorf("EPH-005: spec %+v, want that of the template", claim.Spec)
	}
	if len(claim.OwnerReferences) != 1 {
		t.Fatalf("EPH-005: %d owners, want 1", len(claim.OwnerReferences))
	}
	owner := claim.OwnerReferences[0]
	if owner.APIVersion != "v1" || owner.Kind != "Pod" || owner.Name != "p" || owner.UID != "p-uid" || !*owner.Controller ||
		!*owner.BlockOwnerDeletion {
		t.Errorf("API-276: owner %+v", owner)
	}
	if !objects.OwnsClaim(pod, claim) {
		t.Errorf("API-276: OwnsClaim = false, want true")
	}
}

// EPH-002: a collision is an error loop with an Event at each turn (edge 23).
func TestEphemeralRepeatsTheEvent(t *testing.T) {
	w := newFixture(t, options.Reclaimer{})
	w.must(reclaim.New(w.Engine, actors.Ephemeral, nil))
	w.settle()
	w.Load(scratchClaim(nil))
	w.Advance(0)
	w.Load(ephemeralVolume(newPod("p"), "scratch"))
	w.Advance(40 * time.Millisecond) // at 0, 5, 15 and 35 ms
	if got := len(w.events(0)); got != 4 {
		t.Errorf("EPH-002: %d Events after 40 ms, want 4", got)
	}
}

// EPH-005: a claim that the informer does not show yet makes the create fail; the retry finds it.
func TestEphemeralClaimNotSeenYet(t *testing.T) {
	w := &fixture{Rig: rig.New(t, engine.Config{Lag: map[string]time.Duration{actors.Ephemeral: 8 * time.Millisecond}})}
	pod := ephemeralVolume(newPod("p"), "scratch")
	w.Load(pod)
	w.must(reclaim.New(w.Engine, actors.Ephemeral, nil))
	w.Load(scratchClaim(pod))
	w.Advance(time.Minute)
	exists := `Warning FailedBinding: ephemeral volume scratch: create PVC p-scratch: persistentvolumeclaims "p-scratch" already exists`
	equal(t, "EPH-005: events at 0 and 5 ms", w.events(0), []string{exists, exists})
}

// EPH-001, EPH-007: a claim that vanishes under its pod comes back, with another uid.
func TestEphemeralClaimComesBack(t *testing.T) {
	w := newFixture(t, options.Reclaimer{})
	w.must(reclaim.New(w.Engine, actors.Ephemeral, nil))
	w.Load(ephemeralVolume(newPod("p"), "scratch"))
	w.settle()
	first := w.claim("default/p-scratch")
	w.Load(finalizerless(first))
	w.Delete(api.PersistentVolumeClaim, "default/p-scratch")
	w.settle()
	if again := w.claim("default/p-scratch"); again.UID == first.UID {
		t.Errorf("EPH-007: uid %s again, want another", again.UID)
	}
	pod := *newPod("p")
	pod.Labels = map[string]string{"a": "b"}
	before := w.Trace().Seq()
	w.Load(ephemeralVolume(&pod, "scratch"))
	w.settle()
	equal(t, "EPH-001: writes after a pod update", w.writes(before), nil)
}

// EPH-006: with the pod the claim goes, once the pod is gone. A pod that only waits for a finalizer does not hold it (edge 21).
func TestEphemeralClaimGoesWithThePod(t *testing.T) {
	tests := []struct {
		rule, name string
		finalizer  []string
		podLeft    bool
	}{
		{rule: "EPH-006", name: "the pod goes"},
		{rule: "EPH-006", name: "the pod waits for a finalizer", finalizer: []string{"example.com/wait"}, podLeft: true},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			w := newFixture(t, options.Reclaimer{})
			w.must(reclaim.New(w.Engine, actors.Ephemeral, nil))
			w.must(reclaim.New(w.Engine, actors.PVCProtection, nil))
			w.must(garbagecollector.New(w.Engine))
			pod := ephemeralVolume(newPod("p"), "scratch")
			pod.Finalizers = test.finalizer
			w.Load(pod)
			w.settle()
			if !w.hasClaim("default/p-scratch") {
				t.Fatalf("EPH-005: the claim was not created")
			}
			if _, err := w.Store().Pods.Delete("default/p", api.DeleteOptions{GracePeriodSeconds: ptr(int64(0))}); err != nil {
				t.Fatal(err)
			}
			w.settle()
			if test.podLeft {
				// The claim is not deleted before the pod is gone.
				if !w.hasClaim("default/p-scratch") {
					t.Fatalf("the claim went before the pod")
				}
				w.Delete(api.PersistentVolumeClaim, "default/p-scratch")
				w.settle()
			}
			if w.hasClaim("default/p-scratch") {
				t.Errorf("the claim is still there")
			}
			if _, ok := w.Store().Pods.Lookup("default/p"); ok != test.podLeft {
				t.Errorf("the pod is there: %v, want %v", ok, test.podLeft)
			}
			if slices.Contains(w.writes(0), "patch PersistentVolumeClaim/default/p-scratch") {
				t.Errorf("the claim lost its owner instead")
			}
		})
	}
}
