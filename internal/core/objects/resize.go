package objects

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
)

// ResizePendingMessage is the message of the condition FileSystemResizePending (EXP-023).
const ResizePendingMessage = "Waiting for user to (re-)start a pod to finish file system resize of volume on node."

// resizeConditions are the conditions that an expansion sets and takes away (EXP-003).
var resizeConditions = []corev1.PersistentVolumeClaimConditionType{
	corev1.PersistentVolumeClaimResizing,
	corev1.PersistentVolumeClaimFileSystemResizePending,
	corev1.PersistentVolumeClaimControllerResizeError,
	corev1.PersistentVolumeClaimNodeResizeError,
}

// IsResizeCondition reports whether the condition is one of the four of an expansion (EXP-003).
func IsResizeCondition(condition corev1.PersistentVolumeClaimConditionType) bool {
	// EXP-003
	return slices.Contains(resizeConditions, condition)
}

// HasCondition reports whether the claim has the condition with status True.
func HasCondition(claim *corev1.PersistentVolumeClaim, condition corev1.PersistentVolumeClaimConditionType) bool {
	return slices.ContainsFunc(claim.Status.Conditions, func(c corev1.PersistentVolumeClaimCondition) bool {
		return c.Type == condition && c.Status == corev1.ConditionTrue
	})
}

// MergeResizeConditions returns the conditions of a claim with the added resize conditions, as the expand controller and kubelets
// merge them (EXP-050): one that is there with the same status stays as it is, message and time included. Other old resize
// conditions stay only with keepOld. The arguments are not modified.
func MergeResizeConditions(old []corev1.PersistentVolumeClaimCondition, keepOld bool, added ...corev1.PersistentVolumeClaimCondition) []corev1.PersistentVolumeClaimCondition {
	return mergeConditions(old, keepOld, added, func(old, added corev1.PersistentVolumeClaimCondition) bool {
		// EXP-050: the first message of a run of failures survives.
		return old.Status != added.Status
	})
}

// ReplaceResizeConditions is MergeResizeConditions as the external resizer does it: an added condition takes the place of the old one
// of its type in any case (EXP-050).
func ReplaceResizeConditions(old []corev1.PersistentVolumeClaimCondition, keepOld bool, added ...corev1.PersistentVolumeClaimCondition) []corev1.PersistentVolumeClaimCondition {
	// EXP-050
	return mergeConditions(old, keepOld, added, func(_, _ corev1.PersistentVolumeClaimCondition) bool { return true })
}

func mergeConditions(old []corev1.PersistentVolumeClaimCondition, keepOld bool, added []corev1.PersistentVolumeClaimCondition,
	replaces func(old, added corev1.PersistentVolumeClaimCondition) bool) []corev1.PersistentVolumeClaimCondition {
	var merged []corev1.PersistentVolumeClaimCondition
	for _, condition := range old {
		at := conditionAt(added, condition.Type)
		switch {
		// EXP-050: conditions of others stay in place.
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

// conditionAt is the place of the condition in the list, less than zero if it is not there.
func conditionAt(list []corev1.PersistentVolumeClaimCondition, condition corev1.PersistentVolumeClaimConditionType) int {
	return slices.IndexFunc(list, func(c corev1.PersistentVolumeClaimCondition) bool { return c.Type == condition })
}

// ResizeStatus is how far the expansion of a claim is; "" is idle (EXP-003).
func ResizeStatus(claim *corev1.PersistentVolumeClaim) corev1.ClaimResourceStatus {
	// EXP-003: no entry is idle.
	return claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage]
}

// Allocated is the size that the claim's volume is being expanded to, or was last; ok is false if it never was (EXP-004).
func Allocated(claim *corev1.PersistentVolumeClaim) (size apiresource.Quantity, ok bool) {
	// EXP-004
	size, ok = claim.Status.AllocatedResources[corev1.ResourceStorage]
	return size, ok
}

// CopyOfClaim is a copy whose fields may be set. What they refer to is shared with the original: lists and maps are replaced, not
// modified, which the functions below see to.
func CopyOfClaim(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	edited := *claim
	return &edited
}

// SetResizeStatus sets how far the expansion of a copied claim is; "" takes the entry away, and the map with its last entry.
func SetResizeStatus(edited *corev1.PersistentVolumeClaim, status corev1.ClaimResourceStatus) {
	edited.Status.AllocatedResourceStatuses = replaceEntry(edited.Status.AllocatedResourceStatuses, corev1.ResourceStorage, status, status != "")
}

// SetAllocated sets the size that a copied claim is being expanded to.
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

// RemoveClaimAnnotation takes an annotation off a copied claim.
func RemoveClaimAnnotation(edited *corev1.PersistentVolumeClaim, key string) {
	edited.Annotations = replaceEntry(edited.Annotations, key, "", false)
}

// replaceEntry is the map with the entry set, or taken away; nil when nothing is left. The argument is not modified.
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
