package dump

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/objects"
)

// unknown is in place of what a dump does not have.
const unknown = "unknown"

// addCounterparts adds the volumes of bound claims to a dump that has no volumes at all, the claims of bound volumes to a dump that has no
// claims in their namespaces, and the nodes of pods and attachments to a dump that has no Nodes. Such a dump was made without them: a claim or
// volume that has really lost the other is not Bound for long (BIND-060b, BIND-064), nor does a pod outlive its node (NODE-074). Without them
// claims would be lost, the data of volumes and the pods deleted.
func (d *Dump) addCounterparts() {
	claims, volumes := objectsOf[*corev1.PersistentVolumeClaim](d), objectsOf[*corev1.PersistentVolume](d)
	namespaces := map[string]bool{}
	for _, claim := range claims {
		namespaces[claim.Namespace] = true
	}
	sources := map[api.Object]source{}
	for _, of := range d.sources {
		sources[of.obj] = of
	}
	// add adds an object that another one shows to exist. An error about it is at the place of the other one.
	add := func(shown, obj api.Object) {
		of := sources[shown]
		of.obj = obj
		d.Objects, d.sources = append(d.Objects, obj), append(d.sources, of)
	}
	for _, pv := range volumes {
		if ref := pv.Spec.ClaimRef; pv.Status.Phase == corev1.VolumeBound && ref != nil && ref.UID != "" && !namespaces[ref.Namespace] {
			add(pv, claimOf(pv))
			d.unknownClaims++
		}
	}
	if len(volumes) == 0 {
		d.addVolumes(add, claims)
	}
	if !d.Whole && len(objectsOf[*corev1.Node](d)) == 0 {
		d.addNodes(add)
	}
	if !d.Whole && len(objectsOf[*storagev1.CSIStorageCapacity](d)) == 0 {
		d.addCapacities()
	}
}

// addCapacities adds capacity for every claim to a dump without CSIStorageCapacities whose drivers publish their capacity: the scheduler would
// reject all nodes (SCHED-112). It adds none if the scheduler has done so.
func (d *Dump) addCapacities() {
	for _, pod := range objectsOf[*corev1.Pod](d) {
		if slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return strings.Contains(c.Message, "enough free storage") }) {
			return
		}
	}
	drivers := map[string]bool{}
	for _, obj := range d.Objects {
		if publishesCapacity(obj) {
			drivers[obj.GetName()] = true
		}
	}
	for _, class := range objectsOf[*storagev1.StorageClass](d) {
		if drivers[class.Provisioner] {
			capacity := &storagev1.CSIStorageCapacity{StorageClassName: class.Name, NodeTopology: &metav1.LabelSelector{}, Capacity: resource.NewQuantity(1<<60, resource.BinarySI)}
			capacity.Namespace, capacity.Name = metav1.NamespaceDefault, unknown+"-"+class.Name
			d.Objects = append(d.Objects, capacity)
			d.unknownCapacities++
		}
	}
}

// addVolumes adds the volumes of bound claims.
func (d *Dump) addVolumes(add func(shown, obj api.Object), claims []*corev1.PersistentVolumeClaim) {
	classes := map[string]*storagev1.StorageClass{}
	for _, class := range objectsOf[*storagev1.StorageClass](d) {
		classes[class.Name] = class
	}
	drivers := d.mentioned()
	for _, claim := range claims {
		if claim.Status.Phase == corev1.ClaimBound && claim.Spec.VolumeName != "" {
			add(claim, volumeOf(claim, classes[objects.ClassOf(claim)], drivers))
			d.unknownVolumes++
		}
	}
}

// addNodes adds the nodes of pods and attachments, which are Ready and reach the volumes of the pods. They take no other pods if the scheduler
// has found no node for one: the dump does not show which ones they reject.
func (d *Dump) addNodes(add func(shown, obj api.Object)) {
	nodes := map[string]*corev1.Node{}
	of := func(shown api.Object, name string) *corev1.Node {
		if name == "" || nodes[name] != nil {
			return nodes[name]
		}
		node := fake.Node(name)
		node.UID, node.CreationTimestamp = types.UID(unknown+"-"+name), shown.GetCreationTimestamp()
		nodes[name] = node
		add(shown, node)
		d.unknownNodes++
		return node
	}
	volumes, byName, unplaced := map[string]*corev1.PersistentVolume{}, map[string]*corev1.PersistentVolume{}, false
	for _, pv := range objectsOf[*corev1.PersistentVolume](d) {
		byName[pv.Name] = pv
		if ref := pv.Spec.ClaimRef; ref != nil {
			volumes[api.Key(ref.Namespace, ref.Name)] = pv
		}
	}
	for _, pod := range objectsOf[*corev1.Pod](d) {
		unplaced = unplaced || slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse
		})
		node := of(pod, pod.Spec.NodeName)
		for _, claim := range objects.ClaimsOf(pod) {
			if pv := volumes[claim]; node != nil && pv != nil && !objects.AdmitsNode(pv, node.Labels) {
				for _, r := range pv.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions {
					if len(r.Values) > 0 {
						node.Labels[r.Key] = r.Values[0]
					}
				}
			}
		}
	}
	for _, va := range objectsOf[*storagev1.VolumeAttachment](d) {
		node := of(va, va.Spec.NodeName)
		if pv := byName[objects.ValueOf(va.Spec.Source.PersistentVolumeName)]; pv != nil && va.Status.Attached {
			if csi := objects.CSIOf(pv); csi != nil {
				node.Status.VolumesAttached = append(node.Status.VolumesAttached, corev1.AttachedVolume{Name: objects.CSIVolumeName(csi.Driver, csi.VolumeHandle)})
			}
		}
	}
	for _, node := range nodes {
		node.Spec.Unschedulable = unplaced
	}
}

// claimOf returns the claim to which a volume is bound.
func claimOf(pv *corev1.PersistentVolume) *corev1.PersistentVolumeClaim {
	ref, class := pv.Spec.ClaimRef, pv.Spec.StorageClassName
	claim := &corev1.PersistentVolumeClaim{
		Spec: corev1.PersistentVolumeClaimSpec{AccessModes: pv.Spec.AccessModes, VolumeName: pv.Name, StorageClassName: &class,
			VolumeMode: pv.Spec.VolumeMode, Resources: corev1.VolumeResourceRequirements{Requests: pv.Spec.Capacity}},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, AccessModes: pv.Spec.AccessModes, Capacity: pv.Spec.Capacity},
	}
	claim.Namespace, claim.Name, claim.UID = ref.Namespace, ref.Name, ref.UID
	claim.CreationTimestamp = pv.CreationTimestamp
	claim.Annotations = map[string]string{objects.AnnBindCompleted: "yes"}
	claim.Finalizers = []string{objects.ClaimProtectionFinalizer}
	return claim
}

// volumeOf returns the volume to which a claim is bound. Its reclaim policy is that of the class, and Delete if the class is nil. It is a CSI
// volume if the dump has an object of its driver.
func volumeOf(claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, drivers map[string]bool) *corev1.PersistentVolume {
	policy, driver := corev1.PersistentVolumeReclaimDelete, claim.Annotations[objects.AnnStorageProvisioner]
	if class != nil && class.ReclaimPolicy != nil {
		policy = *class.ReclaimPolicy
	}
	if class != nil && driver == "" {
		driver = class.Provisioner
	}
	if migrated, ok := objects.MigratedDriver(driver); ok {
		driver = migrated
	}
	if driver == "" || strings.HasPrefix(driver, backends.InTreePrefix) {
		driver = unknown
	}
	pv := &corev1.PersistentVolume{
		Spec: corev1.PersistentVolumeSpec{AccessModes: claim.Status.AccessModes, Capacity: claim.Status.Capacity, VolumeMode: claim.Spec.VolumeMode,
			StorageClassName: objects.ClassOf(claim), PersistentVolumeReclaimPolicy: policy,
			ClaimRef: &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID}},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
	}
	pv.Name, pv.UID = claim.Spec.VolumeName, types.UID(unknown+"-"+claim.Spec.VolumeName)
	pv.CreationTimestamp = claim.CreationTimestamp
	pv.Annotations = map[string]string{objects.AnnProvisionedBy: driver}
	pv.Finalizers = []string{objects.VolumeProtectionFinalizer, objects.ExternalFinalizer}
	if drivers[driver] {
		pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: unknown + "-" + pv.Name}
	} else {
		// It needs no attachment, about which the dump says nothing either.
		pv.Spec.HostPath = &corev1.HostPathVolumeSource{Path: "/" + unknown + "/" + pv.Name}
	}
	return pv
}

// mentioned returns the CSI drivers of which the dump has an object.
func (d *Dump) mentioned() map[string]bool {
	drivers := map[string]bool{}
	for _, obj := range d.Objects {
		switch obj := obj.(type) {
		case *storagev1.CSIDriver:
			drivers[obj.Name] = true
		case *storagev1.VolumeAttachment:
			drivers[obj.Spec.Attacher] = true
		}
	}
	return drivers
}

// noteCounterparts says what addCounterparts has assumed.
func (d *Dump) noteCounterparts() []string {
	var notes []string
	if n := d.unknownVolumes; n > 0 {
		notes = append(notes, fmt.Sprintf("The dump has no persistentvolumes: those of bound claims (%d) are assumed, with the reclaim policy of their storage class, "+
			"and Delete if that is unknown. Add -f more.yaml: kubectl get pv -o yaml > more.yaml", n))
	}
	if n := d.unknownNodes; n > 0 {
		notes = append(notes, fmt.Sprintf("The dump has no nodes: those that it names (%d) are assumed to be Ready. Add -f more.yaml: "+
			"kubectl get nodes -o yaml > more.yaml", n))
	}
	if d.unknownCapacities > 0 && slices.ContainsFunc(objectsOf[*corev1.PersistentVolumeClaim](d), isUnbound) {
		notes = append(notes, "The dump has no csistoragecapacities: room for every claim is assumed. Add -f more.yaml: "+
			"kubectl get csistoragecapacities -A -o yaml > more.yaml")
	}
	if n := d.unknownClaims; n > 0 {
		notes = append(notes, fmt.Sprintf("The dump has no claims of some namespaces: those of bound volumes (%d) are assumed to exist. Add -f more.yaml: "+
			"kubectl get pvc -A -o yaml > more.yaml", n))
	}
	return notes
}
