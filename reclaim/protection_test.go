package reclaim_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/reclaim"
	"github.com/volsim/volsim/trace"
)

func TestVolumeProtection(t *testing.T) {
	tests := []struct {
		rule, name string
		pv         *corev1.PersistentVolume
		writes     []string
		want       []string // finalizers; nil with gone: the volume is gone
		gone       bool
	}{
		{rule: "PROT-010", name: "in order: nothing", pv: newVolume(), want: []string{objects.VolumeProtectionFinalizer}},
		{rule: "PROT-010", name: "terminating without the finalizer: nothing", pv: newVolume(terminating, finalizers("example.com/x")),
			want: []string{"example.com/x"}},
		{rule: "PROT-011", name: "the finalizer is missing: added at the end", pv: newVolume(finalizers("example.com/x")),
			writes: []string{"update PersistentVolume/pv1"}, want: []string{"example.com/x", objects.VolumeProtectionFinalizer}},
		{rule: "PROT-011", name: "terminating and Released: removed",
			pv:     newVolume(terminating, finalizers(objects.VolumeProtectionFinalizer, "example.com/x")),
			writes: []string{"update PersistentVolume/pv1"}, want: []string{"example.com/x"}},
		{rule: "PROT-011", name: "the last finalizer: gone", pv: newVolume(terminating),
			writes: []string{"update PersistentVolume/pv1"}, gone: true},
		{rule: "PROT-012", name: "terminating and Bound: kept", pv: newVolume(terminating, phase(corev1.VolumeBound)),
			want: []string{objects.VolumeProtectionFinalizer}},
		{rule: "PROT-012", name: "Bound without claimRef: kept", pv: newVolume(terminating, phase(corev1.VolumeBound), claimRef(nil)),
			want: []string{objects.VolumeProtectionFinalizer}},
		{rule: "PROT-012", name: "Available with claimRef: lost (edge 22)", pv: newVolume(terminating, phase(corev1.VolumeAvailable)),
			writes: []string{"update PersistentVolume/pv1"}, gone: true},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			w := newFixture(t, options.Reclaimer{})
			w.Load(test.pv)
			w.must(reclaim.New(w.Engine, actors.PVProtection, nil))
			w.settle()
			equal(t, "writes", w.writes(0), test.writes)
			if test.gone {
				if w.hasVolume("pv1") {
					t.Errorf("the volume is still there")
				}
				return
			}
			equal(t, "finalizers", w.volume("pv1").Finalizers, test.want)
		})
	}
}

// PROT-013: a kept finalizer goes with the update to another phase; a failed write is retried after 5 ms, then 10 ms.
func TestVolumeProtectionRetry(t *testing.T) {
	w := newFixture(t, options.Reclaimer{})
	w.Load(newVolume(terminating, phase(corev1.VolumeBound)))
	failures := 2
	w.faults = append(w.faults, func(c api.Call) api.Fault {
		if c.Verb == "update" && failures > 0 {
			failures--
			return api.Fault{Err: errors.New("broken")}
		}
		return api.Fault{}
	})
	w.must(reclaim.New(w.Engine, actors.PVProtection, nil))
	w.settle()
	equal(t, "writes while Bound", w.writes(0), nil)

	w.Load(newVolume(terminating))
	w.Advance(14 * time.Millisecond)
	if !w.hasVolume("pv1") {
		t.Errorf("the volume went before the second retry")
	}
	w.Advance(time.Millisecond)
	if w.hasVolume("pv1") {
		t.Errorf("the volume is still there 15 ms after its release")
	}
}

func TestUsesClaim(t *testing.T) {
	claim := newClaim("c1", "c1-uid", "pv1")
	own := newClaim("p-scratch", "e-uid", "pv1")
	own.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "p-uid", Controller: ptr(true)}}
	foreign := newClaim("p-scratch", "f-uid", "pv1")
	foreign.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "p-uid"}}
	now := metav1.NewTime(engine.DefaultStart)
	direct := func(edit func(*corev1.Pod)) *corev1.Pod {
		pod := newPod("p", "c1")
		if edit != nil {
			edit(pod)
		}
		return pod
	}
	ephemeral := func(edit func(*corev1.Pod)) *corev1.Pod {
		pod := ephemeralVolume(newPod("p"), "scratch")
		if edit != nil {
			edit(pod)
		}
		return pod
	}
	unscheduled := func(pod *corev1.Pod) { pod.Spec.NodeName = "" }
	inPhase := func(phase corev1.PodPhase) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Status.Phase = phase }
	}
	deleted := func(grace int64) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &now, &grace }
	}
	elsewhere := func(pod *corev1.Pod) { pod.Namespace = "other" }
	tests := []struct {
		rule, name string
		pod        *corev1.Pod
		claim      *corev1.PersistentVolumeClaim
		want       bool
	}{
		{"PROT-026", "unscheduled (edge 18)", direct(unscheduled), claim, false},
		{"PROT-026", "unscheduled, ephemeral", ephemeral(unscheduled), own, false},
		{"PROT-026", "Pending", direct(inPhase(corev1.PodPending)), claim, true},
		{"PROT-026", "Running", direct(nil), claim, true},
		{"PROT-026", "Running, ephemeral", ephemeral(nil), own, true},
		{"PROT-026", "Succeeded (edge 18)", direct(inPhase(corev1.PodSucceeded)), claim, true},
		{"PROT-026", "Failed, ephemeral", ephemeral(inPhase(corev1.PodFailed)), own, true},
		{"PROT-026", "terminating with grace", direct(deleted(30)), claim, true},
		{"PROT-026", "terminating with grace, ephemeral", ephemeral(deleted(30)), own, true},
		{"PROT-026", "grace 0 (edge 21)", direct(deleted(0)), claim, true},
		{"PROT-026", "grace 0, ephemeral (edge 21)", ephemeral(deleted(0)), own, false},
		{"PROT-026", "another claim", newPod("p", "c2"), claim, false},
		{"PROT-026", "another namespace", direct(elsewhere), claim, false},
		{"PROT-026", "ephemeral, the pod is not the controller", ephemeral(nil), foreign, false},
		{"PROT-027", "the uid of the claim does not count", direct(nil), newClaim("c1", "another", ""), true},
		{"API-276", "a claim of an ephemeral volume belongs to its controller", ephemeral(nil), own, true},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			if got := reclaim.UsesClaim(test.pod, test.claim); got != test.want {
				t.Errorf("UsesClaim = %v, want %v", got, test.want)
			}
		})
	}
}

func TestTerminated(t *testing.T) {
	now := metav1.NewTime(engine.DefaultStart)
	running := corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	waiting := corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}}
	ended := corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}
	tests := []struct {
		rule, name string
		deleted    bool
		status     corev1.PodStatus
		want       bool
	}{
		{"RECL-066", "Pending", false, corev1.PodStatus{Phase: corev1.PodPending}, false},
		{"RECL-066", "Running", false, corev1.PodStatus{Phase: corev1.PodRunning}, false},
		{"RECL-066", "Succeeded", false, corev1.PodStatus{Phase: corev1.PodSucceeded}, true},
		{"RECL-066", "Failed", false, corev1.PodStatus{Phase: corev1.PodFailed}, true},
		{"RECL-066", "deleted, no statuses", true, corev1.PodStatus{Phase: corev1.PodRunning}, true},
		{"RECL-066", "deleted, nothing runs", true, corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{waiting, ended}}, true},
		{"RECL-066", "deleted, a container runs", true, corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{ended, running}}, false},
		{"RECL-066", "deleted, an init container runs", true, corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{running}}, false},
		{"RECL-066", "deleted, an ephemeral container runs", true,
			corev1.PodStatus{EphemeralContainerStatuses: []corev1.ContainerStatus{running}}, false},
		{"RECL-066", "not deleted, nothing runs", false, corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{ended}}, false},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			pod := newPod("p")
			pod.Status = test.status
			if test.deleted {
				pod.DeletionTimestamp = &now
			}
			if got := objects.Terminated(pod); got != test.want {
				t.Errorf("Terminated = %v, want %v", got, test.want)
			}
		})
	}
}

// deletedClaim is a claim that is being deleted and has the protection finalizer only.
func deletedClaim(name string) *corev1.PersistentVolumeClaim {
	claim := newClaim(name, "", "pv1")
	now := metav1.NewTime(engine.DefaultStart)
	claim.DeletionTimestamp = &now
	return claim
}

func (w *fixture) hasClaim(key string) bool {
	_, ok := w.Store().Claims.Lookup(key)
	return ok
}

func TestClaimProtection(t *testing.T) {
	unprotected := newClaim("c1", "", "")
	unprotected.Finalizers = []string{"example.com/x"}
	doneOtherwise := deletedClaim("c1")
	doneOtherwise.Finalizers = []string{"example.com/x"}
	unscheduled := newPod("p", "c1")
	unscheduled.Spec.NodeName = ""
	tests := []struct {
		rule, name string
		objects    []api.Object
		writes     []string
		gone       bool
		finalizers []string
	}{
		{rule: "PROT-020", name: "in order: nothing", objects: []api.Object{newClaim("c1", "", "")},
			finalizers: []string{objects.ClaimProtectionFinalizer}},
		{rule: "PROT-020", name: "terminating without the finalizer: nothing", objects: []api.Object{doneOtherwise},
			finalizers: []string{"example.com/x"}},
		{rule: "PROT-023", name: "missing: added at the end", objects: []api.Object{unprotected},
			writes: []string{"update PersistentVolumeClaim/default/c1"}, finalizers: []string{"example.com/x", objects.ClaimProtectionFinalizer}},
		{rule: "PROT-023", name: "terminating and unused: removed", objects: []api.Object{deletedClaim("c1")},
			writes: []string{"update PersistentVolumeClaim/default/c1"}, gone: true},
		{rule: "PROT-023", name: "terminating and used: kept", objects: []api.Object{deletedClaim("c1"), newPod("p", "c1")},
			finalizers: []string{objects.ClaimProtectionFinalizer}},
		{rule: "PROT-023", name: "terminating, the pod is unscheduled: removed", objects: []api.Object{deletedClaim("c1"), unscheduled},
			writes: []string{"update PersistentVolumeClaim/default/c1"}, gone: true},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			w := newFixture(t, options.Reclaimer{})
			w.Load(test.objects...)
			w.must(reclaim.New(w.Engine, actors.PVCProtection, nil))
			w.settle()
			equal(t, "writes", w.writes(0), test.writes)
			claim, ok := w.Store().Claims.Lookup("default/c1")
			if ok == test.gone {
				t.Fatalf("the claim exists: %v, want %v", ok, !test.gone)
			}
			if ok {
				equal(t, "finalizers", claim.Finalizers, test.finalizers)
			}
		})
	}
}

// PROT-021: which changes of a pod queue its claims.
func TestClaimProtectionPodEvents(t *testing.T) {
	running := newPod("p", "c1")
	succeeded := newPod("p", "c1")
	succeeded.Status.Phase = corev1.PodSucceeded
	replaced := newPod("p", "c2")
	replaced.UID = "another"
	tests := []struct {
		rule, name string
		change     func(w *fixture)
		gone       bool
		asked      bool // the claim was looked at, which takes a list of pods or a pod in the informer
	}{
		{"PROT-021", "the pod is deleted", func(w *fixture) {
			if _, err := w.Store().Pods.Delete("default/p", api.DeleteOptions{GracePeriodSeconds: ptr(int64(0))}); err != nil {
				w.T.Fatal(err)
			}
		}, true, true},
		{"PROT-021", "the pod runs on", func(w *fixture) {
			pod := *running
			pod.Labels = map[string]string{"a": "b"}
			w.Load(&pod)
		}, false, false},
		{"PROT-021", "the pod completes: looked at, but still in use", func(w *fixture) { w.Load(succeeded) }, false, true},
		{"PROT-021", "another pod takes its name in one update (edge 20)", func(w *fixture) { w.Load(replaced) }, true, true},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			w := newFixture(t, options.Reclaimer{})
			w.Load(deletedClaim("c1"), running)
			w.must(reclaim.New(w.Engine, actors.PVCProtection, nil))
			w.settle()
			since := w.Trace().Seq()
			test.change(w)
			w.settle()
			if got := !w.hasClaim("default/c1"); got != test.gone {
				t.Errorf("the claim is gone: %v, want %v", got, test.gone)
			}
			asked := w.decided(since, "PROT-026") || w.decided(since, "PROT-023")
			if asked != test.asked {
				t.Errorf("the claim was looked at: %v, want %v", asked, test.asked)
			}
		})
	}
}

// PROT-021: the claims of a pod are those of its volumes, ephemeral ones by their generated name.
func TestClaimsOf(t *testing.T) {
	got := objects.ClaimsOf(ephemeralVolume(newPod("p", "c1", "c2"), "scratch"))
	if want := []string{"default/c1", "default/c2", "default/p-scratch"}; !slices.Equal(got, want) {
		t.Errorf("PROT-021: ClaimsOf = %q, want %q", got, want)
	}
}

// lists counts the live lists of pods.
func (w *fixture) countLists() *[]string {
	var lists []string
	w.faults = append(w.faults, func(c api.Call) api.Fault {
		if c.Verb == "list" {
			lists = append(lists, c.Kind+" "+c.Key)
		}
		return api.Fault{}
	})
	return &lists
}

// PROT-022, PROT-024: one live list serves the claims of a namespace that come together; claims in use need none.
func TestClaimProtectionBatch(t *testing.T) {
	w := newFixture(t, options.Reclaimer{})
	lists := w.countLists()
	other := deletedClaim("c4")
	other.Namespace = "other"
	w.Load(deletedClaim("c1"), deletedClaim("c2"), deletedClaim("c3"), other, newPod("p", "c2"))
	w.must(reclaim.New(w.Engine, actors.PVCProtection, nil))
	w.settle()
	equal(t, "PROT-024: lists", *lists, []string{"Pod default", "Pod other"})
	equal(t, "PROT-022: writes", w.writes(0), []string{
		"update PersistentVolumeClaim/default/c1", "update PersistentVolumeClaim/default/c3", "update PersistentVolumeClaim/other/c4",
	})
}

// PROT-022: the failure of one claim leaves the rest of the batch alone. PROT-024: a list that failed is asked for again.
func TestClaimProtectionFailures(t *testing.T) {
	t.Run("PROT-022 one write fails", func(t *testing.T) {
		w := newFixture(t, options.Reclaimer{})
		failures := 1
		w.faults = append(w.faults, func(c api.Call) api.Fault {
			if c.Verb == "update" && c.Key == "default/c1" && failures > 0 {
				failures--
				return api.Fault{Err: errors.New("broken")}
			}
			return api.Fault{}
		})
		w.must(reclaim.New(w.Engine, actors.PVCProtection, nil))
		w.settle()
		w.Load(deletedClaim("c1"), deletedClaim("c2"))
		w.Advance(4 * time.Millisecond)
		equal(t, "writes at once", w.writes(0), []string{"update PersistentVolumeClaim/default/c2"})
		w.Advance(time.Millisecond)
		if w.hasClaim("default/c1") {
			t.Errorf("the claim was not retried after 5 ms")
		}
	})
	t.Run("PROT-024 the list fails once", func(t *testing.T) {
		w := newFixture(t, options.Reclaimer{})
		failures := 1
		w.faults = append(w.faults, func(c api.Call) api.Fault {
			if c.Verb == "list" && failures > 0 {
				failures--
				return api.Fault{Err: errors.New("broken")}
			}
			return api.Fault{}
		})
		w.must(reclaim.New(w.Engine, actors.PVCProtection, nil))
		w.settle()
		w.Load(deletedClaim("c1"), deletedClaim("c2"))
		w.Advance(4 * time.Millisecond)
		equal(t, "writes at once", w.writes(0), []string{"update PersistentVolumeClaim/default/c2"})
		w.settle()
		if w.hasClaim("default/c1") {
			t.Errorf("the claim whose list failed was not retried")
		}
	})
}

// PROT-024: a pod that the informer does not show yet keeps the claim all the same, because the server is asked (edge 19).
func TestClaimProtectionAsksTheServer(t *testing.T) {
	trace := &trace.Trace{}
	e, err := engine.New(engine.Config{Trace: trace, Lag: map[string]time.Duration{actors.PVCProtection: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Store().Load(deletedClaim("c1")); err != nil {
		t.Fatal(err)
	}
	if _, err := reclaim.New(e, actors.PVCProtection, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Store().Load(newPod("p", "c1")); err != nil {
		t.Fatal(err)
	}
	e.Advance(time.Minute)
	if _, ok := e.Store().Claims.Lookup("default/c1"); !ok {
		t.Errorf("PROT-024: the claim is gone although a scheduled pod uses it")
	}
}

// A crash forgets the batch; the next life begins with everything there is.
func TestClaimProtectionCrash(t *testing.T) {
	w := newFixture(t, options.Reclaimer{})
	w.Load(deletedClaim("c1"))
	crashes := 1
	w.faults = append(w.faults, func(c api.Call) api.Fault {
		if c.Verb == "update" && crashes > 0 {
			crashes--
			return api.Fault{Crash: true, Restart: time.Second}
		}
		return api.Fault{}
	})
	w.must(reclaim.New(w.Engine, actors.PVCProtection, nil))
	w.Advance(0)
	if !w.hasClaim("default/c1") {
		t.Fatalf("PROT-022: the claim went in spite of the crash")
	}
	w.Advance(time.Second)
	if w.hasClaim("default/c1") {
		t.Errorf("PROT-022: the claim is still there after the restart")
	}
}

// R1: protection, deletion finalizers and store together, without the PersistentVolume controller: PROT-001 puts the finalizers on,
// the controllers take them off.
func TestProtectionFromCreateToDelete(t *testing.T) {
	w := newFixture(t, options.Reclaimer{})
	w.must(reclaim.New(w.Engine, actors.PVProtection, nil))
	w.must(reclaim.New(w.Engine, actors.PVCProtection, nil))
	pv := newVolume(finalizers(), claimRef(nil))
	pv.UID, pv.Status = "", corev1.PersistentVolumeStatus{}
	claim := newClaim("c1", "", "")
	claim.Finalizers = nil
	for _, obj := range []api.Object{pv, claim} {
		if _, err := w.Store().Create(obj); err != nil {
			t.Fatalf("PROT-001: create: %v", err)
		}
	}
	w.settle()
	equal(t, "PROT-001: writes", w.writes(0), nil)
	w.Delete(api.PersistentVolume, "pv1")
	w.Delete(api.PersistentVolumeClaim, "default/c1")
	w.settle()
	if w.hasVolume("pv1") || w.hasClaim("default/c1") {
		t.Errorf("PROT-011, PROT-023: volume there: %v, claim there: %v; want neither", w.hasVolume("pv1"), w.hasClaim("default/c1"))
	}
}

func TestNewUnknownController(t *testing.T) {
	e, err := engine.New(engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reclaim.New(e, "other", nil); err == nil || !strings.Contains(err.Error(), `start "other"`) {
		t.Errorf("New(other): error %v, want one that names the controller", err)
	}
}
