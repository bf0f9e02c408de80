package reclaim_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/internal/proof/rig"
	"github.com/volsim/volsim/reclaim"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

var recycled = policy(corev1.PersistentVolumeReclaimRecycle)

func TestRecycleOperation(t *testing.T) {
	broken := errors.New("broken")
	pending := newPod("p", "c1")
	pending.Spec.NodeName, pending.Status.Phase = "", corev1.PodPending
	done := newPod("done", "c1")
	done.Status.Phase = corev1.PodSucceeded
	another := newPod("a", "c1")
	tests := []struct {
		rule, name string
		pv         *corev1.PersistentVolume
		objects    []api.Object
		noBackend  bool
		plugin     plugin
		prepare    func(w *fixture)
		calls      []string
		writes     []string
		events     []string
		phase      corev1.PersistentVolumePhase
		message    string
	}{
		{rule: "RECL-060", name: "a failure leaves no backoff", pv: newVolume(recycled),
			plugin:  plugin{err: map[storage.Op]error{storage.Recycle: broken}},
			prepare: func(w *fixture) { w.fail(hostName, "update-status PersistentVolume", broken) },
			calls:   []string{"Recycle pv1"}, phase: corev1.VolumeReleased},
		{rule: "RECL-061", name: "the volume cannot be read", pv: newVolume(recycled),
			prepare: func(w *fixture) { w.fail(hostName, "get PersistentVolume", broken) }, phase: corev1.VolumeReleased},
		{rule: "RECL-061", name: "claimed again meanwhile (edge 6)", pv: newVolume(recycled),
			prepare: func(w *fixture) { w.host.own["default/c1"] = newClaim("c1", "u1", "") }, phase: corev1.VolumeReleased},
		{rule: "RECL-062", name: "an unscheduled pod counts as a user (edge 8)", pv: newVolume(recycled), objects: []api.Object{pending},
			events: []string{"Normal VolumeFailedRecycle: Volume is used by pods: default/p"}, phase: corev1.VolumeReleased},
		{rule: "RECL-063", name: "users, sorted, in a Normal Event (edge 9)", pv: newVolume(recycled),
			objects: []api.Object{newPod("p", "c1"), another},
			events:  []string{"Normal VolumeFailedRecycle: Volume is used by pods: default/a,default/p"}, phase: corev1.VolumeReleased},
		{rule: "RECL-062", name: "a completed pod does not block (edge 8)", pv: newVolume(recycled), objects: []api.Object{done},
			calls: []string{"Recycle pv1"}, writes: []string{"update PersistentVolume/pv1", "update-status PersistentVolume/pv1"},
			events: []string{"Normal VolumeRecycled: Volume recycled"}, phase: corev1.VolumeAvailable},
		{rule: "RECL-068", name: "the pods belong to a new claim of that name", pv: newVolume(recycled),
			objects: []api.Object{newPod("p", "c1"), newClaim("c1", "u2", "")},
			calls:   []string{"Recycle pv1"}, writes: []string{"update PersistentVolume/pv1", "update-status PersistentVolume/pv1"},
			events: []string{"Normal VolumeRecycled: Volume recycled"}, phase: corev1.VolumeAvailable},
		{rule: "RECL-064", name: "no plugin", pv: newVolume(recycled), noBackend: true,
			writes:  []string{"update-status PersistentVolume/pv1"},
			events:  []string{"Warning VolumeFailedRecycle: No recycler plugin found for the volume!"},
			phase:   corev1.VolumeFailed,
			message: "No recycler plugin found for the volume!"},
		{rule: "RECL-064", name: "the plugin cannot recycle", pv: newVolume(recycled), plugin: plugin{cannot: []storage.Op{storage.Recycle}},
			writes:  []string{"update-status PersistentVolume/pv1"},
			events:  []string{"Warning VolumeFailedRecycle: No recycler plugin found for the volume!"},
			phase:   corev1.VolumeFailed,
			message: "No recycler plugin found for the volume!"},
		{rule: "RECL-065", name: "the plugin fails", pv: newVolume(recycled), plugin: plugin{err: map[storage.Op]error{storage.Recycle: broken}},
			calls: []string{"Recycle pv1"}, writes: []string{"update-status PersistentVolume/pv1"},
			events:  []string{"Warning VolumeFailedRecycle: Recycle failed: broken"},
			phase:   corev1.VolumeFailed,
			message: "Recycle failed: broken"},
		{rule: "RECL-065", name: "already Failed: no Event and no write (edges 2, 3)", pv: newVolume(recycled, phase(corev1.VolumeFailed)),
			plugin: plugin{err: map[storage.Op]error{storage.Recycle: broken}},
			calls:  []string{"Recycle pv1"}, phase: corev1.VolumeFailed},
		{rule: "RECL-067", name: "success: the Event comes before the unbinding", pv: newVolume(recycled),
			calls: []string{"Recycle pv1"}, writes: []string{"update PersistentVolume/pv1", "update-status PersistentVolume/pv1"},
			events: []string{"Normal VolumeRecycled: Volume recycled"}, phase: corev1.VolumeAvailable},
		{rule: "RECL-067", name: "the unbinding fails: nothing more", pv: newVolume(recycled),
			prepare: func(w *fixture) { w.fail(hostName, "update PersistentVolume", broken) },
			calls:   []string{"Recycle pv1"}, events: []string{"Normal VolumeRecycled: Volume recycled"}, phase: corev1.VolumeReleased},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			var backends []storage.Backend
			if !test.noBackend {
				test.plugin.name = "kubernetes.io/host-path"
				backends = append(backends, &test.plugin)
			}
			w := newFixture(t, options.Reclaimer{}, backends...)
			w.Load(append(test.objects, test.pv)...)
			if test.prepare != nil {
				test.prepare(w)
			}
			if err := w.reclaim("pv1"); err != nil {
				t.Errorf("Reclaim: %v, want nil", err)
			}
			equal(t, "calls", w.calls(0), test.calls)
			equal(t, "writes", w.writes(0), test.writes)
			equal(t, "events", w.events(0), test.events)
			pv := w.volume("pv1")
			if pv.Status.Phase != test.phase || pv.Status.Message != test.message {
				t.Errorf("phase = %s, message %q; want %s, %q", pv.Status.Phase, pv.Status.Message, test.phase, test.message)
			}
			// RECL-060: the operation counts as successful in any case.
			for entry := range w.Trace().Entries() {
				if entry.Type == trace.KeyFailed || entry.Type == trace.OperationFailed {
					t.Errorf("RECL-060: the operation failed: %v", entry.Err)
				}
			}
		})
	}
}

// RECL-069: phases are written on the version that the operation read, so a change before that is no conflict (contrast RECL-029).
func TestRecycleWritesOnTheLiveVersion(t *testing.T) {
	w := newFixture(t, options.Reclaimer{})
	w.Load(newVolume(recycled))
	captured := w.volume("pv1")
	changed := *captured
	changed.Labels = map[string]string{"changed": "yes"}
	w.Load(&changed)
	if err := w.reclaimAs(captured); err != nil {
		t.Fatalf("Reclaim: %v", err)
	}
	if got := w.volume("pv1").Status.Phase; got != corev1.VolumeFailed {
		t.Errorf("RECL-069: phase = %s, want Failed", got)
	}
}

func TestRecyclerPod(t *testing.T) {
	size := func(q string) volumeOption {
		return func(pv *corev1.PersistentVolume) {
			pv.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(q)}
		}
	}
	tests := []struct {
		rule, name string
		pv         *corev1.PersistentVolume
		deadline   int64
	}{
		{"RECL-070", "hostPath, 1Gi", newVolume(size("1Gi")), 60},
		{"RECL-070", "hostPath, just under 3Gi", newVolume(size("3071Mi")), 60},
		{"RECL-070", "hostPath, 3Gi", newVolume(size("3Gi")), 90},
		{"RECL-070", "NFS, 1Gi", newVolume(nfs, size("1Gi")), 300},
		{"RECL-070", "NFS, 20Gi", newVolume(nfs, size("20Gi")), 600},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			pod := reclaim.NewRecyclerPod(test.pv, "default")
			if *pod.Spec.ActiveDeadlineSeconds != test.deadline {
				t.Errorf("activeDeadlineSeconds = %d, want %d", *pod.Spec.ActiveDeadlineSeconds, test.deadline)
			}
			if pod.Name != "recycler-for-pv1" || pod.Spec.RestartPolicy != corev1.RestartPolicyNever {
				t.Errorf("pod %s with restartPolicy %s, want recycler-for-pv1 with Never", pod.Name, pod.Spec.RestartPolicy)
			}
			source := pod.Spec.Volumes[0].VolumeSource
			if source.NFS != test.pv.Spec.NFS || source.HostPath != test.pv.Spec.HostPath {
				t.Errorf("volume 0 = %+v, want the source of the volume", source)
			}
		})
	}
}

// podFixture recycles by pod; the pods run only if runner is set.
func podFixture(t *testing.T, runner bool, b *plugin) *fixture {
	t.Helper()
	b.name, b.byPod = "kubernetes.io/host-path", true
	w := newFixture(t, options.Reclaimer{}, b)
	if runner {
		w.must(reclaim.New(w.Engine, actors.RecyclerPodRunner, rig.Backends(t, b)))
	}
	w.Load(newVolume(recycled))
	return w
}

func (w *fixture) recyclerPod() *corev1.Pod {
	pod, _ := w.Store().Pods.Lookup("default/recycler-for-pv1")
	return pod
}

// R5: Released, pod, pod Succeeded, pod deleted, Event VolumeRecycled, unbind.
func TestRecycleByPod(t *testing.T) {
	w := podFixture(t, true, &plugin{})
	if err := w.reclaim("pv1"); err != nil {
		t.Fatalf("Reclaim: %v", err)
	}
	equal(t, "RECL-070, RECL-073: writes", w.writes(0), []string{
		"create Pod/default/recycler-for-pv1", "patch-status Pod/default/recycler-for-pv1", "delete Pod/default/recycler-for-pv1",
		"update PersistentVolume/pv1", "update-status PersistentVolume/pv1",
	})
	equal(t, "events", w.events(0), []string{"Normal VolumeRecycled: Volume recycled"})
	equal(t, "calls", w.calls(0), []string{"Recycle pv1"})
}

func TestRecyclerPodOutcome(t *testing.T) {
	broken := errors.New("broken")
	setStatus := func(phase corev1.PodPhase, message string) func(w *fixture) {
		return func(w *fixture) {
			pod := *w.recyclerPod()
			pod.Status.Phase, pod.Status.Message = phase, message
			if _, err := w.Store().UpdateStatus(&pod); err != nil {
				w.T.Fatal(err)
			}
		}
	}
	tests := []struct {
		rule, name string
		prepare    func(w *fixture)
		happens    func(w *fixture) // after a minute
		message    string           // of the volume; "" is success
		podLeft    bool
	}{
		{rule: "RECL-071", name: "a pod of that name is there: deleted, next time", prepare: func(w *fixture) {
			old := newPod("recycler-for-pv1")
			old.Spec.NodeName = ""
			w.Load(old)
		}, message: "Recycle failed: old recycler pod found, will retry later"},
		{rule: "RECL-071", name: "and it cannot be deleted", prepare: func(w *fixture) {
			w.Load(newPod("recycler-for-pv1"))
			w.fail(hostName, "delete Pod", broken)
		}, message: "Recycle failed: failed to delete old recycler pod default/recycler-for-pv1: broken", podLeft: true},
		{rule: "RECL-071", name: "the pod cannot be created", prepare: func(w *fixture) { w.fail(hostName, "create Pod", broken) },
			message: "Recycle failed: unexpected error creating recycler pod:  broken"},
		{rule: "RECL-072", name: "Succeeded", happens: setStatus(corev1.PodSucceeded, "")},
		{rule: "RECL-072", name: "Failed with a message", happens: setStatus(corev1.PodFailed, "disk full"),
			message: "Recycle failed: failed to recycle volume: disk full"},
		{rule: "RECL-072", name: "Failed without a message", happens: setStatus(corev1.PodFailed, ""),
			message: "Recycle failed: failed to recycle volume: pod failed, pod.Status.Message unknown"},
		{rule: "RECL-072", name: "deleted", happens: func(w *fixture) { w.Delete(api.Pod, "default/recycler-for-pv1") },
			message: "Recycle failed: failed to recycle volume: recycler pod was deleted"},
		{rule: "RECL-073", name: "done, but the pod cannot be deleted", prepare: func(w *fixture) { w.fail(hostName, "delete Pod", broken) },
			happens: setStatus(corev1.PodSucceeded, ""), message: "Recycle failed: failed to delete recycler pod: broken", podLeft: true},
		{rule: "RECL-073", name: "failed, and the pod cannot be deleted: the first error counts",
			prepare: func(w *fixture) { w.fail(hostName, "delete Pod", broken) },
			happens: setStatus(corev1.PodFailed, "disk full"), message: "Recycle failed: failed to recycle volume: disk full", podLeft: true},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			w := podFixture(t, false, &plugin{})
			if test.prepare != nil {
				test.prepare(w)
			}
			if err := w.reclaim("pv1"); err != nil {
				t.Fatalf("Reclaim: %v", err)
			}
			if test.happens != nil {
				// RECL-072: a minute has passed, and the operation still waits.
				if got := w.volume("pv1").Status.Phase; got != corev1.VolumeReleased {
					t.Fatalf("phase while the pod is there = %s, want Released", got)
				}
				test.happens(w)
				w.settle()
			}
			want := corev1.VolumeAvailable
			if test.message != "" {
				want = corev1.VolumeFailed
			}
			pv := w.volume("pv1")
			if pv.Status.Phase != want || pv.Status.Message != test.message {
				t.Errorf("phase = %s, message %q; want %s, %q", pv.Status.Phase, pv.Status.Message, want, test.message)
			}
			if left := w.recyclerPod() != nil; left != test.podLeft {
				t.Errorf("the pod is there: %v, want %v", left, test.podLeft)
			}
		})
	}
}

// RECL-072: Events about the pod show on the volume, repetitions do not; Events about others do not either.
func TestRecyclerPodEvents(t *testing.T) {
	w := podFixture(t, false, &plugin{})
	if err := w.reclaim("pv1"); err != nil {
		t.Fatalf("Reclaim: %v", err)
	}
	emit := func(name, about, message string, count int32) {
		w.Load(&corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: "default", Name: name},
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: about},
			Type:           corev1.EventTypeNormal, Reason: "Pulling", Message: message, Count: count,
		})
	}
	emit("e1", "recycler-for-pv1", "pulling image", 1)
	emit("e2", "other", "pulling image", 1)
	emit("e1", "recycler-for-pv1", "pulling image", 2)
	w.settle()
	equal(t, "events", w.events(0), []string{"Normal RecyclerPod: Recycler pod: pulling image"})
}

// RECL-070: a pod that would take longer than its deadline is ended by then, and the volume is not scrubbed.
func TestPodRunnerDeadline(t *testing.T) {
	tests := []struct {
		rule  string
		delay time.Duration
		phase corev1.PersistentVolumePhase
		calls []string
	}{
		{"RECL-070", 59 * time.Second, corev1.VolumeAvailable, []string{"Recycle pv1"}},
		{"RECL-070", 60 * time.Second, corev1.VolumeAvailable, []string{"Recycle pv1"}},
		{"RECL-070", 61 * time.Second, corev1.VolumeFailed, nil},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.rule, " ", test.delay), func(t *testing.T) {
			w := podFixture(t, true, &plugin{delay: map[storage.Op]time.Duration{storage.Recycle: test.delay}})
			if err := w.reclaim("pv1"); err != nil {
				t.Fatalf("Reclaim: %v", err)
			}
			w.settle()
			if got := w.volume("pv1").Status.Phase; got != test.phase {
				t.Errorf("phase = %s, want %s", got, test.phase)
			}
			equal(t, "calls", w.calls(0), test.calls)
		})
	}
}

// The runner reports what the plugin says, retries a write, and leaves other pods alone.
func TestPodRunner(t *testing.T) {
	t.Run("RECL-072 failure", func(t *testing.T) {
		w := podFixture(t, true, &plugin{err: map[storage.Op]error{storage.Recycle: errors.New("disk full")}})
		if err := w.reclaim("pv1"); err != nil {
			t.Fatalf("Reclaim: %v", err)
		}
		equal(t, "events", w.events(0), []string{"Warning VolumeFailedRecycle: Recycle failed: failed to recycle volume: disk full"})
	})
	t.Run("RECL-072 the write fails once", func(t *testing.T) {
		w := podFixture(t, true, &plugin{})
		failures := 1
		w.faults = append(w.faults, func(c api.Call) api.Fault {
			if c.Verb == "patch-status" && failures > 0 {
				failures--
				return api.Fault{Err: errors.New("broken")}
			}
			return api.Fault{}
		})
		if err := w.reclaim("pv1"); err != nil {
			t.Fatalf("Reclaim: %v", err)
		}
		if got := w.volume("pv1").Status.Phase; got != corev1.VolumeAvailable {
			t.Errorf("phase = %s, want Available", got)
		}
	})
	t.Run("RECL-070 other pods", func(t *testing.T) {
		w := podFixture(t, true, &plugin{})
		w.Load(newPod("p", "c1"))
		w.settle()
		equal(t, "writes", w.writes(0), nil)
	})
	t.Run("RECL-070 a pod that cannot be scheduled", func(t *testing.T) {
		w := newFixture(t, options.Reclaimer{})
		w.must(reclaim.New(w.Engine, actors.RecyclerPodRunner, nil))
		w.Load(reclaim.NewRecyclerPod(newVolume(), "default"))
		w.settle()
		pod := w.recyclerPod()
		if pod.Status.Phase != corev1.PodFailed || pod.Status.Message != "no volume plugin matched" {
			t.Errorf("phase = %s, message %q; want Failed, no volume plugin matched", pod.Status.Phase, pod.Status.Message)
		}
	})
}

// A crash of the controller while the pod runs leaves the pod behind; the next life finds it and tries again (RECL-071).
func TestRecycleCrash(t *testing.T) {
	w := podFixture(t, false, &plugin{})
	if err := w.reclaim("pv1"); err != nil {
		t.Fatalf("Reclaim: %v", err)
	}
	w.actor.Crash()
	w.actor.Start()
	if w.recyclerPod() == nil {
		t.Fatalf("RECL-073: the pod went with the controller")
	}
	for range 2 {
		if err := w.reclaim("pv1"); err != nil {
			t.Fatalf("Reclaim: %v", err)
		}
	}
	want := []string{"create", "delete", "update-status", "create"}
	var verbs []string
	for entry := range w.Trace().Entries() {
		if entry.Type == trace.Write && entry.Actor != api.User && entry.Err == nil {
			verbs = append(verbs, entry.Verb)
		}
	}
	if !slices.Equal(verbs, want) {
		t.Errorf("RECL-071: writes %q, want %q", verbs, want)
	}
}
