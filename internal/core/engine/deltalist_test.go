package engine

import (
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// A list of changes behaves like a slice for every sequence of additions and removals.
func TestArrivals(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	list := deltaList[*corev1.Node]{pool: &chunkPool[*corev1.Node]{}}
	var want []uint64
	for n := range uint64(20_000) {
		// It grows to some hundreds and shrinks again, a few times.
		if growing := n/2000%2 == 0; len(want) == 0 || growing == (rng.IntN(4) > 0) {
			list.push().before = n
			want = append(want, n)
		} else {
			list.pop()
			want = want[1:]
		}
		if list.len() != len(want) {
			t.Fatalf("after %d steps: len() = %d, want %d", n, list.len(), len(want))
		}
		if len(want) == 0 {
			continue
		}
		i := rng.IntN(len(want))
		for _, i := range []int{0, i, len(want) - 1} {
			if got := list.at(i).before; got != want[i] {
				t.Fatalf("after %d steps: at(%d) = %d, want %d", n, i, got, want[i])
			}
		}
	}
	if len(list.pool.unused) > chunksKept {
		t.Errorf("%d pieces are kept, want at most %d", len(list.pool.unused), chunksKept)
	}
}
