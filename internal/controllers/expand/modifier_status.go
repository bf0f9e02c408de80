package expand

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/core/claimstatus"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// patchStatus writes the status of a claim. Unlike the expander, the modifier does not put the claim into the cache.
func (m *modifier) patchStatus(p *engine.Process, old, edited *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error) {
	newer, err := m.patchClaim(p, old, edited, claimstatus.Patch)
	if err != nil {
		return old, fmt.Errorf("mark PVC %q as modify volume failed, errored with: %w", old.Name, err)
	}
	return newer, nil
}

// copyWith returns a copy of the claim with that status of its modification.
func copyWith(claim *corev1.PersistentVolumeClaim, status corev1.PersistentVolumeClaimModifyVolumeStatus) *corev1.PersistentVolumeClaim {
	edited := objects.CopyOfClaim(claim)
	modify := corev1.ModifyVolumeStatus{}
	if was := claim.Status.ModifyVolumeStatus; was != nil {
		modify = *was
	}
	modify.Status = status
	edited.Status.ModifyVolumeStatus = &modify
	return edited
}

// markPending records in the claim that the class does not exist (VAC-006).
func (m *modifier) markPending(p *engine.Process, claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error) {
	// VAC-006: the target stays that of the last modification.
	return m.patchStatus(p, claim, copyWith(claim, corev1.PersistentVolumeClaimModifyVolumePending))
}

// markInProgress records in the claim that a modification begins (VAC-007).
func (m *modifier) markInProgress(p *engine.Process, claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error) {
	// VAC-007: the status names the target.
	edited := copyWith(claim, corev1.PersistentVolumeClaimModifyVolumeInProgress)
	edited.Status.ModifyVolumeStatus.TargetVolumeAttributesClassName = wantedClass(claim)
	edited.Status.Conditions = mergeModifyConditions(claim.Status.Conditions, metav1.NewTime(p.Now()),
		modifying("Modifying volume to %q is in progress.", wantedClass(claim)))
	return m.patchStatus(p, claim, edited)
}

// markFailed records an error of the driver in the claim (VAC-012, VAC-013).
func (m *modifier) markFailed(p *engine.Process, claim *corev1.PersistentVolumeClaim,
	status corev1.PersistentVolumeClaimModifyVolumeStatus, final bool, code storage.Code, text string) (*corev1.PersistentVolumeClaim, error) {
	edited := copyWith(claim, status)
	// VAC-012, VAC-013: the message depends on whether the error is final.
	message := "Modifying volume to %q is still in progress."
	if final {
		message = "Modifying volume to %q failed. Waiting for retry."
	}
	edited.Status.Conditions = mergeModifyConditions(claim.Status.Conditions, metav1.NewTime(p.Now()),
		modifying(message, edited.Status.ModifyVolumeStatus.TargetVolumeAttributesClassName),
		corev1.PersistentVolumeClaimCondition{Type: corev1.PersistentVolumeClaimVolumeModifyVolumeError, Status: corev1.ConditionTrue,
			Reason: string(code), Message: text})
	return m.patchStatus(p, claim, edited)
}

// markCompleted writes the new class to the volume, then to the claim (VAC-011).
func (m *modifier) markCompleted(p *engine.Process, claim *corev1.PersistentVolumeClaim,
	pv *corev1.PersistentVolume) (*corev1.PersistentVolumeClaim, error) {
	class := claim.Status.ModifyVolumeStatus.TargetVolumeAttributesClassName
	// VAC-011: the volume comes first, so the claim never has a class that the volume lacks.
	if _, err := (volumePatch{Spec: &volumePatchSpec{AttributesClass: &class}}).apply(p, pv.Name); err != nil {
		return claim,
			fmt.Errorf("update pv.Spec.VolumeAttributesClassName for PVC %q failed, errored with: update capacity of PV %s failed: %w",
				claim.Name, pv.Name, err)
	}
	edited := objects.CopyOfClaim(claim)
	edited.Status.ModifyVolumeStatus = nil
	edited.Status.CurrentVolumeAttributesClassName = &class
	// VAC-011: conditions that are missing in the cache stay.
	edited.Status.Conditions = withoutConditions(claim.Status.Conditions,
		corev1.PersistentVolumeClaimVolumeModifyingVolume, corev1.PersistentVolumeClaimVolumeModifyVolumeError)
	newer, err := m.patchClaim(p, claim, edited, claimstatus.Force)
	if err != nil {
		return claim, fmt.Errorf("mark PVC %q as ModifyVolumeCompleted failed, errored with: %w", claim.Name, err)
	}
	return newer, nil
}

// markRolledBack records in the claim that no modification is in progress (VAC-004).
func (m *modifier) markRolledBack(p *engine.Process, claim *corev1.PersistentVolumeClaim) error {
	edited := objects.CopyOfClaim(claim)
	// VAC-004: the condition of an error stays.
	edited.Status.Conditions = withoutConditions(claim.Status.Conditions, corev1.PersistentVolumeClaimVolumeModifyingVolume)
	if _, err := m.patchClaim(p, claim, edited, claimstatus.Force); err != nil {
		return fmt.Errorf("mark PVC %q as rolled back failed: %w", claim.Name, err)
	}
	return nil
}

func modifying(message, class string) corev1.PersistentVolumeClaimCondition {
	return corev1.PersistentVolumeClaimCondition{
		Type: corev1.PersistentVolumeClaimVolumeModifyingVolume, Status: corev1.ConditionTrue, Message: fmt.Sprintf(message, class)}
}

// mergeModifyConditions returns the conditions with the added ones, which replace those of the same type (VAC-008). The argument is not
// modified.
func mergeModifyConditions(old []corev1.PersistentVolumeClaimCondition, now metav1.Time,
	added ...corev1.PersistentVolumeClaimCondition) []corev1.PersistentVolumeClaimCondition {
	merged := slices.Clone(old)
	for _, condition := range added {
		// VAC-008: the probe time is always now; the transition time changes only with status or reason.
		condition.LastProbeTime, condition.LastTransitionTime = now, now
		at := slices.IndexFunc(merged, func(c corev1.PersistentVolumeClaimCondition) bool { return c.Type == condition.Type })
		if at < 0 {
			merged = append(merged, condition)
			continue
		}
		if merged[at].Status == condition.Status && merged[at].Reason == condition.Reason {
			condition.LastTransitionTime = merged[at].LastTransitionTime
		}
		merged[at] = condition
	}
	return merged
}

func withoutConditions(conditions []corev1.PersistentVolumeClaimCondition,
	types ...corev1.PersistentVolumeClaimConditionType) []corev1.PersistentVolumeClaimCondition {
	return slices.DeleteFunc(slices.Clone(conditions),
		func(c corev1.PersistentVolumeClaimCondition) bool { return slices.Contains(types, c.Type) })
}
