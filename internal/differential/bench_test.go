package differential_test

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/differential"
	"github.com/volsim/volsim/internal/differential/upstream"
)

// The benchmarks create as many claims as there are volumes, all at once, and measure from then until all are bound. The pairs are those
// of BenchmarkBind: of one class, ReadWriteOnce, and of distinct sizes if not all are equal. Upstream is in no bubble: its time is real, and there is nothing that it
// waits for. It begins to bind before the last claim is there; what it has bound by then does not count.

var benchCases = []benchCase{{"pairs=1000", 1000, distinct}, {"pairs=10000", 10_000, distinct}, {"equal/pairs=1000", 1000, equal}, {"equal/pairs=10000", 10_000, equal}}

type benchCase struct {
	name string
	n    int
	size func(i int) string // of the ith volume and the ith claim
}

func distinct(i int) string { return fmt.Sprintf("%dMi", i+1) }
func equal(int) string      { return "1Gi" }

func (c benchCase) volume(i int) *corev1.PersistentVolume {
	return fake.Volume(fmt.Sprintf("pv-%07d", i), c.size(i), fake.InClass("disk"))
}

func (c benchCase) claim(i int) *corev1.PersistentVolumeClaim {
	return fake.Claim(fmt.Sprintf("claim-%07d", i), c.size(i), fake.InClass("disk"))
}

func BenchmarkReal(b *testing.B) {
	for _, pairs := range benchCases {
		n := pairs.n
		b.Run(pairs.name, func(b *testing.B) {
			cpu, binds := time.Duration(0), 0
			for range b.N {
				b.StopTimer()
				c, err := upstream.New(upstream.Config{})
				require.NoError(b, err)
				for i := range n {
					_, err := c.Create(pairs.volume(i))
					require.NoError(b, err)
				}
				await(b, c, func() int { return c.Volumes(corev1.VolumeAvailable) }, n)
				for i := range n {
					_, err := c.Create(pairs.claim(i))
					require.NoError(b, err)
				}
				runtime.GC() // of what came before
				began := cpuTime(b)
				binds += n - c.Claims(corev1.ClaimBound)
				b.StartTimer()
				await(b, c, func() int { return c.Claims(corev1.ClaimBound) }, n)
				b.StopTimer()
				cpu += cpuTime(b) - began
				c.Close()
				b.StartTimer()
			}
			b.ReportMetric(float64(binds)/b.Elapsed().Seconds(), "binds/s")
			b.ReportMetric(float64(cpu.Microseconds())/float64(binds), "cpu-µs/bind")
		})
	}
}

// await looks every few milliseconds, which costs little, until there are n.
func await(b *testing.B, c *upstream.Cluster, count func() int, n int) {
	b.Helper()
	for count() < n {
		time.Sleep(2 * time.Millisecond)
	}
}

func BenchmarkOurs(b *testing.B) {
	for _, pairs := range benchCases {
		n := pairs.n
		b.Run(pairs.name, func(b *testing.B) {
			cpu := time.Duration(0)
			for range b.N {
				b.StopTimer()
				c, err := differential.NewOurs(differential.Options{NoTrace: true})
				require.NoError(b, err)
				for i := range n {
					require.NoError(b, c.Add(pairs.volume(i)))
				}
				require.NoError(b, c.Settle())
				for i := range n {
					require.NoError(b, c.Add(pairs.claim(i)))
				}
				runtime.GC() // of what came before
				began := cpuTime(b)
				b.StartTimer()
				require.NoError(b, c.Settle())
				b.StopTimer()
				cpu += cpuTime(b) - began
				require.Equal(b, n, c.Claims(corev1.ClaimBound))
				c.Close()
				b.StartTimer()
			}
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "binds/s")
			b.ReportMetric(float64(cpu.Microseconds())/float64(n*b.N), "cpu-µs/bind")
		})
	}
}

// cpuTime is the time that this process has had a processor, which hardly depends on what else a machine does.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
