package schedule_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/controllers/schedule"
	"github.com/volsim/volsim/internal/core/engine"
)

// BenchmarkLocalVolumes schedules a pod whose claim gets one of the local volumes of as many nodes.
func BenchmarkLocalVolumes(b *testing.B) {
	for _, nodes := range []int{100, 1000} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			e, err := engine.New(engine.Config{})
			require.NoError(b, err)
			_, err = schedule.New(e, schedule.Config{})
			require.NoError(b, err)
			create := func(obj api.Object) {
				_, err := e.Store().Create(obj)
				require.NoError(b, err)
			}
			create(fake.Class("local", "kubernetes.io/no-provisioner", fake.WaitForFirstConsumer()))
			for i := range nodes {
				node := fmt.Sprintf("n%04d", i)
				create(fake.Node(node))
				pv := fake.Volume("v"+node, "1Gi", fake.InClass("local"), fake.LocalSource("/d", node))
				pv.Status.Phase = corev1.VolumeAvailable
				_, err := e.Store().Load(pv)
				require.NoError(b, err)
			}
			create(fake.Claim("c", "1Gi", fake.InClass("local")))
			e.Advance(0)
			b.ReportAllocs()
			for b.Loop() {
				create(fake.Pod("p", fake.Claims("c")))
				e.Advance(0)
				_, err := e.Store().Pods.Delete("default/p", api.DeleteOptions{})
				require.NoError(b, err)
				e.Advance(0)
			}
		})
	}
}
