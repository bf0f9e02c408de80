package expand_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/storage"
)

func TestRaise(t *testing.T) {
	w := newFixture(t)
	w.must(w.ask("2Gi"))
	w.settle()
	w.want("EXP-014, EXP-021, EXP-022, EXP-023", external,
		"0s claim 1Gi, allocated 2Gi, ControllerResizeInProgress, [Resizing]",
		"0s Normal Resizing: External resizer is resizing volume pv",
		"0s Expand OK",
		"0s volume 2Gi before 1Gi",
		"0s claim 1Gi, allocated 2Gi, NodeResizePending, [Resizing FileSystemResizePending]",
		"0s Normal FileSystemResizeRequired: Require file system resize of volume on node")
	w.nodeStatus("NodeResizeInProgress", "")
	w.nodeStatus("", "2Gi")
	w.settle()
	w.want("EXP-020", "0s volume 2Gi")
	w.wantState("EXP-004", "2Gi, allocated 2Gi | 2Gi")
	w.advance(30 * minute)
	w.want("EXP-012: all is done")
}

func TestRaiseWithoutNodes(t *testing.T) {
	w := newFixture(t, fake.Without(storage.NodeExpand))
	w.must(w.ask("2Gi"))
	w.settle()
	w.want("EXP-024", external,
		"0s claim 1Gi, allocated 2Gi, ControllerResizeInProgress, [Resizing]",
		"0s Normal Resizing: External resizer is resizing volume pv",
		"0s Expand OK",
		"0s volume 2Gi",
		"0s claim 2Gi, allocated 2Gi, no node",
		"0s Normal VolumeResizeSuccessful: Resize volume succeeded")
	// EXP-021: the next one takes the mark of the first away.
	w.must(w.ask("3Gi"))
	w.settle()
	require.Contains(t, w.log(), "0s claim 2Gi, allocated 3Gi, ControllerResizeInProgress, [Resizing]", "EXP-021")
}

func TestRaiseOnNodesOnly(t *testing.T) {
	w := newFixture(t, fake.Without(storage.Expand))
	w.must(w.ask("2Gi"))
	w.settle()
	w.want("EXP-030: a driver that expands on nodes only is not asked here", external,
		"0s claim 1Gi, allocated 2Gi, ControllerResizeInProgress, [Resizing]",
		"0s Normal Resizing: External resizer is resizing volume pv",
		"0s volume 2Gi before 1Gi",
		"0s claim 1Gi, allocated 2Gi, NodeResizePending, [Resizing FileSystemResizePending]",
		"0s Normal FileSystemResizeRequired: Require file system resize of volume on node")
}

// The size is the driver's, in its unit.
func TestRoundedSize(t *testing.T) {
	w := newFixture(t, fake.Without(storage.NodeExpand))
	w.must(w.ask("1500M"))
	w.settle()
	w.wantState("EXP-022, EXP-024", "1500M, allocated 1500M, no node | 1500M")
}

func TestRefused(t *testing.T) {
	for _, tt := range []struct {
		rule, name string
		objects    []api.Object
		size       string
		ok         bool
		is         func(error) bool
	}{
		{"EXP-001", "the class does not expand", []api.Object{fake.Class("fast", driver), fake.Claim("data", "2Gi", fake.InClass("fast"))},
			"3Gi", false, apierrors.IsForbidden},
		{"EXP-001", "there is no class", []api.Object{fake.Volume("v", "2Gi"), fake.Claim("data", "2Gi")}, "3Gi", false, apierrors.IsForbidden},
		{"EXP-001", "not bound", []api.Object{fake.Claim("data", "2Gi", fake.InClass("fast"))}, "3Gi", false, apierrors.IsInvalid},
		{"EXP-001", "expandable", []api.Object{fake.Class("fast", driver, fake.Expandable()), fake.Claim("data", "2Gi", fake.InClass("fast"))},
			"3Gi", true, nil},
		{"EXP-002", "what it has", []api.Object{fake.Class("fast", driver, fake.Expandable()), fake.Claim("data", "2Gi", fake.InClass("fast"))},
			"1Gi", false, apierrors.IsInvalid},
	} {
		w := &fixture{t: t}
		w.start(volsim.Config{Backends: []storage.Backend{fake.CSI(driver)}, Without: []string{volsim.Kubelets}})
		w.must(w.Create(tt.objects...))
		w.settle()
		if err := w.ask(tt.size); (err == nil) != tt.ok || err != nil && !tt.is(err) {
			t.Errorf("%s %s: the error is %v", tt.rule, tt.name, err)
		}
	}
}

// Infeasible: the driver is asked twice, and then every five minutes, until another size is asked for.
func TestInfeasible(t *testing.T) {
	w := newFixture(t, fake.MaxSize("3Gi"), fake.Without(storage.NodeExpand))
	w.must(w.ask("4Gi"))
	failure := `resize volume "pv" by resizer "disk.example.com" failed: rpc error: code = OutOfRange desc = volume pv cannot have 4294967296 bytes, only 3221225472`
	w.advance(30 * sec)
	w.want("EXP-025, EXP-026", external,
		"0s claim 1Gi, allocated 4Gi, ControllerResizeInProgress, [Resizing]",
		"0s Normal Resizing: External resizer is resizing volume pv",
		"0s Expand OutOfRange",
		"0s claim 1Gi, allocated 4Gi, ControllerResizeInfeasible, [Resizing ControllerResizeError]",
		"0s Warning VolumeResizeFailed: "+failure,
		"0s claim 1Gi, allocated 4Gi, ControllerResizeInfeasible, [Resizing ControllerResizeError]",
		"0s Normal Resizing: External resizer is resizing volume pv",
		"0s Expand OutOfRange",
		"0s claim 1Gi, allocated 4Gi, ControllerResizeInfeasible, [Resizing ControllerResizeError]",
		"0s Warning VolumeResizeFailed: "+failure)
	condition := w.claim().Status.Conditions[1]
	require.Equal(t, "failed to expand pvc with rpc error: code = OutOfRange desc = volume "+w.pv+
		" cannot have 4294967296 bytes, only 3221225472", condition.Message, "EXP-025")
	w.advance(5 * minute)
	lines := w.log()
	require.NotEmpty(t, lines, "EXP-026: it is tried again at the end of the five minutes")
	require.Equal(t, "5m0s claim 1Gi, allocated 4Gi, ControllerResizeInfeasible, [Resizing ControllerResizeError]", lines[0], "EXP-026")

	// EXP-002: less than what failed, and more than what it has. EXP-010: the expand controller does not notice.
	w.must(w.ask("2Gi"))
	w.mark()
	w.advance(0)
	w.want("EXP-026, EXP-030: recovered",
		"0s claim 1Gi, allocated 2Gi, ControllerResizeInProgress, [Resizing]",
		"0s Normal Resizing: External resizer is resizing volume pv",
		"0s Expand OK",
		"0s volume 2Gi",
		"0s claim 2Gi, allocated 2Gi, no node",
		"0s Normal VolumeResizeSuccessful: Resize volume succeeded")
}

// An error that leaves the outcome open: the driver may be at it, so the size stays although the user wants less.
func TestLoweredWhileUncertain(t *testing.T) {
	w := newFixture(t, fake.Without(storage.NodeExpand))
	w.Faults.Fail(fake.Match{Verb: "Expand"}, storage.Errorf(storage.ResourceExhausted, "full")).Times(3)
	w.must(w.ask("4Gi"))
	w.advance(500_000_000)
	failed := `Warning VolumeResizeFailed: resize volume "pv" by resizer "disk.example.com" failed: rpc error: code = ResourceExhausted desc = full`
	again := []string{
		"claim 1Gi, allocated 4Gi, ControllerResizeInProgress, [Resizing]",
		"Normal Resizing: External resizer is resizing volume pv",
		"Expand ResourceExhausted",
		failed,
	}
	at := func(when string) (lines []string) {
		for _, line := range again {
			lines = append(lines, when+" "+line)
		}
		return lines
	}
	// The status of the claim has changed, so it is looked at again at once; and then after 1 s.
	w.want("EXP-025: not final, nothing is recorded", append(append([]string{external}, at("0s")...), at("0s")...)...)
	w.must(w.ask("2Gi"))
	w.settle()
	w.want("EXP-030", append(at("500ms"),
		"1s claim 1Gi, allocated 4Gi, ControllerResizeInProgress, [Resizing]",
		"1s Normal Resizing: External resizer is resizing volume pv",
		"1s Expand OK",
		"1s volume 4Gi",
		"1s claim 4Gi, allocated 4Gi, no node",
		"1s Normal VolumeResizeSuccessful: Resize volume succeeded")...)
}

// A final error that says nothing about the size: the next size is the one that is asked for.
func TestLoweredAfterFailure(t *testing.T) {
	w := newFixture(t, fake.Without(storage.NodeExpand))
	w.Faults.Fail(fake.Match{Verb: "Expand"}, storage.Errorf(storage.Internal, "on fire")).Times(2)
	w.must(w.ask("4Gi"))
	w.advance(0)
	w.wantState("EXP-025", "1Gi, allocated 4Gi, ControllerResizeInProgress, [Resizing ControllerResizeError] | 1Gi")
	w.must(w.ask("2Gi"))
	w.settle()
	w.wantState("EXP-030", "2Gi, allocated 2Gi, no node | 2Gi")
}

// The memory of a final error does not survive a restart.
func TestLoweredAfterFailureAndRestart(t *testing.T) {
	w := newFixture(t, fake.Without(storage.NodeExpand))
	rule := w.Faults.Fail(fake.Match{Verb: "Expand"}, storage.Errorf(storage.Internal, "on fire"))
	w.must(w.ask("4Gi"))
	w.advance(0)
	w.must(w.Crash(actors.Resizer(driver)))
	require.Positive(t, rule.Fired())
	w.Faults.Clear("Expand")
	w.must(w.ask("2Gi"))
	w.must(w.Restart(actors.Resizer(driver)))
	w.settle()
	w.wantState("EXP-030: it may still be at it", "4Gi, allocated 4Gi, no node | 4Gi")
}

func TestCrashAndLostReply(t *testing.T) {
	for _, tt := range []struct {
		rule, name string
		fault      func(*fixture)
	}{
		{"EXP-022", "crash after the call", func(w *fixture) {
			w.Faults.Add(fake.Match{Verb: "Expand"}, api.Fault{Crash: true, Effect: true, Restart: minute}).Once()
		}},
		{"EXP-021", "crash before the call", func(w *fixture) { w.Faults.Crash(fake.Match{Verb: "Expand"}, minute).Once() }},
		{"EXP-025", "the reply is lost", func(w *fixture) {
			w.Faults.Lose(fake.Match{Verb: "Expand"}, storage.Errorf(storage.Unavailable, "gone")).Once()
		}},
		{"EXP-022", "the volume cannot be written", func(w *fixture) {
			w.Faults.Fail(fake.Match{Actor: actors.Resizer(driver), Verb: "patch", Kind: "PersistentVolume"},
				apierrors.NewInternalError(errSome)).Once()
		}},
		{"EXP-023", "the claim cannot be written at the end", func(w *fixture) {
			w.Faults.Fail(fake.Match{Actor: actors.Resizer(driver), Verb: "patch-status"}, apierrors.NewInternalError(errSome)).Skip(1).Once()
		}},
	} {
		w := newFixture(t)
		tt.fault(w)
		w.must(w.ask("2Gi"))
		w.advance(10 * minute)
		w.wantState(tt.rule+" "+tt.name, "1Gi, allocated 2Gi, NodeResizePending, [Resizing FileSystemResizePending] | 2Gi before 1Gi")
		require.Empty(t, w.Faults.Unused())
		v, _ := w.disk.Volume(w.pv)
		require.EqualValues(t, 2<<30, v.Size)
	}
}

// The claim has changed meanwhile: the resizer does not call the driver for an old version of the claim.
func TestConflictBeforeTheCall(t *testing.T) {
	w := newFixture(t)
	w.Faults.Fail(fake.Match{Actor: actors.Resizer(driver), Verb: "patch-status"},
		apierrors.NewConflict(corev1.Resource("persistentvolumeclaims"), "data", errSome)).Once()
	w.must(w.ask("2Gi"))
	w.advance(sec / 2)
	w.want("EXP-005, EXP-021", external, "0s patch-status PersistentVolumeClaim/"+key+" failed")
	w.settle()
	w.wantState("EXP-020", "1Gi, allocated 2Gi, NodeResizePending, [Resizing FileSystemResizePending] | 2Gi before 1Gi")
}

func TestSlowDriver(t *testing.T) {
	w := newFixture(t, fake.Latency(storage.Expand, 20*sec))
	w.must(w.ask("2Gi"))
	w.advance(15 * sec)
	require.Contains(t, w.log(), "10s Expand DeadlineExceeded", "EXP-020: the sidecar waits for 10 s")
	w.wantState("EXP-025", "1Gi, allocated 2Gi, ControllerResizeInProgress, [Resizing] | 1Gi")
}

// attach has a pod use the volume.
func (w *fixture) attach() {
	w.t.Helper()
	w.must(w.Create(fake.Node("n1"), fake.Pod("db", fake.Claims("data"), fake.OnNode("n1"))))
	_, err := w.disk.Attach(storage.NodeRequest{ID: w.pv, Node: "n1"})
	w.must(err)
	w.settle()
	w.mark()
}

// A driver that does not expand a volume in use.
func TestInUse(t *testing.T) {
	w := newFixture(t, fake.OfflineExpansion(), fake.Without(storage.NodeExpand))
	w.attach()
	w.must(w.ask("2Gi"))
	w.advance(0)
	w.want("EXP-025", external,
		"0s claim 1Gi, allocated 2Gi, ControllerResizeInProgress, [Resizing]",
		"0s Normal Resizing: External resizer is resizing volume pv",
		"0s Expand FailedPrecondition",
		"0s claim 1Gi, allocated 2Gi, ControllerResizeInProgress, [Resizing ControllerResizeError]",
		`0s Warning VolumeResizeFailed: resize volume "pv" by resizer "disk.example.com" failed: rpc error: code = FailedPrecondition desc = volume pv must not be expanded while attached to n1`,
		"0s claim 1Gi, allocated 2Gi, ControllerResizeInProgress, [Resizing ControllerResizeError]",
		"0s Warning VolumeResizeFailed: Unable to expand default/data because CSI driver disk.example.com only supports offline expansion and volume is currently in-use")
	w.must(w.disk.Detach(storage.NodeRequest{ID: w.pv}))
	w.advance(minute)
	w.wantState("EXP-025: the pod has not ended", "1Gi, allocated 2Gi, ControllerResizeInProgress, [Resizing ControllerResizeError] | 1Gi")
	w.must(w.DeleteWith(fake.Pod("db"), api.DeleteOptions{GracePeriodSeconds: new(int64)}))
	w.must(w.Until(func() bool { return w.claim().Status.Capacity.Storage().String() == "2Gi" }, 30*minute))
	w.wantState("EXP-025: the pod is gone", "2Gi, allocated 2Gi, no node | 2Gi")

	w = newFixtureWith(t, resizing(options.Resizer{IgnoreUse: true}), fake.OfflineExpansion())
	w.attach()
	w.must(w.ask("2Gi"))
	w.advance(10 * sec)
	for _, line := range w.log() {
		require.NotContains(t, line, "Unable to expand", "EXP-025: without a look at pods")
	}
}

// Which claims the resizer expands, and which it ignores.
func TestTriggers(t *testing.T) {
	w := newFixtureWith(t, volsim.Config{Backends: []storage.Backend{fake.CSI("other.example.com")}})
	w.must(w.Create(fake.Volume("foreign", "1Gi", fake.CSISource("other.example.com", "h"),
		fake.Annotations("volume.alpha.kubernetes.io/pre-resize-capacity", "1Gi"),
		fake.ForClaim("other"), fake.InClass("fast")), fake.Claim("other", "1Gi", fake.InClass("fast"), fake.VolumeName("foreign"))))
	w.settle()
	pv, err := w.Volumes.Get("foreign")
	w.must(err)
	require.NotContains(t, pv.Annotations, "volume.alpha.kubernetes.io/pre-resize-capacity", "EXP-020: removed by any resizer")

	// EXP-020: a volume that is not there yet is no work that Settle waits for.
	w.must(w.Create(fake.Claim("waits", "1Gi", fake.InClass("fast"), fake.VolumeName("missing"))))
	w.settle()

	// EXP-020: infeasible on the node: the driver is asked again. EXP-030.
	w.must(w.ask("2Gi"))
	w.settle()
	w.nodeStatus("NodeResizeInfeasible", "")
	w.mark()
	w.settle()
	w.want("EXP-020, EXP-030",
		"0s claim 1Gi, allocated 2Gi, NodeResizeInfeasible, [Resizing FileSystemResizePending]",
		"0s Normal Resizing: External resizer is resizing volume pv",
		"0s Expand OK",
		"0s volume 2Gi before 1Gi",
		"0s claim 1Gi, allocated 2Gi, NodeResizePending, [Resizing FileSystemResizePending]",
		"0s Normal FileSystemResizeRequired: Require file system resize of volume on node")

	// EXP-020: another client corrects the volume's size; the resync finds it.
	w.must(w.PatchStatus(fake.Claim("data", "1Gi"), `{"status":{"allocatedResourceStatuses":null,"conditions":null}}`))
	w.settle()
	w.wantState("EXP-030: idle with a size, it goes on with that",
		"1Gi, allocated 2Gi, NodeResizePending, [Resizing FileSystemResizePending] | 2Gi before 1Gi")
}

// EXP-011: the volume is read from the server, and a failure of that is tried again.
func TestVolumeCannotBeRead(t *testing.T) {
	w := newFixture(t)
	w.Faults.Fail(fake.Match{Actor: actors.Expander, Verb: "get"}, apierrors.NewInternalError(errSome)).Once()
	w.must(w.ask("2Gi"))
	w.settle()
	require.Contains(t, w.log(), "5ms"+external[2:], "EXP-011")
}

// EXP-011: a bound claim whose volume is not there is no work that Settle waits for; it is looked at again from time to time.
func TestVolumeIsGone(t *testing.T) {
	w := &fixture{t: t, pv: "gone"}
	w.start(volsim.Config{Without: []string{volsim.Kubelets, "persistentvolume-controller"}})
	claim := fake.Claim("data", "2Gi", fake.InClass("fast"), fake.VolumeName("gone"), fake.Phase("Bound"), fake.UID("u1"))
	w.must(w.Load(claim))
	w.settle()
	w.must(w.Load(fake.Volume("gone", "1Gi", fake.CSISource(driver, "h"), fake.ForClaim("data", "u1"), fake.InClass("fast"))))
	w.advance(minute)
	require.Len(t, w.log(), 1, "EXP-011, EXP-014: found by a retry")
}

// A claim whose volume belongs to another one.
func TestNotItsVolume(t *testing.T) {
	w := newFixture(t)
	other := fake.Claim("wrong", "3Gi", fake.InClass("fast"), fake.VolumeName(w.pv), fake.Phase("Bound"), fake.UID("u9"))
	w.must(w.Load(other))
	w.settle()
	w.advance(minute)
	for _, line := range w.log() {
		require.NotContains(t, line, "Expand", "EXP-011, EXP-020: the volume is not expanded for it")
	}
}
