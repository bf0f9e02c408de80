package reclaim

import (
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// provisionState says what a provisioning error means for the asset.
type provisionState string

const (
	// finished: nothing is going on, nothing was made.
	finished provisionState = "Finished"
	// background: the driver may still be making the volume, or have made it.
	background provisionState = "Background"
	// noChange: the driver was not asked; it is as it was before.
	noChange provisionState = "NoChange"
	// reschedule: nothing is going on, and another node may do.
	reschedule provisionState = "Reschedule"
)

// ErrIgnored is an error of a driver that leaves a request to another provisioner: no Event and no retry (XPROV-026, XPROV-053).
var ErrIgnored = errors.New("ignored")

// errStop ends the work on a claim until its next event.
var errStop = errors.New("stop provisioning")

// infeasible is when the driver called the request of a claim invalid, and the class it had then.
type infeasible struct {
	since time.Time
	class types.UID
}

func (c *provisioner) syncClaimKey(p *engine.Proc, key string) error {
	uid := types.UID(key)
	claim := c.claimByUID(uid)
	if claim == nil {
		// XPROV-011: what may be going on for a deleted claim is brought to an end.
		if claim = c.inProgress[uid]; claim == nil {
			return nil
		}
	}
	p.WorksOn(api.RefTo(claim))
	err := c.settle(c.claimQueue, key, c.syncClaim(p, claim))
	if err == nil {
		// XPROV-014, XPROV-028: done, not wanted, or given up, the claim is not in progress any more. That can leak an asset.
		delete(c.inProgress, uid)
	}
	return err
}

// syncClaim provisions for a claim if it should (XPROV-012 to XPROV-026).
func (c *provisioner) syncClaim(p *engine.Proc, claim *corev1.PersistentVolumeClaim) error {
	// XPROV-012: before everything else, even for a claim that was bound meanwhile.
	if err := c.slowed(p, claim); err != nil {
		return err
	}
	wanted, rule, err := c.wanted(claim)
	if err != nil {
		return err
	}
	if !wanted {
		// XPROV-014: neither phase nor deletionTimestamp of the claim count, nor volumes that would fit.
		if claim.Spec.VolumeName == "" && c.inProgress[claim.UID] != nil {
			p.Decide(rule, claim, "the claim has stopped to be provisioned for")
		}
		return nil
	}
	state, err := c.provisionClaim(p, claim)
	switch {
	case err == nil || errors.Is(err, errStop):
		return nil
	case state == finished:
		// XPROV-026: nothing is left behind.
		delete(c.inProgress, claim.UID)
	case state == background:
		// XPROV-026: the driver must be asked until it has a final answer.
		c.inProgress[claim.UID] = claim
	}
	return err
}

// slowed is an error while a claim waits because its request was called invalid (XPROV-012).
func (c *provisioner) slowed(p *engine.Proc, claim *corev1.PersistentVolumeClaim) error {
	info, slow := c.infeasible[claim.UID]
	class := c.classOf(claim)
	// XPROV-012: without a class nothing can be said.
	if !slow || class == nil {
		return nil
	}
	// XPROV-012: another class under the name may make the request valid.
	if class.UID != info.class || !p.Now().Before(info.since.Add(c.cfg.InfeasibleDelay)) {
		delete(c.infeasible, claim.UID)
		return nil
	}
	return fmt.Errorf("skipping volume provisioning for pvc %s, because provisioning previously failed with infeasible error", claim.UID)
}

// wanted reports whether a volume should be provisioned for the claim, and the rule that decided (XPROV-013).
func (c *provisioner) wanted(claim *corev1.PersistentVolumeClaim) (wanted bool, rule string, err error) {
	// XPROV-013a: it has a volume, or a user has chosen one.
	if claim.Spec.VolumeName != "" {
		return false, "XPROV-013a", nil
	}
	named, provisioner := provisionerOf(claim)
	// XPROV-013b: the driver's sidecar looks for the driver's own name.
	if provisioner != c.name && claim.Annotations[objects.AnnMigratedTo] != c.name {
		return false, "XPROV-013b", nil
	}
	// XPROV-013c: the PersistentVolume controller has asked for another provisioner, or for none yet.
	if !named || !c.isMine(provisioner) {
		return false, "XPROV-013c", nil
	}
	class := c.classOf(claim)
	// XPROV-013d: it may come.
	if class == nil {
		return false, "XPROV-013d", classMissing(claim)
	}
	// XPROV-013e: the scheduler has not chosen a node, or its choice was refused.
	if class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer &&
		claim.Annotations[objects.AnnSelectedNode] == "" {
		return false, "XPROV-013e", nil
	}
	// XPROV-013f: nothing speaks against it.
	return true, "XPROV-013f", nil
}

// provisionerOf is the provisioner that must act for a claim, if one is named.
func provisionerOf(claim *corev1.PersistentVolumeClaim) (named bool, provisioner string) {
	for _, key := range []string{objects.AnnStorageProvisioner, objects.AnnBetaStorageProvisioner} {
		if provisioner, named = claim.Annotations[key]; named {
			return true, provisioner
		}
	}
	return false, ""
}

func classMissing(claim *corev1.PersistentVolumeClaim) error {
	return fmt.Errorf("storageClass %q not found", objects.ClassOf(claim))
}

// volumeNameFor is the name of the volume for a claim.
func volumeNameFor(claim *corev1.PersistentVolumeClaim) string { return "pvc-" + string(claim.UID) }

// provisionClaim makes a volume for a claim (XPROV-020 to XPROV-028). The state goes with an error.
func (c *provisioner) provisionClaim(p *engine.Proc, claim *corev1.PersistentVolumeClaim) (provisionState, error) {
	// XPROV-020: an earlier run has made it.
	if _, exists := c.volumes.Get(volumeNameFor(claim)); exists {
		p.Decide("XPROV-020", claim, "its volume exists")
		return finished, errStop
	}
	// XPROV-021: the driver cannot make what is wanted.
	if !backends.SupportsBlock(c.driver.backend) &&
		objects.VolumeModeOf(claim.Spec.VolumeMode) == corev1.PersistentVolumeBlock {
		c.event(p, claim, corev1.EventTypeWarning, reasonProvisioningFailed, c.name+" does not support block volume provisioning")
		return finished, errStop
	}
	class := c.classOf(claim)
	// XPROV-022: the class has gone since the decision.
	if class == nil {
		return finished, classMissing(claim)
	}
	// XPROV-023: the class is not what the claim was annotated for.
	if !c.isMine(class.Provisioner) {
		p.Decide("XPROV-023", claim, "class %s has provisioner %s", class.Name, class.Provisioner)
		return finished, errStop
	}
	p.Decide("XPROV-013f", claim, "driver %s provisions volume %s", c.name, volumeNameFor(claim))
	// XPROV-024: each attempt shows.
	c.event(p, claim, corev1.EventTypeNormal, reasonProvisioning,
		fmt.Sprintf("External provisioner is provisioning volume for claim %q", api.KeyOf(claim)))
	// XPROV-025: the driver's part.
	pv, state, err := c.createVolume(p, claim, class)
	if err != nil {
		return c.provisionFailed(p, claim, class, state, err)
	}
	// XPROV-027: what is the same for all drivers.
	c.complete(pv, claim, class)
	return finished, c.save(p, claim, pv)
}

// provisionFailed decides what an error of the driver's part means (XPROV-026).
func (c *provisioner) provisionFailed(p *engine.Proc, claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, state provisionState, err error) (provisionState, error) {
	// XPROV-026: another provisioner may do it.
	if errors.Is(err, ErrIgnored) {
		p.Decide("XPROV-026", claim, "provisioning is left to others: %v", err)
		c.armResync()
		return finished, errStop
	}
	// XPROV-026, XPROV-012: trying the same again is of little use; the first time counts.
	if storage.CodeOf(err) == storage.InvalidArgument {
		if _, known := c.infeasible[claim.UID]; !known {
			c.infeasible[claim.UID] = infeasible{since: p.Now(), class: class.UID}
		}
		c.event(p, claim, corev1.EventTypeWarning, reasonProvisioningFailed,
			fmt.Sprintf("Volume provisioning failed with infeasible error. Retries will be delayed. %v", err))
		return finished, err
	}
	c.event(p, claim, corev1.EventTypeWarning, reasonProvisioningFailed, err.Error())
	if state != reschedule {
		return state, err
	}
	// XPROV-026: only a node that was chosen can be given back.
	if !hasKey(claim.Annotations, objects.AnnSelectedNode) {
		return finished, err
	}
	if rescheduleErr := c.giveNodeBack(p, claim); rescheduleErr != nil {
		return finished, err
	}
	return finished, errStop
}

// giveNodeBack removes the selected node from a claim, upon which the scheduler chooses again (XPROV-026).
func (c *provisioner) giveNodeBack(p *engine.Proc, claim *corev1.PersistentVolumeClaim) error {
	edited := *claim
	edited.Annotations = maps.Clone(claim.Annotations)
	delete(edited.Annotations, objects.AnnSelectedNode)
	p.Decide("XPROV-026", claim, "node %s is given back", claim.Annotations[objects.AnnSelectedNode])
	if _, err := p.API().Claims.Update(p, &edited); err != nil {
		return err
	}
	// XPROV-026: the informer may still show the old claim.
	c.edited[claim.UID] = &edited
	return nil
}

func (c *provisioner) event(p *engine.Proc, obj api.Object, eventType, reason, text string) {
	c.recorder.Event(p, obj, eventType, reason, text)
}
