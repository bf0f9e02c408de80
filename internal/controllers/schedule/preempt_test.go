package schedule

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/store"
)

// TestVictims: which pods leave for a pod of priority 10 that needs 1 CPU. The nodes have 1 or 2 CPUs, and each pod there needs 1.
func TestVictims(t *testing.T) {
	node := func(name, cpu string) *corev1.Node { return with(fake.Node(name), allocatable("cpu", cpu)) }
	pod := func(name, node string, value int32, started int64) *corev1.Pod {
		pod := onNode(with(requesting(name, "1", "0"), priority(value)), node)
		pod.Labels = map[string]string{"app": name}
		if started > 0 {
			pod.Status.StartTime = &metav1.Time{Time: time.Unix(started, 0)}
		}
		return pod
	}
	budget := func(name string, allowed int32, done ...string) *policyv1.PodDisruptionBudget {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		b.Spec.Selector = app(name)
		b.Status.DisruptionsAllowed = allowed
		for _, name := range done {
			b.Status.DisruptedPods = map[string]metav1.Time{name: {Time: time.Unix(1, 0)}}
		}
		return b
	}
	all := with(budget("all", 0), func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = &metav1.LabelSelector{} })
	for _, tc := range []struct {
		rule, name string
		objs       objs
		want       string
	}{
		{"SCHED-310", "the lower priority goes", objs{node("n1", "2"), pod("a", "n1", 2, 0), pod("b", "n1", 1, 0)}, "n1: b"},
		{"SCHED-310", "the younger one goes", objs{node("n1", "2"), pod("a", "n1", 1, 20), pod("b", "n1", 1, 10)}, "n1: a"},
		{"SCHED-310", "one that has not started is the youngest", objs{node("n1", "2"), pod("a", "n1", 1, 0), pod("b", "n1", 1, 10)}, "n1: a"},
		{"SCHED-310", "a protected pod stays, although its priority is lower",
			objs{node("n1", "2"), pod("a", "n1", 2, 0), pod("b", "n1", 1, 0), budget("b", 0)}, "n1: a"},
		{"SCHED-311", "a budget with room protects nothing", objs{node("n1", "2"), pod("a", "n1", 2, 0), pod("b", "n1", 1, 0), budget("b", 1)},
			"n1: b"},
		{"SCHED-311", "an evicted pod is counted already",
			objs{node("n1", "2"), pod("a", "n1", 2, 0), pod("b", "n1", 1, 0), budget("b", 0, "b")}, "n1: b"},
		{"SCHED-311", "an empty selector protects nothing", objs{node("n1", "1"), pod("a", "n1", 1, 0), node("n2", "1"), pod("b", "n2", 2, 0), all},
			"n1: a"},
		{"SCHED-312", "the node without a violation",
			objs{node("n1", "1"), pod("a", "n1", 1, 0), node("n2", "1"), pod("b", "n2", 2, 0), budget("a", 0)}, "n2: b"},
		{"SCHED-312", "the node with the lower priority", objs{node("n1", "1"), pod("a", "n1", 2, 0), node("n2", "1"), pod("b", "n2", 1, 0)}, "n2: b"},
		{"SCHED-312", "the node where the victim started last", objs{node("n1", "1"), pod("a", "n1", 1, 10), node("n2", "1"), pod("b", "n2", 1, 20)},
			"n2: b"},
		{"SCHED-313", "a protected pod goes if nothing else helps", objs{node("n1", "1"), pod("a", "n1", 1, 0), budget("a", 0)}, "n1: a"},
	} {
		f := newFixture(t, Config{}, tc.objs...)
		f.onNodes(tc.objs...)
		if table, err := f.engine.Store().Other(store.DisruptionBudgetKind); err == nil {
			f.follow(table)
			f.engine.Advance(0)
		}
		c := newCycle(f.lookups(), with(requesting("p", "1", "0"), priority(10)))
		got := "no eviction"
		f.actor.Go("test", func(p *engine.Process) {
			_, err := f.findNode(p, c)
			var unfit *fitError
			require.ErrorAs(t, err, &unfit)
			if e, _, _ := f.bestEviction(c, &unfit.diagnosis); e != nil {
				got = e.node + ":"
				for _, victim := range e.victims {
					got += " " + victim.Name
				}
			}
		})
		f.engine.Advance(0)
		require.Equal(t, tc.want, got, "%s: %s", tc.rule, tc.name)
	}
}

// TestIsEvicting: when a pod is not tried because others are being evicted for it.
func TestIsEvicting(t *testing.T) {
	leaving := onNode(fake.Pod("leaving"), "n1")
	leaving.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	leaving.Finalizers = []string{"example.com/x"}
	f := newFixture(t, Config{}, onNode(fake.Pod("victim"), "n1"), leaving)
	for _, tc := range []struct {
		rule, name, uid, last string
		want                  bool
	}{
		{"SCHED-315", "nothing is evicted for it", "another", "", false},
		{"SCHED-315", "several victims are left", "p", "", true},
		{"SCHED-315", "the last victim is there", "p", "default/victim", true},
		{"SCHED-315", "the last victim is being deleted", "p", "default/leaving", false},
		{"SCHED-315", "the last victim is gone", "p", "default/gone", false},
	} {
		f.evicting = map[types.UID]string{types.UID(tc.uid): tc.last}
		pod := fake.Pod("p")
		pod.UID = "p"
		require.Equal(t, tc.want, f.isEvicting(pod), "%s: %s", tc.rule, tc.name)
	}
}

// TestChunkSize: how many victims a worker takes at a time.
func TestChunkSize(t *testing.T) {
	for _, tc := range []struct {
		rule                   string
		victims, workers, want int
	}{
		{"SCHED-243", 0, 16, 1},
		{"SCHED-243", 1, 16, 1},
		{"SCHED-243", 15, 16, 1},
		{"SCHED-243", 16, 16, 2},
		{"SCHED-243", 100, 16, 7},
		{"SCHED-243", 100, 1, 10},
	} {
		require.Equal(t, tc.want, chunkSize(tc.victims, tc.workers), "%s: %d victims, %d workers", tc.rule, tc.victims, tc.workers)
	}
}
