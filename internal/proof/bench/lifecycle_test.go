package bench

import (
	"fmt"
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

// startPods creates pods with one claim each, and waits until they run.
func startPods(b *testing.B, c *volsim.Cluster, pods int) {
	b.Helper()
	objs := make([]api.Object, 0, 2*pods)
	for i := range pods {
		objs = append(objs, fake.Claim(claimName(i), "1Gi", fake.InClass("disk")), fake.Pod(podName(i), fake.Claims(claimName(i))))
	}
	must(b, c.Create(objs...))
	running := func() int {
		n := 0
		for _, pod := range c.Pods.List() {
			if pod.Status.Phase == corev1.PodRunning {
				n++
			}
		}
		return n
	}
	// Backoff may delay the last ones beyond the end of Settle.
	for range 60 {
		must(b, c.Settle())
		if running() == pods {
			return
		}
		must(b, c.Advance(10*time.Second))
	}
	b.Fatalf("%d pods run, want %d", running(), pods)
}

func stopPods(b *testing.B, c *volsim.Cluster, pods int) {
	b.Helper()
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "default", Name: name} }
	for i := range pods {
		must(b, c.Delete(&corev1.Pod{ObjectMeta: meta(podName(i))}))
		must(b, c.Delete(&corev1.PersistentVolumeClaim{ObjectMeta: meta(claimName(i))}))
	}
	for range 60 {
		must(b, c.Settle())
		if len(c.Pods.List())+len(c.Claims.List())+len(c.Volumes.List())+len(c.Attachments.List()) == 0 {
			return
		}
		must(b, c.Advance(10*time.Second))
	}
	b.Fatalf("%d pods, %d claims, %d volumes and %d attachments are left",
		len(c.Pods.List()), len(c.Claims.List()), len(c.Volumes.List()), len(c.Attachments.List()))
}

// BenchmarkLifecycle runs pods through their whole life: claim, provisioning by a CSI driver, scheduling, attach, mount, run; delete,
// unmount, detach, deletion of the volume. There is a node for ten pods. All pods are created at once, and deleted at once. The time
// includes the user's requests.
func BenchmarkLifecycle(b *testing.B) {
	for _, pods := range []int{10, 100, 1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			b.ReportAllocs()
			var up, down, cpu time.Duration
			for b.Loop() {
				b.StopTimer()
				c := podWorld(b, pods/podsPerNode)
				b.StartTimer()
				start, began := time.Now(), cpuTime()
				startPods(b, c, pods)
				up += time.Since(start)
				start = time.Now()
				stopPods(b, c, pods)
				down += time.Since(start)
				cpu += cpuTime() - began
			}
			total := float64(pods) * float64(b.N)
			b.ReportMetric(total/b.Elapsed().Seconds(), "pods/s")
			reportCPU(b, cpu, total, "pod")
			b.ReportMetric(total/up.Seconds(), "started/s")
			b.ReportMetric(total/down.Seconds(), "stopped/s")
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
			startPods(b, c, size.pods)
			objs := make([]api.Object, 0, 2*size.claims)
			for i := range size.claims {
				objs = append(objs, fake.Volume(volumeName(i), "1Gi"), fake.Claim("idle-"+claimName(i), "1Gi"))
			}
			must(b, c.Create(objs...))
			must(b, c.Settle())
			took := time.Since(start)
			for b.Loop() {
				must(b, c.Advance(24*time.Hour))
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/took.Seconds(), "days/start")
		})
	}
}
