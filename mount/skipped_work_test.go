package mount

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/objects"
)

// counting is an injector that has no faults, and counts reads.
type counting struct{ reads int }

func (c *counting) Inject(call api.Call) api.Fault {
	if call.Verb == "get" {
		c.reads++
	}
	return api.Fault{}
}

// predicting is one that reports that it has none.
type predicting struct{ counting }

func (*predicting) Active(string) bool { return false }

// Requests that would find nothing new are skipped, and made at their times when a fault may hit them, whenever that was armed: a
// minute after the last sync of a pod, and 100 ms at most, for the populator reads; at the rounds of a node's status.
func TestFaultsHitSkippedRequests(t *testing.T) {
	get := func(kind api.Kind, key string) fake.Match {
		return fake.Match{Actor: actors.Kubelet(nodeName), Target: api.APIServer, Verb: "get", Kind: string(kind), Key: key}
	}
	const minute = time.Minute
	for _, tt := range []struct {
		rule, name string
		match      fake.Match
		before     func(*fixture) // with the pod running
		after      time.Duration
		skip       int
		want       time.Duration // after the last sync, or the last report, the next 100 ms; zero is never
	}{
		{rule: "MNT-069", name: "a claim is read at the next sync", match: get(api.PersistentVolumeClaim, "default/c1"),
			after: 30 * time.Second, want: minute},
		{rule: "MNT-009", name: "which has kept its time", match: get(api.PersistentVolumeClaim, "default/c1"),
			after: 10*minute + 20*time.Second, want: 11 * minute},
		{rule: "MNT-069", name: "so is its volume", match: get(api.PersistentVolume, "pv1"), after: 150 * time.Second, want: 3 * minute},
		{rule: "MNT-069", name: "by a fault for whatever kubelets do", match: fake.Match{Actor: actors.Kubelet(nodeName), Verb: "get"},
			after: 150 * time.Second, want: 3 * minute},
		{rule: "MNT-009", name: "calls that a fault leaves alone count", match: get(api.PersistentVolumeClaim, "default/c1"), skip: 4,
			after: 150 * time.Second, want: 7 * minute},
		{rule: "MNT-069", name: "no request reads another claim", match: get(api.PersistentVolumeClaim, "default/c2"), after: 150 * time.Second},
		{rule: "MNT-069", name: "or one of which the pod uses no volume", match: get(api.PersistentVolumeClaim, "default/c1"),
			after:  150 * time.Second,
			before: func(w *fixture) { w.forceDelete("p1") }},
		{rule: "MNT-380", name: "the status of a pod that goes on is not read", match: get(api.Pod, "default/p1"), after: 150 * time.Second},
		{rule: "MNT-172", name: "neither is its Node", match: get(api.Node, nodeName), after: 150 * time.Second},
		{rule: "MNT-172", name: "unless the watch does not show it", match: get(api.Node, nodeName), after: 155 * time.Second,
			want:   160 * time.Second,
			before: func(w *fixture) { _, err := w.Store().Nodes.Delete(nodeName, deleteNow); w.OK(err) }},
		{rule: "MNT-008", name: "an unchanged report is made", match: fake.Match{Verb: "patch-status", Kind: string(api.Node)},
			after: 62 * minute,
			want:  13 * 5 * minute},
		{rule: "MNT-925", name: "a claim whose volume has grown is read in each pass", match: get(api.PersistentVolumeClaim, "default/c1"),
			after: 30*time.Second + 20*time.Millisecond,
			before: func(w *fixture) {
				w.grow("2Gi", func(c *corev1.PersistentVolumeClaim) { objects.SetResizeStatus(c, infeasible) })
				w.Advance(2 * minute)
			}, want: 30*time.Second + 100*time.Millisecond},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			w := newFixture(t)
			w.run("p1")
			w.Advance(time.Second)
			if tt.before != nil {
				tt.before(w)
				w.Advance(0)
			}
			from := w.Now()
			switch k := w.node.kubelet; {
			case tt.rule == "MNT-008":
				w.Advance(30 * minute) // until no report is of any use
				from = k.status.last.sent
			case tt.rule == "MNT-172":
				from = k.status.ticker.TickAfter(time.Time{}).Add(-k.cfg.StatusPeriod)
			case tt.rule != "MNT-925" && w.phase("p1") == corev1.PodRunning:
				from = k.workers[w.stored("p1").UID].lastSync
			}
			w.Advance(from.Add(tt.after).Sub(w.Now()))
			rule := w.Faults.Fail(tt.match, errors.New("no")).Skip(tt.skip).Once()
			if tt.want == 0 {
				w.Advance(30 * minute)
				want(t, "faults met", rule.Fired(), 0)
				return
			}
			w.Advance(from.Add(tt.want).Sub(w.Now()) - time.Millisecond)
			want(t, "faults met before", rule.Fired(), 0)
			w.Advance(101 * time.Millisecond)
			want(t, "faults met", rule.Fired(), 1)
		})
	}
}

// A fault that a kubelet without a way to the API server cannot meet waits for it.
func TestFaultBehindAPartition(t *testing.T) {
	w := newFixture(t)
	w.run("p1")
	w.Advance(5 * time.Minute)
	from := w.node.kubelet.workers[w.stored("p1").UID].lastSync
	w.node.Partition(true)
	w.Advance(5 * time.Second)
	rule := w.Faults.Fail(fake.Match{Verb: "get", Kind: string(api.PersistentVolumeClaim)}, errors.New("no")).Once()
	w.Advance(3 * time.Minute)
	want(t, "MNT-009: faults met", rule.Fired(), 0)
	w.node.Partition(false)
	past := w.Now().Sub(from)
	w.Advance((past/time.Minute+1)*time.Minute - past - time.Millisecond)
	want(t, "MNT-009: faults met before the next sync", rule.Fired(), 0)
	w.Advance(101 * time.Millisecond)
	want(t, "MNT-009: faults met", rule.Fired(), 1)
}

// An injector without FaultPredictor may fail any call, so all are made. One with it costs an idle node nothing.
func TestFaultPredictor(t *testing.T) {
	without, with := &counting{}, &predicting{}
	for _, tt := range []struct {
		rule, name string
		injector   api.Injector
		reads      *int
		want       int
	}{
		{"MNT-069", "without a prediction: claim and volume, each minute", without, &without.reads, 2 * 60},
		{"MNT-009", "with it", with, &with.reads, 0},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			w := newFixtureWith(t, tt.injector)
			w.run("p1")
			before := *tt.reads
			w.Advance(time.Hour)
			want(t, "reads", *tt.reads-before, tt.want)
		})
	}
}
