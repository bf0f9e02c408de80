package dump

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/snapshots"
)

// lacking returns the kinds, as kubectl names them, of which the dump has no objects although an answer about the others depends on them.
func (d *Dump) lacking() []string {
	if d.Whole {
		return nil
	}
	pods, volumes := objectsOf[*corev1.Pod](d), objectsOf[*corev1.PersistentVolume](d)
	csi := slices.ContainsFunc(volumes, func(pv *corev1.PersistentVolume) bool { return objects.CSIOf(pv) != nil })
	unbound := slices.ContainsFunc(objectsOf[*corev1.PersistentVolumeClaim](d), isUnbound)
	nodes := len(objectsOf[*corev1.Node](d)) - d.unknownNodes
	var kinds []string
	for _, k := range []struct {
		name   string
		has    int
		needed bool
	}{
		{"pods", len(pods), slices.ContainsFunc(d.Objects, dependsOnPods)},
		{"persistentvolumeclaims", len(objectsOf[*corev1.PersistentVolumeClaim](d)),
			slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return len(objects.ClaimsOf(pod)) > 0 })},
		{"persistentvolumes", len(volumes), slices.ContainsFunc(d.Objects, isAttachment)},
		{"nodes", nodes, len(pods) > 0},
		{"storageclasses", len(objectsOf[*storagev1.StorageClass](d)), slices.ContainsFunc(d.Objects, needsClass)},
		{"volumeattributesclasses", len(objectsOf[*storagev1.VolumeAttributesClass](d)), slices.ContainsFunc(d.Objects, needsAttributes)},
		{"csistoragecapacities", len(objectsOf[*storagev1.CSIStorageCapacity](d)), unbound && slices.ContainsFunc(d.Objects, publishesCapacity)},
		{"csidrivers", len(objectsOf[*storagev1.CSIDriver](d)), csi},
		{"csinodes", len(objectsOf[*storagev1.CSINode](d)), csi && nodes > 0},
		{"volumeattachments", len(objectsOf[*storagev1.VolumeAttachment](d)), slices.ContainsFunc(pods, d.needsAttachment)},
		{"volumesnapshots", d.count(snapshots.SnapshotKind), slices.ContainsFunc(d.Objects, needsSnapshots)},
		{"volumesnapshotcontents", d.count(snapshots.ContentKind), slices.ContainsFunc(d.Objects, needsSnapshots)},
		{"volumesnapshotclasses", d.count(snapshots.ClassKind), slices.ContainsFunc(d.Objects, isBeingTaken)},
		{"events", len(objectsOf[*corev1.Event](d)), slices.ContainsFunc(d.Objects, isTroubled)},
	} {
		if k.has == 0 && k.needed {
			kinds = append(kinds, k.name)
		}
	}
	return kinds
}

// noteLacking returns a sentence about the kinds that are lacking, with the command that adds them; none if there are none.
func (d *Dump) noteLacking() []string {
	// noteCounterparts is about nodes that are assumed.
	kinds := slices.DeleteFunc(d.lacking(), func(kind string) bool { return kind == "nodes" && d.unknownNodes > 0 })
	if len(kinds) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("The dump has no %s, and the answer depends on them. If the cluster has some, dump them and add -f more.yaml: "+
		"kubectl get %s -A -o yaml > more.yaml", strings.Join(kinds, ", "), strings.Join(kinds, ","))}
}

// count returns the number of objects of a kind.
func (d *Dump) count(kind api.Kind) int {
	n := 0
	for _, obj := range d.Objects {
		if api.KindOf(obj) == kind {
			n++
		}
	}
	return n
}

// needsSnapshots reports whether an object is a claim whose volume is made from a snapshot (SNAP-030), or one whose deletion waits for snapshots
// of it (SNAP-005).
func needsSnapshots(obj api.Object) bool {
	claim, ok := obj.(*corev1.PersistentVolumeClaim)
	if ok && claim.DeletionTimestamp != nil && slices.Contains(claim.Finalizers, snapshots.ClaimFinalizer) {
		return true
	}
	if !ok || claim.Spec.VolumeName != "" {
		return false
	}
	source := objects.DataSourceOf(claim)
	return source != nil && source.Kind == "VolumeSnapshot"
}

// isBeingTaken reports whether an object is the content of a snapshot that the driver has not taken yet. It needs its class again for each attempt
// (SNAP-021).
func isBeingTaken(obj api.Object) bool {
	if api.KindOf(obj) != snapshots.ContentKind {
		return false
	}
	content := snapshots.Of[snapshots.Content](obj)
	return !content.IsReady() && content.Spec.Source.Volume != nil && content.Spec.Class != nil
}

// dependsOnPods reports whether an object is a claim that stays until no pod uses it (PROT-026), or a volume that is attached as long as pods use
// it (ATT-064).
func dependsOnPods(obj api.Object) bool {
	if va, ok := obj.(*storagev1.VolumeAttachment); ok {
		return va.Status.Attached
	}
	claim, ok := obj.(*corev1.PersistentVolumeClaim)
	return ok && claim.DeletionTimestamp != nil && slices.Contains(claim.Finalizers, objects.ClaimProtectionFinalizer)
}

// needsClass reports whether an object is a claim whose volume its class creates (PROV-021), or a volume that a class created.
func needsClass(obj api.Object) bool {
	switch obj := obj.(type) {
	case *corev1.PersistentVolumeClaim:
		return isUnbound(obj)
	case *corev1.PersistentVolume:
		return obj.Annotations[objects.AnnProvisionedBy] != ""
	}
	return false
}

// needsAttributes reports whether an object is a claim whose volume gets the attributes of a class (VAC-006).
func needsAttributes(obj api.Object) bool {
	claim, ok := obj.(*corev1.PersistentVolumeClaim)
	return ok && objects.ValueOf(claim.Spec.VolumeAttributesClassName) != ""
}

// publishesCapacity reports whether an object is a driver whose capacity decides where pods with unbound claims go (SCHED-112).
func publishesCapacity(obj api.Object) bool {
	driver, ok := obj.(*storagev1.CSIDriver)
	return ok && driver.Spec.StorageCapacity != nil && *driver.Spec.StorageCapacity
}

// isUnbound reports whether a claim has no volume, and a class that creates one.
func isUnbound(claim *corev1.PersistentVolumeClaim) bool {
	return claim.Spec.VolumeName == "" && objects.ClassOf(claim) != ""
}

// isAttachment reports whether an object is an attachment, which names a volume.
func isAttachment(obj api.Object) bool {
	_, ok := obj.(*storagev1.VolumeAttachment)
	return ok
}

// needsAttachment reports whether a pod runs with a volume that must be attached (ATT-068).
func (d *Dump) needsAttachment(pod *corev1.Pod) bool {
	if pod.Spec.NodeName == "" || objects.Terminated(pod) {
		return false
	}
	unattached := map[string]bool{}
	for _, driver := range objectsOf[*storagev1.CSIDriver](d) {
		unattached[driver.Name] = driver.Spec.AttachRequired != nil && !*driver.Spec.AttachRequired
	}
	claims := objects.ClaimsOf(pod)
	return slices.ContainsFunc(objectsOf[*corev1.PersistentVolume](d), func(pv *corev1.PersistentVolume) bool {
		csi, ref := objects.CSIOf(pv), pv.Spec.ClaimRef
		return csi != nil && ref != nil && !unattached[csi.Driver] && slices.Contains(claims, api.Key(ref.Namespace, ref.Name))
	})
}

// isTroubled reports whether only Events say why an object is in its state: a claim that is not bound, a pod that has a node and does not run,
// and a volume that failed or that a driver deletes.
func isTroubled(obj api.Object) bool {
	switch obj := obj.(type) {
	case *corev1.PersistentVolumeClaim:
		return obj.Status.Phase != corev1.ClaimBound
	case *corev1.Pod:
		return obj.Status.Phase == corev1.PodPending && obj.Spec.NodeName != ""
	case *corev1.PersistentVolume:
		return obj.Status.Phase == corev1.VolumeFailed ||
			obj.Status.Phase == corev1.VolumeReleased && obj.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete
	}
	return false
}

// lacksFiles returns a function that reports whether the dump has no Secrets, or no ConfigMaps, of a namespace. A dump that has one of them has
// all.
func (d *Dump) lacksFiles() func(kind api.Kind, namespace string) bool {
	has := map[api.Ref]bool{}
	for _, obj := range d.Objects {
		if kind := api.KindOf(obj); kind == objects.SecretKind || kind == objects.ConfigMapKind {
			has[api.Ref{Kind: kind, Key: obj.GetNamespace()}] = true
		}
	}
	return func(kind api.Kind, namespace string) bool { return !has[api.Ref{Kind: kind, Key: namespace}] }
}
