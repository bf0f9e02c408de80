package binder

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

const (
	// createAttempts and createPause: how often and how fast the controller tries to save a volume that it created, and to delete the
	// storage of one that it could not save (BIND-004).
	createAttempts = 5
	createPause    = 10 * time.Second
)

// provisionedVolume returns the object for a volume that a plugin created (PROV-047).
func provisionedVolume(
	name string, claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, plugin string, made storage.Volume,
) *corev1.PersistentVolume {
	// PROV-047: the volume is reserved for the claim, and follows its class.
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Annotations: map[string]string{objects.AnnBoundByController: objects.AnnYes, objects.AnnProvisionedBy: plugin},
		},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: sizeMade(claim, made.Size)},
			AccessModes:            claim.Spec.AccessModes,
			ClaimRef:               referenceTo(claim),
			PersistentVolumeSource: *made.Source.DeepCopy(),
			StorageClassName:       objects.ClassOf(claim),
			VolumeMode:             claim.Spec.VolumeMode,
			MountOptions:           class.MountOptions,
		},
		// The API server sets the phase Pending.
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
	}
	if class.ReclaimPolicy != nil {
		pv.Spec.PersistentVolumeReclaimPolicy = *class.ReclaimPolicy
	}
	if pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete {
		pv.Finalizers = []string{objects.InTreeFinalizer}
	}
	return pv
}

// sizeMade returns the capacity of a new volume: the size that the plugin reported, otherwise the request of the claim, in its notation.
func sizeMade(claim *corev1.PersistentVolumeClaim, size int64) resource.Quantity {
	request := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if size == 0 || size == request.Value() {
		return request
	}
	return objects.Bytes(size)
}

// saveVolume creates the object of a volume whose storage exists, and deletes the storage if that fails. As an operation it always
// succeeds: the next sync of the claim starts over (PROV-048).
func (c *controller) saveVolume(
	p *engine.Process, claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume, plugin storage.Backend,
) error {
	// PROV-048: up to 5 attempts, with a pause after each failure.
	var err error
	for range createAttempts {
		c.log.Info(4, "provisionClaimOperation: trying to save volume", pvc(claim), volumeName(pv))
		var created *corev1.PersistentVolume
		created, err = c.api.Volumes.Create(p, pv)
		if err == nil {
			c.log.Info(3, "Volume for claim saved", pvc(claim), volumeName(pv))
			if err := c.cacheVolume(created); err != nil {
				return err
			}
			break
		}
		if apierrors.IsAlreadyExists(err) {
			c.log.Info(3, "Volume for claim already exists, reusing", pvc(claim), volumeName(pv))
			err = nil
			break
		}
		c.log.Info(3, "Failed to save volume for claim", pvc(claim), volumeName(pv), failure(err))
		p.Sleep(createPause)
	}
	if err == nil {
		c.log.Info(2, "Volume provisioned for claim", pvc(claim), volumeName(pv))
		c.events.Event(p, claim, corev1.EventTypeNormal, "ProvisioningSucceeded",
			"Successfully provisioned volume %s using %s", pv.Name, plugin.Name())
		return nil
	}
	text := fmt.Sprintf("Error creating provisioned PV object for claim %s: %v. Deleting the volume.", api.KeyOf(claim), err)
	c.log.Info(3, text)
	c.events.Event(p, claim, corev1.EventTypeWarning, "ProvisioningFailed", "%s", text)
	// PROV-048: a plugin that can create may be unable to delete.
	deleter, err := c.cfg.Backends.DeletableByName(plugin.Name())
	if err == nil {
		for range createAttempts {
			if err = c.deleteStorage(p, deleter, pv); err == nil {
				c.log.Info(4, "provisionClaimOperation: cleaning volume succeeded", pvc(claim), volumeName(pv))
				return nil
			}
			c.log.Info(3, "Failed to delete volume", volumeName(pv), failure(err))
			p.Sleep(createPause)
		}
	}
	text = fmt.Sprintf("Error cleaning provisioned volume for claim %s: %v. Please delete manually.", api.KeyOf(claim), err)
	c.log.Info(2, text)
	c.events.Event(p, claim, corev1.EventTypeWarning, "ProvisioningCleanupFailed", "%s", text)
	return nil
}

// deleteStorage calls the plugin to delete the storage of a volume that could not be saved.
func (c *controller) deleteStorage(p *engine.Process, deleter storage.Backend, pv *corev1.PersistentVolume) error {
	c.log.Info(4, "doDeleteVolume", volumeName(pv))
	id := backends.Handle(pv)
	call := api.Call{Target: deleter.Name(), Verb: string(storage.Delete), Key: id}
	err := p.Backend(call, backends.Delay(deleter, storage.Delete, id), func() error {
		return backends.Safely(deleter.Name(), storage.Delete, func() error {
			return deleter.(storage.Provisioner).Delete(backends.OwnDelete(storage.DeleteRequest{ID: id, Source: &pv.Spec.PersistentVolumeSource}))
		})
	})
	if err != nil {
		return err
	}
	c.log.Info(2, "Volume deleted", volumeName(pv))
	// PROV-048, RECL-025: as after every deletion, the finalizer is removed from the volume next. The volume does not exist, so this
	// usually fails: the storage is gone, but the cleanup is retried and then reported as failed.
	live, err := c.api.Volumes.Get(p, pv.Name)
	if err != nil {
		c.log.Error(cause(err), "Error reading persistent volume", volumeName(pv))
		return err
	}
	if !slices.Contains(live.Finalizers, objects.InTreeFinalizer) {
		return nil
	}
	unprotected := *live
	unprotected.Finalizers = slices.DeleteFunc(slices.Clone(live.Finalizers), func(name string) bool {
		return name == objects.InTreeFinalizer
	})
	if _, err := c.api.Volumes.Update(p, &unprotected); err != nil {
		return fmt.Errorf("persistent volume controller can't update finalizer: %w", err)
	}
	if err := c.cacheVolume(&unprotected); err != nil {
		return err
	}
	c.log.Info(2, "PV in-tree protection finalizer removed from volume", volumeName(pv))
	return nil
}
