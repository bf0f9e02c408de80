package differential_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/differential"
	"github.com/volsim/volsim/internal/differential/upstream"
)

// The benchmarks create as many claims as there are volumes, all at once, and measure from then until all are bound. Upstream is in no
// bubble: its time is real, there is nothing that it waits for, and it has begun to bind by then.

var benchSizes = []int{1000, 10_000}

func BenchmarkReal(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			cpu := time.Duration(0)
			for range b.N {
				b.StopTimer()
				c, err := upstream.New(upstream.Config{})
				require.NoError(b, err)
				for i := range n {
					_, err := c.Create(fake.Volume(fmt.Sprintf("pv%d", i), "1Gi"))
					require.NoError(b, err)
				}
				await(b, c, func() int { return c.Volumes(corev1.VolumeAvailable) }, n)
				for i := range n {
					_, err := c.Create(fake.Claim(fmt.Sprintf("c%d", i), "1Gi"))
					require.NoError(b, err)
				}
				began := cpuTime(b)
				b.StartTimer()
				await(b, c, func() int { return c.Claims(corev1.ClaimBound) }, n)
				b.StopTimer()
				cpu += cpuTime(b) - began
				c.Close()
				b.StartTimer()
			}
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "binds/s")
			b.ReportMetric(float64(cpu.Microseconds())/float64(n*b.N), "cpu-µs/bind")
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
	for _, n := range benchSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			cpu := time.Duration(0)
			for range b.N {
				b.StopTimer()
				c, err := differential.NewOurs(differential.Options{NoTrace: true})
				require.NoError(b, err)
				for i := range n {
					require.NoError(b, c.Add(fake.Volume(fmt.Sprintf("pv%d", i), "1Gi")))
				}
				require.NoError(b, c.Settle())
				for i := range n {
					require.NoError(b, c.Add(fake.Claim(fmt.Sprintf("c%d", i), "1Gi")))
				}
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
