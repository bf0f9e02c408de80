package healthmonitor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/controllers/healthmonitor"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

const (
	driver = "d"
	worn   = "worn out"
)

// fixture is a cluster with the sidecar and without kubelets. Volume v1 with handle h1 is bound to claim c1 before the sidecar starts.
type fixture struct {
	*volsim.Cluster
	t    *testing.T
	disk *fake.Memory
	zero time.Time
	seq  uint64
}

func newFixture(t *testing.T, nodes bool, opts ...fake.MemoryOption) *fixture {
	t.Helper()
	w := &fixture{t: t, disk: fake.CSI(driver, opts...)}
	c, err := volsim.New(volsim.Config{Backends: []storage.Backend{w.disk}, HealthMonitors: []string{driver}, NodeWatcher: nodes,
		Without: []string{volsim.Kubelets, actors.NodeLifecycle, actors.TaintEviction, actors.PodGC}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	w.Cluster = c
	w.bound("1")
	w.must(w.Crash(actors.HealthMonitor(driver)))
	w.must(w.Restart(actors.HealthMonitor(driver)))
	w.zero, w.seq = w.Now(), w.Trace().Seq()
	return w
}

func (w *fixture) must(err error) { w.t.Helper(); require.NoError(w.t, err) }

// bound creates volume v1, handle h1, claim c1 for the suffix 1, which the controller binds.
func (w *fixture) bound(suffix string) {
	w.t.Helper()
	w.must(w.Create(fake.Volume("v"+suffix, "1Gi", fake.CSISource(driver, "h"+suffix))))
	w.must(w.Settle())
	w.must(w.Create(fake.Claim("c"+suffix, "1Gi", fake.VolumeName("v"+suffix), fake.NoClass())))
	w.must(w.Settle())
	claim, err := w.Claims.Get("default/c" + suffix)
	w.must(err)
	require.Equal(w.t, corev1.ClaimBound, claim.Status.Phase)
}

func (w *fixture) condition(handle, problem string) {
	w.t.Helper()
	w.must(w.disk.SetCondition(handle, "", problem))
}

// until lets time pass up to a time after the start of the sidecar.
func (w *fixture) until(d time.Duration) { w.t.Helper(); w.must(w.Advance(w.zero.Add(d).Sub(w.Now()))) }

// log returns the Events of the sidecar, and with calls its calls.
func (w *fixture) log(calls bool) []string {
	var lines []string
	for e := range w.Trace().Since(w.seq) {
		at := e.Time.Sub(w.zero)
		switch {
		case e.Actor != actors.HealthMonitor(driver):
		case e.Type == trace.Emitted:
			lines = append(lines, fmt.Sprintf("%v %s %s %s: %s", at, e.Verb, e.Reason, e.Object.Key, e.Text))
		case calls && e.Type == trace.Storage && e.Verb == "end":
			words := []string{fmt.Sprint(at), e.Call.Verb, e.Call.Key}
			if e.Err != nil {
				words = append(words, string(storage.CodeOf(e.Err)))
			}
			lines = append(lines, strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " "))
		}
	}
	return lines
}

func bad(at, claim string) string {
	return at + " Warning VolumeConditionAbnormal default/" + claim + ": " + worn
}

func good(at, claim string) string {
	return at + " Normal VolumeConditionNormal default/" + claim + ": The Volume returns to the healthy state"
}

// TestListVolumes: a driver that lists its volumes.
func TestListVolumes(t *testing.T) {
	const minute = time.Minute
	for _, tt := range []struct {
		rule, name string
		opts       []fake.MemoryOption
		run        func(w *fixture)
		calls      bool
		want       []string
	}{
		{rule: "HEALTH-002", name: "only the list is asked for", run: func(w *fixture) { w.until(11 * minute) }, calls: true,
			want: []string{"0s ListConditions", "5m0s ListConditions", "10m0s ListConditions"}},
		{rule: "HEALTH-002", name: "a call that takes too long", opts: []fake.MemoryOption{fake.Latency(storage.ListConditions, minute)},
			run: func(w *fixture) { w.until(6 * minute) }, calls: true,
			want: []string{"15s ListConditions DeadlineExceeded", "5m30s ListConditions DeadlineExceeded"}},
		{rule: "HEALTH-003", name: "volumes of the driver that are bound", run: func(w *fixture) {
			w.bound("2")
			w.must(w.Create(fake.Volume("v3", "1Gi", fake.CSISource(driver, "h3")), fake.Volume("v4", "1Gi", fake.HostPathSource("/tmp/4"))))
			for _, handle := range []string{"h1", "h2", "h3"} {
				w.condition(handle, worn)
			}
			w.until(6 * minute)
		}, want: []string{bad("5m0s", "c1"), bad("5m0s", "c2")}},
		{rule: "HEALTH-003", name: "an error says nothing", run: func(w *fixture) {
			w.condition("h1", worn)
			w.Faults.Fail(fake.Match{Target: driver, Verb: string(storage.ListConditions)}, storage.Errorf(storage.Internal, "no")).Once()
			w.until(6 * minute)
		}, calls: true, want: []string{"0s ListConditions Internal", "5m0s ListConditions", bad("5m0s", "c1")}},
		{rule: "HEALTH-004", name: "at each check", run: func(w *fixture) { w.condition("h1", worn); w.until(6 * minute) },
			want: []string{bad("0s", "c1"), bad("5m0s", "c1")}},
		{rule: "HEALTH-005", name: "a volume that was never abnormal", run: func(w *fixture) { w.condition("h1", ""); w.until(6 * minute) }},
		{rule: "HEALTH-005", name: "recovered, until the Event has expired", run: func(w *fixture) {
			w.condition("h1", worn)
			w.until(minute)
			w.condition("h1", "")
			w.until(2 * time.Hour)
		}, want: append([]string{bad("0s", "c1")}, func() (lines []string) {
			for at := 5 * minute; at < time.Hour; at += 5 * minute {
				lines = append(lines, good(fmt.Sprint(at), "c1"))
			}
			return lines
		}()...)},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			w := newFixture(t, false, tt.opts...)
			tt.run(w)
			require.Equal(t, tt.want, w.log(tt.calls))
		})
	}
}

// TestGetVolume: a driver that does not list its volumes.
func TestGetVolume(t *testing.T) {
	const minute = time.Minute
	repeated := func(line string, n int) []string { return slices.Repeat([]string{line}, n) }
	for _, tt := range []struct {
		rule, name string
		run        func(w *fixture)
		calls      bool
		want       []string
	}{
		{rule: "HEALTH-006", name: "ten checks a minute of one volume", run: func(w *fixture) { w.until(70 * time.Second) }, calls: true,
			want: append(repeated("0s GetCondition h1", 10), repeated("1m0s GetCondition h1", 10)...)},
		{rule: "HEALTH-006", name: "an Event with each", run: func(w *fixture) { w.condition("h1", worn); w.until(0) },
			want: repeated(bad("0s", "c1"), 10)},
		{rule: "HEALTH-006", name: "an error says nothing", run: func(w *fixture) {
			w.condition("h1", worn)
			w.Faults.Fail(fake.Match{Target: driver, Verb: string(storage.GetCondition)}, storage.Errorf(storage.Internal, "no")).Times(9)
			w.until(30 * time.Second)
		}, want: []string{bad("0s", "c1")}},
		{rule: "HEALTH-007", name: "a new volume waits for the next look", run: func(w *fixture) {
			w.until(10 * time.Second)
			w.bound("2")
			w.condition("h2", worn)
			w.until(5*minute + time.Second)
		}, want: repeated(bad("5m0s", "c2"), 5)},
		{rule: "HEALTH-008", name: "a volume that is not bound yet is never checked", run: func(w *fixture) {
			w.must(w.Create(fake.Volume("v2", "1Gi", fake.CSISource(driver, "h2"))))
			w.until(6 * minute)
			w.must(w.Create(fake.Claim("c2", "1Gi", fake.VolumeName("v2"), fake.NoClass())))
			w.condition("h2", worn)
			w.until(20 * minute)
		}},
		{rule: "HEALTH-008", name: "a deleted volume is forgotten", run: func(w *fixture) {
			w.until(10 * time.Second)
			pv, err := w.Volumes.Get("v1")
			w.must(err)
			w.must(w.Delete(fake.Claim("c1", "1Gi")))
			w.must(w.Settle())
			w.must(w.Delete(pv))
			w.until(2 * minute)
			w.bound("1")
			w.condition("h1", worn)
			w.until(5*minute + time.Second)
		}, want: repeated(bad("5m0s", "c1"), 10)},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			w := newFixture(t, false, fake.Without(storage.ListConditions))
			tt.run(w)
			require.Equal(t, tt.want, w.log(tt.calls))
		})
	}
}

// TestMonitors: which drivers can have the sidecar, and the source of its Events.
func TestMonitors(t *testing.T) {
	for _, tt := range []struct {
		rule string
		b    storage.Backend
		want bool
	}{
		{"HEALTH-001", fake.CSI(driver), true},
		{"HEALTH-001", fake.CSI(driver, fake.Without(storage.ListConditions)), true},
		{"HEALTH-001", fake.CSI(driver, fake.Without(storage.GetCondition)), true},
		{"HEALTH-001", fake.CSI(driver, fake.Without(storage.ListConditions, storage.GetCondition)), false},
		{"HEALTH-001", fake.NFS(), false},
	} {
		require.Equal(t, tt.want, healthmonitor.Monitors(tt.b), tt.rule)
	}
	w := newFixture(t, false)
	w.condition("h1", worn)
	w.until(time.Second)
	events := w.Events()
	require.Equal(t, "csi-pv-monitor-controller-d", events[len(events)-1].Source.Component)
}

// node changes the condition Ready of node n1, which is created with the first status.
func (w *fixture) node(status corev1.ConditionStatus) {
	w.t.Helper()
	node, err := w.Nodes.Get("n1")
	if err != nil {
		w.must(w.Create(fake.Node("n1")))
		node, err = w.Nodes.Get("n1")
		w.must(err)
	}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
	if status == "" {
		node.Status.Conditions = nil
	}
	w.must(w.UpdateStatus(node))
}

// TestNodeWatcher: Events about claims of pods on nodes that fail.
func TestNodeWatcher(t *testing.T) {
	const minute = time.Minute
	failed := func(at string) string {
		return at + " Warning NodeFailed default/c1: Pods: [ web ] consuming PVC: c1 in namespace: default are now on a failed node: n1"
	}
	recovered := func(at string) string { return at + " Warning NodeRecovered default/c1: Node: n1 recovered" }
	web := func(w *fixture) { w.must(w.Create(fake.Pod("web", fake.OnNode("n1"), fake.Claims("c1")))) }
	for _, tt := range []struct {
		rule, name string
		run        func(w *fixture)
		want       []string
	}{
		{"HEALTH-010", "looked at every five minutes", func(w *fixture) {
			web(w)
			w.node("False")
			w.until(4 * minute)
			require.Empty(w.t, w.log(false))
			w.until(11 * minute)
		}, []string{failed("10m0s")}},
		{"HEALTH-010", "and at each change", func(w *fixture) {
			web(w)
			w.node("False")
			w.until(6 * minute)
			w.node("Unknown")
			w.until(7 * minute)
		}, []string{failed("6m0s")}},
		{"HEALTH-011", "a pod that was scheduled after its creation", func(w *fixture) {
			w.node("True")
			w.must(w.Create(fake.Pod("web", fake.Claims("c1"))))
			w.must(w.Settle())
			pod, err := w.Pods.Get("default/web")
			w.must(err)
			require.Equal(w.t, "n1", pod.Spec.NodeName)
			w.node("False")
			w.until(16 * minute)
		}, nil},
		{"HEALTH-011", "a pod that is gone", func(w *fixture) {
			web(w)
			w.node("False")
			w.until(minute)
			w.must(w.DeleteWith(fake.Pod("web"), api.DeleteOptions{GracePeriodSeconds: new(int64)}))
			w.until(16 * minute)
		}, nil},
		{"HEALTH-012", "repeated, after a new beginning", func(w *fixture) {
			web(w)
			w.node("False")
			w.until(31 * minute)
		}, []string{failed("10m0s"), failed("25m0s")}},
		{"HEALTH-012", "a node without the condition", func(w *fixture) { web(w); w.node(""); w.until(16 * minute) }, nil},
		{"HEALTH-013", "recovered", func(w *fixture) {
			web(w)
			w.node("False")
			w.until(11 * minute)
			w.node("True")
			w.until(21 * minute)
		}, []string{failed("10m0s"), recovered("11m0s")}},
		{"HEALTH-013", "recovered in time", func(w *fixture) {
			web(w)
			w.node("False")
			w.until(2 * minute)
			w.node("True")
			w.until(3 * minute)
			w.node("False")
			w.until(9 * minute)
		}, nil},
		{"HEALTH-014", "a deleted node restarts the sidecar, which lists the pods again", func(w *fixture) {
			w.node("True")
			w.must(w.Create(fake.Pod("web", fake.Claims("c1"))))
			w.must(w.Settle())
			w.must(w.Create(fake.Node("n2")))
			w.until(minute)
			w.must(w.Delete(fake.Node("n2")))
			w.node("False")
			w.until(12 * minute)
		}, []string{failed("11m0s")}},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			w := newFixture(t, true)
			tt.run(w)
			require.Equal(t, tt.want, w.log(false))
		})
	}
}
