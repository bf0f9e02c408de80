package mount

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

// reader starts a pod that may only read c1.
func (w *fixture) reader(name string) *corev1.Pod {
	pod := fake.Pod(name, fake.OnNode(nodeName))
	addClaim(pod, "data", "c1")
	pod.Spec.Volumes[0].PersistentVolumeClaim.ReadOnly = true
	w.Create(pod)
	return pod
}

// deferralEvents returns the stored Events about a deferred expansion since the mark: "p1: 25 until 1s".
func (w *fixture) deferralEvents() []string {
	var events []string
	for _, e := range w.Store().Events.List() {
		if e.Reason == deferralReason {
			events = append(events, fmt.Sprintf("%s: %d until %v", e.InvolvedObject.Name, e.Count, e.LastTimestamp.Sub(w.Begin)))
		}
	}
	return events
}

// readers returns a fixture with pods that read a volume that has grown, at the first pass that finds it.
func readers(t *testing.T, options ...func(*setup)) *fixture {
	t.Helper()
	w := newFixture(t, options...)
	w.grow("2Gi")
	w.reader("p1")
	w.Advance(11 * time.Second)
	w.Mark()
	w.attach(handle)
	for len(w.node.kubelet.expansion.deferrals) == 0 {
		w.Advance(10 * time.Millisecond)
	}
	return w
}

// A volume that the pods of a node only read is not expanded. Ten times a second, an Event reports that; client-go limits the Events
// about an object, and counts all of them (MNT-395, MNT-406, BIND-004).
func TestDeferredAgain(t *testing.T) {
	for _, tt := range []struct {
		rule, name string
		do         func(*fixture)
		after      time.Duration
		want       []string
		passes     int // at most so many run, and the mount
	}{
		// The first is of the mount, the second of the first pass after it.
		{"MNT-395", "at once", nil, 0, []string{"c1: 2 until 0s", "p1: 2 until 0s"}, 2},
		{"MNT-406", "in each pass", nil, time.Second, []string{"c1: 12 until 1s", "p1: 12 until 1s"}, 12},
		{"BIND-004", "until there are too many", nil, time.Minute, []string{"c1: 25 until 2s", "p1: 25 until 2s"}, 25},
		// A report of the node's status is followed by a pass, too.
		{"BIND-004", "and then one in five minutes, which counts those between", nil, 302 * time.Second,
			[]string{"c1: 3001 until 5m0s", "p1: 3001 until 5m0s"}, 27},
		{"MNT-406", "which goes on", nil, 24*time.Hour + time.Second, []string{"c1: 864001 until 24h0m0s", "p1: 864001 until 24h0m0s"},
			25 + 288 + 4},
		{"MNT-406", "until the claim has the size", func(w *fixture) {
			w.setClaim("c1", func(c *corev1.PersistentVolumeClaim) {
				c.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")}
			})
		}, time.Hour, []string{"c1: 25 until 2s", "p1: 25 until 2s"}, 26},
		{"MNT-406", "or a pod may write", func(w *fixture) { w.pod("p2") }, time.Hour, []string{"c1: 25 until 2s", "p1: 25 until 2s"}, 25},
		{"MNT-406", "or no pod is left", func(w *fixture) { w.deletePod("p1") }, time.Hour, []string{"c1: 25 until 2s", "p1: 25 until 2s"}, 25},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			w := readers(t)
			if tt.do != nil {
				w.Advance(time.Minute)
				tt.do(w)
			}
			w.Advance(tt.after)
			want(t, "Events", w.deferralEvents(), tt.want)
			if got := count(w.events(), deferralReason) / 2; got > tt.passes {
				t.Errorf("%d passes were run, want %d at most", got, tt.passes)
			}
			w.Advance(300 * time.Millisecond) // the pod sees its volume
			want(t, "Settle without work that is left", w.Settle(0), nil)
		})
	}
}

// The Events about a deferral count for its claim, even if its pods change (MNT-395, MNT-406).
func TestDeferralEventsAreCounted(t *testing.T) {
	w := readers(t)
	w.Advance(100*time.Second + 50*time.Millisecond)
	w.deletePod("p1") // the next pass sees it, and emits nothing
	w.Advance(30 * time.Second)
	w.reader("p2")
	w.Advance(200 * time.Second)
	// p1 in 1002 passes with that of the mount, and p2 in the others until there was a token for the claim again.
	var got []string
	for _, e := range w.Store().Events.List() {
		if e.Reason == deferralReason && e.InvolvedObject.Name != "p2" {
			got = append(got, fmt.Sprintf("%s: %d", e.InvolvedObject.Name, e.Count))
		}
	}
	want(t, "MNT-406: Events", got, []string{fmt.Sprintf("c1: %d", w.claimEvents(t)), "p1: 25"})
}

// claimEvents counts the Events about c1 until 300 s after the mark, in a fixture that runs every pass.
func (w *fixture) claimEvents(t *testing.T) int {
	t.Helper()
	all := readers(t, func(s *setup) { s.engine.NoSkipping = true })
	all.Advance(100*time.Second + 50*time.Millisecond)
	all.deletePod("p1")
	all.Advance(30 * time.Second)
	all.reader("p2")
	all.Advance(169*time.Second + 900*time.Millisecond)
	return count(all.events(), deferralReason+" default/c1")
}

// TestSkippedDeferralPasses: MNT-406, BIND-004, skipping passes that change nothing has the same effects, at the same times, as running
// all of them.
func TestSkippedDeferralPasses(t *testing.T) {
	fewer := 0
	for seed := uint64(1); seed <= 60; seed++ {
		some, few := runReaders(t, seed, false)
		all, many := runReaders(t, seed, true)
		want(t, fmt.Sprintf("MNT-406: seed %d: with every pass", seed), strings.Split(some, "\n"), strings.Split(all, "\n"))
		if few < many {
			fewer++
		}
		if t.Failed() {
			return
		}
	}
	if fewer < 15 {
		t.Errorf("passes are skipped in %d of 60 histories only, want 15 or more", fewer)
	}
}

// runReaders runs a random history of pods that share a volume that grows. It returns the effects, and how many Events were emitted.
func runReaders(t *testing.T, seed uint64, every bool) (string, int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 3))
	latency := []time.Duration{0, 0, 3 * time.Millisecond, 40 * time.Millisecond, 100 * time.Millisecond, 150 * time.Millisecond}[r.IntN(6)]
	// MNT-002, MNT-069: where requests take time, the periodic syncs shift the passes of the populator, so only deferrals are not skipped.
	w := newFixture(t, func(s *setup) { s.engine.NoSkipping, s.engine.Latency = every && latency == 0, latency })
	w.node.kubelet.expansion.everyPass = every
	get := fake.Match{Target: api.APIServer, Verb: "get", Kind: string(api.PersistentVolumeClaim)}
	if r.IntN(2) == 0 {
		w.grow("2Gi")
	}
	w.reader("p0")
	// Nothing happens at the instant of a pass, which may have been then.
	w.Advance(11*time.Second + 17*time.Millisecond)
	w.attach(handle)
	for i := 1; i < 12; i++ {
		switch name := fmt.Sprintf("p%d", r.IntN(i)); r.IntN(10) {
		case 0:
			w.grow([]string{"2Gi", "3Gi"}[r.IntN(2)])
		case 1:
			w.setClaim("c1", func(c *corev1.PersistentVolumeClaim) {
				c.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse([]string{"1Gi", "2Gi", "3Gi"}[r.IntN(3)])}
			})
		case 2, 3, 4:
			w.reader(fmt.Sprintf("p%d", i))
		case 5:
			w.pod(fmt.Sprintf("p%d", i))
		case 6, 7:
			if _, ok := w.Store().Pods.Lookup("default/" + name); ok {
				w.deletePod(name)
			}
		case 8:
			w.Faults.Fail(get, storage.Errorf(storage.Internal, "no")).Skip(r.IntN(20)).Times(1 + r.IntN(3))
		case 9:
			w.node.Partition(!w.node.Partitioned())
		}
		w.Advance([]time.Duration{0, time.Second, 7*time.Second + 40*time.Millisecond, 70 * time.Second, 400 * time.Second}[r.IntN(5)])
	}
	w.Advance(20 * time.Minute)
	var out strings.Builder
	emitted := 0
	for e := range w.Trace().Entries() {
		at := e.Time.Sub(engine.DefaultStart)
		switch {
		case e.Type == trace.Injected:
			fmt.Fprintln(&out, at, e.Call, e.Err)
		case e.Type == trace.Emitted:
			emitted++
		case e.Type == trace.Write && e.Object.Kind != api.Node:
			fmt.Fprintln(&out, at, e.Actor, e.Verb, e.Object, e.Err)
		case e.Type == trace.Storage:
			fmt.Fprintln(&out, at, e.Call, e.Verb, e.Err)
		}
	}
	for _, e := range w.Store().Events.List() {
		fmt.Fprintln(&out, e.Name, e.Reason, e.InvolvedObject.Name, e.Message, e.Count, e.FirstTimestamp, e.LastTimestamp)
	}
	return out.String(), emitted
}
