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
	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/internal/proof/differential/upstream"
)

var benchCases = []benchCase{
	{"pairs=1000", 1000, 20, distinct},
	{"pairs=10000", 10_000, 8, distinct},
	{"equal/pairs=1000", 1000, 20, equal},
	{"equal/pairs=10000", 10_000, 8, equal},
}

type benchCase struct {
	name string
	n    int
	ours int                // how often ours runs before a round of the real controllers, and again after it
	size func(i int) string // names of the ith volume and the ith claim
}

func distinct(i int) string { return fmt.Sprintf("%dMi", i+1) }
func equal(int) string      { return "1Gi" }

func (c benchCase) volume(i int) *corev1.PersistentVolume {
	return fake.Volume(fmt.Sprintf("pv-%07d", i), c.size(i), fake.InClass("disk"))
}

func (c benchCase) claim(i int) *corev1.PersistentVolumeClaim {
	return fake.Claim(fmt.Sprintf("claim-%07d", i), c.size(i), fake.InClass("disk"))
}

// BenchmarkBind creates as many claims as there are volumes, all at once, and measures until all are bound. The real controllers and ours
// run in turns, because a shared machine is faster at some times than at others. The pairs are those of BenchmarkBind in
// internal/proof/bench: one class, ReadWriteOnce, distinct sizes unless all are equal. It reports both rates, their ratio, and the ratio
// of processor time per bind.
func BenchmarkBind(b *testing.B) {
	for _, pairs := range benchCases {
		b.Run(pairs.name, func(b *testing.B) {
			var theirs, ours spent
			for range b.N {
				for range pairs.ours {
					pairs.here(b, &ours)
				}
				pairs.upstream(b, &theirs)
				for range pairs.ours {
					pairs.here(b, &ours)
				}
			}
			b.ReportMetric(0, "ns/op") // which would be all of it
			b.ReportMetric(ours.rate(), "binds/s")
			b.ReportMetric(theirs.rate(), "real-binds/s")
			b.ReportMetric(ours.rate()/theirs.rate(), "times")
			b.ReportMetric(theirs.cpuOfOne()/ours.cpuOfOne(), "cpu-times")
			b.ReportMetric(ours.cpuOfOne(), "cpu-µs/bind")
		})
	}
}

// spent is the time that some binds took.
type spent struct {
	binds     int
	wall, cpu time.Duration
}

func (s *spent) rate() float64     { return float64(s.binds) / s.wall.Seconds() }
func (s *spent) cpuOfOne() float64 { return float64(s.cpu.Microseconds()) / float64(s.binds) }

// add adds the time of n binds.
func (s *spent) add(b *testing.B, binds func() int, bind func()) {
	b.Helper()
	runtime.GC() // of what came before
	n, cpu, began := binds(), cpuTime(b), time.Now()
	bind()
	s.wall += time.Since(began)
	s.cpu += cpuTime(b) - cpu
	s.binds += n
}

// upstream binds with the real controllers, in real time without a bubble. They start before the last claim exists; binds made by then do
// not count.
func (c benchCase) upstream(b *testing.B, s *spent) {
	cluster, err := upstream.New(upstream.Config{})
	require.NoError(b, err)
	defer cluster.Close()
	for i := range c.n {
		_, err := cluster.Create(c.volume(i))
		require.NoError(b, err)
	}
	await(b, cluster, func() int { return cluster.Volumes(corev1.VolumeAvailable) }, c.n)
	for i := range c.n {
		_, err := cluster.Create(c.claim(i))
		require.NoError(b, err)
	}
	s.add(b, func() int { return c.n - cluster.Claims(corev1.ClaimBound) }, func() {
		await(b, cluster, func() int { return cluster.Claims(corev1.ClaimBound) }, c.n)
	})
}

// await polls every few milliseconds, which costs little, until there are n.
func await(b *testing.B, c *upstream.Cluster, count func() int, n int) {
	b.Helper()
	for count() < n {
		time.Sleep(2 * time.Millisecond)
	}
}

// here binds with our controllers.
func (c benchCase) here(b *testing.B, s *spent) {
	cluster, err := differential.NewOurs(differential.Options{NoTrace: true})
	require.NoError(b, err)
	defer cluster.Close()
	for i := range c.n {
		require.NoError(b, cluster.Add(c.volume(i)))
	}
	require.NoError(b, cluster.Settle())
	for i := range c.n {
		require.NoError(b, cluster.Add(c.claim(i)))
	}
	s.add(b, func() int { return c.n }, func() { require.NoError(b, cluster.Settle()) })
	require.Equal(b, c.n, cluster.Claims(corev1.ClaimBound))
}

// cpuTime returns the processor time of this process. It hardly depends on other load of the machine.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
