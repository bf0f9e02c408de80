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

// mark writes the status of a claim and puts it into the cache.
func (g *grower) mark(p *engine.Process, old, edited *corev1.PersistentVolumeClaim, patch claimPatch) (*corev1.PersistentVolumeClaim, error) {
	newer, err := g.patchClaim(p, old, edited, patch)
	if err == nil {
		g.claims.put(newer)
	}
	return newer, err
}

// markInProgress says in the claim what is about to be done (EXP-021). again says that the size is the one of the last time.
func (g *grower) markInProgress(p *engine.Process, claim *corev1.PersistentVolumeClaim, size apiresource.Quantity, again bool) (*corev1.PersistentVolumeClaim, error) {
	edited := objects.CopyOfClaim(claim)
	// EXP-021: of the same size, status and errors stay as they are.
	edited.Status.Conditions = objects.ReplaceResizeConditions(claim.Status.Conditions, again, resizing(p))
	if !again {
		objects.SetResizeStatus(edited, corev1.PersistentVolumeClaimControllerResizeInProgress)
	}
	objects.RemoveClaimAnnotation(edited, objects.AnnNodeExpansionNotRequired)
	objects.SetAllocated(edited, size)
	return g.mark(p, claim, edited, claimstatus.Patch)
}

// setCapacity writes the size that the driver gave into the volume (EXP-022). before is what the claim could use.
func (g *grower) setCapacity(p *engine.Process, pv *corev1.PersistentVolume, size, before apiresource.Quantity, onNode bool) error {
	patch := capacityPatch(pv, size)
	// EXP-022: only while the node has something to do, and the first value stays.
	if onNode && !hasPreResize(pv) {
		was := before.String()
		patch.setPreResize(&was)
	}
	newer, err := patch.apply(p, pv.Name)
	if err != nil {
		return fmt.Errorf("update capacity of PV %s failed: %w", pv.Name, err)
	}
	g.volumes.put(newer)
	return nil
}

// markNodePending leaves the rest to the node (EXP-023).
func (g *grower) markNodePending(p *engine.Process, claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error) {
	edited := objects.CopyOfClaim(claim)
	// EXP-023: Resizing stays.
	edited.Status.Conditions = objects.ReplaceResizeConditions(claim.Status.Conditions, true, nodePending(p))
	objects.RemoveClaimAnnotation(edited, objects.AnnNodeExpansionNotRequired)
	objects.SetResizeStatus(edited, corev1.PersistentVolumeClaimNodeResizePending)
	newer, err := g.mark(p, claim, edited, claimstatus.Patch)
	if err != nil {
		return claim, fmt.Errorf("mark PVC %q as node expansion required failed: %w", api.KeyOf(claim), err)
	}
	// EXP-023
	g.events.Event(p, newer, corev1.EventTypeNormal, reasonFileSystemRequired, "Require file system resize of volume on node")
	return newer, nil
}

// markFinished ends an expansion in which nodes have no part (EXP-024).
func (g *grower) markFinished(p *engine.Process, claim *corev1.PersistentVolumeClaim, size apiresource.Quantity) (*corev1.PersistentVolumeClaim, error) {
	edited := objects.CopyOfClaim(claim)
	objects.SetClaimCapacity(edited, size)
	edited.Status.Conditions = objects.ReplaceResizeConditions(claim.Status.Conditions, false)
	objects.SetResizeStatus(edited, "")
	// EXP-024: so that no kubelet expands what is expanded.
	objects.SetClaimAnnotation(edited, objects.AnnNodeExpansionNotRequired, "true")
	newer, err := g.mark(p, claim, edited, claimstatus.Patch)
	if err != nil {
		return claim, fmt.Errorf("mark PVC %q as resize finished failed: %w", api.KeyOf(claim), err)
	}
	g.events.Event(p, newer, corev1.EventTypeNormal, reasonResizeSuccessful, "Resize volume succeeded")
	return newer, nil
}

// markFailed writes a final error into the claim, whatever its version (EXP-025).
func (g *grower) markFailed(p *engine.Process, claim *corev1.PersistentVolumeClaim, cause error, infeasible bool) (*corev1.PersistentVolumeClaim, error) {
	edited := objects.CopyOfClaim(claim)
	if infeasible {
		objects.SetResizeStatus(edited, corev1.PersistentVolumeClaimControllerResizeInfeasible)
	}
	edited.Status.Conditions = objects.ReplaceResizeConditions(claim.Status.Conditions, true, corev1.PersistentVolumeClaimCondition{
		Type: corev1.PersistentVolumeClaimControllerResizeError, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(p.Now()),
		Message: fmt.Sprintf("failed to expand pvc with %v", cause)})
	// EXP-025: that it failed is true of any version.
	newer, err := g.mark(p, claim, edited, claimstatus.Force)
	if err != nil {
		return claim, fmt.Errorf("mark PVC %q as controller expansion failed, errored with: %w", api.KeyOf(claim), err)
	}
	return newer, nil
}
