package differential_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/internal/proof/differential/upstream"
)

// lives are pods whose volumes are attached, mounted, unmounted and detached. The volumes exist and are bound before.
type lives struct{ pods, nodes int }

// BenchmarkNodes creates pods on nodes, waits until they run, deletes them, and waits until their volumes are detached. The real controllers,
// among them attach/detach, and the real volume manager and CSI plugin on each node run in turns with ours. The real ones run in real time:
// only the processor time can be compared. Theirs includes what their loops do while nothing happens.
func BenchmarkNodes(b *testing.B) {
	for _, l := range []lives{{100, 2}, {1000, 10}} {
		b.Run(fmt.Sprintf("pods=%d", l.pods), func(b *testing.B) {
			var theirs, ours spent
			for range b.N {
				for range 5 {
					l.here(b, &ours)
				}
				l.upstream(b, &theirs)
				for range 5 {
					l.here(b, &ours)
				}
			}
			b.ReportMetric(0, "ns/op") // which would be all of it
			b.ReportMetric(theirs.cpuOfOne()/ours.cpuOfOne(), "cpu-times")
			b.ReportMetric(ours.cpuOfOne(), "cpu-µs/pod")
			b.ReportMetric(theirs.cpuOfOne(), "real-cpu-µs/pod")
		})
	}
}

// cluster has the methods that both sides have.
type cluster interface {
	Create(obj api.Object) (api.Object, error)
	Delete(ref api.Ref, opts api.DeleteOptions) error
	Objects(kind api.Kind) []api.Object
	Claims(phase corev1.PersistentVolumeClaimPhase) int
}

// prepare creates nodes, volumes and claims.
func (l lives) prepare(b *testing.B, c cluster) {
	b.Helper()
	create := func(obj api.Object) {
		_, err := c.Create(obj)
		require.NoError(b, err)
	}
	for i := range l.nodes {
		create(fake.Node(l.node(i), fake.Annotations("volumes.kubernetes.io/controller-managed-attach-detach", "true")))
	}
	for i := range l.pods {
		name := fmt.Sprintf("v%04d", i)
		create(fake.Volume(name, "1Gi", fake.CSISource(differential.Driver, name)))
		create(fake.Claim(name, "1Gi", fake.VolumeName(name)))
	}
}

func (l lives) node(i int) string { return fmt.Sprintf("n%d", i%l.nodes+1) }

// run takes the pods through their lives. wait returns when the condition holds.
func (l lives) run(b *testing.B, c cluster, wait func(what string, cond func() bool)) {
	b.Helper()
	for i := range l.pods {
		_, err := c.Create(fake.Pod(fmt.Sprintf("p%04d", i), fake.Claims(fmt.Sprintf("v%04d", i)), fake.OnNode(l.node(i))))
		require.NoError(b, err)
	}
	wait("pods run", func() bool {
		for _, pod := range c.Objects(api.Pod) {
			if pod.(*corev1.Pod).Status.Phase != corev1.PodRunning {
				return false
			}
		}
		return true
	})
	for i := range l.pods {
		require.NoError(b, c.Delete(api.Ref{Kind: api.Pod, Key: fmt.Sprintf("default/p%04d", i)}, api.DeleteOptions{}))
	}
	wait("volumes are detached", func() bool { return len(c.Objects(api.Pod))+len(c.Objects(api.VolumeAttachment)) == 0 })
}

func (l lives) upstream(b *testing.B, s *spent) {
	c, err := upstream.New(upstream.Config{Attach: true, Kubelets: true})
	require.NoError(b, err)
	defer c.Close()
	l.prepare(b, c)
	poll := func(what string, cond func() bool) {
		end := time.Now().Add(8 * time.Minute)
		for !cond() {
			require.True(b, time.Now().Before(end), "%s: not in time; %d pods, %d attachments", what, len(c.Objects(api.Pod)), len(c.Objects(api.VolumeAttachment)))
			time.Sleep(20 * time.Millisecond)
		}
	}
	poll("claims are bound", func() bool { return c.Claims(corev1.ClaimBound) == l.pods && len(c.Objects(api.CSINode)) == l.nodes })
	s.add(b, func() int { return l.pods }, func() { l.run(b, c, poll) })
}

func (l lives) here(b *testing.B, s *spent) {
	c, err := differential.NewOurs(differential.Options{NoTrace: true, Attach: true, Kubelets: true})
	require.NoError(b, err)
	defer c.Close()
	l.prepare(b, c)
	require.NoError(b, c.Settle())
	require.Equal(b, l.pods, c.Claims(corev1.ClaimBound))
	s.add(b, func() int { return l.pods }, func() {
		l.run(b, c, func(what string, cond func() bool) {
			for range 100 {
				require.NoError(b, c.Settle())
				if cond() {
					return
				}
				require.NoError(b, c.Advance(10*time.Second))
			}
			b.Fatalf("%s: not in time", what)
		})
	})
}
