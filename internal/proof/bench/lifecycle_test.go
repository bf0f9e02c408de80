package bench

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

const (
	diskDriver  = "disk.example.com"
	podsPerNode = 10
)

// podWorld is a cluster with nodes, a CSI driver and a class.
func podWorld(b *testing.B, nodes int) *volsim.Cluster {
	b.Helper()
	c := newCluster(b, volsim.Config{TraceLimit: -1, Backends: []storage.Backend{fake.CSI(diskDriver)}})
	must(b, c.Create(fake.Class("disk", diskDriver)))
	for i := range nodes {
		must(b, c.Create(fake.Node(fmt.Sprintf("n%05d", i))))
	}
	must(b, c.Settle())
	return c
}

func podName(i int) string { return fmt.Sprintf("pod-%06d", i) }

// A stopwatch measures the parts of a benchmark that count. The benchmark's timer runs only meanwhile, so that checks between the parts do
// not count: they copy every pod.
type stopwatch struct {
	b         *testing.B
	wall, cpu time.Duration
}

func (w *stopwatch) measure(part func() error) {
	w.b.Helper()
	w.b.StartTimer()
	start, began := time.Now(), cpuTime()
	err := part()
	w.wall += time.Since(start)
	w.cpu += cpuTime() - began
	w.b.StopTimer()
	must(w.b, err)
}

// settle lets the cluster settle until done. Backoff may delay the last pods beyond the end of Settle.
func (w *stopwatch) settle(c *volsim.Cluster, done func() bool) {
	w.b.Helper()
	for range 60 {
		w.measure(c.Settle)
		if done() {
			return
		}
		w.measure(func() error { return c.Advance(10 * time.Second) })
	}
	w.b.Fatalf("%d pods, %d claims, %d volumes and %d attachments after ten minutes",
		len(c.Pods.List()), len(c.Claims.List()), len(c.Volumes.List()), len(c.Attachments.List()))
}

// startPods creates pods with one claim each, and waits until they run.
func startPods(w *stopwatch, c *volsim.Cluster, pods int) {
	w.b.Helper()
	w.measure(func() error {
		objs := make([]api.Object, 0, 2*pods)
		for i := range pods {
			objs = append(objs, fake.Claim(claimName(i), "1Gi", fake.InClass("disk")), fake.Pod(podName(i), fake.Claims(claimName(i))))
		}
		return c.Create(objs...)
	})
	w.settle(c, func() bool {
		return !slices.ContainsFunc(c.Pods.List(), func(pod *corev1.Pod) bool { return pod.Status.Phase != corev1.PodRunning })
	})
}

// stopPods deletes the pods and claims of startPods, and waits until nothing is left of them.
func stopPods(w *stopwatch, c *volsim.Cluster, pods int) {
	w.b.Helper()
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "default", Name: name} }
	w.measure(func() error {
		for i := range pods {
			if err := c.Delete(&corev1.Pod{ObjectMeta: meta(podName(i))}); err != nil {
				return err
			}
			if err := c.Delete(&corev1.PersistentVolumeClaim{ObjectMeta: meta(claimName(i))}); err != nil {
				return err
			}
		}
		return nil
	})
	w.settle(c, func() bool {
		return len(c.Pods.List())+len(c.Claims.List())+len(c.Volumes.List())+len(c.Attachments.List()) == 0
	})
}

// BenchmarkLifecycle runs pods through their whole life: claim, provisioning by a CSI driver, scheduling, attach, mount, run; delete,
// unmount, detach, deletion of the volume. There is a node for ten pods. All pods are created at once, and deleted at once. The time
// includes the user's requests.
func BenchmarkLifecycle(b *testing.B) {
	for _, pods := range []int{10, 100, 1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			b.ReportAllocs()
			up, down := stopwatch{b: b}, stopwatch{b: b}
			for b.Loop() {
				b.StopTimer()
				c := podWorld(b, pods/podsPerNode)
				startPods(&up, c, pods)
				stopPods(&down, c, pods)
				b.StartTimer()
			}
			total := float64(pods) * float64(b.N)
			b.ReportMetric(total/b.Elapsed().Seconds(), "pods/s")
			reportCPU(b, up.cpu+down.cpu, total, "pod")
			b.ReportMetric(total/up.wall.Seconds(), "started/s")
			b.ReportMetric(total/down.wall.Seconds(), "stopped/s")
		})
	}
}

// BenchmarkIdle lets a virtual day pass in a cluster in which nothing happens. days/start is its ratio to the time of the start:
// provisioning and binding all claims, starting all pods.
func BenchmarkIdle(b *testing.B) {
	for _, size := range []struct{ nodes, pods, claims int }{{100, 1_000, 0}, {1_000, 10_000, 90_000}} {
		b.Run(fmt.Sprintf("nodes=%d/pods=%d/claims=%d", size.nodes, size.pods, size.pods+size.claims), func(b *testing.B) {
			start := time.Now()
			c := podWorld(b, size.nodes)
			startPods(&stopwatch{b: b}, c, size.pods)
			objs := make([]api.Object, 0, 2*size.claims)
			for i := range size.claims {
				objs = append(objs, fake.Volume(volumeName(i), "1Gi"), fake.Claim("idle-"+claimName(i), "1Gi"))
			}
			must(b, c.Create(objs...))
			must(b, c.Settle())
			took := time.Since(start)
			b.StartTimer()
			for b.Loop() {
				must(b, c.Advance(24*time.Hour))
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/took.Seconds(), "days/start")
		})
	}
}
