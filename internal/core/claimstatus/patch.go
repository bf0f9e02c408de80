package claimstatus

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiresource "k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// Patch writes the difference between old and edited, in annotations and status, with one patch of the status subresource (EXP-005).
// It fails with a Conflict if the stored claim is no longer old.
func Patch(p *engine.Process, old, edited *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error) {
	// EXP-005: a patch that names a version is as strict as an update.
	return p.API().Claims.Patch(p, api.KeyOf(old), mergePatch(old, edited, old), api.Status)
}

// Force is Patch without a version: it applies the difference to whatever is stored, conditions type by type (EXP-005).
func Force(p *engine.Process, old, edited *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error) {
	key := api.KeyOf(old)
	for {
		newest, ok := p.Engine().Store().Claims.Lookup(key)
		if !ok {
			newest = old // the server answers NotFound
		}
		// EXP-005: the server merges, so a write that gets in between is no error here.
		claim, err := p.API().Claims.Patch(p, key, mergePatch(old, edited, newest), api.Status)
		if !ok || !apierrors.IsConflict(err) {
			return claim, err
		}
		if now, _ := p.Engine().Store().Claims.Lookup(key); now != nil && now.ResourceVersion == newest.ResourceVersion {
			return claim, err // a Conflict for another reason
		}
	}
}

// mergePatch returns the JSON merge patch that applies the difference between old and edited to newest.
func mergePatch(old, edited, newest *corev1.PersistentVolumeClaim) []byte {
	was, is := &old.Status, &edited.Status
	metadata := map[string]any{"resourceVersion": newest.ResourceVersion}
	status := map[string]any{}
	addDifference(metadata, "annotations", old.Annotations, edited.Annotations, func(a, b string) bool { return a == b })
	sameSize := func(a, b apiresource.Quantity) bool { return a.Cmp(b) == 0 && a.String() == b.String() }
	addDifference(status, "capacity", was.Capacity, is.Capacity, sameSize)
	addDifference(status, "allocatedResources", was.AllocatedResources, is.AllocatedResources, sameSize)
	addDifference(status, "allocatedResourceStatuses", was.AllocatedResourceStatuses, is.AllocatedResourceStatuses,
		func(a, b corev1.ClaimResourceStatus) bool { return a == b })
	if !apiequality.Semantic.DeepEqual(was.Conditions, is.Conditions) {
		status["conditions"] = transferConditions(was.Conditions, is.Conditions, newest.Status.Conditions)
	}
	if !apiequality.Semantic.DeepEqual(was.CurrentVolumeAttributesClassName, is.CurrentVolumeAttributesClassName) {
		status["currentVolumeAttributesClassName"] = is.CurrentVolumeAttributesClassName
	}
	if !apiequality.Semantic.DeepEqual(was.ModifyVolumeStatus, is.ModifyVolumeStatus) {
		status["modifyVolumeStatus"] = is.ModifyVolumeStatus
	}
	patch := map[string]any{"metadata": metadata}
	if len(status) > 0 {
		patch["status"] = status
	}
	data, err := json.Marshal(patch)
	if err != nil {
		panic(fmt.Sprintf("claimstatus: encode patch: %v", err))
	}
	return data
}

// addDifference adds the difference between two maps to the patch; nil stands for an entry that is removed.
func addDifference[M ~map[K]V, K ~string, V any](patch map[string]any, field string, old, edited M, same func(a, b V) bool) {
	changes := map[string]any{}
	for key, value := range edited {
		if before, had := old[key]; !had || !same(before, value) {
			changes[string(key)] = value
		}
	}
	for key := range old {
		if _, stays := edited[key]; !stays {
			changes[string(key)] = nil
		}
	}
	switch {
	case len(changes) == 0:
	case len(edited) == 0:
		patch[field] = nil
	default:
		patch[field] = changes
	}
}

// transferConditions applies the difference between old and edited conditions to the newest ones.
func transferConditions(old, edited, newest []corev1.PersistentVolumeClaimCondition) []corev1.PersistentVolumeClaimCondition {
	result := slices.Clone(newest)
	for _, condition := range old {
		if conditionAt(edited, condition.Type) < 0 {
			result = slices.DeleteFunc(result, func(c corev1.PersistentVolumeClaimCondition) bool { return c.Type == condition.Type })
		}
	}
	for _, condition := range edited {
		if at := conditionAt(old, condition.Type); at >= 0 && apiequality.Semantic.DeepEqual(old[at], condition) {
			continue
		}
		if at := conditionAt(result, condition.Type); at >= 0 {
			result[at] = condition
		} else {
			result = append(result, condition)
		}
	}
	return result
}

// conditionAt returns the index of the condition in the list, or -1.
func conditionAt(list []corev1.PersistentVolumeClaimCondition, condition corev1.PersistentVolumeClaimConditionType) int {
	return slices.IndexFunc(list, func(c corev1.PersistentVolumeClaimCondition) bool { return c.Type == condition })
}
