package reclaim

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
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
	// finished: no call runs, and no asset was created.
	finished provisionState = "Finished"
	// background: the driver may create the asset, or may have created it.
	background provisionState = "Background"
	// noChange: the driver was not called; the state is that of the last call.
	noChange provisionState = "NoChange"
	// reschedule: no call runs, and another node may succeed.
	reschedule provisionState = "Reschedule"
)

// errIgnored is an error of a driver that leaves a request to another provisioner: no Event and no retry (XPROV-026, XPROV-053).
var errIgnored = errors.New("ignored")

// errStop ends the sync of a claim without a retry.
var errStop = errors.New("stop provisioning")

// infeasible is when the driver rejected the request of a claim as invalid, and the class of the claim at that time.
type infeasible struct {
	since time.Time
	class types.UID
}

func (c *provisioner) syncClaimKey(p *engine.Process, key string) error {
	uid := types.UID(key)
	claim := c.claimByUID(uid)
	if claim == nil {
		// XPROV-011: for a deleted claim in progress the driver is called until the outcome is known.
		if claim = c.inProgress[uid]; claim == nil {
			return nil
		}
	}
	p.WorksOn(claim)
	err := c.retryOrGiveUp(c.claimQueue, key, c.syncClaim(p, claim))
	if err == nil {
		// XPROV-014, XPROV-028: a claim that is done, unwanted or given up is no longer in progress. That can leak an asset.
		delete(c.inProgress, uid)
	}
	return err
}

// syncClaim provisions a volume for a claim that needs one (XPROV-012 to XPROV-026).
func (c *provisioner) syncClaim(p *engine.Process, claim *corev1.PersistentVolumeClaim) error {
	// XPROV-012: the delay after an invalid request comes first, even for a claim that was bound meanwhile.
	if err := c.delayed(p, claim); err != nil {
		return err
	}
	wanted, rule, err := c.wanted(claim)
	if err != nil {
		return err
	}
	if !wanted {
		// XPROV-014: phase and deletionTimestamp of the claim do not count, nor do volumes that match it.
		if claim.Spec.VolumeName == "" && c.inProgress[claim.UID] != nil {
			p.Decide(rule, claim, "provisioning for the claim has ended")
		}
		return nil
	}
	state, err := c.provisionClaim(p, claim)
	switch {
	case err == nil || errors.Is(err, errStop):
		return nil
	case state == finished:
		// XPROV-026: a final error leaves no asset.
		delete(c.inProgress, claim.UID)
	case state == background:
		// XPROV-026: the driver is called until its answer is final.
		c.inProgress[claim.UID] = claim
	}
	return err
}

// delayed returns an error while a claim waits because its request was rejected as invalid (XPROV-012).
func (c *provisioner) delayed(p *engine.Process, claim *corev1.PersistentVolumeClaim) error {
	info, found := c.infeasible[claim.UID]
	class := c.classOf(claim)
	// XPROV-012: without a class there is no delay.
	if !found || class == nil {
		return nil
	}
	// XPROV-012: a new class under the name ends the delay.
	if class.UID != info.class || !p.Now().Before(info.since.Add(infeasibleDelay)) {
		delete(c.infeasible, claim.UID)
		return nil
	}
	return fmt.Errorf("skipping volume provisioning for pvc %s, because provisioning previously failed with infeasible error", claim.UID)
}

// wanted reports whether a volume should be provisioned for the claim, and the rule that decided (XPROV-013).
func (c *provisioner) wanted(claim *corev1.PersistentVolumeClaim) (wanted bool, rule string, err error) {
	// XPROV-013a: a claim with a volumeName needs no volume.
	if claim.Spec.VolumeName != "" {
		return false, "XPROV-013a", nil
	}
	named, provisioner := provisionerOf(claim)
	// XPROV-013b: the annotation storage-provisioner or migrated-to must name the driver.
	if provisioner != c.name && claim.Annotations[objects.AnnMigratedTo] != c.name {
		return false, "XPROV-013b", nil
	}
	// XPROV-013c: without storage-provisioner, or with that of another one, the claim is not provisioned for.
	if !named || !c.isMine(provisioner) {
		return false, "XPROV-013c", nil
	}
	class := c.classOf(claim)
	// XPROV-013d: a missing class is retried.
	if class == nil {
		return false, "XPROV-013d", classMissing(claim)
	}
	// XPROV-013e: with WaitForFirstConsumer the scheduler must choose a node first.
	if class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer &&
		claim.Annotations[objects.AnnSelectedNode] == "" {
		return false, "XPROV-013e", nil
	}
	// XPROV-013f: otherwise the claim is provisioned for.
	return true, "XPROV-013f", nil
}

// provisionerOf returns the provisioner that a claim is annotated with, if any.
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

// volumeNameFor returns the name of the volume for a claim.
func volumeNameFor(claim *corev1.PersistentVolumeClaim) string { return "pvc-" + string(claim.UID) }

// provisionClaim creates a volume for a claim (XPROV-020 to XPROV-028). The state is that after an error.
func (c *provisioner) provisionClaim(p *engine.Process, claim *corev1.PersistentVolumeClaim) (provisionState, error) {
	// XPROV-020: an earlier attempt has created the volume.
	name := volumeNameFor(claim)
	if _, exists := c.volumes.Get(name); exists {
		p.Decide("XPROV-020", claim, "its volume exists")
		return finished, errStop
	}
	// XPROV-021: the driver cannot create block volumes.
	if !backends.SupportsBlock(c.driver.backend) &&
		objects.VolumeModeOf(claim.Spec.VolumeMode) == corev1.PersistentVolumeBlock {
		c.event(p, claim, corev1.EventTypeWarning, reasonProvisioningFailed, c.name+" does not support block volume provisioning")
		return finished, errStop
	}
	class := c.classOf(claim)
	// XPROV-022: a class that is gone is retried.
	if class == nil {
		return finished, classMissing(claim)
	}
	// XPROV-023: the class has another provisioner than the claim's annotation.
	if !c.isMine(class.Provisioner) {
		p.Decide("XPROV-023", claim, "class %s has provisioner %s", class.Name, class.Provisioner)
		return finished, errStop
	}
	if p.Tracing() {
		p.Decide("XPROV-013f", claim, "driver %s provisions volume %s", c.name, name)
	}
	// XPROV-024: each attempt has an Event.
	c.event(p, claim, corev1.EventTypeNormal, reasonProvisioning,
		"External provisioner is provisioning volume for claim "+strconv.Quote(c.claims.KeyOf(claim)))
	// XPROV-025: the driver creates the asset.
	pv, state, err := c.createVolume(p, claim, class, name)
	if err != nil {
		if state != noChange {
			// XPROV-065: a failure may mean that less is left.
			c.capacities.changedIn(class)
		}
		return c.provisionFailed(p, claim, class, state, err)
	}
	c.capacities.created(pv, class)
	// XPROV-027: the library adds the fields that all volumes have.
	c.addCommonFields(pv, claim, class)
	return finished, c.save(p, claim, pv)
}

// provisionFailed handles an error of the driver (XPROV-026).
func (c *provisioner) provisionFailed(p *engine.Process, claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass,
	state provisionState, err error) (provisionState, error) {
	// XPROV-026: the driver leaves the claim to another provisioner.
	if errors.Is(err, errIgnored) {
		p.Decide("XPROV-026", claim, "provisioning is left to others: %v", err)
		c.resync.ArmBackground()
		return finished, errStop
	}
	// XPROV-026, XPROV-012: an invalid request is delayed, from its first rejection on.
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
	// XPROV-026: without a selected node there is nothing to undo.
	if !hasKey(claim.Annotations, objects.AnnSelectedNode) {
		return finished, err
	}
	if rescheduleErr := c.removeSelectedNode(p, claim); rescheduleErr != nil {
		return finished, err
	}
	return finished, errStop
}

// removeSelectedNode removes the selected node from a claim, so that the scheduler chooses again (XPROV-026).
func (c *provisioner) removeSelectedNode(p *engine.Process, claim *corev1.PersistentVolumeClaim) error {
	edited := *claim
	edited.Annotations = maps.Clone(claim.Annotations)
	delete(edited.Annotations, objects.AnnSelectedNode)
	p.Decide("XPROV-026", claim, "the selected node %s is removed", claim.Annotations[objects.AnnSelectedNode])
	if _, err := p.API().Claims.Update(p, &edited); err != nil {
		return err
	}
	// XPROV-026: until the informer has the edited claim, this copy is used.
	c.edited[claim.UID] = &edited
	return nil
}

func (c *provisioner) event(p *engine.Process, obj api.Object, eventType, reason, text string) {
	c.recorder.Event(p, obj, eventType, reason, text)
}
