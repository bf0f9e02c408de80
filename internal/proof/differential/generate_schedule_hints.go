package differential

import (
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
)

// Change is a waiting pod, and an object that changes meanwhile. Old is nil for a new object, New for a deleted one.
type Change struct {
	Pod      *corev1.Pod
	Old, New api.Object
}

// GenerateChange returns the change of a seed.
func GenerateChange(seed uint64) Change {
	g := &schedulingGenerator{generator: &generator{Rand: rand.New(rand.NewPCG(seed, 5)), made: map[api.Kind][]string{}}, about: "anything"}
	g.sort = g.IntN(4)
	g.crowded, g.ports = g.chance(2), g.chance(4)
	if g.chance(3) {
		g.about = "disks"
	}
	c := Change{Pod: g.waiting("p", 10)}
	c.Old, c.New = g.twice()
	switch g.IntN(4) {
	case 0:
		c.Old = nil
	case 1:
		c.New = nil
	}
	if pod, ok := c.New.(*corev1.Pod); ok && c.Old != nil {
		g.relabel(c.Old.(*corev1.Pod), pod)
	}
	return c
}

// relabel leaves only labels and requests different between two versions of a pod. Sometimes it is the waiting pod itself.
func (g *schedulingGenerator) relabel(old, pod *corev1.Pod) {
	labels, containers, tolerations := pod.Labels, pod.Spec.Containers, pod.Spec.Tolerations
	old.DeepCopyInto(pod)
	pod.Labels, pod.Spec.Containers = labels, containers
	if g.chance(4) {
		pod.Spec.Tolerations = tolerations
	}
	if g.chance(4) {
		for _, p := range []*corev1.Pod{old, pod} {
			p.Namespace, p.Name, p.UID, p.Spec.NodeName = "default", "p", "uid-default-p", ""
		}
	}
}

// twice generates two versions of an object, which may share nothing but the name.
func (g *schedulingGenerator) twice() (old, now api.Object) {
	node, key := pick(g.generator, "n1", "n2"), pick(g.generator, "default/c1", "default/c2", "default/p-own", "other/c1")
	one := pick(g.generator,
		func() api.Object { return g.node(node) },
		func() api.Object { return g.csiNode(node) },
		func() api.Object { return g.storageClass("wait") },
		func() api.Object { return g.storageClass("now") },
		func() api.Object { return g.driver(firstDriver) },
		func() api.Object { return g.capacity("capacity0") },
		func() api.Object { return g.volume("pv1") },
		func() api.Object { return g.claim(key) },
		func() api.Object { return g.attachment("attachment0") },
		func() api.Object { return g.placed("q0", 0) },
	)
	old, now = one(), one()
	if g.chance(3) {
		now = old.DeepCopyObject().(api.Object)
		now.SetAnnotations(map[string]string{"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/gce-pd"})
	}
	return old, now
}
