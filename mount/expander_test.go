package mount

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// The status of a claim decides who expands (MNT-412, MNT-926).
func TestJudge(t *testing.T) {
	annotated := func(c *corev1.PersistentVolumeClaim) {
		c.Annotations = map[string]string{objects.AnnNodeExpansionNotRequired: "true"}
	}
	for _, tc := range []struct {
		rule, name string
		capacity   string
		status     corev1.ClaimResourceStatus
		mode       corev1.PersistentVolumeAccessMode
		change     func(*corev1.PersistentVolumeClaim)
		want       nodeStep
	}{
		{"MNT-412", "the size is there", "2Gi", "", corev1.ReadWriteOnce, nil, finished},
		{"MNT-412", "more than the size is there", "3Gi", "", corev1.ReadWriteOnce, nil, finished},
		{"MNT-412", "on another node it is there", "2Gi", "", corev1.ReadWriteMany, nil, repeats},
		{"MNT-412", "nodes need not care", "2Gi", "", corev1.ReadWriteMany, annotated, finished},
		{"MNT-412", "the controller is not so far", "1Gi", "", corev1.ReadWriteOnce, nil, waits},
		{"MNT-412", "the controller is not so far, for many", "1Gi", "", corev1.ReadWriteMany, nil, waits},
		{"EXP-040", "the node is next", "1Gi", pending, corev1.ReadWriteOnce, nil, expands},
		{"EXP-040", "a node has begun", "1Gi", inProgress, corev1.ReadWriteOnce, nil, expands},
		{"MNT-925", "no node can", "1Gi", infeasible, corev1.ReadWriteOnce, nil, waits},
		{"MNT-412", "the controller works", "1Gi", corev1.PersistentVolumeClaimControllerResizeInProgress, corev1.ReadWriteOnce, nil, waits},
		{"MNT-412", "the controller cannot", "2Gi", corev1.PersistentVolumeClaimControllerResizeInfeasible, corev1.ReadWriteMany, nil, waits},
	} {
		t.Run(tc.rule+" "+tc.name, func(t *testing.T) {
			claim := fake.Claim("c1", "2Gi")
			claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{tc.mode}
			objects.SetClaimCapacity(claim, resource.MustParse(tc.capacity))
			objects.SetResizeStatus(claim, tc.status)
			if tc.change != nil {
				tc.change(claim)
			}
			want(t, "judge", nextStep(claim, resource.MustParse("2Gi")), tc.want)
		})
	}
}

// How an online expansion ends (MNT-393, MNT-414 to MNT-422, EXP-042).
func TestOnlineExpansionEnds(t *testing.T) {
	const note = "patch-status 1Gi NodeResizeInProgress"
	const conditions = " Resizing Other FileSystemResizePending NodeResizeError"
	failure := func(text string) string {
		return `VolumeResizeFailed default/p1: NodeExpandVolume.NodeExpandVolume failed for volume "pv1" : ` + text
	}
	legacy := func(c *corev1.PersistentVolumeClaim) {
		c.Status.AllocatedResources, c.Status.AllocatedResourceStatuses = nil, nil
	}
	done := func(c *corev1.PersistentVolumeClaim) {
		objects.SetClaimCapacity(c, resource.MustParse("2Gi"))
		objects.SetResizeStatus(c, "")
	}
	cannot := func(s *setup) { s.driver = []fake.MemoryOption{fake.Without(storage.NodeExpand)} }
	many := func(s *setup) { s.volume = []fake.Option{fake.Modes("RWX")} }
	for _, tc := range []struct {
		rule, name string
		options    []func(*setup)
		prepare    func(w *fixture)
		change     func(*corev1.PersistentVolumeClaim)
		steps      []string
		claim      string
		events     []string
		size       string
	}{
		{rule: "MNT-416", name: "infeasible", prepare: func(w *fixture) { w.failing(storage.NodeExpand, storage.InvalidArgument) },
			steps:  []string{note, "NodeExpand h1 = InvalidArgument", "patch-status 1Gi NodeResizeInfeasible"},
			claim:  "1Gi of 2Gi NodeResizeInfeasible" + conditions,
			events: []string{failure("Expander.NodeExpand failed to expand the volume rpc error: code = InvalidArgument desc = no")}, size: "1Gi"},
		{rule: "MNT-416", name: "not found", prepare: func(w *fixture) { w.failing(storage.NodeExpand, storage.NotFound) },
			steps:  []string{note, "NodeExpand h1 = NotFound", "patch-status 1Gi NodeResizeInfeasible"},
			claim:  "1Gi of 2Gi NodeResizeInfeasible" + conditions,
			events: []string{failure("Expander.NodeExpand failed to expand the volume rpc error: code = NotFound desc = no")}, size: "1Gi"},
		{rule: "MNT-418", name: "another error, then success",
			prepare: func(w *fixture) { w.failing(storage.NodeExpand, storage.Internal).Times(1) },
			steps:   []string{note, "NodeExpand h1 = Internal", note, note, "NodeExpand h1", "patch-status 2Gi "},
			claim:   "2Gi of 2Gi Other",
			events: []string{failure("Expander.NodeExpand failed to expand the volume : rpc error: code = Internal desc = no"),
				"FileSystemResizeSuccessful default/p1: " + succeeded, "FileSystemResizeSuccessful default/c1: " + succeeded}, size: "2Gi"},
		{rule: "MNT-418", name: "the driver cannot", options: []func(*setup){cannot},
			steps: []string{note, note}, claim: "1Gi of 2Gi NodeResizeInProgress" + conditions,
			events: []string{failure("NodeExpand is not supported by the CSI driver d")}, size: "1Gi"},
		{rule: "MNT-422", name: "no answer is a final error",
			prepare: func(w *fixture) { w.failing(storage.NodeExpand, storage.DeadlineExceeded).Times(1) },
			steps:   []string{note, "NodeExpand h1 = DeadlineExceeded", note, note, "NodeExpand h1", "patch-status 2Gi "},
			claim:   "2Gi of 2Gi Other",
			events: []string{failure("Expander.NodeExpand failed to expand the volume : rpc error: code = DeadlineExceeded desc = no"),
				"FileSystemResizeSuccessful default/p1: " + succeeded, "FileSystemResizeSuccessful default/c1: " + succeeded}, size: "2Gi"},
		{rule: "MNT-430", name: "a claim that has lost its capacity", change: func(c *corev1.PersistentVolumeClaim) { c.Status.Capacity = nil },
			steps: []string{"patch-status 0 NodeResizeInProgress", "NodeExpand h1", "patch-status 0 NodeResizeInProgress", "NodeExpand h1"},
			claim: "0 of 2Gi NodeResizeInProgress Resizing Other FileSystemResizePending",
			events: []string{"FileSystemResizeSuccessful default/p1: " + succeeded, "FileSystemResizeSuccessful default/c1: " + succeeded,
				"FileSystemResizeSuccessful default/p1: " + succeeded, "FileSystemResizeSuccessful default/c1: " + succeeded}, size: "1Gi"},
		{rule: "MNT-420", name: "the driver is not there", prepare: func(w *fixture) { w.node.Unregister(driverName) },
			steps: []string{note}, claim: "1Gi of 2Gi NodeResizeInProgress Resizing Other FileSystemResizePending",
			events: []string{failure("driver name d not found in the list of registered CSI drivers")}, size: "1Gi"},
		{rule: "MNT-415", name: "the driver cannot, and need not", options: []func(*setup){cannot, many}, change: done,
			claim: "2Gi of 2Gi Resizing Other FileSystemResizePending", size: "2Gi"},
		{rule: "MNT-926", name: "no error where it need not", options: []func(*setup){cannot, many}, change: done,
			claim: "2Gi of 2Gi Resizing Other FileSystemResizePending", size: "2Gi"},
		{rule: "MNT-412", name: "another node was first, but every node expands", options: []func(*setup){many}, change: done,
			steps: []string{"NodeExpand h1"}, claim: "2Gi of 2Gi Resizing Other FileSystemResizePending",
			events: []string{"FileSystemResizeSuccessful default/p1: " + succeeded,
				"FileSystemResizeSuccessful default/c1: " + succeeded}, size: "2Gi"},
		{rule: "MNT-412", name: "the controller did it all", change: done, claim: "2Gi of 2Gi Resizing Other FileSystemResizePending",
			size: "2Gi"},
		{rule: "MNT-421", name: "without notes", change: legacy, steps: []string{"NodeExpand h1", "patch-status 2Gi "}, claim: "2Gi of 0 Other",
			events: []string{"FileSystemResizeSuccessful default/p1: " + succeeded,
				"FileSystemResizeSuccessful default/c1: " + succeeded}, size: "2Gi"},
		{rule: "MNT-421", name: "without notes, and the claim has it", change: func(c *corev1.PersistentVolumeClaim) { done(c); legacy(c) },
			steps: []string{"NodeExpand h1"}, claim: "2Gi of 0 Resizing Other FileSystemResizePending",
			events: []string{"FileSystemResizeSuccessful default/p1: " + succeeded,
				"FileSystemResizeSuccessful default/c1: " + succeeded}, size: "2Gi"},
		{rule: "MNT-421", name: "without notes, and the driver cannot", options: []func(*setup){cannot}, change: legacy,
			claim: "1Gi of 0 Resizing Other FileSystemResizePending", size: "2Gi"},
		{rule: "MNT-421", name: "without notes, in use",
			prepare: func(w *fixture) { w.failing(storage.NodeExpand, storage.FailedPrecondition) }, change: legacy,
			steps: []string{"NodeExpand h1 = FailedPrecondition"}, claim: "1Gi of 0 Resizing Other FileSystemResizePending", size: "2Gi"},
		{rule: "MNT-421", name: "without notes, infeasible", prepare: func(w *fixture) { w.failing(storage.NodeExpand, storage.OutOfRange) },
			change: legacy,
			steps:  []string{"NodeExpand h1 = OutOfRange"}, claim: "1Gi of 0 Resizing Other FileSystemResizePending",
			events: []string{failure("Expander.NodeExpand failed to expand the volume rpc error: code = OutOfRange desc = no")}, size: "1Gi"},
	} {
		t.Run(tc.rule+" "+tc.name, func(t *testing.T) {
			w := newFixture(t, tc.options...)
			w.run("p1")
			if tc.prepare != nil {
				tc.prepare(w)
			}
			w.grow("2Gi", func(c *corev1.PersistentVolumeClaim) {
				if tc.change != nil {
					tc.change(c)
				}
			})
			w.nextSync()
			if len(tc.steps) > 3 {
				w.Advance(700 * time.Millisecond)
			}
			want(t, "steps", w.steps(), tc.steps)
			want(t, "claim", w.claim(), tc.claim)
			want(t, "events", w.events(), tc.events)
			v, _ := w.node.kubelet.actual.Volume(volumeName)
			size := resource.MustParse(tc.size)
			want(t, "size", v.Size, size.Value())
		})
	}
}

// The message of the first failure stays (MNT-423, EXP-050).
func TestFirstResizeErrorStays(t *testing.T) {
	w := newFixture(t)
	w.failing(storage.NodeExpand, storage.Internal).Times(1)
	w.run("p1")
	w.grow("2Gi")
	w.nextSync()
	w.failing(storage.NodeExpand, storage.Aborted)
	w.Advance(2 * time.Second)
	want(t, "MNT-423: message", w.conditionMessage(corev1.PersistentVolumeClaimNodeResizeError),
		"failed to expand pvc with Expander.NodeExpand failed to expand the volume : rpc error: code = Internal desc = no")
	if n := count(w.calls(), "Aborted"); n == 0 {
		t.Errorf("calls = %v: want another failure", w.calls())
	}
}

// The driver is not called if the status cannot be written before; it is called again if the result cannot be written (MNT-413, MNT-414).
func TestExpansionNotesFail(t *testing.T) {
	for _, tc := range []struct {
		rule  string
		after int
		steps []string
	}{
		{"MNT-413", 0, []string{"patch-status refused", "patch-status 1Gi NodeResizeInProgress", "NodeExpand h1", "patch-status 2Gi "}},
		{"MNT-414", 1, []string{"patch-status 1Gi NodeResizeInProgress", "NodeExpand h1", "patch-status refused",
			"patch-status 1Gi NodeResizeInProgress", "NodeExpand h1", "patch-status 2Gi "}},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			w := newFixture(t)
			w.run("p1")
			w.Faults.Fail(fake.Match{Target: api.APIServer, Verb: "patch-status", Kind: string(api.PersistentVolumeClaim)},
				fmt.Errorf("no")).Skip(tc.after).Times(1)
			w.grow("2Gi")
			w.Advance(62 * time.Second)
			want(t, "steps", w.steps(), tc.steps)
			want(t, "MNT-393: events", count(w.events(), "VolumeResizeFailed"), 1)
			want(t, "claim", w.claim(), "2Gi of 2Gi Other")
		})
	}
}
