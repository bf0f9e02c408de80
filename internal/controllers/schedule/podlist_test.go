package schedule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/fake"
)

// TestPodList: whatever comes and goes, the list has it, and the first of a heap precedes all others.
func TestPodList(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 0))
		list := &podList{}
		if seed%2 == 0 {
			list.less = byExpiry
		}
		require.Nil(t, list.min())
		var want []*queuedPod
		for i := range 200 {
			if n := len(want); n > 0 && rng.IntN(3) == 0 {
				at := rng.IntN(n)
				list.remove(want[at])
				want = slices.Delete(want, at, at+1)
			} else {
				want = append(want, &queuedPod{pod: fake.Pod("p"), seq: uint64(i), expiry: time.Unix(rng.Int64N(10), 0)})
				list.add(want[n])
			}
			sortPods(want, byExpiry)
			require.Equal(t, len(want), list.len())
			sorted := list.sorted(byExpiry)
			for j, item := range want {
				require.Same(t, item, sorted[j])
				require.Same(t, item, list.items[item.at])
			}
			if len(want) > 0 && list.less != nil {
				require.Same(t, want[0], list.min())
			}
		}
	}
}

// TestClaimUses: the counts by node are those of a map, and the first is empty only if all are.
func TestClaimUses(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var uses claimUses
		want := map[string]int{}
		for range 100 {
			node := fmt.Sprint("n", rng.IntN(4))
			if want[node] > 0 && rng.IntN(2) == 0 {
				uses.add(node, -1)
				if want[node]--; want[node] == 0 {
					delete(want, node)
				}
			} else {
				uses.add(node, 1)
				want[node]++
			}
			got := map[string]int{}
			for _, on := range append(slices.Clone(uses.more), uses.first) {
				if on.n != 0 {
					got[on.node] += on.n
				}
			}
			require.Equal(t, want, got)
			require.Equal(t, len(want) == 0, uses.first.n == 0)
		}
	}
}
