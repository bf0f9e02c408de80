package schedule

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
)

// TestUndemanding: a node that a search accepts without running the filters is one that the filters accept (SCHED-024).
func TestUndemanding(t *testing.T) {
	quick, rejected := 0, 0
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 0))
		maybe := func(change func()) {
			if rng.IntN(4) == 0 {
				change()
			}
		}
		var objs []api.Object
		for i := range 4 {
			opts := []fake.Option{fake.Labels("zone", fmt.Sprint(i%2), "topology.kubernetes.io/zone", fmt.Sprint(i%2))}
			maybe(func() {
				opts = append(opts, fake.Allocatable("cpu", fmt.Sprint(rng.IntN(3)), "pods", fmt.Sprint(rng.IntN(3))))
			})
			node := fake.Node(fmt.Sprint("n", i), opts...)
			maybe(func() { node.Spec.Unschedulable = true })
			maybe(func() {
				effects := []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
				node.Spec.Taints = []corev1.Taint{{Key: "k", Effect: effects[rng.IntN(len(effects))]}}
			})
			objs = append(objs, node)
			maybe(func() { objs = append(objs, csiNode(node.Name, map[string]int32{"d": rng.Int32N(3) - 1})) })
		}
		for i := range 4 {
			name := fmt.Sprint("v", i)
			opts := []fake.Option{fake.CSISource("d", name), fake.InClass("")}
			maybe(func() { opts = append(opts, fake.Labels("topology.kubernetes.io/zone", "1")) })
			maybe(func() { opts = append(opts, fake.FromNodes("n0", "n1")) })
			volume := fake.Volume(name, "1Gi", opts...)
			maybe(func() {
				volume.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: "x"}}
			})
			objs = append(objs, volume, boundClaim(name, name))
		}
		var pods []*corev1.Pod
		for i := range 8 {
			opts := []fake.Option{fake.Claims(fmt.Sprint("v", rng.IntN(4))), uid(fmt.Sprint(i))}
			maybe(func() { opts = append(opts, fake.Requests("cpu", "600m")) })
			pod := fake.Pod(fmt.Sprint("p", i), opts...)
			maybe(func() { pod.Spec.NodeSelector = map[string]string{"zone": "1"} })
			maybe(func() {
				source := corev1.VolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: "x"}}
				pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "inline", VolumeSource: source})
			})
			if i%2 == 0 {
				pod.Spec.NodeName = fmt.Sprint("n", rng.IntN(4))
			}
			pods, objs = append(pods, pod), append(objs, pod)
		}
		f := newFixture(t, Config{}, objs...)
		f.onNodes(objs...)
		for _, pod := range pods {
			c := newCycle(f.lookups(), pod)
			if s := c.preFilter(); s.code == failed || s.rejected() || !c.undemanding() {
				continue
			}
			slots := f.nodes()
			for i := range slots {
				accepts := slots[i].accepts(c.requests)
				answer := c.filter(f.state(&slots[i]))
				if accepts {
					quick++
					require.Equal(t, status{}, answer, "seed %d, pod %s on %s", seed, pod.Name, slots[i].at.node.Name)
				} else if answer.rejected() {
					rejected++
				}
			}
		}
	}
	require.Greater(t, quick, 500)
	require.Greater(t, rejected, 500)
}
