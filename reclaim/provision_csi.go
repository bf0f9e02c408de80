package reclaim

import (
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/grants"
	"github.com/volsim/volsim/internal/core/intree"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/storage"
)

const (
	attributeProvisioner = "storage.kubernetes.io/csiProvisionerIdentity"
	cleanupTries         = 5
)

// createVolume is the CSI sidecar's part of provisioning: it checks the claim, calls the driver, and returns the volume of that name for its
// response (XPROV-030 to XPROV-033).
func (c *provisioner) createVolume(p *engine.Process, claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, name string) (
	*corev1.PersistentVolume, provisionState, error) {
	// MIG-020: the driver that replaced an in-tree plugin gets parameters of its own.
	given := class
	class, err := intree.Class(given)
	if err != nil {
		return nil, finished, fmt.Errorf("failed to translate storage class: %w", err)
	}
	req, refs, state, err := c.prepare(p, claim, class, name)
	if err != nil {
		return nil, state, err
	}
	creator, ok := c.driver.backend.(storage.Provisioner)
	if !ok || !backends.Can(c.driver.backend, storage.Create) {
		return nil, finished,
			fmt.Errorf("CSI driver %s does not support dynamic provisioning: plugin CREATE_DELETE_VOLUME capability is missing", c.name)
	}
	var resp storage.Volume
	err = c.driver.call(p, storage.Create, req.Name, func() (err error) {
		resp, err = creator.Create(backends.OwnCreate(req))
		return err
	})
	if err != nil {
		return nil, c.createState(req, err), err
	}
	// XPROV-030: size zero in the response means the requested size.
	if resp.Size == 0 {
		resp.Size = req.Size
	}
	// XPROV-033: an asset that is too small, or lacks the requested content, is deleted.
	if resp.Size < req.Size {
		err := fmt.Errorf("created volume capacity %d less than requested capacity %d", resp.Size, req.Size)
		return nil, background, c.cleanUp(p, req, resp.ID, err)
	}
	if _, across := grants.Namespace(claim); (claim.Spec.DataSource != nil || across) && !resp.Content {
		return nil, background, c.cleanUp(p, req, resp.ID, fmt.Errorf("volume content source missing"))
	}
	// SNAP-035: a snapshot in a namespace that dataSourceRef names keeps the finalizer until the sweep.
	if source := claim.Spec.DataSource; source != nil && source.Kind == kindSnapshot {
		c.releaseSnapshot(p, api.Key(claim.Namespace, source.Name))
	}
	pv := c.volumeOf(claim, class, req, resp, refs)
	if driver, migrated := intree.Driver(given.Provisioner); !migrated || driver != c.name {
		return pv, finished, nil
	}
	// MIG-030: a class of the plugin gets a volume of the plugin. One that cannot be described like that is deleted.
	translated, err := intree.Back(pv)
	if err != nil {
		if c.deleteHandle(p, storage.DeleteRequest{ID: resp.ID, Secrets: req.Secrets}) != nil {
			return nil, background, err
		}
		return nil, finished, err
	}
	return translated, finished, nil
}

// createState returns what an error of the driver means for the asset (XPROV-032).
func (c *provisioner) createState(req storage.CreateRequest, err error) provisionState {
	switch {
	case backends.UnknownOutcome(storage.Create, err):
		// XPROV-032: the outcome is unknown.
		return background
	case storage.CodeOf(err) == storage.ResourceExhausted && backends.HasTopology(c.driver.backend) && req.Node != "":
		// XPROV-032: another node may have capacity.
		return reschedule
	}
	return finished
}

// cleanUp deletes an unusable asset, and returns the reason (XPROV-033).
func (c *provisioner) cleanUp(p *engine.Process, req storage.CreateRequest, id string, reason error) error {
	var err error
	for range cleanupTries {
		if err = c.deleteHandle(p, storage.DeleteRequest{ID: id, Secrets: req.Secrets}); err == nil {
			return reason
		}
	}
	return fmt.Errorf("%w. Cleanup of volume %s failed, volume is orphaned: %v", reason, req.Name, err)
}

// prepare checks the claim before the call, and returns the request (XPROV-031) and the secrets of the volume (XPROV-034).
func (c *provisioner) prepare(p *engine.Process, claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, name string) (
	req storage.CreateRequest, refs secretsOf, state provisionState, err error) {
	req = storage.CreateRequest{
		Name:         name,
		Modes:        claim.Spec.AccessModes,
		VolumeMode:   objects.VolumeModeOf(claim.Spec.VolumeMode),
		MountOptions: class.MountOptions,
		Class:        class.Name,
		Node:         selectedNode(claim),
	}
	req.Claim.Namespace, req.Claim.Name = claim.Namespace, claim.Name
	capacity := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	req.Size = capacity.Value()
	source, err := c.supportedSource(p, claim)
	if err != nil {
		return req, refs, finished, err
	}
	attributes := objects.ValueOf(claim.Spec.VolumeAttributesClassName)
	if attributes != "" && !backends.Can(c.driver.backend, storage.Modify) {
		// XPROV-031: the driver must be able to modify volumes.
		return req, refs, finished,
			fmt.Errorf("CSI driver does not support VolumeAttributesClass: controller MODIFY_VOLUME capability is not reported")
	}
	// XPROV-031: a new volume has no labels that a selector could match.
	if claim.Spec.Selector != nil {
		return req, refs, finished, fmt.Errorf("claim Selector is not supported")
	}
	if req.FSType, err = fsTypeOf(class); err != nil {
		return req, refs, finished, err
	}
	if source != nil {
		// XPROV-031: a source that is not usable yet is retried.
		if req.ContentID, err = c.checkSource(p, claim, class, source); err != nil {
			return req, refs, noChange, fmt.Errorf("error getting handle for DataSource Type %s by Name %s: %w", source.Kind, source.Name, err)
		}
		req.Content = source
		if err = c.protectSource(p, source); err != nil {
			return req, refs, noChange, err
		}
	}
	if backends.HasTopology(c.driver.backend) {
		state, err := c.setTopology(claim, class, &req)
		if err != nil {
			return req, refs, state, err
		}
	}
	if refs, err = secrets(class, req.Name, claim); err != nil {
		// XPROV-034: an error in the names of the secrets is retried.
		return req, refs, noChange, err
	}
	if req.Secrets, err = readSecret(p, refs.provisioner); err != nil {
		// XPROV-034: a Secret that cannot be read is retried.
		return req, refs, noChange, err
	}
	// XPROV-034: the driver gets the parameters without those of the sidecar.
	if req.Parameters, err = driverParameters(class); err != nil {
		return req, refs, finished, err
	}
	if attributes != "" {
		state, err := c.setAttributes(p, attributes, &req)
		if err != nil {
			return req, refs, state, err
		}
	}
	return req, refs, finished, nil
}

// supportedSource returns the data source of a claim, nil for none. It is an error if the driver cannot create volumes from it.
func (c *provisioner) supportedSource(p *engine.Process, claim *corev1.PersistentVolumeClaim) (*corev1.TypedObjectReference, error) {
	source, err := c.allowedSource(claim)
	if err != nil || source == nil {
		return nil, err
	}
	switch source.Kind {
	case kindSnapshot:
		// SNAP-030: the source must have the API group of snapshots, and the driver must be able to take them.
		if group := objects.ValueOf(source.APIGroup); group != objkinds.SnapshotGroup {
			return nil, fmt.Errorf("the PVC source does not belong to the right APIGroup. Expected %s, Got %s", objkinds.SnapshotGroup, group)
		}
		if !backends.Can(c.driver.backend, storage.CreateSnapshot) {
			return nil, errors.New("CSI driver does not support snapshot restore: controller CREATE_DELETE_SNAPSHOT capability is not reported")
		}
	case kindClaim:
		// XPROV-031: the driver must be able to copy volumes.
		if backends.WithoutClone(c.driver.backend) {
			return nil, fmt.Errorf("CSI driver does not support clone operations: controller CLONE_VOLUME capability is not reported")
		}
	default:
		// XPROV-031: a volume populator provisions a volume of its own.
		c.event(p, claim, corev1.EventTypeNormal, reasonProvisioning, "Assuming an external populator will provision the volume")
		return nil, fmt.Errorf("%w because data source (%s) is not handled by the provisioner, assuming an external populator will provision it",
			errIgnored, source.Kind)
	}
	return source, nil
}

// setAttributes adds the parameters of a VolumeAttributesClass to the request (XPROV-031).
func (c *provisioner) setAttributes(p *engine.Process, name string, req *storage.CreateRequest) (provisionState, error) {
	vac, err := p.API().AttributesClasses.Get(p, name)
	if err != nil {
		// XPROV-031: a missing VolumeAttributesClass is retried.
		return noChange, err
	}
	if vac.DriverName != c.name {
		// XPROV-031: a VolumeAttributesClass of another driver is a final error.
		return finished, fmt.Errorf("VAC %s referenced in PVC is for driver %s which does not match driver name %s", name, vac.DriverName, c.name)
	}
	req.Mutable = vac.Parameters
	return finished, nil
}

// selectedNode returns the node that the scheduler chose for a claim, "" for none.
func selectedNode(claim *corev1.PersistentVolumeClaim) string {
	if node, ok := claim.Annotations[objects.AnnSelectedNode]; ok {
		return node
	}
	return claim.Annotations[annAlphaSelectedNode]
}

// volumeOf returns the volume for the driver's response (XPROV-030).
func (c *provisioner) volumeOf(claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, req storage.CreateRequest,
	resp storage.Volume, refs secretsOf) *corev1.PersistentVolume {
	attributes := c.attributes
	if len(resp.Context) > 0 {
		attributes = objects.MergeStrings(attributes, resp.Context)
	}
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: req.Name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:     c.capacityOf(resp.Size),
			AccessModes:  claim.Spec.AccessModes,
			VolumeMode:   claim.Spec.VolumeMode,
			MountOptions: class.MountOptions,
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: c.name, VolumeHandle: resp.ID, VolumeAttributes: attributes,
				ControllerPublishSecretRef: refs.controllerPublish, NodeStageSecretRef: refs.nodeStage, NodePublishSecretRef: refs.nodePublish,
				ControllerExpandSecretRef: refs.controllerExpand, NodeExpandSecretRef: refs.nodeExpand,
			}},
		},
	}
	if class.ReclaimPolicy != nil {
		pv.Spec.PersistentVolumeReclaimPolicy = *class.ReclaimPolicy
	}
	if req.VolumeMode != corev1.PersistentVolumeBlock {
		pv.Spec.CSI.FSType = req.FSType
	}
	// XPROV-030: the node affinity is the topology in the response.
	if backends.HasTopology(c.driver.backend) {
		pv.Spec.NodeAffinity = affinityOf(resp.Topology)
	}
	// XPROV-030: an empty name of a VolumeAttributesClass is omitted.
	if name := claim.Spec.VolumeAttributesClassName; objects.ValueOf(name) != "" {
		pv.Spec.VolumeAttributesClassName = name
	}
	// XPROV-030: the sidecar always writes the annotations of the deletion secret; they are empty if there is none.
	if !c.cfg.NoSecretAnnotations {
		pv.Annotations = refs.annotations()
	}
	return pv
}

// annotations returns the annotations of a volume that name its secrets. The map is not changed.
func (s *secretsOf) annotations() map[string]string {
	if s.provisioner == nil && s.controllerModify == nil {
		return noSecrets
	}
	annotations := maps.Clone(noSecrets)
	if ref := s.provisioner; ref != nil {
		annotations[annDeletionSecretName], annotations[annDeletionSecretSpace] = ref.Name, ref.Namespace
	}
	// XPROV-034: those of the modification secret are written only if there is one.
	if ref := s.controllerModify; ref != nil {
		annotations[objects.AnnModifySecretName], annotations[objects.AnnModifySecretNamespace] = ref.Name, ref.Namespace
	}
	return annotations
}

// Most volumes have the annotations and the capacity of the one before. They share the maps, which, like all stored data, are never changed.
var noSecrets = map[string]string{annDeletionSecretName: "", annDeletionSecretSpace: ""}

// capacityOf returns the capacity of a volume of that size.
func (c *provisioner) capacityOf(size int64) corev1.ResourceList {
	if c.lastCapacity == nil || c.lastSize != size {
		c.lastSize, c.lastCapacity = size, corev1.ResourceList{corev1.ResourceStorage: objects.Bytes(size)}
	}
	return c.lastCapacity
}

// provisionedBy returns the annotations of a volume with the name of its provisioner.
func (c *provisioner) provisionedBy(annotations map[string]string, provisioner string) map[string]string {
	last := c.lastAnnotations
	if last[objects.AnnProvisionedBy] == provisioner && len(last) == len(annotations)+1 && contains(last, annotations) {
		return last
	}
	c.lastAnnotations = objects.MergeStrings(annotations, map[string]string{objects.AnnProvisionedBy: provisioner})
	return c.lastAnnotations
}

// contains reports whether a map has the entries of another one.
func contains(all, some map[string]string) bool {
	for key, value := range some {
		if has, ok := all[key]; !ok || has != value {
			return false
		}
	}
	return true
}

// addCommonFields sets the fields that do not depend on the driver (XPROV-027, XPROV-030).
func (c *provisioner) addCommonFields(pv *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) {
	// XPROV-030: claimRef binds it to this claim. It does not get the annotation bound-by-controller.
	pv.Spec.ClaimRef = &corev1.ObjectReference{
		APIVersion: "v1", Kind: kindClaim, Namespace: claim.Namespace, Name: claim.Name,
		UID: claim.UID, ResourceVersion: claim.ResourceVersion,
	}
	pv.Spec.StorageClassName = objects.ClassOf(claim)
	// XPROV-030: provisioned-by is that of the class, for a migrated class an in-tree name.
	pv.Annotations = c.provisionedBy(pv.Annotations, class.Provisioner)
	// RECL-042, XPROV-030: a new volume has the external finalizer, whatever its policy.
	if !c.cfg.NoFinalizer {
		pv.Finalizers, _ = objects.WithFinalizer(pv.Finalizers, objects.ExternalFinalizer)
	}
}
