package binder

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/engine"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/objects"
	"github.com/volsim/volsim/store"
)

const (
	// createAttempts and createPause are BIND-004: how often and how fast the controller tries to save a volume it has made, and to
	// delete the storage of one it could not save.
	createAttempts = 5
	createPause    = 10 * time.Second

	// csiPlugin is the one plugin that may copy data (PROV-040).
	csiPlugin = fake.InTreePrefix + "csi"
)

// provision decides how a claim gets a volume that does not exist yet, and starts the operation for it (PROV-020 to PROV-026).
func (c *Controller) provision(p *engine.Proc, claim *corev1.PersistentVolumeClaim) error {
	// PROV-020
	if c.cfg.DisableProvisioning {
		return nil
	}
	class, ok := c.infClasses.Get(ClassOf(claim))
	if !ok {
		// PROV-021
		c.events.Event(p, claim, corev1.EventTypeWarning, "ProvisioningFailed",
			"storageclass.storage.k8s.io %q not found", ClassOf(claim))
		return nil
	}
	// PROV-026: the operation works on the claim as it is now.
	operation := "provision-" + store.KeyOf(claim) + "[" + string(claim.UID) + "]"
	if driver, migrated := c.cfg.Migration(class.Provisioner); migrated {
		// PROV-022, PROV-030: the CSI driver does what the plugin once did.
		p.Decide("PROV-022", claim, "provisioning by %s in place of %s", driver, class.Provisioner)
		c.ops.Run(operation, func(p *engine.Proc) error { return c.provisionExternally(p, claim, driver) })
		return nil
	}
	plugin, err := c.cfg.Backends.ProvisionableByName(class.Provisioner)
	switch {
	case err == nil:
		// PROV-023
		p.Decide("PROV-023", claim, "provisioning by plugin %s", class.Provisioner)
		c.ops.Run(operation, func(p *engine.Proc) error { return c.provisionInTree(p, claim, class, plugin) })
	case strings.HasPrefix(class.Provisioner, fake.InTreePrefix):
		// PROV-024: nobody outside acts for such a name.
		c.events.Event(p, claim, corev1.EventTypeWarning, "ProvisioningFailed", err.Error())
	default:
		// PROV-025
		p.Decide("PROV-025", claim, "provisioning by external provisioner %s", class.Provisioner)
		c.ops.Run(operation, func(p *engine.Proc) error { return c.provisionExternally(p, claim, class.Provisioner) })
	}
	return nil
}

// provisionExternally tells an external provisioner that it must act, and then waits for it sync by sync.
func (c *Controller) provisionExternally(p *engine.Proc, claim *corev1.PersistentVolumeClaim, provisioner string) error {
	// PROV-031
	claim, err := c.nameProvisioner(p, claim, provisioner)
	if err != nil {
		c.events.Event(p, claim, corev1.EventTypeWarning, "ProvisioningFailed", "Error saving claim: %v", err)
		return err
	}
	// PROV-032, PROV-033: said at every run.
	c.events.Event(p, claim, corev1.EventTypeNormal, "ExternalProvisioning",
		"Waiting for a volume to be created either by the external provisioner '%s' or manually by the system administrator. "+
			"If volume creation is delayed, please verify that the provisioner is running and correctly registered.", provisioner)
	return nil
}

// nameProvisioner writes the provisioner's name on the claim, if it is not there. On an error it returns the claim as it was.
func (c *Controller) nameProvisioner(p *engine.Proc, claim *corev1.PersistentVolumeClaim, provisioner string) (*corev1.PersistentVolumeClaim, error) {
	// PROV-031
	if name, ok := claim.Annotations[AnnStorageProvisioner]; ok && name == provisioner {
		return claim, nil
	}
	named := *claim
	named.Annotations = map[string]string{}
	maps.Copy(named.Annotations, claim.Annotations)
	named.Annotations[AnnStorageProvisioner] = provisioner
	named.Annotations[AnnBetaStorageProvisioner] = provisioner
	named.Annotations, _ = RepairClaimMigration(&named, c.cfg.Migration)
	updated, err := c.updateClaim(p, &named)
	if err != nil {
		return claim, err
	}
	return updated, nil
}

// provisionInTree has a plugin make a volume, and saves it. An error is retried by a later sync, after the backoff of the operation
// (BIND-109).
func (c *Controller) provisionInTree(p *engine.Proc, claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, plugin fake.Backend) error {
	failed := func(claim *corev1.PersistentVolumeClaim, text string, args ...any) error {
		text = fmt.Sprintf(text, args...)
		c.events.Event(p, claim, corev1.EventTypeWarning, "ProvisioningFailed", "%s", text)
		return fmt.Errorf("%s", text)
	}
	// PROV-040: no in-tree plugin can copy data.
	if claim.Spec.DataSource != nil && plugin.Name() != csiPlugin {
		return failed(claim, "plugin %q is not a CSI plugin. Only CSI plugin can provision a claim with a datasource", plugin.Name())
	}
	// PROV-041
	claim, err := c.nameProvisioner(p, claim, class.Provisioner)
	if err != nil {
		return err
	}
	// PROV-042: an earlier run may have done it all.
	name := "pvc-" + string(claim.UID)
	if _, err := c.api.Volumes.Get(p, name); err == nil {
		p.Decide("PROV-042", claim, "volume %s exists already", name)
		return nil
	} else if !apierrors.IsNotFound(err) {
		return err
	}
	// PROV-043
	if len(class.MountOptions) > 0 && !fake.TakesMountOptions(plugin) {
		return failed(claim, "Mount options are not supported by the provisioner but StorageClass %q has mount options %v", class.Name, class.MountOptions)
	}
	request := createRequest(name, claim, class)
	// PROV-044
	if err := fake.PrepareCreate(plugin, request); err != nil {
		return failed(claim, "Failed to create provisioner: %v", err)
	}
	// PROV-045
	if node, selected := claim.Annotations[AnnSelectedNode]; selected {
		if _, ok := c.infNodes.Get(node); !ok {
			return failed(claim, "Failed to get target node: node %q not found", node)
		}
		request.Node = node
	}
	response, err := c.createStorage(p, plugin, request)
	if err != nil {
		// PROV-046: the scheduler may find a better node.
		claim = c.dropSelectedNode(p, claim)
		return failed(claim, "Failed to provision volume with StorageClass %q: %v", class.Name, err)
	}
	return c.saveVolume(p, claim, provisionedVolume(name, claim, class, plugin.Name(), response), plugin)
}

// createRequest is what a plugin is asked for (PROV-046).
func createRequest(name string, claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) fake.CreateRequest {
	size := requestOf(claim)
	request := fake.CreateRequest{
		Name:         name,
		Size:         size.Value(),
		Modes:        claim.Spec.AccessModes,
		VolumeMode:   objects.VolumeModeOf(claim.Spec.VolumeMode),
		Parameters:   class.Parameters,
		MountOptions: class.MountOptions,
		Class:        class.Name,
		Claim:        types.NamespacedName{Namespace: claim.Namespace, Name: claim.Name},
	}
	// PROV-046: allowedTopologies reach the plugin.
	for _, term := range class.AllowedTopologies {
		request.Requisite = append(request.Requisite, segments(term)...)
	}
	return request
}

// segments lists the places that a term of allowedTopologies allows: one for each combination of its values.
func segments(term corev1.TopologySelectorTerm) []fake.Segment {
	all := []fake.Segment{{}}
	for _, requirement := range term.MatchLabelExpressions {
		var next []fake.Segment
		for _, segment := range all {
			for _, value := range requirement.Values {
				extended := maps.Clone(segment)
				extended[requirement.Key] = value
				next = append(next, extended)
			}
		}
		all = next
	}
	return all
}

// createStorage has the plugin make the volume.
func (c *Controller) createStorage(p *engine.Proc, plugin fake.Backend, request fake.CreateRequest) (response fake.CreateResponse, err error) {
	call := engine.Call{Target: plugin.Name(), Verb: string(fake.Create), Key: request.Name, Node: request.Node}
	err = p.Backend(call, fake.DelayOf(plugin, fake.Create, request.Name), func() error {
		return fake.Safely(plugin.Name(), fake.Create, func() error {
			response, err = plugin.(fake.Creator).Create(request)
			return err
		})
	})
	return response, err
}

// deleteStorage has the plugin delete what it made for a volume that could not be saved.
func (c *Controller) deleteStorage(p *engine.Proc, deleter fake.Backend, pv *corev1.PersistentVolume) error {
	id := fake.Handle(pv)
	call := engine.Call{Target: deleter.Name(), Verb: string(fake.Delete), Key: id}
	err := p.Backend(call, fake.DelayOf(deleter, fake.Delete, id), func() error {
		return fake.Safely(deleter.Name(), fake.Delete, func() error {
			return deleter.(fake.Deleter).Delete(fake.DeleteRequest{ID: id, Source: &pv.Spec.PersistentVolumeSource})
		})
	})
	if err != nil {
		return err
	}
	// PROV-048, RECL-025: as with every deleted asset, the finalizer comes off the volume next. There is no such volume, so this
	// fails as a rule: the storage is gone, and yet the cleanup is tried and then reported as one that did not succeed.
	live, err := c.api.Volumes.Get(p, pv.Name)
	if err != nil || !slices.Contains(live.Finalizers, objects.InTreeFinalizer) {
		return err
	}
	unprotected := *live
	unprotected.Finalizers = slices.DeleteFunc(slices.Clone(live.Finalizers), func(name string) bool { return name == objects.InTreeFinalizer })
	if _, err := c.api.Volumes.Update(p, &unprotected); err != nil {
		return fmt.Errorf("persistent volume controller can't update finalizer: %w", err)
	}
	_, err = c.keepVolume(&unprotected)
	return err
}

// dropSelectedNode takes the scheduler's choice off a claim, if it is there. That it may fail is taken lightly.
func (c *Controller) dropSelectedNode(p *engine.Proc, claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	if _, selected := claim.Annotations[AnnSelectedNode]; !selected {
		return claim
	}
	// PROV-046
	dropped := *claim
	dropped.Annotations = maps.Clone(claim.Annotations)
	delete(dropped.Annotations, AnnSelectedNode)
	if _, err := c.api.Claims.Update(p, &dropped); err != nil {
		return claim
	}
	// BIND-023: what is kept is the edited copy, under the version it was made from.
	if _, err := c.keepClaim(&dropped); err != nil {
		return claim
	}
	return &dropped
}

// provisionedVolume is the object for a volume that a plugin made (PROV-047).
func provisionedVolume(name string, claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, plugin string, made fake.CreateResponse) *corev1.PersistentVolume {
	// PROV-047
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Annotations: map[string]string{AnnBoundByController: AnnYes, AnnProvisionedBy: plugin},
		},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: sizeMade(claim, made.Size)},
			AccessModes:            claim.Spec.AccessModes,
			ClaimRef:               referenceTo(claim),
			PersistentVolumeSource: made.Source,
			StorageClassName:       ClassOf(claim),
			VolumeMode:             claim.Spec.VolumeMode,
			MountOptions:           class.MountOptions,
		},
		// The API server makes this Pending.
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

// sizeMade is the capacity of a new volume: what the plugin says, else what the claim asked for, in its notation.
func sizeMade(claim *corev1.PersistentVolumeClaim, size int64) resource.Quantity {
	request := requestOf(claim)
	if size == 0 || size == request.Value() {
		return request
	}
	return *resource.NewQuantity(size, resource.BinarySI)
}

// saveVolume creates the object of a volume whose storage exists, and deletes the storage if that cannot be done. It always
// succeeds as an operation: the next sync of the claim starts over (PROV-048).
func (c *Controller) saveVolume(p *engine.Proc, claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume, plugin fake.Backend) error {
	// PROV-048
	var err error
	for range createAttempts {
		var created *corev1.PersistentVolume
		created, err = c.api.Volumes.Create(p, pv)
		if err == nil {
			if _, err := c.keepVolume(created); err != nil {
				return err
			}
			break
		}
		if apierrors.IsAlreadyExists(err) {
			err = nil
			break
		}
		p.Sleep(createPause)
	}
	if err == nil {
		c.events.Event(p, claim, corev1.EventTypeNormal, "ProvisioningSucceeded", "Successfully provisioned volume %s using %s", pv.Name, plugin.Name())
		return nil
	}
	c.events.Event(p, claim, corev1.EventTypeWarning, "ProvisioningFailed",
		"Error creating provisioned PV object for claim %s: %v. Deleting the volume.", store.KeyOf(claim), err)
	// PROV-048: whoever can create need not be able to delete.
	deleter, err := c.cfg.Backends.DeletableByName(plugin.Name())
	if err == nil {
		for range createAttempts {
			if err = c.deleteStorage(p, deleter, pv); err == nil {
				return nil
			}
			p.Sleep(createPause)
		}
	}
	c.events.Event(p, claim, corev1.EventTypeWarning, "ProvisioningCleanupFailed",
		"Error cleaning provisioned volume for claim %s: %v. Please delete manually.", store.KeyOf(claim), err)
	return nil
}
