package binder

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/klog"
	"github.com/volsim/volsim/internal/core/objects"
)

// bind makes a volume and a claim point at each other, in four steps. A step that would change nothing is skipped. The first step that
// fails ends the bind, and the next sync of the claim continues there (BIND-070, BIND-100, BIND-101, BIND-102, BIND-103). No step is
// retried in place, not even after a conflict (BIND-110).
func (c *controller) bind(p *engine.Process, pv *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) error {
	c.log.Info(4, "Binding volume to claim", pvc(claim), volumeName(pv))
	pv, err := c.pointVolume(p, pv, claim)
	if err != nil {
		c.log.Info(3, "Error binding volume to claim: failed saving the volume", pvc(claim), volumeName(pv), failure(err))
		return fmt.Errorf("bind volume %s to claim %s: %w", pv.Name, api.KeyOf(claim), err)
	}
	if pv, err = c.SetVolumePhase(p, pv, corev1.VolumeBound, ""); err != nil {
		c.log.Info(3, "Error binding volume to claim: failed saving the volume status", pvc(claim), volumeName(pv), failure(err))
		return err
	}
	pointed, err := c.pointClaim(p, claim, pv)
	if err != nil {
		c.log.Info(3, "Error binding volume to claim: failed saving the claim", pvc(claim), volumeName(pv), failure(err))
		return err
	}
	if claim, err = c.setClaimStatus(p, pointed, corev1.ClaimBound, pv); err != nil {
		c.log.Info(3, "Error binding volume to claim: failed saving the claim status", pvc(claim), volumeName(pv), failure(err))
		return err
	}
	c.log.Info(4, "Volume bound to claim", pvc(claim), volumeName(pv))
	c.log.Info(4, "Volume status after binding", volumeName(pv), klog.Value("volumeStatus", statusOfVolume{pv}))
	c.log.Info(4, "Claim status after binding", pvc(claim), klog.Value("claimStatus", statusOfClaim{claim}))
	return nil
}

// pointVolume is the first step of bind: it sets the claimRef of the volume.
func (c *controller) pointVolume(
	p *engine.Process, pv *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim,
) (*corev1.PersistentVolume, error) {
	c.log.Info(4, "Updating PersistentVolume: binding to claim", pvc(claim), volumeName(pv))
	ref := pv.Spec.ClaimRef
	if ref != nil && ref.Name == claim.Name && ref.Namespace == claim.Namespace && ref.UID == claim.UID {
		c.log.Info(4, "Updating PersistentVolume: already bound to claim", pvc(claim), volumeName(pv))
		return pv, nil
	}
	pointed := *pv
	pointed.Spec.ClaimRef = referenceTo(claim)
	// BIND-070: a claimRef that only gains a uid was set by its author, so it is not marked as set by the controller.
	if !objects.IsMine(pv, claim) {
		pointed.Annotations = withAnnotations(pv.Annotations, boundKeys...)
	}
	c.log.Info(2, "Claim bound to volume", pvc(claim), volumeName(pv))
	updated, err := c.updateVolume(p, &pointed)
	if err != nil {
		c.log.Info(4, "Updating PersistentVolume: binding to claim failed", pvc(claim), volumeName(pv), failure(err))
		return pv, err
	}
	c.log.Info(4, "Updating PersistentVolume: bound to claim", pvc(claim), volumeName(pv))
	return updated, nil
}

// pointClaim is the third step of bind: it sets the volumeName of the claim.
func (c *controller) pointClaim(
	p *engine.Process, claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume,
) (*corev1.PersistentVolumeClaim, error) {
	c.log.Info(4, "Updating PersistentVolumeClaim: binding to volume", pvc(claim), volumeName(pv))
	chosen, completed := claim.Spec.VolumeName != pv.Name, isBindCompleted(claim)
	if !chosen && completed {
		c.log.Info(4, "Updating PersistentVolumeClaim: already bound to volume", pvc(claim), volumeName(pv))
		return claim, nil
	}
	pointed := *claim
	pointed.Spec.VolumeName = pv.Name
	pointed.Spec.Resources.Requests = sharedRequests(claim.Spec.Resources.Requests, pv.Spec.Capacity)
	switch {
	case chosen && !completed:
		pointed.Annotations = c.annotations.completed(claim.Annotations)
	case chosen:
		pointed.Annotations = withAnnotations(claim.Annotations, boundKeys...)
	default:
		pointed.Annotations = withAnnotations(claim.Annotations, objects.AnnBindCompleted)
	}
	c.log.Info(2, "Volume bound to claim", pvc(claim), volumeName(pv))
	updated, err := c.updateClaim(p, &pointed)
	if err != nil {
		c.log.Info(4, "Updating PersistentVolumeClaim: binding to volume failed", pvc(claim), volumeName(pv), failure(err))
		return nil, err
	}
	c.log.Info(4, "Updating PersistentVolumeClaim: bound to volume", pvc(claim), volumeName(pv))
	return updated, nil
}

// sharedRequests returns the capacity of a volume if it has the same storage as the requests and both have nothing else, and the requests
// otherwise. A claim often requests exactly the capacity of its volume, and resource lists take most of the memory of stored objects, so the
// two share one list.
func sharedRequests(requests, capacity corev1.ResourceList) corev1.ResourceList {
	if len(requests) == 1 && len(capacity) == 1 {
		requested, ok := requests[corev1.ResourceStorage]
		if size, has := capacity[corev1.ResourceStorage]; ok && has && requested == size {
			return capacity
		}
	}
	return requests
}

// referenceTo returns the claimRef for a claim (BIND-071).
func referenceTo(claim *corev1.PersistentVolumeClaim) *corev1.ObjectReference {
	// BIND-071: it also names the version of the claim.
	return &corev1.ObjectReference{
		Kind:            string(api.PersistentVolumeClaim),
		APIVersion:      "v1",
		Namespace:       claim.Namespace,
		Name:            claim.Name,
		UID:             claim.UID,
		ResourceVersion: claim.ResourceVersion,
	}
}

// Unbind removes the claimRef of a volume if a controller set it. If the author of the volume set it, only the uid is removed: the volume
// stays reserved (BIND-072).
func (c *controller) Unbind(p *engine.Process, pv *corev1.PersistentVolume) error {
	c.log.Info(4, "Updating PersistentVolume: rolling back binding from claim", claimOfRef(pv), volumeName(pv))
	// BIND-072: a claimRef that a controller set is removed; of one that its author set, only the uid.
	freed := *pv
	if _, byController := pv.Annotations[objects.AnnBoundByController]; byController {
		freed.Spec.ClaimRef = nil
		freed.Annotations = maps.Clone(pv.Annotations)
		delete(freed.Annotations, objects.AnnBoundByController)
		if len(freed.Annotations) == 0 {
			freed.Annotations = nil
		}
	} else if pv.Spec.ClaimRef != nil {
		ref := *pv.Spec.ClaimRef
		ref.UID = ""
		freed.Spec.ClaimRef = &ref
	}
	// BIND-106, BIND-107: either write may fail; the next sync continues from what is stored.
	updated, err := c.updateVolume(p, &freed)
	if err != nil {
		c.log.Info(4, "Updating PersistentVolume: rollback failed", volumeName(pv), failure(err))
		return err
	}
	c.log.Info(4, "Updating PersistentVolume: rolled back", volumeName(pv))
	_, err = c.SetVolumePhase(p, updated, corev1.VolumeAvailable, "")
	return err
}

// setClaimStatus writes the fields of a claim's status that follow from its phase and its volume (BIND-074); pv is nil for a claim
// without one. It writes nothing if nothing changes (BIND-073).
func (c *controller) setClaimStatus(
	p *engine.Process, claim *corev1.PersistentVolumeClaim, phase corev1.PersistentVolumeClaimPhase, pv *corev1.PersistentVolume,
) (*corev1.PersistentVolumeClaim, error) {
	c.log.Info(4, "Updating PersistentVolumeClaim status", pvc(claim), klog.String("setPhase", phase))
	status, dirty, err := c.statusFor(claim, phase, pv)
	if err != nil {
		return claim, err
	}
	if !dirty {
		c.log.Info(4, "Updating PersistentVolumeClaim status, phase already set", pvc(claim), klog.String("phase", phase))
		return claim, nil
	}
	next := *claim
	next.Status = status
	updated, err := c.api.Claims.ReplaceStatus(p, &next)
	if err != nil {
		// BIND-104: after a failed write there is no Event.
		c.log.Info(4, "Updating PersistentVolumeClaim status, set phase failed", pvc(claim), klog.String("phase", phase), failure(err))
		return claim, fmt.Errorf("status of claim %s: %w", api.KeyOf(claim), err)
	}
	if err := c.cacheClaim(updated); err != nil {
		return updated, err
	}
	c.log.Info(2, "Claim entered phase", pvc(claim), klog.String("phase", phase))
	return updated, nil
}

// statusFor returns the status of a claim with the given phase and volume (BIND-074), and whether that is a change.
func (c *controller) statusFor(
	claim *corev1.PersistentVolumeClaim, phase corev1.PersistentVolumeClaimPhase, pv *corev1.PersistentVolume,
) (status corev1.PersistentVolumeClaimStatus, dirty bool, err error) {
	status = claim.Status
	if status.Phase != phase {
		status.Phase = phase
		dirty = true
	}
	if pv == nil {
		// BIND-074: without a volume there are no access modes and no capacity.
		if status.AccessModes != nil || status.Capacity != nil || status.CurrentVolumeAttributesClassName != nil {
			status.AccessModes, status.Capacity, status.CurrentVolumeAttributesClassName = nil, nil, nil
			dirty = true
		}
		return status, dirty, nil
	}
	if !slices.Equal(status.AccessModes, pv.Spec.AccessModes) {
		status.AccessModes = pv.Spec.AccessModes
		dirty = true
	}
	// BIND-074: a claim that stays Bound keeps its capacity, because an expansion may be in progress.
	if claim.Status.Phase != phase {
		if before, ok := pv.Annotations[objects.AnnPreResizeCapacity]; ok {
			c.log.Info(2, "Volume requires filesystem resize: setting pvc status capacity", pvc(claim), volumeName(pv),
				klog.String("statusCapacity", before))
		}
		capacity, changed, err := boundCapacity(claim, pv)
		if err != nil {
			return status, false, err
		}
		if changed {
			status.Capacity = capacity
			dirty = true
		}
	}
	// BIND-074: only the first bind sets the current attributes class.
	if claim.Status.Phase == corev1.ClaimPending && phase == corev1.ClaimBound &&
		objects.ValueOf(status.CurrentVolumeAttributesClassName) != objects.ValueOf(pv.Spec.VolumeAttributesClassName) {
		status.CurrentVolumeAttributesClassName = pv.Spec.VolumeAttributesClassName
		dirty = true
	}
	return status, dirty, nil
}

// boundCapacity returns the capacity in the status of a claim that is bound to the volume, and whether it differs from the current one
// (BIND-075).
func boundCapacity(claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) (corev1.ResourceList, bool, error) {
	size, ok := pv.Spec.Capacity[corev1.ResourceStorage]
	if !ok {
		return nil, false, fmt.Errorf("volume %s has no storage capacity", pv.Name)
	}
	// BIND-075: an unfinished expansion has not reached the file system, so the claim keeps the old capacity.
	if text, ok := pv.Annotations[objects.AnnPreResizeCapacity]; ok {
		if before, err := resource.ParseQuantity(text); err == nil {
			size = before
		}
		capacity := corev1.ResourceList{}
		maps.Copy(capacity, claim.Status.Capacity)
		capacity[corev1.ResourceStorage] = size
		return capacity, true, nil
	}
	if shown, ok := claim.Status.Capacity[corev1.ResourceStorage]; ok && shown.Cmp(size) == 0 {
		return nil, false, nil
	}
	return pv.Spec.Capacity, true, nil
}

// SetVolumePhase writes the phase and message of a volume, unless it has that phase (BIND-078).
func (c *controller) SetVolumePhase(
	p *engine.Process, pv *corev1.PersistentVolume, phase corev1.PersistentVolumePhase, message string,
) (*corev1.PersistentVolume, error) {
	c.log.Info(4, "Updating PersistentVolume", volumeName(pv), klog.String("setPhase", phase))
	// BIND-078: if the phase stays the same, not even the message is written.
	if pv.Status.Phase == phase {
		c.log.Info(4, "Updating PersistentVolume: phase already set", volumeName(pv), klog.String("phase", phase))
		return pv, nil
	}
	next := *pv
	next.Status.Phase = phase
	next.Status.Message = message
	updated, err := c.api.Volumes.ReplaceStatus(p, &next)
	if err != nil {
		c.log.Info(4, "Updating PersistentVolume: set phase failed", volumeName(pv), klog.String("phase", phase), failure(err))
		return pv, fmt.Errorf("phase %s of volume %s: %w", phase, pv.Name, err)
	}
	if err := c.cacheVolume(updated); err != nil {
		return updated, err
	}
	c.log.Info(2, "Volume entered phase", volumeName(pv), klog.String("phase", phase))
	return updated, nil
}

// SetVolumePhaseWithEvent is SetVolumePhase, followed by an Event if the write changed something (BIND-079).
func (c *controller) SetVolumePhaseWithEvent(
	p *engine.Process, pv *corev1.PersistentVolume, phase corev1.PersistentVolumePhase, eventType, reason, message string,
) (*corev1.PersistentVolume, error) {
	c.log.Info(4, "Updating updateVolumePhaseWithEvent", volumeName(pv), klog.String("setPhase", phase))
	// BIND-079: a volume that fails again emits no second Event.
	if pv.Status.Phase == phase {
		c.log.Info(4, "Updating updateVolumePhaseWithEvent: phase already set", volumeName(pv), klog.String("phase", phase))
		return pv, nil
	}
	updated, err := c.SetVolumePhase(p, pv, phase, message)
	if err != nil {
		return pv, err
	}
	c.log.Info(3, "Volume changed status", volumeName(pv), klog.String("changedPhase", phase), klog.String("message", message))
	c.events.Event(p, updated, eventType, reason, message)
	return updated, nil
}

// updateVolume writes the main resource of a volume and stores the answer in the own cache (BIND-023). The volume was made for this call.
func (c *controller) updateVolume(p *engine.Process, pv *corev1.PersistentVolume) (*corev1.PersistentVolume, error) {
	updated, err := c.api.Volumes.Replace(p, pv)
	if err != nil {
		return nil, err
	}
	err = c.cacheVolume(updated)
	return updated, err
}

// updateClaim writes the main resource of a claim and stores the answer in the own cache (BIND-023). The claim was made for this call.
func (c *controller) updateClaim(p *engine.Process, claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error) {
	updated, err := c.api.Claims.Replace(p, claim)
	if err != nil {
		return nil, err
	}
	err = c.cacheClaim(updated)
	return updated, err
}
