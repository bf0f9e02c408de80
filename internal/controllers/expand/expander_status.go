package expand

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/claimstatus"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

// patchStatus writes the status of a claim and puts the claim into the cache.
func (ex *expander) patchStatus(p *engine.Process, old, edited *corev1.PersistentVolumeClaim,
	patch claimPatch) (*corev1.PersistentVolumeClaim, error) {
	newer, err := ex.patchClaim(p, old, edited, patch)
	if err == nil {
		ex.claims.put(newer)
	}
	return newer, err
}

// markInProgress records in the claim that an expansion begins (EXP-021). again: the size is that of the last attempt.
func (ex *expander) markInProgress(p *engine.Process, claim *corev1.PersistentVolumeClaim, size apiresource.Quantity,
	again bool) (*corev1.PersistentVolumeClaim, error) {
	edited := objects.CopyOfClaim(claim)
	// EXP-021: with the same size, status and errors stay.
	edited.Status.Conditions = objects.ReplaceResizeConditions(claim.Status.Conditions, again, resizing(p))
	if !again {
		objects.SetResizeStatus(edited, corev1.PersistentVolumeClaimControllerResizeInProgress)
	}
	objects.RemoveClaimAnnotation(edited, objects.AnnNodeExpansionNotRequired)
	objects.SetAllocated(edited, size)
	return ex.patchStatus(p, claim, edited, claimstatus.Patch)
}

// setCapacity writes the size that the driver returned to the volume (EXP-022). before is the size that the claim could use until now.
func (ex *expander) setCapacity(p *engine.Process, pv *corev1.PersistentVolume, size, before apiresource.Quantity, onNode bool) error {
	patch := capacityPatch(pv, size)
	// EXP-022: the size before is recorded only if the node has to expand, and only once.
	if onNode && !hasPreResize(pv) {
		was := before.String()
		patch.setPreResize(&was)
	}
	newer, err := patch.apply(p, pv.Name)
	if err != nil {
		return fmt.Errorf("update capacity of PV %s failed: %w", pv.Name, err)
	}
	ex.volumes.put(newer)
	return nil
}

// markNodePending records in the claim that the node has to expand (EXP-023).
func (ex *expander) markNodePending(p *engine.Process, claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error) {
	edited := objects.CopyOfClaim(claim)
	// EXP-023: the condition Resizing stays.
	edited.Status.Conditions = objects.ReplaceResizeConditions(claim.Status.Conditions, true, nodePending(p))
	objects.RemoveClaimAnnotation(edited, objects.AnnNodeExpansionNotRequired)
	objects.SetResizeStatus(edited, corev1.PersistentVolumeClaimNodeResizePending)
	newer, err := ex.patchStatus(p, claim, edited, claimstatus.Patch)
	if err != nil {
		return claim, fmt.Errorf("mark PVC %q as node expansion required failed: %w", api.KeyOf(claim), err)
	}
	// EXP-023: an Event reports that the node has to expand.
	ex.events.Event(p, newer, corev1.EventTypeNormal, reasonFileSystemRequired, "Require file system resize of volume on node")
	return newer, nil
}

// markFinished records in the claim that the expansion is finished and nodes have nothing to do (EXP-024).
func (ex *expander) markFinished(p *engine.Process, claim *corev1.PersistentVolumeClaim,
	size apiresource.Quantity) (*corev1.PersistentVolumeClaim, error) {
	edited := objects.CopyOfClaim(claim)
	objects.SetClaimCapacity(edited, size)
	edited.Status.Conditions = objects.ReplaceResizeConditions(claim.Status.Conditions, false)
	objects.SetResizeStatus(edited, "")
	// EXP-024: with the annotation, no kubelet expands the volume again.
	objects.SetClaimAnnotation(edited, objects.AnnNodeExpansionNotRequired, "true")
	newer, err := ex.patchStatus(p, claim, edited, claimstatus.Patch)
	if err != nil {
		return claim, fmt.Errorf("mark PVC %q as resize finished failed: %w", api.KeyOf(claim), err)
	}
	ex.events.Event(p, newer, corev1.EventTypeNormal, reasonResizeSuccessful, "Resize volume succeeded")
	return newer, nil
}

// markFailed records a final error in the claim (EXP-025).
func (ex *expander) markFailed(p *engine.Process, claim *corev1.PersistentVolumeClaim, cause error,
	infeasible bool) (*corev1.PersistentVolumeClaim, error) {
	edited := objects.CopyOfClaim(claim)
	if infeasible {
		objects.SetResizeStatus(edited, corev1.PersistentVolumeClaimControllerResizeInfeasible)
	}
	edited.Status.Conditions = objects.ReplaceResizeConditions(claim.Status.Conditions, true, corev1.PersistentVolumeClaimCondition{
		Type: corev1.PersistentVolumeClaimControllerResizeError, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(p.Now()),
		Message: fmt.Sprintf("failed to expand pvc with %v", cause)})
	// EXP-025: the patch has no version, so it never conflicts.
	newer, err := ex.patchStatus(p, claim, edited, claimstatus.Force)
	if err != nil {
		return claim, fmt.Errorf("mark PVC %q as controller expansion failed, errored with: %w", api.KeyOf(claim), err)
	}
	return newer, nil
}
