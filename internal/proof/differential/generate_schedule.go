package differential

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
)

// The CSI drivers of scheduling scenarios.
const (
	firstDriver  = "first.example.com"
	secondDriver = "second.example.com"
)

// GenerateSchedule returns the scheduling scenario of a seed.
func GenerateSchedule(seed uint64) Scheduling {
	g := &schedulingGenerator{generator: &generator{Rand: rand.New(rand.NewPCG(seed, 4)), made: map[api.Kind][]string{}}}
	g.some(&g.nodes, []string{"n1", "n2", "n3"}, 3, 20)
	g.some(&g.volumes, []string{"pv1", "pv2", "pv3", "pv4", "pv5"}, 5, 6)
	g.some(&g.claims, []string{"default/c1", "default/c2", "default/c3", "default/p-own", "other/c1"}, 5, 5)
	g.some(&g.classes, []string{"wait", "static", "now"}, 3, 6)
	// Most scenarios are about one or two features.
	g.about = pick(g.generator, "bound", "bound", "static", "static", "provision", "provision", "limits", "disks", "anything", "anything", "crowd", "crowd", "crowd")
	g.sort = g.IntN(4)
	g.crowded = g.about == "crowd" || g.chance(4)
	g.ports = g.chance(12)
	if g.chance(40) {
		g.nodes = nil
	}
	var s Scheduling
	add := func(obj api.Object) { s.Objects = append(s.Objects, obj) }
	for _, name := range g.nodes {
		add(g.node(name))
		if !g.chance(4) || g.about == "limits" {
			add(g.csiNode(name))
		}
	}
	for _, name := range g.classes {
		add(g.storageClass(name))
	}
	for _, name := range []string{firstDriver, secondDriver} {
		if !g.chance(3) {
			add(g.driver(name))
		}
	}
	for i := range g.IntN(4) {
		add(g.capacity(fmt.Sprintf("capacity%d", i)))
	}
	pvs := map[string]*corev1.PersistentVolume{}
	for _, name := range g.volumes {
		pvs[name] = g.volume(name)
	}
	claims := map[string]*corev1.PersistentVolumeClaim{}
	for _, key := range g.claims {
		claims[key] = g.claim(key)
		g.pair(claims[key], pvs)
		if claims[key].Annotations != nil && g.chance(2) && g.about == "bound" {
			delete(claims[key].Annotations, objects.AnnSelectedNode)
		}
	}
	for _, name := range g.volumes {
		add(pvs[name])
	}
	for _, key := range g.claims {
		add(claims[key])
	}
	if g.about == "crowd" {
		g.surroundings(add)
	}
	for i := range g.IntN(5) {
		add(g.placed(fmt.Sprintf("q%d", i), int32(i)))
	}
	for i := range g.IntN(3) {
		add(g.attachment(fmt.Sprintf("attachment%d", i)))
	}
	add(g.waiting("p", 10))
	s.Steps = g.steps()
	return s
}

type schedulingGenerator struct {
	*generator
	about                           string
	sort                            int      // that most disks are of
	crowded                         bool     // pods have labels, affinity and spread constraints
	ports                           bool     // pods need ports of their node
	nodes, volumes, claims, classes []string // objects that exist from the beginning
	used                            []string // claims of waiting pods
}

// some returns up to n of the names, each with the given probability.
func (g *schedulingGenerator) some(into *[]string, names []string, most, without int) {
	for _, name := range names {
		if len(*into) < most && !g.chance(without) {
			*into = append(*into, name)
		}
	}
}

func (g *schedulingGenerator) nodeLabels(name string) map[string]string {
	labels := map[string]string{corev1.LabelHostname: name}
	set := func(oneIn int, key string, values ...string) {
		if g.chance(oneIn) {
			labels[key] = pick(g.generator, values...)
		}
	}
	set(2, corev1.LabelTopologyZone, "a", "b")
	set(3, corev1.LabelTopologyRegion, "r", "s")
	set(6, corev1.LabelFailureDomainBetaZone, "a", "b")
	set(8, corev1.LabelFailureDomainBetaRegion, "r", "s")
	set(2, "rack", "1", "5", "x")
	return labels
}

func (g *schedulingGenerator) node(name string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Labels: g.nodeLabels(name)}}
	node.Status.Allocatable = amounts("cpu", pick(g.generator, "1", "4", "4"), "memory", "8Gi", "pods",
		pick(g.generator, "110", "110", "110", "2"))
	node.Status.Capacity = node.Status.Allocatable
	node.Spec.Unschedulable = g.chance(16)
	if g.chance(12) {
		node.Spec.Taints = []corev1.Taint{{Key: "only", Value: "some",
			Effect: pick(g.generator, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule)}}
	}
	if g.chance(6) {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "better-not", Effect: corev1.TaintEffectPreferNoSchedule})
	}
	if g.about == "crowd" {
		for _, image := range []corev1.ContainerImage{{Names: []string{"i:latest"}, SizeBytes: 90 << 20}, {Names: []string{"big:latest"}, SizeBytes: 700 << 20},
			{Names: []string{"registry.example.com:5000/big:1", "other@sha256:1"}, SizeBytes: 2000 << 20}} {
			if g.chance(2) {
				node.Status.Images = append(node.Status.Images, image)
			}
		}
	}
	return node
}

func amounts(pairs ...string) corev1.ResourceList {
	l := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		l[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return l
}

func (g *schedulingGenerator) csiNode(name string) *storagev1.CSINode {
	node := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-csi-" + name)}}
	for _, driver := range []string{firstDriver, secondDriver} {
		if g.chance(4) {
			continue
		}
		d := storagev1.CSINodeDriver{Name: driver, NodeID: name}
		if !g.chance(4) {
			d.Allocatable = &storagev1.VolumeNodeResources{Count: pick(g.generator, nil, new(int32(0)), new(int32(1)), new(int32(1)),
				new(int32(2)), new(int32(3)), new(int32(20)))}
		}
		node.Spec.Drivers = append(node.Spec.Drivers, d)
	}
	return node
}

func (g *schedulingGenerator) className() string {
	if g.about == "bound" || g.about == "anything" {
		return pick(g.generator, "wait", "static", "now", "", "nosuch")
	}
	return pick(g.generator, "wait", "wait", "wait", "wait", "wait", "static", "static", "now", "", "nosuch")
}

func (g *schedulingGenerator) storageClass(name string) *storagev1.StorageClass {
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)},
		Provisioner: pick(g.generator, firstDriver, firstDriver, secondDriver)}
	class.VolumeBindingMode = new(storagev1.VolumeBindingWaitForFirstConsumer)
	class.ReclaimPolicy = new(corev1.PersistentVolumeReclaimDelete)
	switch name {
	case "static":
		class.Provisioner = "kubernetes.io/no-provisioner"
	case "now":
		class.VolumeBindingMode = new(storagev1.VolumeBindingImmediate)
	}
	if g.chance(3) {
		class.AllowedTopologies = g.topologies()
	}
	return class
}

func (g *schedulingGenerator) topologies() []corev1.TopologySelectorTerm {
	var terms []corev1.TopologySelectorTerm
	for range pick(g.generator, 1, 1, 1, 2) {
		term := corev1.TopologySelectorTerm{}
		for range pick(g.generator, 0, 1, 1, 1, 1, 2) {
			term.MatchLabelExpressions = append(term.MatchLabelExpressions, pick(g.generator,
				corev1.TopologySelectorLabelRequirement{Key: corev1.LabelTopologyZone, Values: []string{"a"}},
				corev1.TopologySelectorLabelRequirement{Key: corev1.LabelTopologyZone, Values: []string{"a", "b"}},
				corev1.TopologySelectorLabelRequirement{Key: "rack", Values: []string{"1"}},
			))
		}
		terms = append(terms, term)
	}
	return terms
}

func (g *schedulingGenerator) driver(name string) *storagev1.CSIDriver {
	return &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)},
		Spec: storagev1.CSIDriverSpec{StorageCapacity: pick(g.generator, new(true), new(true), new(false), nil)}}
}

func (g *schedulingGenerator) capacity(name string) *storagev1.CSIStorageCapacity {
	c := &storagev1.CSIStorageCapacity{
		ObjectMeta:       metav1.ObjectMeta{Namespace: pick(g.generator, "default", "drivers"), Name: name, UID: types.UID("uid-" + name)},
		StorageClassName: pick(g.generator, "wait", "wait", "wait", "now", "nosuch"),
	}
	c.Capacity, c.MaximumVolumeSize = g.limits()
	c.NodeTopology = pick(g.generator, nil, &metav1.LabelSelector{}, &metav1.LabelSelector{},
		&metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelTopologyZone: "a"}},
		&metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelHostname: "n1"}},
		&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "rack",
			Operator: pick(g.generator, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)}}})
	return c
}
