package mount

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/trace"
)

const latency = 20 * time.Millisecond

func slow(s *setup) { s.engine.Latency = latency }

// decided are the decisions by that rule since the mark, with their times.
func (w *fixture) decided(rule string) (decided []string) {
	for e := range w.Since() {
		if e.Type == trace.Decision && e.Rule == rule {
			decided = append(decided, fmt.Sprintf("%v %s", e.Time.Sub(w.Begin), e.Text))
		}
	}
	return decided
}

// TestLoopsBeginWhenRegistered: MNT-001, MNT-002, the loops of a kubelet that starts again count from its first attempt to register, which took
// 40 ms.
func TestLoopsBeginWhenRegistered(t *testing.T) {
	w := newFixture(t, slow)
	w.run("p1")
	w.node.Stop()
	w.Mark()
	w.node.Start()
	w.Advance(time.Second)
	// MNT-457: the first pass reads the Node, which takes 20 ms.
	want(t, "MNT-001: the first pass", w.decided("MNT-457"), []string{fmt.Sprintf("60ms volume %s is attached: true", volumeName)})
	// MNT-066: the first pass of the populator reads claim and volume.
	want(t, "MNT-002: the first pass", w.decided("MNT-066"), []string{fmt.Sprintf("180ms wants volume %s as data", volumeName)})
}

// counter counts requests, and has all go well.
type counter struct{ claims int }

func (c *counter) Inject(call api.Call) api.Fault {
	if call.Verb == "get" && call.Kind == string(api.PersistentVolumeClaim) {
		c.claims++
	}
	return api.Fault{}
}

func (c *counter) Active(string) bool { return false }

// TestSyncsThatFindNothing: MNT-002, MNT-069.
func TestSyncsThatFindNothing(t *testing.T) {
	for _, tc := range []struct {
		rule, name string
		every      bool
		reads      int
		unpublish  string
	}{
		{"MNT-009", "the syncs of a pod that runs well are skipped", false, 0, "70ms Unpublish h1"},
		// Each of them delays the populator's next passes by 40 ms, so the end of the pod is seen later.
		{"MNT-069", "two of them, each followed by a read of the claim", true, 2, "170ms Unpublish h1"},
	} {
		t.Run(tc.rule+" "+tc.name, func(t *testing.T) {
			seen := &counter{}
			w := newFixture(t, slow, func(s *setup) { s.engine.NoSkipping, s.engine.Injector = tc.every, seen })
			w.run("p1")
			seen.claims = 0
			w.Advance(2*time.Minute + 530*time.Millisecond)
			want(t, tc.rule+": claims read", seen.claims, tc.reads)
			w.Mark()
			w.forceDelete("p1")
			w.Advance(time.Second)
			want(t, tc.rule+": calls", w.timed()[:1], []string{tc.unpublish})
		})
	}
}

// TestRoundsWithoutNode: MNT-172, while there is no Node each round asks for it four times. The time that this takes delays the next rounds, whether
// they are skipped or not.
func TestRoundsWithoutNode(t *testing.T) {
	const rounds = 6
	for _, tt := range []struct {
		rule, name   string
		latency      time.Duration
		every        bool
		reads        int
		pause, write time.Duration // between rounds; from the round in which the Node is back
	}{
		{"MNT-172", "all rounds", 0, true, 4 * rounds, 10 * time.Second, 0},
		{"MNT-172", "skipped", 0, false, 0, 10 * time.Second, 0},
		{"MNT-172", "all rounds, slow", 150 * time.Millisecond, true, 4 * rounds, 10600 * time.Millisecond, 150 * time.Millisecond},
		{"MNT-172", "skipped, slow", 150 * time.Millisecond, false, 4 * rounds, 10600 * time.Millisecond, 150 * time.Millisecond},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			seen := &counting{}
			w := newFixture(t, func(s *setup) {
				s.engine.Latency, s.engine.NoSkipping = tt.latency, tt.every
				if tt.every {
					s.engine.Injector = seen
				} else {
					predicts := &predicting{}
					s.engine.Injector, seen = predicts, &predicts.counting
				}
			})
			w.Advance(time.Minute)
			_, err := w.Store().Nodes.Delete(nodeName, deleteNow)
			w.OK(err)
			w.Advance(time.Millisecond)
			first := w.node.kubelet.status.ticker.TickAfter(w.Now())
			seen.reads = 0
			w.Advance(first.Add(rounds*tt.pause - time.Second).Sub(w.Now()))
			want(t, tt.rule+": reads", seen.reads, tt.reads)
			w.Create(fake.Node(nodeName))
			w.Mark()
			w.Advance(5 * time.Second)
			for e := range w.Since() {
				if e.Type == trace.Write && e.Verb == "patch-status" && e.Object.Kind == api.Node {
					want(t, tt.rule+": written", e.Time.Sub(first), rounds*tt.pause+tt.write)
					return
				}
			}
			t.Errorf("%s: no report", tt.rule)
		})
	}
}

// twoVolumes makes a pod with a volume that is mounted on the node and one that is not.
func (w *fixture) twoVolumes(name string) {
	pod := fake.Pod(name, fake.OnNode(nodeName))
	addClaim(pod, "data", "c1")
	addClaim(pod, "more", "c2")
	w.Create(pod)
}

// TestBetweenVolumes: MNT-066, MNT-170, what comes while the volumes of a pod are being read finds those that have been.
func TestBetweenVolumes(t *testing.T) {
	first, second := "["+string(volumeName)+"]", objects.CSIVolumeName(driverName, "h2")
	t.Run("MNT-066 a pass of the reconciler", func(t *testing.T) {
		w := newFixture(t, slow)
		w.bound("pv2", "h2", "c2")
		w.run("p1")
		w.twoVolumes("p2")
		w.Advance(time.Second)
		want(t, "MNT-066: wanted", w.decided("MNT-066"), []string{
			fmt.Sprintf("80ms wants volume %s as data", volumeName), fmt.Sprintf("120ms wants volume %s as more", second)})
		// The pass comes after 100 ms, and reads the VolumeAttachment twice.
		want(t, "MNT-066: calls", w.timed(), []string{"140ms Publish h1"})
	})
	t.Run("MNT-170 a round of the status", func(t *testing.T) {
		w := newFixture(t, slow, func(s *setup) { s.cfg.StatusPeriod = 70 * time.Millisecond })
		w.bound("pv2", "h2", "c2")
		w.twoVolumes("p1")
		var seen []string
		for range 100 {
			w.Advance(10 * time.Millisecond)
			seen = append(seen, fmt.Sprint(w.inUse()))
		}
		want(t, "MNT-170: in use", slices.Compact(seen), []string{"[]", first, fmt.Sprint([]corev1.UniqueVolumeName{volumeName, second})})
	})
}

// TestFirstCheck: MNT-003, MNT-014, a wait that begins at the instant of a pass checks before it, and finds its result at the next tick.
func TestFirstCheck(t *testing.T) {
	w := newFixture(t)
	w.setClaim("c1", func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimPending })
	w.pod("p1")
	w.Advance(25 * time.Second)
	var at []string
	for e := range w.Since() {
		if e.Type == trace.Emitted {
			at = append(at, e.Time.Sub(w.Begin).String())
		}
	}
	want(t, "MNT-014: Events", at, []string{"300ms", "10.6s", "20.9s"})
}
