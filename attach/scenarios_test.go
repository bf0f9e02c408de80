package attach_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	ms     = time.Millisecond
	sec    = time.Second
	minute = time.Minute

	attachedText = `Normal SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "pv1" `
	failedText   = `Warning FailedAttachVolume: AttachVolume.Attach failed for volume "pv1" : `
)

// The scenarios are those at the end of docs/rules/attach.md, by number. Times count from the first step; a tick of the reconciler
// is due 50 ms later.

// at50 lets time pass until 50 ms before a tick, and begins the log there.
func (w *fixture) at50() {
	w.T.Helper()
	w.Advance(sec + 50*ms)
	w.log()
	w.Mark()
}

// Scenario 1: attach.
func TestScenario01Attach(t *testing.T) {
	w := newFixture(t)
	w.at50()
	w.pod("p", "a", "c1")
	w.Advance(0)
	w.want("before the tick")
	w.Advance(5 * sec)
	w.want("ATT-061, ATT-100, ATT-110, ATT-145, ATT-172: attach",
		"50ms create VA h1@a",
		"50ms Attach h1@a OK",
		"550ms default/p "+attachedText,
		"650ms node a [h1]",
	)
	va := w.va("a")
	if !va.Status.Attached || va.Annotations["csi.alpha.kubernetes.io/node-id"] != "id-a" || len(va.Finalizers) != 1 ||
		va.Finalizers[0] != "external-attacher/d" {
		t.Errorf("ATT-005, ATT-172: the VolumeAttachment has finalizers %v, annotations %v, attached %v", va.Finalizers, va.Annotations,
			va.Status.Attached)
	}
	pv, _ := w.Store().Volumes.Get("pv1")
	if len(pv.Finalizers) == 0 || pv.Finalizers[len(pv.Finalizers)-1] != "external-attacher/d" {
		t.Errorf("ATT-172: the PersistentVolume has finalizers %v, want the attacher's", pv.Finalizers)
	}
}

// Scenario 2: the order of detaching.
func TestScenario02DetachOrder(t *testing.T) {
	w := newFixture(t)
	p := w.moved("p", "a", "c1", "h1")
	w.at50()
	w.kill(p)
	w.inUse("a")
	w.Advance(5 * sec)
	w.want("ATT-062, ATT-066, ATT-143, ATT-175: detach",
		"50ms node a []",
		"50ms delete VA h1@a",
		"50ms Detach h1@a OK",
	)
	if w.va("a") != nil {
		t.Error("ATT-175: the VolumeAttachment is still there")
	}
	pv, _ := w.Store().Volumes.Get("pv1")
	if pv.Finalizers[len(pv.Finalizers)-1] != "external-attacher/d" {
		t.Errorf("ATT-178: the PersistentVolume has lost the finalizer: %v", pv.Finalizers)
	}
}

// Scenario 3: a volume for one node moves.
func TestScenario03Move(t *testing.T) {
	w := newFixture(t)
	w.volume("pvx", "h1", "x/c1", corev1.ReadWriteOnce) // the same disk, for the namespace x
	p1 := w.moved("x/p1", "a", "c1", "h1")
	w.at50()
	w.pod("x/p2", "b", "c1")
	w.Advance(5 * minute)
	blocked := `Warning FailedAttachVolume: Multi-Attach error for volume "pvx" Volume is already used by pod(s) p1`
	w.want("ATT-070, ATT-071, ATT-072: blocked", "50ms x/p2 "+blocked)
	w.Mark()
	w.kill(p1)
	w.inUse("a")
	w.Advance(5 * sec)
	w.want("ATT-061: detached, then attached",
		"50ms node a []",
		"50ms delete VA h1@a",
		"50ms Detach h1@a OK",
		"650ms create VA h1@b",
		"650ms Attach h1@b OK",
		`1.15s x/p2 Normal SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "pvx" `,
		"1.25s node b [h1]",
	)
}

func TestScenario03Variants(t *testing.T) {
	t.Run("the blocking pod is deleted already", func(t *testing.T) {
		w := newFixture(t)
		p1 := w.moved("p1", "a", "c1", "h1")
		w.kill(p1) // but the volume stays in use
		w.at50()
		w.pod("p2", "b", "c1")
		w.Advance(sec)
		w.want("ATT-072: no pod is known", "50ms default/p2 Warning FailedAttachVolume: Multi-Attach error for volume \"pv1\" "+
			"Volume is already exclusively attached to one node and can't be attached to another")
	})
	t.Run("the blocking pod is in another namespace", func(t *testing.T) {
		w := newFixture(t)
		w.volume("pv2", "h1", "y/c2", corev1.ReadWriteOnce)
		w.moved("p1", "a", "c1", "h1")
		w.at50()
		w.pod("y/p2", "b", "c2")
		w.Advance(sec)
		w.want("ATT-001, ATT-072: no name", "50ms y/p2 Warning FailedAttachVolume: Multi-Attach error for volume \"pv2\" "+
			"Volume is already used by 1 pod(s) in different namespaces")
	})
}

// Scenario 4: a volume for many nodes.
func TestScenario04ReadWriteMany(t *testing.T) {
	w := newFixture(t)
	w.volume("many", "m1", "cm", corev1.ReadWriteMany)
	w.at50()
	pa := w.pod("pa", "a", "cm")
	w.pod("pb", "b", "cm")
	w.Advance(5 * sec)
	ok := ` Normal SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "many" `
	w.want("ATT-069, ATT-081, ATT-212, ATT-213: side by side",
		"50ms create VA m1@a",
		"50ms create VA m1@b",
		"50ms Attach m1@a OK",
		"50ms Attach m1@b OK",
		"550ms default/pa"+ok,
		"550ms default/pb"+ok,
		"650ms node a [m1]",
		"650ms node b [m1]",
	)
	w.inUse("b", "m1")
	w.Mark()
	w.kill(pa)
	w.Advance(5 * sec)
	w.want("detached from one node only", "50ms node a []", "50ms delete VA m1@a", "50ms Detach m1@a OK")
}

// Scenario 5: a volume stays mounted on a node that is ready.
func TestScenario05StuckHealthy(t *testing.T) {
	w := newFixture(t)
	p := w.moved("p", "a", "c1", "h1")
	w.at50()
	w.kill(p)
	w.Advance(30 * minute)
	w.want("ATT-064: without limit")
	w.wantAttached("ATT-062", "a", "h1")
	// The stored Node uses the volume again immediately; the controller does not check (ATT-063, ATT-064).
	w.Mark()
	gets := w.Faults.Fail(matchGetNode, errBroken)
	w.inUse("a")
	w.Advance(5 * sec)
	w.want("ATT-064: detached without the check", "50ms node a []", "50ms delete VA h1@a", "50ms Detach h1@a OK")
	if gets.Fired() != 0 {
		t.Errorf("ATT-064: the node was asked %d times, want none", gets.Fired())
	}
}

// Scenario 6: a volume stays mounted on a node that is dead.
func TestScenario06StuckDead(t *testing.T) {
	w := newFixture(t)
	p := w.moved("p", "a", "c1", "h1")
	w.ready("a", "Unknown")
	w.at50()
	gets := w.Faults.Fail(matchGetNode, errBroken)
	w.kill(p)
	w.Advance(6*minute + 60*ms)
	w.want("ATT-063, ATT-064: not yet")
	w.Advance(5 * sec)
	w.want("ATT-064: by force", "6m0.15s node a []", "6m0.15s delete VA h1@a", "6m0.15s Detach h1@a OK")
	if gets.Fired() != 0 {
		t.Errorf("ATT-064: the node was asked %d times, want none", gets.Fired())
	}
}

func TestScenario06WantedAgain(t *testing.T) {
	w := newFixture(t)
	p := w.moved("p", "a", "c1", "h1")
	w.ready("a", "Unknown")
	w.at50()
	w.kill(p)
	w.Advance(5 * minute)
	p2 := w.pod("p2", "a", "c1")
	w.Advance(2 * minute)
	w.want("ATT-073: the time is cleared")
	w.Mark()
	w.kill(p2)
	w.Advance(6*minute + 60*ms)
	w.want("ATT-045: it begins anew")
	w.Advance(sec)
	w.want("ATT-064", "6m0.15s node a []", "6m0.15s delete VA h1@a", "6m0.15s Detach h1@a OK")
}

// Scenario 7: forced detaching is disabled.
func TestScenario07ForceDisabled(t *testing.T) {
	w := newFixture(t, func(w *fixture) { w.cfg.DisableForceDetach = true })
	p := w.moved("p", "a", "c1", "h1")
	w.ready("a", "Unknown")
	w.at50()
	w.kill(p)
	w.Advance(60 * minute)
	w.want("ATT-063: never")
	w.Mark()
	w.taint("a")
	w.Advance(sec)
	w.want("ATT-063, ATT-064: the taint", "50ms node a []", "50ms delete VA h1@a", "50ms Detach h1@a OK")
}

// Scenario 8: a node goes down without grace.
func TestScenario08NodeShutdown(t *testing.T) {
	for _, csiNode := range []bool{true, false} {
		w := newFixture(t)
		if _, err := newPodGC(w); err != nil {
			t.Fatal(err)
		}
		p := w.moved("p", "a", "c1", "h1")
		w.ready("a", "Unknown")
		w.at50()
		w.delete(p)
		w.Advance(10 * minute)
		w.want("ATT-025, ATT-195: the pod stays")
		if !csiNode {
			w.delete(csiNodeNamed("a"))
		}
		w.Mark()
		w.taint("a")
		w.Advance(25 * sec)
		got := w.log()
		if len(got) != 3 || got[2][len(got[2])-len("Detach h1@a OK"):] != "Detach h1@a OK" {
			t.Errorf("ATT-175, ATT-196: this happened: %q, want the volume detached", got)
		}
		if _, there := w.Store().Pods.Lookup("default/p"); there {
			t.Error("ATT-196: the pod is still there")
		}
		if w.va("a") != nil {
			t.Error("ATT-005, ATT-175: the VolumeAttachment is still there")
		}
	}
}

// Scenario 9: pods that let go early.
func TestScenario09Early(t *testing.T) {
	t.Run("a pod that is complete", func(t *testing.T) {
		w := newFixture(t)
		p := w.moved("p", "a", "c1", "h1")
		w.at50()
		w.status(p, `{"status":{"phase":"Succeeded"}}`)
		w.Advance(sec)
		w.want("still mounted")
		w.Mark()
		w.inUse("a")
		w.Advance(sec)
		w.want("ATT-025, ATT-026", "50ms node a []", "50ms delete VA h1@a", "50ms Detach h1@a OK")
	})
	t.Run("a pod that never ran", func(t *testing.T) {
		w := newFixture(t)
		p := w.pod("p", "a", "c1")
		w.Advance(2 * sec)
		w.inUse("a")
		w.at50()
		w.delete(p)
		w.Advance(sec)
		w.want("ATT-025: without statuses nothing runs", "50ms node a []", "50ms delete VA h1@a", "50ms Detach h1@a OK")
	})
}

// Scenario 10: the driver refuses, then does it.
func TestScenario10AttachError(t *testing.T) {
	w := newFixture(t)
	w.at50()
	w.Faults.Fail(matchAttach, fakeInternal).Times(3)
	w.pod("p", "a", "c1")
	w.Advance(5700 * ms)
	internal := failedText + "rpc error: code = Internal desc = boom"
	w.want("ATT-084, ATT-100, ATT-142, ATT-171, ATT-174: errors",
		"50ms create VA h1@a",
		"50ms Attach h1@a Internal",
		"50ms Attach h1@a Internal",
		"550ms default/p "+internal,
		"1.05s Attach h1@a Internal",
		"1.65s default/p "+internal,
		"3.25s default/p "+internal,
		"5.05s Attach h1@a OK",
	)
	w.wantAttached("ATT-100", "a")
	w.Advance(5 * sec)
	w.want("ATT-142: success", "5.85s default/p "+attachedText, "5.95s node a [h1]")
}

// Scenario 11: no attacher runs.
func TestScenario11Timeout(t *testing.T) {
	w := newFixture(t, withoutAttacher)
	w.at50()
	p := w.pod("p", "a", "c1")
	w.Advance(125 * sec)
	w.want("ATT-145: too long",
		"50ms create VA h1@a",
		"2m0.05s default/p "+failedText+"timed out waiting for external-attacher of d CSI driver to attach volume h1",
	)
	w.wantAttached("ATT-100", "a")
	w.Mark()
	w.kill(p)
	w.Advance(4 * minute)
	// The second operation runs until 240.65 s after the pod came; the volume counts as mounted.
	w.want("ATT-044, ATT-213: the operation ends in its time, and nothing is detached",
		"1m55.65s default/p "+failedText+"timed out waiting for external-attacher of d CSI driver to attach volume h1")
	w.Mark()
	w.inUse("a")
	w.status(nodeNamed("a"), `{"status":{"phase":"Running"}}`)
	w.Advance(5 * sec)
	w.want("ATT-044, ATT-162, ATT-173: a node event, and it is gone at once", "50ms delete VA h1@a")
	if w.va("a") != nil {
		t.Error("ATT-162: the VolumeAttachment is still there")
	}
}
