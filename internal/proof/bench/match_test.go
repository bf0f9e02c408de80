package bench

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/match"
)

// BenchmarkMatch measures one search for the smallest volume that fits, among volumes of distinct sizes, in the PersistentVolume
// controller's index. Package match has more cases.
func BenchmarkMatch(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000, 100_000, 1_000_000} {
		index := match.NewIndex()
		for i := range n {
			pv := fake.Volume(volumeName(i), fmt.Sprintf("%dMi", i+1))
			pv.Status.Phase = corev1.VolumeAvailable
			index.PutVolume(pv)
		}
		claims := make([]*corev1.PersistentVolumeClaim, 1000)
		for i := range claims {
			claims[i] = fake.Claim(claimName(i), fmt.Sprintf("%dMi", 1+i*7919%n))
		}
		b.Run(fmt.Sprintf("volumes=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				pv, _, err := index.Match(claims[i%len(claims)], false)
				if err != nil || pv == nil {
					b.Fatalf("Match = %v, %v, want a volume", pv, err)
				}
			}
		})
	}
}
