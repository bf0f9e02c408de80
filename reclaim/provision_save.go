package reclaim

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// Tries and pauses of the blocking way to save (XPROV-040).
const (
	saveTries = 5
	savePause = 10 * time.Second
)

// save stores a provisioned volume (XPROV-040).
func (c *provisioner) save(p *engine.Proc, claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) error {
	if c.cfg.BlockingSave {
		return c.saveBlocking(p, claim, pv)
	}
	if err := c.create(p, pv); err != nil {
		// XPROV-040: the claim is done with, whatever becomes of the volume; the asset stays.
		p.Decide("XPROV-040", claim, "volume %s is stored later: %v", pv.Name, err)
		c.unsaved[pv.Name] = pv
		c.saveQueue.Add(pv.Name)
	}
	return nil
}

// create stores a volume and tells its claim, if there is one still.
func (c *provisioner) create(p *engine.Proc, pv *corev1.PersistentVolume) error {
	// XPROV-040: a volume of that name is the one from an earlier try.
	if _, err := p.API().Volumes.Create(p, pv); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("error saving volume %s: %w", pv.Name, err)
	}
	if claim := c.claimByUID(pv.Spec.ClaimRef.UID); claim != nil {
		c.event(p, claim, corev1.EventTypeNormal, reasonProvisioned, "Successfully provisioned volume "+pv.Name)
	}
	return nil
}

// saveKey stores a volume in the background, for as long as it takes (XPROV-040).
func (c *provisioner) saveKey(p *engine.Proc, name string) error {
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

// saveBlocking stores a volume while the claim waits, or else deletes the asset (XPROV-040).
func (c *provisioner) saveBlocking(p *engine.Proc, claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) error {
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
	// XPROV-040: an asset without a volume is nobody's.
	c.event(p, claim, corev1.EventTypeWarning, reasonProvisioningFailed,
		fmt.Sprintf("Error creating provisioned PV object for claim %s: %v. Deleting the volume.", api.KeyOf(claim), saveErr))
	if err := several(p, func() error { return c.deleteVolumeAsset(p, pv) }); err != nil {
		c.event(p, claim, corev1.EventTypeWarning, reasonCleanupFailed,
			fmt.Sprintf("Error cleaning provisioned volume for claim %s: %v. Please delete manually.", api.KeyOf(claim), err))
	}
	return saveErr
}

// several tries something up to five times, with a pause between tries, and returns the last error.
func several(p *engine.Proc, try func() error) (err error) {
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
