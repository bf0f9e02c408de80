package differential

import (
	"fmt"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/objects"
	"github.com/volsim/volsim/store"
)

// The CSI drivers of worlds of pods that want nodes.
const (
	firstDriver  = "first.example.com"
	secondDriver = "second.example.com"
)

// GenerateSchedule makes up the world of a seed.
func GenerateSchedule(seed uint64) Scheduling {
	g := &schedulingGenerator{generator: &generator{Rand: rand.New(rand.NewPCG(seed, 4)), made: map[store.Kind][]string{}}}
	g.some(&g.nodes, []string{"n1", "n2", "n3"}, 3, 20)
	g.some(&g.volumes, []string{"pv1", "pv2", "pv3", "pv4", "pv5"}, 5, 6)
	g.some(&g.claims, []string{"default/c1", "default/c2", "default/c3", "default/p-own", "other/c1"}, 5, 5)
	g.some(&g.classes, []string{"wait", "static", "now"}, 3, 6)
	// Most worlds are about one matter or two.
	g.about = pick(g.generator, "bound", "bound", "static", "static", "provision", "provision", "limits", "disks", "anything", "anything")
	g.sort = g.IntN(4)
	if g.chance(40) {
		g.nodes = nil
	}
	var s Scheduling
	add := func(obj store.Object) { s.Objects = append(s.Objects, obj) }
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
	nodes, volumes, claims, classes []string // that are there from the beginning
}

// some takes each of the names but one in so many, up to so many.
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
	node.Status.Allocatable = amounts("cpu", pick(g.generator, "1", "4", "4"), "memory", "8Gi", "pods", pick(g.generator, "110", "110", "110", "2"))
	node.Status.Capacity = node.Status.Allocatable
	node.Spec.Unschedulable = g.chance(16)
	if g.chance(12) {
		node.Spec.Taints = []corev1.Taint{{Key: "only", Value: "some", Effect: pick(g.generator, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule)}}
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
			d.Allocatable = &storagev1.VolumeNodeResources{Count: pick(g.generator, nil, new(int32(0)), new(int32(1)), new(int32(1)), new(int32(2)), new(int32(3)), new(int32(20)))}
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
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}, Provisioner: pick(g.generator, firstDriver, firstDriver, secondDriver)}
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
		&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "rack", Operator: pick(g.generator, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)}}})
	return c
}

// limits are the capacity and the maximum size that a driver reports.
func (g *schedulingGenerator) limits() (capacity, maximum *resource.Quantity) {
	size := func() *resource.Quantity {
		return new(resource.MustParse(pick(g.generator, "1Gi", "2Gi", "5Gi", "1500M", "0")))
	}
	if !g.chance(4) {
		capacity = size()
	}
	if g.chance(4) {
		maximum = size()
	}
	return capacity, maximum
}

func (g *schedulingGenerator) accessModes() []corev1.PersistentVolumeAccessMode {
	return pick(g.generator,
		[]corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		[]corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadOnlyMany}, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
		[]corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadWriteOncePod})
}

func (g *schedulingGenerator) size() corev1.ResourceList {
	if g.chance(40) {
		return nil
	}
	return amounts("storage", pick(g.generator, "1Gi", "1Gi", "2Gi", "2Gi", "5Gi", "1500M", "1073741823", "500m"))
}

func (g *schedulingGenerator) volumeMode() *corev1.PersistentVolumeMode {
	if g.chance(12) {
		return pick(g.generator, nil, new(corev1.PersistentVolumeBlock))
	}
	return new(corev1.PersistentVolumeFilesystem)
}

// affinity is that of a volume, nil for none.
func (g *schedulingGenerator) affinity() *corev1.VolumeNodeAffinity {
	if g.chance(2) {
		return nil
	}
	if g.chance(20) {
		return &corev1.VolumeNodeAffinity{Required: pick(g.generator, nil, &corev1.NodeSelector{})}
	}
	affinity := &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{}}
	for range pick(g.generator, 1, 1, 1, 2) {
		term := corev1.NodeSelectorTerm{}
		for range pick(g.generator, 1, 1, 1, 1, 2, 0) {
			term.MatchExpressions = append(term.MatchExpressions, pick(g.generator,
				corev1.NodeSelectorRequirement{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{pick(g.generator, "n1", "n2", "n3")}},
				corev1.NodeSelectorRequirement{Key: corev1.LabelTopologyZone, Operator: pick(g.generator, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn), Values: []string{"a"}},
				corev1.NodeSelectorRequirement{Key: "rack", Operator: pick(g.generator, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist)},
				corev1.NodeSelectorRequirement{Key: "rack", Operator: pick(g.generator, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt), Values: []string{pick(g.generator, "3", "3", "x")}},
			))
		}
		if g.chance(12) {
			term.MatchFields = []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"n1"}}}
		}
		affinity.Required.NodeSelectorTerms = append(affinity.Required.NodeSelectorTerms, term)
	}
	return affinity
}

func (g *schedulingGenerator) zoneLabels() map[string]string {
	labels := map[string]string{}
	if !g.chance(3) {
		if g.chance(3) {
			labels["tier"] = "gold"
		}
		return labels
	}
	for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion} {
		if g.chance(3) {
			labels[key] = pick(g.generator, "a", "b", "a__b", "r", "r__s", "a____b", "a__", "__")
		}
	}
	return labels
}

func (g *schedulingGenerator) volume(name string) *corev1.PersistentVolume {
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Labels: g.zoneLabels()}}
	pv.Spec.Capacity = amounts("storage", pick(g.generator, "1Gi", "2Gi", "2Gi", "5Gi", "1500M", "10Gi"))
	pv.Spec.AccessModes = g.accessModes()
	pv.Spec.VolumeMode = g.volumeMode()
	pv.Spec.StorageClassName = g.className()
	pv.Spec.NodeAffinity = g.affinity()
	pv.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	pv.Status.Phase = pick(g.generator, corev1.VolumeAvailable, corev1.VolumeAvailable, corev1.VolumeAvailable, corev1.VolumeAvailable, corev1.VolumePending, corev1.VolumeReleased, corev1.VolumeFailed)
	switch handle := pick(g.generator, name, name, name, name, "shared"); g.IntN(6) {
	case 0:
		pv.Spec.HostPath = &corev1.HostPathVolumeSource{Path: "/" + name}
	case 1:
		pv.Spec.Local = &corev1.LocalVolumeSource{Path: "/" + name}
	case 2:
		pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: secondDriver, VolumeHandle: handle}
	case 3:
		if g.chance(2) {
			pv.Spec.AWSElasticBlockStore = &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: handle}
			break
		}
		pv.Spec.GCEPersistentDisk = &corev1.GCEPersistentDiskVolumeSource{PDName: handle}
	default:
		pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: firstDriver, VolumeHandle: handle}
	}
	if g.chance(5) {
		pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: pick(g.generator, "default", "default", "default", "other"), Name: pick(g.generator, "c1", "c2", "c3")}
		if g.chance(2) {
			pv.Spec.ClaimRef.UID = pick(g.generator, "gone", types.UID("uid-"+pv.Spec.ClaimRef.Namespace+"-"+pv.Spec.ClaimRef.Name))
		}
	}
	if g.chance(30) {
		pv.Spec.VolumeAttributesClassName = pick(g.generator, new(""), new("gold"))
	}
	if g.chance(25) {
		pv.DeletionTimestamp, pv.Finalizers = new(metav1.NewTime(Epoch)), []string{"kubernetes.io/pv-protection"}
	}
	return pv
}

func (g *schedulingGenerator) claim(key string) *corev1.PersistentVolumeClaim {
	namespace, name := store.SplitKey(key)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + namespace + "-" + name)}}
	claim.Spec.AccessModes = g.accessModes()
	claim.Spec.Resources.Requests = g.size()
	claim.Spec.VolumeMode = g.volumeMode()
	if class := g.className(); class != "" || g.chance(2) {
		claim.Spec.StorageClassName = &class
	}
	claim.Status.Phase = corev1.ClaimPending
	annotations := map[string]string{}
	if g.chance(6) {
		annotations[objects.AnnSelectedNode] = pick(g.generator, "n1", "n2", "n3", "n4")
	}
	if g.chance(20) {
		annotations[corev1.BetaStorageClassAnnotation] = g.className()
	}
	if g.chance(30) {
		annotations[objects.AnnBindCompleted] = "yes"
	}
	if len(annotations) > 0 {
		claim.Annotations = annotations
	}
	if g.chance(30) {
		claim.Spec.VolumeAttributesClassName = pick(g.generator, new(""), new("gold"))
	}
	if g.chance(12) {
		claim.Spec.Selector = pick(g.generator, &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}, &metav1.LabelSelector{},
			&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "Nonsense"}}})
	}
	if g.chance(30) {
		claim.DeletionTimestamp, claim.Finalizers = new(metav1.NewTime(Epoch)), []string{"kubernetes.io/pvc-protection"}
	}
	if name == "p-own" && !g.chance(6) {
		claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: pick(g.generator, types.UID("uid-default-p"), "uid-default-p", "uid-default-p", "other"), Controller: new(!g.chance(12))}}
	}
	return claim
}

// pair perhaps gives a claim a volume, as the PersistentVolume controller would, or nearly so.
func (g *schedulingGenerator) pair(claim *corev1.PersistentVolumeClaim, pvs map[string]*corev1.PersistentVolume) {
	if oneIn := map[string]int{"bound": 1, "limits": 2, "anything": 2}[g.about]; oneIn == 0 && !g.chance(6) || oneIn > 1 && g.chance(oneIn) {
		return
	}
	name := pick(g.generator, "pv1", "pv2", "pv3", "pv4", "pv5")
	if pv := pvs[name]; pv != nil && !g.chance(12) {
		if pv.Spec.ClaimRef != nil {
			return
		}
		pv.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID}
		pv.Status.Phase = corev1.VolumeBound
	}
	claim.Spec.VolumeName = name
	claim.Status.Phase = pick(g.generator, corev1.ClaimBound, corev1.ClaimBound, corev1.ClaimBound, corev1.ClaimBound, corev1.ClaimBound, corev1.ClaimPending, corev1.ClaimLost)
	if !g.chance(12) {
		if claim.Annotations == nil {
			claim.Annotations = map[string]string{}
		}
		claim.Annotations[objects.AnnBindCompleted] = "yes"
	}
}

func (g *schedulingGenerator) pod(key string) *corev1.Pod {
	namespace, name := store.SplitKey(key)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + namespace + "-" + name)}}
	pod.Spec.SchedulerName = corev1.DefaultSchedulerName
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	if g.chance(6) {
		pod.Spec.Containers[0].Resources.Requests = amounts("cpu", pick(g.generator, "500m", "1", "3", "5"))
	}
	for range pick(g.generator, 0, 1, 1, 1, 1, 1, 2, 2, 3) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, g.podVolume(namespace))
	}
	for i := range pod.Spec.Volumes {
		if pod.Spec.Volumes[i].Ephemeral == nil {
			pod.Spec.Volumes[i].Name = fmt.Sprintf("v%d", i)
		}
	}
	return pod
}

func (g *schedulingGenerator) podVolume(namespace string) corev1.Volume {
	var v corev1.Volume
	claim := func() *corev1.PersistentVolumeClaimVolumeSource {
		names := []string{"c1", "c2", "c3"}
		if namespace == "other" {
			names = []string{"c1"}
		}
		if g.chance(30) {
			names = []string{"nosuch", "p-own"}
		}
		return &corev1.PersistentVolumeClaimVolumeSource{ClaimName: pick(g.generator, names...), ReadOnly: g.chance(8)}
	}
	if g.about == "disks" && !g.chance(5) {
		g.disk(&v)
		return v
	}
	switch g.IntN(14) {
	case 0:
		v.Name = "own"
		v.Ephemeral = &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Resources: corev1.VolumeResourceRequirements{Requests: amounts("storage", "1Gi")}}}}
	case 1:
		v.CSI = &corev1.CSIVolumeSource{Driver: pick(g.generator, firstDriver, secondDriver)}
	case 2:
		g.disk(&v)
	case 3:
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	default:
		v.PersistentVolumeClaim = claim()
	}
	return v
}

// disk makes a volume that names a disk itself.
func (g *schedulingGenerator) disk(v *corev1.Volume) {
	id, ro, sort := pick(g.generator, "disk1", "disk1", "disk2"), g.chance(2), g.IntN(4)
	if g.about == "disks" {
		sort = g.sort
	}
	switch sort {
	case 0:
		v.GCEPersistentDisk = &corev1.GCEPersistentDiskVolumeSource{PDName: id, ReadOnly: ro}
	case 1:
		v.AWSElasticBlockStore = &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: id, ReadOnly: ro}
	case 2:
		v.ISCSI = &corev1.ISCSIVolumeSource{TargetPortal: "10.0.0.1", IQN: "iqn.2000-01.com.example:" + id, ReadOnly: ro}
	case 3:
		v.RBD = &corev1.RBDVolumeSource{CephMonitors: pick(g.generator, []string{"m1"}, []string{"m1", "m2"}, []string{"m3"}), RBDImage: id, RBDPool: pick(g.generator, "rbd", "rbd", "q"), ReadOnly: ro}
	}
}

// placed is a pod that has a node. No two have the same priority, so that it is clear which should go first.
func (g *schedulingGenerator) placed(name string, n int32) *corev1.Pod {
	pod := g.pod(pick(g.generator, "default", "default", "default", "other") + "/" + name)
	pod.Spec.NodeName = pick(g.generator, "n1", "n2", "n3", "n3", "n4")
	pod.Spec.Priority = new(pick(g.generator, int32(-10), -10, 0, 100) + n)
	pod.Status.Phase = pick(g.generator, corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodPending, corev1.PodSucceeded, corev1.PodFailed)
	if g.chance(12) {
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = new(metav1.NewTime(Epoch)), new(int64(30))
	}
	return pod
}

// waiting is a pod that wants a node.
func (g *schedulingGenerator) waiting(name string, priority int32) *corev1.Pod {
	pod := g.pod("default/" + name)
	for len(pod.Spec.Volumes) == 0 {
		pod = g.pod("default/" + name)
	}
	pod.Spec.Priority = new(priority)
	pod.Status.Phase = corev1.PodPending
	if g.chance(20) {
		pod.Spec.PreemptionPolicy = new(corev1.PreemptNever)
	}
	if g.chance(12) {
		pod.Spec.Tolerations = []corev1.Toleration{pick(g.generator, corev1.Toleration{Operator: corev1.TolerationOpExists}, corev1.Toleration{Key: "only", Value: "some"})}
	}
	if g.chance(12) {
		pod.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "a"}
	}
	return pod
}

func (g *schedulingGenerator) attachment(name string) *storagev1.VolumeAttachment {
	a := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}}
	a.Spec.Attacher, a.Spec.NodeName = pick(g.generator, firstDriver, firstDriver, secondDriver, "pd.csi.storage.gke.io"), pick(g.generator, "n1", "n2", "n3")
	a.Spec.Source.PersistentVolumeName = new(pick(g.generator, "pv1", "pv2", "pv3", "pv4", "pv5", "pv9"))
	a.Status.Attached = g.chance(2)
	return a
}

// known is the key of a claim of namespace default.
func (g *schedulingGenerator) known() string {
	return pick(g.generator, slices.Concat([]string{"default/c1"}, g.claims)...)
}
