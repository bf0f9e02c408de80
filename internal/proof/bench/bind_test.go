package bench

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
)

// A bindCase is a cluster with Available volumes, in which claims are created all at once.
type bindCase struct {
	name  string
	sizes []int
	// volume and claim return the ith volume and the ith claim of n.
	volume func(i, n int) *corev1.PersistentVolume
	claim  func(i, n int) *corev1.PersistentVolumeClaim
	// bound is how many claims find a volume.
	bound func(n int) int
}

func all(n int) int { return n }
func none(int) int  { return 0 }

var bindCases = []bindCase{
	// Distinct sizes, one class, ReadWriteOnce.
	{"", []int{100, 1_000, 10_000, 100_000, 1_000_000}, func(i, _ int) *corev1.PersistentVolume {
		return fake.Volume(volumeName(i), mebibytes(i+1), fake.InClass("disk"))
	}, func(i, _ int) *corev1.PersistentVolumeClaim {
		return fake.Claim(claimName(i), mebibytes(i+1), fake.InClass("disk"))
	}, all},
	// All of one size: only names distinguish the volumes.
	{"equal/", []int{100, 1_000, 10_000, 100_000}, gibibyteVolume, func(i, _ int) *corev1.PersistentVolumeClaim {
		return fake.Claim(claimName(i), "1Gi")
	}, all},
	// Each claim has a selector that one volume in a hundred matches.
	{"selector/", []int{100, 1_000, 10_000, 100_000}, func(i, _ int) *corev1.PersistentVolume {
		return fake.Volume(volumeName(i), "1Gi", fake.Labels("rack", fmt.Sprint(i%100)))
	}, func(i, _ int) *corev1.PersistentVolumeClaim {
		return selectingClaim(i, "rack", fmt.Sprint(i%100))
	}, all},
	// Each claim has a selector that a single volume matches, the last of the remaining ones.
	{"selector-one/", []int{100, 1_000, 10_000}, func(i, _ int) *corev1.PersistentVolume {
		return fake.Volume(volumeName(i), "1Gi", fake.Labels("disk", fmt.Sprint(i)))
	}, func(i, n int) *corev1.PersistentVolumeClaim {
		return selectingClaim(i, "disk", fmt.Sprint(n-1-i))
	}, all},
	// Every claim requests more than any volume has.
	{"none-fits/", []int{100, 1_000, 10_000, 100_000}, gibibyteVolume, func(i, _ int) *corev1.PersistentVolumeClaim {
		return fake.Claim(claimName(i), "2Gi")
	}, none},
}

func mebibytes(n int) string { return fmt.Sprintf("%dMi", n) }

func gibibyteVolume(i, _ int) *corev1.PersistentVolume { return fake.Volume(volumeName(i), "1Gi") }

func selectingClaim(i int, label, value string) *corev1.PersistentVolumeClaim {
	claim := fake.Claim(claimName(i), "1Gi")
	claim.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{label: value}}
	return claim
}

func volumeName(i int) string { return fmt.Sprintf("pv-%07d", i) }
func claimName(i int) string  { return fmt.Sprintf("claim-%07d", i) }

// BenchmarkBind measures from the creation of all claims until nothing is left to do. All controllers run; Events are stored; there is no
// trace. The volumes are Available before. The creation of the objects is included in whole/s, which is pairs per second from New to the
// end, and in whole-cpu-µs/pair.
func BenchmarkBind(b *testing.B) {
	for _, c := range bindCases {
		for _, n := range c.sizes {
			b.Run(fmt.Sprintf("%spairs=%d", c.name, n), func(b *testing.B) { c.run(b, n) })
		}
	}
}

func (c bindCase) run(b *testing.B, n int) {
	b.ReportAllocs()
	whole, wholeCPU, cpu, retained := time.Duration(0), time.Duration(0), time.Duration(0), uint64(0)
	for b.Loop() {
		b.StopTimer()
		before := heap()
		start, startCPU := time.Now(), cpuTime()
		cluster := newCluster(b, volsim.Config{TraceLimit: -1})
		create(b, cluster, n, func(i int) api.Object { return c.volume(i, n) })
		must(b, cluster.Settle())
		create(b, cluster, n, func(i int) api.Object { return c.claim(i, n) })
		began := cpuTime()
		b.StartTimer()
		must(b, cluster.Settle())
		b.StopTimer()
		cpu += cpuTime() - began
		whole += time.Since(start)
		wholeCPU += cpuTime() - startCPU
		retained = heap() - before
		bound := 0
		for i := range n {
			claim, err := cluster.Claims.Get("default/" + claimName(i))
			must(b, err)
			if claim.Status.Phase == corev1.ClaimBound {
				bound++
			}
		}
		if bound != c.bound(n) {
			b.Fatalf("%d claims are Bound, want %d", bound, c.bound(n))
		}
		b.StartTimer()
	}
	total := float64(n) * float64(b.N)
	b.ReportMetric(total/b.Elapsed().Seconds(), "binds/s")
	b.ReportMetric(total/whole.Seconds(), "whole/s")
	reportCPU(b, cpu, total, "bind")
	b.ReportMetric(float64(wholeCPU.Microseconds())/total, "whole-cpu-µs/pair")
	if n >= 1_000_000 {
		b.ReportMetric(float64(fromSystem())/(1<<30), "GiB")
	}
	b.ReportMetric(float64(retained)/float64(n), "B/pair")
}

// create creates n objects in batches, so that a million of them do not exist beside the cluster.
func create(b *testing.B, c *volsim.Cluster, n int, object func(i int) api.Object) {
	b.Helper()
	var some []api.Object
	for i := range n {
		if some = append(some, object(i)); len(some) == 1000 || i == n-1 {
			must(b, c.Create(some...))
			some = some[:0]
		}
	}
}

func newCluster(b *testing.B, cfg volsim.Config) *volsim.Cluster {
	b.Helper()
	cluster, err := volsim.New(cfg)
	must(b, err)
	return cluster
}

func must(b *testing.B, err error) {
	if err != nil {
		b.Helper()
		b.Fatal(err)
	}
}

// fromSystem returns the memory that the process has taken from the system, in bytes.
func fromSystem() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Sys
}

// heap returns the heap in use, in bytes.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
