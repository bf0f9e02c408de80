package evidence

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// deletePatience is the age from which on a volume that its driver has to delete shows that it does not: twice the longest time between two
// tries of a provisioner.
const deletePatience = 10 * time.Minute

// unmountPatience is the same for a volume that a kubelet has to unmount (MNT-005).
const unmountPatience = 10 * time.Minute

// nodeGrowthPatience is the same for a file system that a kubelet has to expand (EXP-041).
const nodeGrowthPatience = 10 * time.Minute

// runs reports whether a driver is registered on a node, or the dump does not tell.
func (r *reader) runs(driver, node string) bool {
	csiNode := r.csiNodes[node]
	return csiNode == nil || listed(csiNode, driver)
}

// readsOnly reports whether a pod uses a claim read-only.
func readsOnly(pod *corev1.Pod, claim *corev1.PersistentVolumeClaim) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim.Name && v.PersistentVolumeClaim.ReadOnly
	})
}

// deletionOverdue reads that a volume has waited for its deletion for longer than a provisioner that works lets it wait (XPROV-052), although
// nothing keeps it: no attachment (XPROV-054), and no error in an Event.
func (r *reader) deletionOverdue(pv *corev1.PersistentVolume) {
	driver := pv.Annotations[objects.AnnProvisionedBy]
	since := pv.Status.LastPhaseTransitionTime
	if pv.DeletionTimestamp != nil {
		since = pv.DeletionTimestamp
	}
	gone := pv.DeletionTimestamp != nil && !slices.Contains(pv.Finalizers, objects.ExternalFinalizer)
	attached := slices.ContainsFunc(r.attachments, func(va *storagev1.VolumeAttachment) bool {
		return objects.ValueOf(va.Spec.Source.PersistentVolumeName) == pv.Name
	})
	if driver != pv.Spec.CSI.Driver || pv.Status.Phase != corev1.VolumeReleased || pv.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete ||
		since == nil || r.now.Sub(since.Time) <= deletePatience || gone || attached {
		return
	}
	what := fmt.Sprintf("has not deleted volume %s since %s", pv.Name, clock(since.Time, r.now))
	if !r.registered(driver) {
		r.add(Assumption{Subject: "driver/" + driver, Behaviour: Absent, Operation: storage.Delete, Since: since.Time, actor: actors.Provisioner(driver),
			Evidence: fmt.Sprintf("driver %s is not installed: no CSIDriver and no CSINode names it, and it %s", driver, what)})
		return
	}
	r.found = append(r.found, Assumption{Subject: "driver/" + driver, Behaviour: Silent, Object: "pv/" + pv.Name, Operation: storage.Delete,
		Code: storage.DeadlineExceeded, Message: "context deadline exceeded", Since: since.Time, key: pv.Spec.CSI.VolumeHandle,
		Evidence: fmt.Sprintf("driver %s %s", driver, what)})
}

// growthOverdue reads that a resizer has not begun with an expansion for which the expand controller waits (EXP-014, EXP-021), and with no other
// one since.
func (r *reader) growthOverdue(claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) {
	driver := pv.Spec.CSI.Driver
	_, _, since := total(r.about(claim, hasReason("ExternalExpanding")))
	begun := objects.ResizeStatus(claim) != "" || objects.HasCondition(claim, corev1.PersistentVolumeClaimResizing) ||
		objects.HasCondition(claim, corev1.PersistentVolumeClaimFileSystemResizePending) || r.lastResized[driver].After(since)
	have, want := pv.Spec.Capacity[corev1.ResourceStorage], claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if since.IsZero() || r.now.Sub(since) <= Patience || begun || want.Cmp(have) <= 0 {
		return
	}
	r.add(Assumption{Subject: "driver/" + driver, Behaviour: Absent, Operation: storage.Expand, Since: since, actor: actors.Resizer(driver),
		Evidence: fmt.Sprintf("the resizer of driver %s has not answered claim %s since %s", driver, api.KeyOf(claim), clock(since, r.now))})
}

// registered reports whether a CSIDriver or a CSINode names a driver, or whether the dump has neither.
func (r *reader) registered(driver string) bool {
	if r.drivers[driver] != nil || len(r.drivers) == 0 && len(r.csiNodes) == 0 {
		return true
	}
	for _, node := range r.csiNodes {
		if listed(node, driver) {
			return true
		}
	}
	return false
}
