package reclaim

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

func (c *provisioner) syncVolumeKey(p *engine.Proc, name string) error {
	pv, ok := c.volumes.Get(name)
	if !ok {
		return nil
	}
	return c.settle(c.volumeQueue, name, c.syncVolume(p, pv))
}

// syncVolume keeps the finalizer of a volume and deletes it when it is released (XPROV-050).
func (c *provisioner) syncVolume(p *engine.Proc, pv *corev1.PersistentVolume) error {
	if !Responsible(pv, c.isMine) {
		return nil
	}
	pv, err := c.keepFinalizer(p, pv)
	if err != nil {
		return err
	}
	wanted, why := deleteWanted(pv, !c.cfg.NoFinalizer)
	if !wanted {
		if p.Tracing() && pv.Spec.ClaimRef != nil && pv.Status.Phase != corev1.VolumeBound {
			p.Decide("XPROV-052", pv, "the volume is not deleted: %s", why)
		}
		return nil
	}
	return c.deleteVolume(p, pv)
}

// Responsible reports whether a volume is that of an external provisioner which answers to the names that isMine accepts
// (XPROV-050).
func Responsible(pv *corev1.PersistentVolume, isMine func(provisioner string) bool) bool {
	migratedTo := pv.Annotations[objects.AnnMigratedTo]
	if provisioner, provisioned := pv.Annotations[objects.AnnProvisionedBy]; provisioned {
		// XPROV-050: who made it, or who took over from the plugin that did.
		return isMine(provisioner) || isMine(migratedTo)
	}
	// XPROV-050: a static volume of the driver.
	if pv.Spec.CSI != nil {
		return isMine(pv.Spec.CSI.Driver)
	}
	// XPROV-050: a static volume of a plugin that the driver took over from.
	return isMine(migratedTo)
}

// keepFinalizer puts the external finalizer where it should be, and returns the volume as it then is (XPROV-051).
func (c *provisioner) keepFinalizer(p *engine.Proc, pv *corev1.PersistentVolume) (*corev1.PersistentVolume, error) {
	has := slices.Contains(pv.Finalizers, objects.ExternalFinalizer)
	policy := pv.Spec.PersistentVolumeReclaimPolicy
	var edit func(finalizers []string, finalizer string) ([]string, bool)
	switch {
	// XPROV-051: a rollback, or the asset is to stay. In any phase.
	case has && (c.cfg.NoFinalizer || policy == corev1.PersistentVolumeReclaimRetain || policy == corev1.PersistentVolumeReclaimRecycle):
		edit = without
	// XPROV-051: the asset must go before the volume. Only a bound volume gets the finalizer.
	case !has && !c.cfg.NoFinalizer && policy == corev1.PersistentVolumeReclaimDelete &&
		pv.DeletionTimestamp == nil && pv.Status.Phase == corev1.VolumeBound:
		edit = with
	default:
		return pv, nil
	}
	p.Decide("XPROV-051", pv, "the external finalizer is there: %v; the policy is %s", has, policy)
	patched, err := patchFinalizer(p, pv, edit)
	if err != nil {
		return nil, fmt.Errorf("failed to modify finalizers of volume %s: %w", pv.Name, err)
	}
	return patched, nil
}

// patchFinalizer adds or removes the external finalizer, and nothing else, on the newest version of a volume that looked like that when it
// was asked for, as a strategic merge patch does: it never conflicts (XPROV-051).
func patchFinalizer(p *engine.Proc, pv *corev1.PersistentVolume, edit func(finalizers []string, finalizer string) ([]string, bool)) (*corev1.PersistentVolume, error) {
	wanted, _ := edit(pv.Finalizers, objects.ExternalFinalizer)
	return p.API().Volumes.PatchNewest(p, pv.Name, func(newest *corev1.PersistentVolume) ([]byte, error) {
		return json.Marshal(map[string]any{"metadata": map[string]any{"finalizers": mergeFinalizers(newest.Finalizers, wanted)}})
	}, api.Main)
}

// mergeFinalizers are the stored finalizers with the external one if it is wanted, and without it otherwise. They are in the order in which those
// are that were wanted. Each of the others comes before the first of these that is stored behind it (XPROV-051).
func mergeFinalizers(stored, wanted []string) []string {
	known := slices.DeleteFunc(slices.Clone(wanted), func(name string) bool { return name != objects.ExternalFinalizer && !slices.Contains(stored, name) })
	others := slices.DeleteFunc(slices.Clone(stored), func(name string) bool { return name == objects.ExternalFinalizer || slices.Contains(wanted, name) })
	var merged []string
	for _, name := range known {
		// XPROV-051: what is not stored yet is behind nothing.
		for at := slices.Index(stored, name); len(others) > 0 && slices.Index(stored, others[0]) < at; others = others[1:] {
			merged = append(merged, others[0])
		}
		merged = append(merged, name)
	}
	return append(merged, others...)
}

// deleteWanted reports whether a volume is to be deleted, or why not (XPROV-052). The CSI sidecar has no guard of its own here.
func deleteWanted(pv *corev1.PersistentVolume, finalizer bool) (wanted bool, why string) {
	terminating := pv.DeletionTimestamp != nil
	switch {
	// XPROV-052: the finalizer has gone, so the asset has.
	case finalizer && terminating && !slices.Contains(pv.Finalizers, objects.ExternalFinalizer):
		return false, "it is being deleted and the finalizer has gone"
	// XPROV-052: without finalizers a volume that is being deleted has been dealt with.
	case !finalizer && terminating:
		return false, "it is being deleted"
	// XPROV-052: not Failed either, ever. RECL-046: a volume that is never Released keeps its finalizer, and stays when it is deleted.
	case pv.Status.Phase != corev1.VolumeReleased:
		return false, "its phase is " + string(pv.Status.Phase)
	// XPROV-052: the asset is to stay.
	case pv.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete:
		return false, "its policy is " + string(pv.Spec.PersistentVolumeReclaimPolicy)
	}
	return true, ""
}

// deleteVolume deletes the asset of a volume, then the volume (XPROV-053). After a failure all of it is done again (XPROV-055).
func (c *provisioner) deleteVolume(p *engine.Proc, pv *corev1.PersistentVolume) error {
	p.Decide("XPROV-052", pv, "driver %s deletes the volume", c.name)
	if err := c.deleteVolumeAsset(p, pv); errors.Is(err, ErrIgnored) {
		// XPROV-053: another provisioner may do it.
		c.armResync()
		return nil
	} else if err != nil {
		// XPROV-053: the phase stays Released.
		c.event(p, pv, corev1.EventTypeWarning, reasonVolumeFailedDelete, err.Error())
		return err
	}
	// XPROV-055: if this or what follows fails, the driver is asked again, and must not mind.
	if _, err := p.API().Volumes.Delete(p, pv.Name, api.DeleteOptions{}); err != nil {
		return err
	}
	if c.cfg.NoFinalizer || len(pv.Finalizers) == 0 {
		return nil
	}
	// XPROV-053: as the informer has it, which may not know of the deletion yet.
	seen, ok := c.volumes.Get(pv.Name)
	if !ok || !slices.Contains(seen.Finalizers, objects.ExternalFinalizer) {
		return nil
	}
	if _, err := patchFinalizer(p, seen, without); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// deleteVolumeAsset has the driver delete what a volume stands for.
func (c *provisioner) deleteVolumeAsset(p *engine.Proc, pv *corev1.PersistentVolume) error {
	// XPROV-053: the sidecar knows CSI volumes, and those it can translate into one. Others are not the driver's, whatever they say.
	if !c.cfg.AnySource && pv.Spec.CSI == nil && !translatable(&pv.Spec.PersistentVolumeSource) {
		return errors.New("invalid CSI PV")
	}
	// XPROV-054: a driver that attaches must have detached.
	if backends.Can(c.driver.backend, storage.Attach) {
		for _, va := range c.attachments.ByIndex(c.byVolume, pv.Name) {
			return fmt.Errorf("persistentvolume %s is still attached to node %s", pv.Name, va.Spec.NodeName)
		}
	}
	return c.deleteHandle(p, storage.DeleteRequest{ID: storage.Handle(pv), Source: &pv.Spec.PersistentVolumeSource, UID: pv.UID})
}

// translatable reports whether a source is one of those that CSI drivers took over.
func translatable(source *corev1.PersistentVolumeSource) bool {
	return source.AWSElasticBlockStore != nil || source.GCEPersistentDisk != nil || source.AzureDisk != nil || source.AzureFile != nil ||
		source.Cinder != nil || source.VsphereVolume != nil || source.PortworxVolume != nil
}

func (c *provisioner) deleteHandle(p *engine.Proc, req storage.DeleteRequest) error {
	deleter, ok := c.driver.backend.(storage.Deleter)
	if !ok || !backends.Can(c.driver.backend, storage.Delete) {
		return fmt.Errorf("CSI driver %s does not support dynamic provisioning: plugin CREATE_DELETE_VOLUME capability is missing", c.name)
	}
	return c.driver.ask(p, storage.Delete, req.ID, func() error { return deleter.Delete(req) })
}
