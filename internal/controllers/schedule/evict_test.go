package schedule_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/controllers/schedule"
	"github.com/volsim/volsim/internal/core/engine"
)

// newEvictionFixture has a node that is full of the pods a, b, c and d, of rising priority, and a pod that needs the room of all but d. Each
// request about one of them takes a second, unless a fault says something else.
func newEvictionFixture(t *testing.T, cfg schedule.Config, faults func(*fake.Faults)) *fixture {
	w := newFixture(t, cfg, engine.Config{})
	asking := func(name, cpu string, priority int32) *corev1.Pod {
		pod := fake.Pod(name)
		pod.Spec.Priority = &priority
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: quantity(cpu)}
		return pod
	}
	w.create(fake.Node("n1"))
	w.PatchStatus(api.Node, "n1", `{"status":{"allocatable":{"cpu":"4"}}}`)
	w.create(asking("a", "1", 1), asking("b", "1", 2), asking("c", "1", 3), asking("d", "1", 20))
	w.Advance(0)
	w.create(asking("p", "3", 10))
	faults(w.Faults)
	for _, name := range []string{"a", "b", "c"} {
		w.Faults.Slow(fake.Match{Key: "default/" + name}, time.Second)
	}
	return w
}

// none adds no faults.
func none(*fake.Faults) {}

// evictions lists what was done to a, b and c, such as "1s patch c".
func (w *fixture) evictions() []string {
	var lines []string
	for _, line := range w.log() {
		for _, name := range []string{"a", "b", "c"} {
			if at, ok := strings.CutSuffix(line, " patch-status Pod/default/"+name); ok {
				lines = append(lines, at+" patch "+name)
			} else if at, ok := strings.CutSuffix(line, " delete Pod/default/"+name); ok {
				lines = append(lines, at+" delete "+name)
			}
		}
	}
	return lines
}

// TestEvictionOrder: the victims are evicted at the same time, and the last one after them.
func TestEvictionOrder(t *testing.T) {
	failing := func(f *fake.Faults) {
		f.Add(fake.Match{Verb: "delete", Key: "default/c"}, api.Fault{Delay: time.Second, Err: errors.New("no")}).Times(1)
		f.Slow(fake.Match{Verb: "patch-status", Key: "default/b"}, 2500*time.Millisecond)
	}
	for _, tc := range []struct {
		rule, name string
		cfg        schedule.Config
		faults     func(*fake.Faults)
		want       string // within six seconds
	}{
		{"SCHED-243", "all but the last at the same time", schedule.Config{}, none,
			"1s patch c, 1s patch b, 2s delete c, 2s delete b, 3s patch a, 4s delete a"},
		{"SCHED-243", "one after the other", schedule.Config{Parallelism: 1}, none,
			"1s patch c, 2s delete c, 3s patch b, 4s delete b, 5s patch a, 6s delete a"},
		{"SCHED-243", "an error lets the rest stay", schedule.Config{Parallelism: 1}, failing, "1s patch c, 3s delete c, 5.5s patch b"},
		{"SCHED-243", "no request follows an error", schedule.Config{}, failing, "1s patch c, 2.5s patch b, 3.5s delete c, 3.5s delete b, 4.5s patch a, 5.5s delete a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newEvictionFixture(t, tc.cfg, tc.faults)
			w.Advance(6 * time.Second)
			require.Equal(t, tc.want, strings.Join(w.evictions(), ", "), tc.rule)
		})
	}
}

// TestEvictionHolds: a pod is not tried while others are evicted for it, even if one of them is gone (SCHED-315).
func TestEvictionHolds(t *testing.T) {
	w := newEvictionFixture(t, schedule.Config{}, none)
	w.Advance(2 * time.Second)
	w.log()
	w.DeleteNow(api.Pod, "default/c")
	w.Advance(1500 * time.Millisecond)
	require.NotContains(t, strings.Join(w.log(), "\n"), "default/p FailedScheduling", "SCHED-315")
	w.Advance(time.Second)
	w.DeleteNow(api.Pod, "default/b")
	w.Advance(0)
	require.Contains(t, strings.Join(w.log(), "\n"), "not eligible due to a terminating pod on the nominated node.", "SCHED-315")
	w.DeleteNow(api.Pod, "default/a")
	w.Advance(2 * time.Second)
	require.Equal(t, "n1", w.pod("p").Spec.NodeName)
}
