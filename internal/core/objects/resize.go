package objects

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
)

// ResizePendingMessage is the message of the condition FileSystemResizePending (EXP-023).
const ResizePendingMessage = "Waiting for user to (re-)start a pod to finish file system resize of volume on node."

// resizeConditions lists the conditions that an expansion sets and removes (EXP-003).
var resizeConditions = []corev1.PersistentVolumeClaimConditionType{
	corev1.PersistentVolumeClaimResizing,
	corev1.PersistentVolumeClaimFileSystemResizePending,
	corev1.PersistentVolumeClaimControllerResizeError,
	corev1.PersistentVolumeClaimNodeResizeError,
}

// IsResizeCondition reports whether the condition is one of the four of an expansion (EXP-003).
func IsResizeCondition(condition corev1.PersistentVolumeClaimConditionType) bool {
	// EXP-003: these four belong to an expansion, all others do not.
	return slices.Contains(resizeConditions, condition)
}

// HasCondition reports whether the claim has the condition with status True.
func HasCondition(claim *corev1.PersistentVolumeClaim, condition corev1.PersistentVolumeClaimConditionType) bool {
	return slices.ContainsFunc(claim.Status.Conditions, func(c corev1.PersistentVolumeClaimCondition) bool {
		return c.Type == condition && c.Status == corev1.ConditionTrue
	})
}

// MergeResizeConditions returns the conditions of a claim with the added resize conditions, as the expand controller and kubelets
// merge them (EXP-050): an old condition of the same type and status stays unchanged, including message and time. Other old resize
// conditions stay only with keepOld. The arguments are not modified.
func MergeResizeConditions(old []corev1.PersistentVolumeClaimCondition, keepOld bool,
	added ...corev1.PersistentVolumeClaimCondition) []corev1.PersistentVolumeClaimCondition {
	return mergeConditions(old, keepOld, added, func(old, added corev1.PersistentVolumeClaimCondition) bool {
		// EXP-050: of repeated failures, the first message stays.
		return old.Status != added.Status
	})
}

// ReplaceResizeConditions is MergeResizeConditions as the external resizer does it: an added condition always replaces the old one of its
// type (EXP-050).
func ReplaceResizeConditions(old []corev1.PersistentVolumeClaimCondition, keepOld bool,
	added ...corev1.PersistentVolumeClaimCondition) []corev1.PersistentVolumeClaimCondition {
	// EXP-050: the external resizer replaces conditions whatever their status is.
	return mergeConditions(old, keepOld, added, func(_, _ corev1.PersistentVolumeClaimCondition) bool { return true })
}

func mergeConditions(old []corev1.PersistentVolumeClaimCondition, keepOld bool, added []corev1.PersistentVolumeClaimCondition,
	replaces func(old, added corev1.PersistentVolumeClaimCondition) bool) []corev1.PersistentVolumeClaimCondition {
	var merged []corev1.PersistentVolumeClaimCondition
	for _, condition := range old {
		at := conditionAt(added, condition.Type)
		switch {
		// EXP-050: other conditions stay in place.
		case !IsResizeCondition(condition.Type):
			merged = append(merged, condition)
		case at < 0:
			if keepOld {
				merged = append(merged, condition)
			}
		case replaces(condition, added[at]):
			merged = append(merged, added[at])
		default:
			merged = append(merged, condition)
		}
	}
	// EXP-050: new ones come last.
	for _, condition := range added {
		if conditionAt(old, condition.Type) < 0 {
			merged = append(merged, condition)
		}
	}
	return merged
}

// conditionAt returns the index of the condition in the list, or -1.
func conditionAt(list []corev1.PersistentVolumeClaimCondition, condition corev1.PersistentVolumeClaimConditionType) int {
	return slices.IndexFunc(list, func(c corev1.PersistentVolumeClaimCondition) bool { return c.Type == condition })
}

// ResizeStatus returns the state of the expansion of a claim; "" is idle (EXP-003).
func ResizeStatus(claim *corev1.PersistentVolumeClaim) corev1.ClaimResourceStatus {
	// EXP-003: no entry means idle.
	return claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage]
}

// Allocated returns the target size of the current or last expansion of the claim; ok is false if there was none (EXP-004).
func Allocated(claim *corev1.PersistentVolumeClaim) (size apiresource.Quantity, ok bool) {
	// EXP-004: the entry stays after the expansion.
	size, ok = claim.Status.AllocatedResources[corev1.ResourceStorage]
	return size, ok
}

// CopyOfClaim returns a shallow copy. Its fields may be set, but maps and lists are shared with the original and must be replaced, not
// modified. The functions below do that.
func CopyOfClaim(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	edited := *claim
	return &edited
}

// SetResizeStatus sets the state of the expansion of a copied claim; "" removes the entry, and the map with its last entry.
func SetResizeStatus(edited *corev1.PersistentVolumeClaim, status corev1.ClaimResourceStatus) {
	edited.Status.AllocatedResourceStatuses = replaceEntry(edited.Status.AllocatedResourceStatuses, corev1.ResourceStorage, status,
		status != "")
}

// SetAllocated sets the target size of the expansion of a copied claim.
func SetAllocated(edited *corev1.PersistentVolumeClaim, size apiresource.Quantity) {
	edited.Status.AllocatedResources = replaceEntry(edited.Status.AllocatedResources, corev1.ResourceStorage, size, true)
}

// SetClaimCapacity sets the usable size of a copied claim.
func SetClaimCapacity(edited *corev1.PersistentVolumeClaim, size apiresource.Quantity) {
	edited.Status.Capacity = replaceEntry(edited.Status.Capacity, corev1.ResourceStorage, size, true)
}

// SetClaimAnnotation sets an annotation of a copied claim.
func SetClaimAnnotation(edited *corev1.PersistentVolumeClaim, key, value string) {
	edited.Annotations = replaceEntry(edited.Annotations, key, value, true)
}

// RemoveClaimAnnotation removes an annotation from a copied claim.
func RemoveClaimAnnotation(edited *corev1.PersistentVolumeClaim, key string) {
	edited.Annotations = replaceEntry(edited.Annotations, key, "", false)
}

// replaceEntry returns a copy of the map with the entry set or removed, or nil if nothing is left.
func replaceEntry[M ~map[K]V, K comparable, V any](old M, key K, value V, set bool) M {
	_, had := old[key]
	if !set && !had {
		return old
	}
	edited := maps.Clone(old)
	if set {
		if edited == nil {
			edited = M{}
		}
		edited[key] = value
		return edited
	}
	delete(edited, key)
	if len(edited) == 0 {
		return nil
	}
	return edited
}
