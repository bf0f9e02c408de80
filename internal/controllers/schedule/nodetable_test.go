package schedule

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
)

// TestNodeTable: whatever changes, and whenever a search looks, the table says what the informers and the pods say.
func TestNodeTable(t *testing.T) {
	for seed := range uint64(50) {
		f := newFixture(t, Config{})
		f.run()
		rng := rand.New(rand.NewPCG(seed, 0))
		for step := range 60 {
			s, node := f.engine.Store(), fmt.Sprint("n", rng.IntN(4))
			switch rng.IntN(6) {
			case 0:
				// A new node, or a new version of one.
				f.load(fake.Node(node, fake.Allocatable("cpu", fmt.Sprint(1+rng.IntN(4)))))
			case 1:
				f.load(csiNode(node, map[string]int32{"d": rng.Int32N(3)}))
			case 2:
				_, _ = s.Nodes.Delete(node, api.DeleteOptions{}) // which may not exist
			case 3:
				_, _ = s.CSINodes.Delete(node, api.DeleteOptions{})
			case 4:
				pod := fake.Pod(fmt.Sprint("p", rng.IntN(8)), fake.Requests("cpu", "100m"), uid(fmt.Sprint(step)))
				pod.Spec.NodeName = node
				f.load(pod)
			case 5:
				_, _ = s.Pods.Delete(fmt.Sprint("default/p", rng.IntN(8)), api.DeleteOptions{GracePeriodSeconds: new(int64(0))})
			}
			f.engine.Advance(0)
			if rng.IntN(2) == 0 {
				f.requireTable(fmt.Sprintf("seed %d, step %d", seed, step))
			}
		}
	}
}

// requireTable compares the table of nodes with the informers, and with the pods in the store.
func (f *fixture) requireTable(when string) {
	f.t.Helper()
	slots := f.nodes()
	require.Len(f.t, slots, len(f.inf.nodes.List()), when)
	for i, node := range f.inf.nodes.List() {
		slot := &slots[i]
		require.Same(f.t, node, slot.at.node, when)
		csiNode, _ := f.inf.csiNodes.Get(node.Name)
		require.Same(f.t, csiNode, slot.csiNode, when)
		require.Equal(f.t, limitsOf(csiNode), slot.limits, when)
		var on []*corev1.Pod
		for _, pod := range f.engine.Store().Pods.List() {
			if pod.Spec.NodeName == node.Name {
				on = append(on, pod)
			}
		}
		want, got := newNodeState(node, on), f.state(slot)
		require.Equal(f.t, on, got.pods(), when)
		require.Equal(f.t, []any{want.on.n, want.on.used, want.on.assumed}, []any{got.on.n, got.on.used, got.on.assumed}, when)
		require.Equal(f.t, want.nodeFacts, got.nodeFacts, when)
	}
}
