package schedule

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
)

// queueTest is a queue whose pods are taken by hand.
type queueTest struct {
	*queue
	t      *testing.T
	engine *engine.Engine
	calls  int // of ready
	// evicting is the name of a pod for which others are being evicted.
	evicting string
}

func newQueueTest(t *testing.T) *queueTest {
	e, err := engine.New(engine.Config{})
	require.NoError(t, err)
	q := &queueTest{t: t, engine: e}
	cfg := &Config{}
	require.NoError(t, cfg.complete())
	_, err = e.NewActor("queue", func(a *engine.Actor) {
		q.queue = newQueue(a, cfg, func() { q.calls++ }, func(pod *corev1.Pod) bool { return q.evicting == pod.Name })
	})
	require.NoError(t, err)
	return q
}

func (q *queueTest) elapsed() time.Duration { return q.engine.Now().Sub(engine.DefaultStart) }

// pop takes a pod, which has to be the one of that name.
func (q *queueTest) pop(name, why string) *queuedPod {
	q.t.Helper()
	item := q.next()
	if item == nil {
		require.Empty(q.t, name, why)
		return nil
	}
	require.Equal(q.t, name, item.pod.Name, why)
	return item
}

func (q *queueTest) rejected(item *queuedPod) {
	item.plugins = []string{volumeBinding}
	q.requeueFailed(item)
}

var anyVolume = change{kind: api.PersistentVolume, what: added, new: fake.Volume("v", "1Gi")}

func TestBackoff(t *testing.T) {
	q := newQueueTest(t)
	q.engine.Advance(300 * time.Millisecond)
	for n, want := range []time.Duration{1, 2, 4, 8, 10, 10, 10} {
		got := q.expiry(q.now(), n+1).Sub(engine.DefaultStart)
		require.Equal(t, want*time.Second, got, "SCHED-007: after %d failures, as a whole second", n+1)
	}
	require.Equal(t, 10*time.Second, q.expiry(engine.DefaultStart, 1000).Sub(engine.DefaultStart), "SCHED-007")
}

func TestQueueOrder(t *testing.T) {
	q := newQueueTest(t)
	q.add("default/first", fake.Pod("first"))
	q.add("default/second", fake.Pod("second"))
	q.add("default/urgent", with(fake.Pod("urgent"), priority(1)))
	require.Equal(t, 3, q.calls)
	q.pop("urgent", "SCHED-252")
	q.pop("first", "SCHED-252")
	q.pop("second", "SCHED-252")
	q.pop("", "SCHED-252")
}

// TestHeldPods: a pod for which others are being evicted waits until a pod is deleted, or for the flush, after that has ended.
func TestHeldPods(t *testing.T) {
	gone := change{kind: api.Pod, what: deleted, old: fake.Pod("gone", fake.OnNode("n1"))}
	for _, tc := range []struct {
		rule, name string
		ends       bool // the eviction, before the second change
		first      []change
		second     change
		want       string // the pod that is tried
	}{
		{"SCHED-315", "the eviction goes on", false, []change{gone}, gone, ""},
		{"SCHED-315", "a pod is deleted after it has ended", true, []change{gone}, gone, "p"},
		{"SCHED-315", "another change after it has ended", true, []change{gone}, anyVolume, ""},
		{"SCHED-315", "no change while it went on", true, nil, anyVolume, "p"},
	} {
		q := newQueueTest(t)
		q.add("default/p", fake.Pod("p"))
		item := q.pop("p", tc.name)
		item.plugins = []string{volumeBinding, nodeResourcesFit}
		q.requeueFailed(item)
		q.evicting = "p"
		for _, c := range tc.first {
			q.move(c, nil)
			q.pop("", tc.rule+": "+tc.name)
		}
		if tc.ends {
			q.evicting = ""
		}
		q.move(tc.second, nil)
		q.pop(tc.want, tc.rule+": "+tc.name)
	}
	q := newQueueTest(t)
	q.add("default/p", fake.Pod("p"))
	q.rejected(q.pop("p", "new"))
	q.evicting = "p"
	q.move(anyVolume, nil)
	q.evicting = ""
	q.activate("default/p")
	q.rejected(q.pop("p", "SCHED-243: the eviction has failed"))
	q.move(anyVolume, nil)
	q.rejected(q.pop("p", "SCHED-315: any change helps again"))
	q.evicting = "p"
	q.engine.Advance(5*time.Minute + flushPeriod)
	q.pop("", "SCHED-315: the flush comes too early")
	q.evicting = ""
	q.engine.Advance(flushPeriod)
	q.pop("p", "SCHED-315: the next flush")
}

func TestRejectedPodsWait(t *testing.T) {
	q := newQueueTest(t)
	q.add("default/p", fake.Pod("p"))
	q.rejected(q.pop("p", "new"))
	q.pop("", "SCHED-250: it waits")
	q.move(change{kind: api.PersistentVolume, what: deleted, old: fake.Volume("v", "1Gi")}, nil)
	q.pop("", "SCHED-277: this does not help")
	q.move(anyVolume, nil)
	item := q.pop("p", "SCHED-252: no other pod is active, so the backoff does not count")
	q.rejected(item)
	q.move(anyVolume, nil)
	q.add("default/fresh", fake.Pod("fresh"))
	q.pop("fresh", "SCHED-252: others come before one in backoff")
	q.rejected(q.pop("p", "SCHED-252"))
	require.Equal(t, 3, item.rejections)
	q.engine.Advance(5 * time.Second)
	q.add("default/late", fake.Pod("late"))
	q.move(anyVolume, nil)
	q.pop("p", "SCHED-252: its backoff of 4 s is over, and it waits for longer")
	q.pop("late", "SCHED-252")
}

// TestBackoffWindows: pods in backoff come at whole seconds, and within one by priority.
func TestBackoffWindows(t *testing.T) {
	q := newQueueTest(t)
	q.add("default/low", fake.Pod("low"))
	q.rejected(q.pop("low", "new"))
	q.engine.Advance(300 * time.Millisecond)
	q.add("default/high", with(fake.Pod("high"), priority(1)))
	q.rejected(q.pop("high", "new"))
	q.move(anyVolume, nil)
	require.Equal(t, 2, q.backoff.len())
	require.True(t, q.waiting())
	q.engine.Advance(1600 * time.Millisecond) // 1.9 s
	q.add("default/fresh", fake.Pod("fresh"))
	q.pop("fresh", "SCHED-008: both are in backoff up to the next whole second")
	q.add("default/fresh2", with(fake.Pod("fresh2"), priority(2)))
	q.engine.Advance(200 * time.Millisecond) // 2.1 s
	q.pop("fresh2", "SCHED-008: flushed, hence in order of priority")
	q.pop("high", "SCHED-252: both expired in the same second")
	q.pop("low", "SCHED-252")
}

func TestErrorBackoff(t *testing.T) {
	q := newQueueTest(t)
	q.engine.Advance(300 * time.Millisecond)
	q.add("default/p", fake.Pod("p"))
	item := q.pop("p", "new")
	for _, want := range []time.Duration{2, 5, 10, 19, 30} {
		item.plugins = nil
		q.requeueFailed(item)
		q.move(anyVolume, nil)
		q.pop("", "SCHED-254: nothing shortens it")
		require.NoError(t, q.engine.Until(q.waiting, time.Minute))
		// 0.3+1 ends in second 1, so 2; 2+2=4, so 5; 5+4=9, so 10; 10+8=18, so 19; 19+10=29, so 30.
		require.Equal(t, want*time.Second, q.elapsed(), "SCHED-254")
		q.pop("p", "SCHED-254")
	}
	q.rejected(item)
	require.Zero(t, item.errors, "SCHED-254: only errors in a row count")
}

func TestNoNodesIsNoWork(t *testing.T) {
	q := newQueueTest(t)
	q.add("default/p", fake.Pod("p"))
	item := q.pop("p", "new")
	item.noNodes = true
	q.requeueFailed(item)
	require.NoError(t, q.engine.Settle(time.Hour))
	require.Zero(t, q.elapsed(), "SCHED-254: Settle does not wait for a retry that fails as well")
	q.nodesAdded()
	require.NoError(t, q.engine.Settle(time.Hour))
	require.Equal(t, 2*time.Second, q.elapsed(), "SCHED-254: with a node it is worth waiting for")
	q.pop("p", "SCHED-254")
}

func TestFlush(t *testing.T) {
	for _, tc := range []struct{ rejected, want time.Duration }{
		{0, 330 * time.Second}, // 300 s is not older than 5 minutes
		{time.Second, 330 * time.Second},
		{29 * time.Second, 330 * time.Second},
		{30 * time.Second, 360 * time.Second},
		{31 * time.Second, 360 * time.Second},
	} {
		q := newQueueTest(t)
		q.engine.Advance(tc.rejected)
		q.add("default/p", fake.Pod("p"))
		q.rejected(q.pop("p", "new"))
		require.NoError(t, q.engine.Settle(time.Hour))
		require.Equal(t, tc.rejected, q.elapsed(), "SCHED-253: Settle does not wait for it")
		require.NoError(t, q.engine.Until(q.waiting, time.Hour))
		require.Equal(t, tc.want, q.elapsed(), "SCHED-009, SCHED-253: rejected at %v", tc.rejected)
		q.pop("p", "SCHED-253")
	}
	q := newQueueTest(t)
	q.add("default/p", fake.Pod("p"))
	q.rejected(q.pop("p", "new"))
	q.engine.Advance(4 * time.Minute)
	q.add("default/later", fake.Pod("later"))
	q.rejected(q.pop("later", "new"))
	q.engine.Advance(90 * time.Second)
	q.pop("p", "SCHED-009: only those that are old enough")
	q.pop("", "SCHED-009")
	q.engine.Advance(4 * time.Minute)
	q.pop("later", "SCHED-009: and the others in their time")
}

func TestUpdates(t *testing.T) {
	q := newQueueTest(t)
	gated := with(fake.Pod("p"), func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}} })
	q.add("default/p", gated)
	q.pop("", "SCHED-020: it is gated")
	q.update("default/p", gated, fake.Pod("p", fake.Labels("a", "b")))
	q.update("default/p", gated, fake.Pod("p", fake.Labels("a", "c")))
	item := q.pop("p", "SCHED-255: its gates are gone")
	require.Equal(t, "c", item.pod.Labels["a"], "in the newest version")
	item.plugins = []string{taintToleration}
	q.requeueFailed(item)
	q.update("default/p", item.pod, fake.Pod("p"))
	q.pop("", "SCHED-255: this does not help")
	q.update("default/p", item.pod, with(fake.Pod("p"),
		func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} }))
	q.pop("p", "SCHED-255")
	q.update("default/p", item.pod, fake.Pod("p"))
	q.remove("default/p")
	q.pop("", "it is gone")
	q.remove("default/p")
}
