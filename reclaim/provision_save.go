package reclaim

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// BlockingSave makes 5 attempts, 10 s apart (XPROV-040).
const (
	saveTries = 5
	savePause = 10 * time.Second
)

// save creates the PersistentVolume object of a provisioned volume (XPROV-040).
func (c *provisioner) save(p *engine.Process, claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) error {
	if c.cfg.BlockingSave {
		return c.saveBlocking(p, claim, pv)
	}
	if err := c.create(p, pv); err != nil {
		// XPROV-040: the sync of the claim ends without an error; the volume is saved in the background.
		p.Decide("XPROV-040", claim, "volume %s will be saved later: %v", pv.Name, err)
		c.saveQueue.Add(pv.Name)
	}
	return nil
}

// create creates the PersistentVolume object, and emits an Event for its claim if that still exists. The store gets pv itself; after an error a
// copy is unsaved.
func (c *provisioner) create(p *engine.Process, pv *corev1.PersistentVolume) error {
	// XPROV-040: a volume of that name is that of an earlier attempt.
	if _, err := p.API().Volumes.Add(p, pv); err != nil && !apierrors.IsAlreadyExists(err) {
		c.unsaved[pv.Name] = unsent(pv)
		return fmt.Errorf("error saving volume %s: %w", pv.Name, err)
	}
	if claim := c.claimByUID(pv.Spec.ClaimRef.UID); claim != nil {
		c.event(p, claim, corev1.EventTypeNormal, reasonProvisioned, "Successfully provisioned volume "+pv.Name)
	}
	return nil
}

// unsent returns a copy of a volume without what the API server sets.
func unsent(pv *corev1.PersistentVolume) *corev1.PersistentVolume {
	again := *pv
	again.UID, again.ResourceVersion, again.CreationTimestamp = "", "", metav1.Time{}
	again.Status = corev1.PersistentVolumeStatus{}
	return &again
}

// saveKey saves a volume in the background; it is retried without limit (XPROV-040).
func (c *provisioner) saveKey(p *engine.Process, name string) error {
	pv, ok := c.unsaved[name]
	if !ok {
		return nil
	}
	if err := c.create(p, pv); err != nil {
		return err
	}
	delete(c.unsaved, name)
	return nil
}

// saveBlocking saves a volume while the sync of the claim waits, and deletes the asset if all attempts fail (XPROV-040).
func (c *provisioner) saveBlocking(p *engine.Process, claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) error {
	saveErr := several(p, func() error {
		_, err := p.API().Volumes.Create(p, pv)
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
	if saveErr == nil {
		c.event(p, claim, corev1.EventTypeNormal, reasonProvisioned, "Successfully provisioned volume "+pv.Name)
		return nil
	}
	// XPROV-040: an asset without a PersistentVolume would be leaked.
	c.event(p, claim, corev1.EventTypeWarning, reasonProvisioningFailed,
		fmt.Sprintf("Error creating provisioned PV object for claim %s: %v. Deleting the volume.", api.KeyOf(claim), saveErr))
	if err := several(p, func() error { return c.deleteVolumeAsset(p, pv) }); err != nil {
		c.event(p, claim, corev1.EventTypeWarning, reasonCleanupFailed,
			fmt.Sprintf("Error cleaning provisioned volume for claim %s: %v. Please delete manually.", api.KeyOf(claim), err))
	}
	return saveErr
}

// several calls try up to five times, 10 s apart, until it succeeds, and returns the last error.
func several(p *engine.Process, try func() error) (err error) {
	for i := range saveTries {
		if i > 0 {
			p.Sleep(savePause)
		}
		if err = try(); err == nil {
			return nil
		}
	}
	return err
}
