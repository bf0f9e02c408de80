package attach_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// stuckDetach lets the detachment from node a fail: the VolumeAttachment is terminating, with an error.
func stuckDetach(t *testing.T) (*fixture, *fake.Rule) {
	t.Helper()
	w := newFixture(t)
	p := w.moved("p", "a", "c1", "h1")
	w.at50()
	broken := w.Faults.Fail(matchDetach, fakeInternal)
	w.kill(p)
	w.inUse("a")
	w.Advance(sec)
	w.want("ATT-067, ATT-102, ATT-143: the detachment fails",
		"50ms node a []",
		"50ms delete VA h1@a",
		"50ms Detach h1@a Internal",
	)
	w.Advance(200 * ms)
	w.log()
	w.wantAttached("ATT-067", "a")
	if va := w.va("a"); va == nil || va.DeletionTimestamp == nil || va.Status.DetachError == nil {
		t.Fatalf("the VolumeAttachment is %v, want it terminating with an error", va)
	}
	return w, broken
}

// Scenario 12: detaching fails, and a pod returns to the node.
func TestScenario12SameNode(t *testing.T) {
	w, broken := stuckDetach(t)
	w.Advance(15 * sec) // the attacher's retries are 1, 3, 7, 15, 31 s after the first
	w.log()
	w.Mark()
	w.pod("p2", "a", "c1")
	w.Advance(2 * sec)
	got := w.log()
	want := failedText + "volume attachment is being deleted"
	fails := 0
	for _, line := range got {
		if strings.Contains(line, "VA h1@a") {
			t.Errorf("ATT-140: %q, want no VolumeAttachment made or deleted", line)
		}
		if strings.HasSuffix(line, want) {
			fails++
		}
	}
	if fails == 0 {
		t.Errorf("ATT-141: this happened: %q, want %q", got, want)
	}
	// The driver recovers: the attacher lets the VolumeAttachment go at its next retry, and the next operation makes a new one.
	broken.Times(1)
	w.Advance(2 * minute)
	lines := w.log()
	create := slices.IndexFunc(lines, func(l string) bool { return strings.HasSuffix(l, "create VA h1@a") })
	if create < 0 || !strings.HasSuffix(lines[len(lines)-1], "node a [h1]") {
		t.Errorf("ATT-003, ATT-140: this happened:\n%s\nwant a new VolumeAttachment, attached and published", strings.Join(lines, "\n"))
	}
}

// Scenario 12, variant (ii): the old VolumeAttachment vanishes before any component reads it.
func TestScenario12Vanishes(t *testing.T) {
	w, broken := stuckDetach(t)
	broken.Times(1)
	// The next retry of the attacher uses that up; the one after, at 7.05 s, lets the VolumeAttachment go.
	w.Advance(w.Begin.Add(6900 * ms).Sub(w.Now()))
	w.log()
	if w.va("a") == nil {
		t.Fatal("the VolumeAttachment is gone too early")
	}
	w.pod("p2", "a", "c1")
	w.Advance(3 * minute)
	got := w.log()
	timeout := failedText + "timed out waiting for external-attacher of d CSI driver to attach volume h1"
	i := slices.IndexFunc(got, func(l string) bool { return strings.HasSuffix(l, timeout) })
	create := slices.IndexFunc(got, func(l string) bool { return strings.HasSuffix(l, "create VA h1@a") })
	if i < 0 || create < i || !strings.HasSuffix(got[len(got)-1], "node a [h1]") {
		t.Errorf("ATT-147: this happened:\n%s\nwant a timeout, then a new VolumeAttachment, attached and published", strings.Join(got, "\n"))
	}
}

// Scenario 13: detaching fails, and a pod wants the volume on the other node.
func TestScenario13OtherNode(t *testing.T) {
	w, broken := stuckDetach(t)
	w.Mark()
	refused := w.Faults.Fail(fake.Match{Target: driver, Verb: string(storage.Attach), Node: "b"}, fakeInternal)
	w.pod("p2", "b", "c1")
	w.Advance(20 * sec)
	got := w.log()
	creates, deletes, warnings := 0, 0, 0
	for _, line := range got {
		switch {
		case strings.Contains(line, "Multi-Attach"):
			t.Errorf("ATT-070: %q, want none: the attachment to a is uncertain", line)
		case strings.HasSuffix(line, "create VA h1@b"):
			creates++
		case strings.HasSuffix(line, "delete VA h1@a"):
			deletes++
		case strings.Contains(line, "AttachVolume.Attach failed"):
			warnings++
		}
	}
	// Operations take 0.5 s each, and alternate at the speed of ticks: about 1.2 s for both.
	if creates != 1 || deletes < 14 || warnings < 14 {
		t.Errorf("ATT-089: %d created, %d deletions, %d warnings in 20 s, want 1 and at least 14 each:\n%s", creates, deletes, warnings,
			strings.Join(got, "\n"))
	}
	broken.Times(1)
	refused.Times(1)
	w.Advance(6 * minute)
	w.wantAttached("ATT-214: in the end", "b", "h1")
	if w.va("a") != nil {
		t.Error("ATT-144: the VolumeAttachment of a is still there")
	}
}

// Scenario 14: a node's status cannot be written.
func TestScenario14NodeWriteFails(t *testing.T) {
	w := newFixture(t)
	p := w.moved("p", "a", "c1", "h1")
	w.at50()
	w.Faults.Fail(matchNodeList, errBroken).Once()
	w.kill(p)
	w.inUse("a")
	w.Advance(5 * sec)
	w.want("ATT-066, ATT-067, ATT-113: nothing is deleted before the node knows",
		"50ms node a: error",
		"50ms node a unchanged", // step (3) of the pass
		"150ms node a []",
		"150ms delete VA h1@a",
		"150ms Detach h1@a OK",
	)
}

// Scenario 15: the node uses the volume, and the cache is not up to date.
func TestScenario15SafeCheck(t *testing.T) {
	w := newFixture(t, func(w *fixture) { w.lag = 10 * sec })
	p := w.pod("p", "a", "c1")
	w.inUse("a", "h1")
	w.Advance(minute)
	w.wantAttached("at first", "a", "h1")
	w.at50()
	w.kill(p)
	w.inUse("a")
	w.Advance(9990 * ms)
	w.inUse("a", "h1")
	w.Advance(4 * sec)
	w.want("ATT-103, ATT-104: not detached", "10.05s node a []")
	if va := w.va("a"); va == nil || va.DeletionTimestamp != nil {
		t.Errorf("ATT-102: the VolumeAttachment is %v, want it untouched", va)
	}
	// Tries were at 10.05, 10.65, 11.75 and 13.85 s; the next is more than 4 s after.
	w.inUse("a")
	w.Advance(5 * sec)
	w.want("ATT-084: the next try", "17.95s delete VA h1@a", "17.95s Detach h1@a OK")
}

// Scenario 16: the controller restarts, and the pod has gone meanwhile.
func TestScenario16RestartPodGone(t *testing.T) {
	w := newFixture(t)
	p := w.moved("p", "a", "c1", "h1")
	w.restart(func() {
		w.kill(p)
		w.inUse("a")
	})
	w.Advance(5 * sec)
	w.want("ATT-107, ATT-131, ATT-135: detached without a spec", "0s node a []", "0s delete VA h1@a", "0s Detach h1@a OK")
}

// Scenario 17: the controller restarts during a detachment.
func TestScenario17RestartDetaching(t *testing.T) {
	w, broken := stuckDetach(t)
	w.restart(nil)
	w.Advance(20 * minute)
	for _, line := range w.log() {
		if !strings.Contains(line, "Detach h1@a") { // the attacher goes on
			t.Errorf("ATT-044, ATT-132, ATT-135: %q, want nothing until the node says something", line)
		}
	}
	broken.Times(1)
	w.Mark()
	w.status(nodeNamed("a"), `{"status":{"phase":"Running"}}`)
	w.Advance(11 * minute)
	// Each wait finds the old error at its first check; the attacher succeeds in its own time, and a DELETE of a missing object ends it.
	w.want("ATT-084, ATT-135, ATT-144: deleted again until it is gone",
		"100ms delete VA h1@a",
		"1.2s delete VA h1@a",
		"2.8s delete VA h1@a",
		"5.4s delete VA h1@a",
		"10s delete VA h1@a",
		"18.6s delete VA h1@a",
		"35.2s delete VA h1@a",
		"1m7.8s delete VA h1@a",
		"2m12.4s delete VA h1@a",
		"3m29.85s Detach h1@a Internal",
		"4m15s delete VA h1@a",
		"6m17.6s delete VA h1@a",
		"8m20.2s delete VA h1@a",
		"8m29.85s Detach h1@a OK",
		"10m22.8s delete VA h1@a: error",
	)
}

// Scenario 18: the controller restarts, and the node has gone meanwhile.
func TestScenario18RestartNodeGone(t *testing.T) {
	for _, volume := range []bool{true, false} {
		w := newFixture(t)
		p := w.moved("p", "a", "c1", "h1")
		w.restart(func() {
			w.kill(p)
			w.delete(nodeNamed("a"))
			w.delete(csiNodeNamed("a"))
			if !volume {
				pv, _ := w.Store().Volumes.Get("pv1")
				w.main(pv, `{"metadata":{"finalizers":null}}`)
				w.delete(pv)
			}
		})
		w.Advance(6*minute + 50*ms)
		w.want("ATT-132: nothing yet")
		w.Advance(minute)
		if volume {
			w.want("ATT-064, ATT-135, ATT-175: by force", "6m0.1s delete VA h1@a", "6m0.1s Detach h1@a OK")
			continue
		}
		w.want("ATT-132: never")
		if w.va("a") == nil {
			t.Error("ATT-132: the VolumeAttachment is gone, want it to stay")
		}
	}
}

// Scenario 19: an attachment is lost behind the controller's back.
func TestScenario19Sync(t *testing.T) {
	t.Run("status.attached", func(t *testing.T) {
		w := newFixture(t)
		w.moved("p", "a", "c1", "h1") // until 2 s; the first pass was at 0 s
		w.Faults.Fail(matchAttach, fakeInternal).Times(2)
		w.status(w.va("a"), `{"status":{"attached":false}}`)
		w.Advance(57 * sec)
		w.want("ATT-120: nothing before a minute is over", "0s Attach h1@a Internal", "1s Attach h1@a Internal", "3s Attach h1@a OK")
	})
	t.Run("status.attached, and no attacher", func(t *testing.T) {
		w := newFixture(t)
		w.moved("p", "a", "c1", "h1")
		ea, _ := w.Actor(actors.Attacher(driver))
		ea.Crash()
		w.status(w.va("a"), `{"status":{"attached":false}}`)
		w.Advance(minute)
		// The 60 s are over at 60 s; the tick after that is at 60.1 s; the log begins at 2 s.
		w.want("ATT-120, ATT-121, ATT-122: forgotten", "58.2s node a []")
		ea.Start()
		w.Advance(10 * sec)
		got := w.log()
		if len(got) < 2 || !strings.HasSuffix(got[len(got)-1], "node a [h1]") {
			t.Errorf("ATT-122: this happened: %q, want it attached and published again", got)
		}
	})
	t.Run("deleted", func(t *testing.T) {
		w := newFixture(t)
		w.moved("p", "a", "c1", "h1")
		w.Advance(10 * minute)
		w.delete(w.va("a"))
		w.Advance(2 * minute)
		// Verifications are 60.1 s apart; the log begins at 2 s.
		w.want("ATT-120, ATT-121: attached again",
			"10m0s Detach h1@a OK",
			"10m59.2s node a []",
			"10m59.2s create VA h1@a",
			"10m59.2s Attach h1@a OK",
			"10m59.7s default/p "+attachedText,
			"10m59.8s node a [h1]",
		)
	})
	t.Run("disabled", func(t *testing.T) {
		w := newFixture(t, func(w *fixture) { w.cfg.SyncPeriod = -1 })
		w.moved("p", "a", "c1", "h1")
		w.delete(w.va("a"))
		w.Advance(10 * minute)
		w.want("ATT-120: never", "0s Detach h1@a OK")
	})
}

// Scenario 20: a driver that needs no attaching.
func TestScenario20NoAttach(t *testing.T) {
	no := false
	replace := func(w *fixture) {
		w.delete(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driver}})
		w.Create(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driver}, Spec: storagev1.CSIDriverSpec{AttachRequired: &no}})
	}
	t.Run("from the start", func(t *testing.T) {
		w := newFixture(t)
		replace(w)
		w.Advance(0)
		w.pod("p", "a", "c1")
		w.Advance(5 * minute)
		w.want("ATT-010: nothing")
	})
	t.Run("changed", func(t *testing.T) {
		w := newFixture(t)
		p := w.moved("p", "a", "c1", "h1")
		replace(w)
		w.Advance(2 * minute)
		w.want("ATT-013, ATT-034: out of what is desired, but mounted")
		w.Mark()
		w.inUse("a")
		w.status(p, `{"status":{"message":"still here"}}`)
		w.Advance(5 * minute)
		w.want("ATT-034, ATT-106: detached, and not attached again", "100ms node a []", "100ms delete VA h1@a", "100ms Detach h1@a OK")
	})
}

// Scenario 21: a node that is not managed.
func TestScenario21Unmanaged(t *testing.T) {
	w := newFixture(t)
	w.main(nodeNamed("b"), `{"metadata":{"annotations":null}}`)
	w.Create(fake.Node("u"), &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "u"},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: driver, NodeID: "u"}}}})
	w.Advance(sec)
	w.pod("p", "u", "c1")
	w.Advance(10 * sec)
	w.want("ATT-021, ATT-025: ignored")
	w.main(nodeNamed("u"), `{"metadata":{"annotations":{"`+objects.AnnManagedAttach+`":"whatever"}}}`)
	w.Advance(2 * minute)
	w.want("ATT-027: a node event is not enough")
	w.Advance(minute)
	// Passes of the populator are at whole minutes, lists at 0, 3, 6 min.
	got := w.log()
	if len(got) == 0 || !strings.HasPrefix(got[0], "3m0.1s create VA") {
		t.Errorf("ATT-035: this happened: %q, want it attached after the list at 3 min", got)
	}
	// Without the annotation it stays managed.
	w2 := newFixture(t)
	w2.main(nodeNamed("a"), `{"metadata":{"annotations":null}}`)
	w2.at50()
	w2.pod("p", "a", "c1")
	w2.Advance(200 * ms)
	w2.want("ATT-021: the annotation may go", "50ms create VA h1@a", "50ms Attach h1@a OK")
}

// Scenario 22: a node is created again.
func TestScenario22NodeRecreated(t *testing.T) {
	w := newFixture(t)
	w.moved("p", "a", "c1", "h1")
	w.at50()
	w.delete(nodeNamed("a"))
	w.Advance(minute)
	w.want("ATT-022: nothing")
	w.Mark()
	again := fake.Node("a")
	again.Annotations = map[string]string{objects.AnnManagedAttach: ""}
	w.Create(again)
	w.Advance(sec)
	w.want("ATT-049, ATT-115: the list is restored", "50ms node a [h1]")

	w = newFixture(t)
	p := w.moved("p", "a", "c1", "h1")
	w.delete(nodeNamed("a"))
	w.kill(p)
	w.Advance(minute)
	w.want("ATT-022, ATT-043: what it said last stays")
	w.at50()
	w.Create(again)
	w.Advance(sec)
	w.want("ATT-115: detached", "50ms node a unchanged", "50ms delete VA h1@a", "50ms Detach h1@a OK")
}

// Scenario 23: the claim is bound late.
func TestScenario23LateBinding(t *testing.T) {
	pending := func(t *testing.T) (*fixture, *corev1.PersistentVolumeClaim) {
		w := newFixture(t)
		claim := fake.Claim("late", "1Gi", fake.VolumeName("pv2"))
		w.Create(claim)
		claim, _ = w.Store().Claims.Get("default/late")
		w.handles = append(w.handles, "h2")
		w.pod("p", "a", "late")
		w.Advance(10 * sec)
		w.want("ATT-011: nothing yet")
		return w, claim
	}
	t.Run("bound", func(t *testing.T) {
		w, claim := pending(t)
		w.at50()
		w.Create(fake.Volume("pv2", "1Gi", fake.CSISource(driver, "h2"), fake.ForClaim("late", claim.UID)))
		w.status(claim, `{"status":{"phase":"Bound"}}`)
		w.Advance(100 * ms)
		w.want("ATT-031", "50ms create VA h2@a", "50ms Attach h2@a OK")
	})
	t.Run("the volume comes after the claim", func(t *testing.T) {
		w, claim := pending(t)
		w.Create(fake.Volume("pv2", "1Gi", fake.CSISource(driver, "h2"), fake.ForClaim("late")))
		w.status(claim, `{"status":{"phase":"Bound"}}`)
		w.Advance(sec)
		w.main(&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv2"}}, `{"spec":{"claimRef":{"uid":"`+string(claim.UID)+`"}}}`)
		w.Advance(3*minute - 11*sec)
		w.want("ATT-031: nothing tries again before the list")
		w.Advance(sec)
		w.want("ATT-035", "3m0.1s create VA h2@a", "3m0.1s Attach h2@a OK",
			`3m0.6s default/p Normal SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "pv2" `, "3m0.7s node a [h2]")
	})
}

// Scenario 24: a volume is deleted while it is attached.
func TestScenario24VolumeDeleted(t *testing.T) {
	w := newFixture(t)
	p := w.moved("p", "a", "c1", "h1")
	pv, _ := w.Store().Volumes.Get("pv1")
	w.delete(pv)
	w.main(pv, `{"metadata":{"finalizers":["external-attacher/d"]}}`)
	w.Advance(minute)
	if pv, ok := w.Store().Volumes.Lookup("pv1"); !ok || !slices.Contains(pv.Finalizers, "external-attacher/d") {
		t.Fatalf("ATT-178: the PersistentVolume is %v, want the attacher's finalizer on it", pv)
	}
	name := "pv1"
	w.Create(&storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "new"},
		Spec: storagev1.VolumeAttachmentSpec{Attacher: driver, NodeName: "b",
			Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &name}}})
	w.Advance(sec)
	other, _ := w.Store().Attachments.Get("new")
	if other.Status.AttachError == nil || len(other.Finalizers) > 0 {
		t.Errorf("ATT-172, ATT-173: the new VolumeAttachment has error %v and finalizers %v, want an error and none", other.Status.AttachError,
			other.Finalizers)
	}
	w.log()
	w.delete(other)
	if _, there := w.Store().Attachments.Lookup("new"); there {
		t.Error("ATT-173: without the finalizer it is gone at once")
	}
	w.at50()
	w.kill(p)
	w.inUse("a")
	w.Advance(sec)
	w.want("ATT-175: a volume that is being deleted is detached", "50ms node a []", "50ms delete VA h1@a", "50ms Detach h1@a OK")
	if pv, there := w.Store().Volumes.Lookup("pv1"); there {
		t.Errorf("ATT-178: the PersistentVolume is still there, with finalizers %v", pv.Finalizers)
	}
}

// Scenario 25: the driver says that the node is full.
func TestScenario25Limits(t *testing.T) {
	w := newFixture(t)
	node := csiNodeNamed("a")
	w.main(node, `{"spec":{"drivers":[{"name":"d","nodeID":"id-a","topologyKeys":null,"allocatable":{"count":1}}]}}`)
	w.moved("p", "a", "c1", "h1")
	w.volume("pv2", "h2", "c2", corev1.ReadWriteOnce)
	w.at50()
	w.Faults.Fail(matchAttach, storage.Errorf(storage.ResourceExhausted, "full"))
	w.pod("p2", "a", "c2")
	w.Advance(600 * ms)
	w.want("ATT-074, ATT-190: attached regardless of the limit",
		"50ms create VA h2@a",
		"50ms Attach h2@a ResourceExhausted",
		"50ms Attach h2@a ResourceExhausted",
		`550ms default/p2 Warning FailedAttachVolume: AttachVolume.Attach failed for volume "pv2" : rpc error: code = ResourceExhausted desc = full`,
	)
	va, _ := w.Store().Attachments.Get(objects.AttachmentName("h2", driver, "a"))
	if e := va.Status.AttachError; e == nil || e.ErrorCode == nil || *e.ErrorCode != 8 {
		t.Errorf("ATT-192: the error is %v, want code 8", e)
	}
	w.wantAttached("ATT-100", "a", "h1")
}
