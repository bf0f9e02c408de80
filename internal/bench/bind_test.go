package bench

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/store"
)

// BenchmarkBind binds pairs of volumes and claims of distinct sizes, one class, ReadWriteOnce. Putting the objects in place is not
// counted; everything from then on is: the controllers' syncs and writes, watch deliveries and queue turns.
func BenchmarkBind(b *testing.B) {
	for _, pairs := range []int{100, 1_000, 10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("pairs=%d", pairs), func(b *testing.B) {
			benchmarkBind(b, pairs, func(i int) (store.Object, store.Object) {
				size := fmt.Sprintf("%dMi", i+1)
				return fake.Volume(fmt.Sprintf("pv-%07d", i), size), fake.Claim(fmt.Sprintf("claim-%07d", i), size)
			})
		})
	}
}

func benchmarkBind(b *testing.B, pairs int, pair func(i int) (volume, claim store.Object)) {
	volumes, claims := make([]store.Object, pairs), make([]store.Object, pairs)
	for i := range pairs {
		volumes[i], claims[i] = pair(i)
	}
	b.ReportAllocs()
	var before, after runtime.MemStats
	for b.Loop() {
		b.StopTimer()
		runtime.GC()
		runtime.ReadMemStats(&before)
		c, err := volsim.New(volsim.Config{NoTrace: true})
		if err != nil {
			b.Fatal(err)
		}
		if err := c.Create(volumes...); err != nil {
			b.Fatal(err)
		}
		if err := c.Settle(); err != nil {
			b.Fatal(err)
		}
		if err := c.Create(claims...); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if err := c.Settle(); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(pairs), "B/pair")
		runtime.KeepAlive(c)
		b.StartTimer()
	}
	b.ReportMetric(float64(pairs)*float64(b.N)/b.Elapsed().Seconds(), "binds/s")
}
