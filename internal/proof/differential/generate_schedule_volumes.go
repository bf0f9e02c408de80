package differential

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/objects"
)

// limits sets capacity and maximum volume size that a driver reports.
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
		[]corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod},
		[]corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadWriteOncePod})
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

// affinity returns the node affinity of a volume, nil for none.
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
				corev1.NodeSelectorRequirement{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn,
					Values: []string{pick(g.generator, "n1", "n2", "n3")}},
				corev1.NodeSelectorRequirement{Key: corev1.LabelTopologyZone,
					Operator: pick(g.generator, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn), Values: []string{"a"}},
				corev1.NodeSelectorRequirement{Key: "rack",
					Operator: pick(g.generator, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist)},
				corev1.NodeSelectorRequirement{Key: "rack", Operator: pick(g.generator, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt),
					Values: []string{pick(g.generator, "3", "3", "x")}},
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
	for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaZone,
		corev1.LabelFailureDomainBetaRegion} {
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
	pv.Status.Phase = pick(g.generator, corev1.VolumeAvailable, corev1.VolumeAvailable, corev1.VolumeAvailable, corev1.VolumeAvailable,
		corev1.VolumePending, corev1.VolumeReleased, corev1.VolumeFailed)
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
		pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: pick(g.generator, "default", "default", "default", "other"),
			Name: pick(g.generator, "c1", "c2", "c3")}
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
	namespace, name := objects.SplitKey(key)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
		UID: types.UID("uid-" + namespace + "-" + name)}}
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
		claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p",
			UID: pick(g.generator, types.UID("uid-default-p"), "uid-default-p", "uid-default-p", "other"), Controller: new(!g.chance(12))}}
	}
	return claim
}

// pair may bind a claim to a volume, completely or partially.
func (g *schedulingGenerator) pair(claim *corev1.PersistentVolumeClaim, pvs map[string]*corev1.PersistentVolume) {
	if oneIn := map[string]int{"bound": 1, "limits": 2, "anything": 2}[g.about]; oneIn == 0 && !g.chance(6) || oneIn > 1 && g.chance(oneIn) {
		return
	}
	name := pick(g.generator, "pv1", "pv2", "pv3", "pv4", "pv5")
	if pv := pvs[name]; pv != nil && !g.chance(12) {
		if pv.Spec.ClaimRef != nil {
			return
		}
		pv.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: claim.Namespace,
			Name: claim.Name, UID: claim.UID}
		pv.Status.Phase = corev1.VolumeBound
	}
	claim.Spec.VolumeName = name
	claim.Status.Phase = pick(g.generator, corev1.ClaimBound, corev1.ClaimBound, corev1.ClaimBound, corev1.ClaimBound, corev1.ClaimBound,
		corev1.ClaimPending, corev1.ClaimLost)
	if !g.chance(12) {
		if claim.Annotations == nil {
			claim.Annotations = map[string]string{}
		}
		claim.Annotations[objects.AnnBindCompleted] = "yes"
	}
}
