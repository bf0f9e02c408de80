package objects

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

// PatchClaimStatus writes what tells edited from old, in annotations and status, with one patch of the status subresource (EXP-005).
// It fails with a conflict if the claim is no longer old.
func PatchClaimStatus(p *engine.Proc, old, edited *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error) {
	// EXP-005: with a version inside it is as strict as an update.
	return p.API().Claims.Patch(p, api.KeyOf(old), claimStatusPatch(old, edited, old), api.Status)
}

// ForceClaimStatus is PatchClaimStatus without a version: the difference is put onto whatever the server has, conditions type by
// type (EXP-005).
func ForceClaimStatus(p *engine.Proc, old, edited *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error) {
	key := api.KeyOf(old)
	for {
		newest, ok := p.Engine().Store().Claims.Lookup(key)
		if !ok {
			newest = old // the server says that it is gone
		}
		// EXP-005: the server merges, so this is repeated as long as others get in between.
		claim, err := p.API().Claims.Patch(p, key, claimStatusPatch(old, edited, newest), api.Status)
		if !ok || !apierrors.IsConflict(err) {
			return claim, err
		}
		if now, _ := p.Engine().Store().Claims.Lookup(key); now != nil && now.ResourceVersion == newest.ResourceVersion {
			return claim, err // not for that reason
		}
	}
}

// claimStatusPatch is a JSON merge patch that does to newest what turns old into edited.
func claimStatusPatch(old, edited, newest *corev1.PersistentVolumeClaim) []byte {
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
		panic(fmt.Sprintf("objects: a patch cannot be written as JSON: %v", err))
	}
	return data
}

// addDifference puts into the patch what tells the new map from the old one; nil is an entry that goes.
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

// transferConditions does to the newest conditions what turned the old ones into the edited ones.
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
