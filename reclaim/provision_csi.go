package reclaim

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

const (
	parameterPrefix      = "csi.storage.k8s.io/"
	parameterFSType      = parameterPrefix + "fstype"
	attributeProvisioner = "storage.kubernetes.io/csiProvisionerIdentity"
	cleanupTries         = 5
)

// createVolume is the CSI sidecar's part of provisioning: checks, the call, and the volume as the driver's answer makes it
// (XPROV-030 to XPROV-033).
func (c *provisioner) createVolume(p *engine.Proc, claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) (*corev1.PersistentVolume, provisionState, error) {
	req, state, err := c.prepare(p, claim, class)
	if err != nil {
		return nil, state, err
	}
	creator, ok := c.driver.backend.(storage.Creator)
	if !ok || !backends.Can(c.driver.backend, storage.Create) {
		return nil, finished, fmt.Errorf("CSI driver %s does not support dynamic provisioning: plugin CREATE_DELETE_VOLUME capability is missing", c.name)
	}
	var resp storage.CreateResponse
	err = c.driver.ask(p, storage.Create, req.Name, func() (err error) {
		resp, err = creator.Create(req)
		return err
	})
	if err != nil {
		return nil, c.createState(req, err), err
	}
	// XPROV-030: a driver that does not know the size has made what was asked for.
	if resp.Size == 0 {
		resp.Size = req.Size
	}
	// XPROV-033: what was made is not what was asked for.
	if resp.Size < req.Size {
		err := fmt.Errorf("created volume capacity %d less than requested capacity %d", resp.Size, req.Size)
		return nil, background, c.cleanUp(p, req.Name, resp.ID, err)
	}
	if claim.Spec.DataSource != nil && !resp.Content {
		return nil, background, c.cleanUp(p, req.Name, resp.ID, fmt.Errorf("volume content source missing"))
	}
	return c.volumeOf(claim, class, req, resp), finished, nil
}

// createState is what an error of the driver means for the asset (XPROV-032).
func (c *provisioner) createState(req storage.CreateRequest, err error) provisionState {
	switch {
	case backends.UnknownOutcome(storage.Create, err):
		// XPROV-032: the driver may be at it, or have done it.
		return background
	case storage.CodeOf(err) == storage.ResourceExhausted && backends.HasTopology(c.driver.backend) && req.Node != "":
		// XPROV-032: there may be room elsewhere.
		return reschedule
	}
	return finished
}

// cleanUp deletes an asset that is of no use, and returns the reason (XPROV-033).
func (c *provisioner) cleanUp(p *engine.Proc, name, id string, reason error) error {
	var err error
	for range cleanupTries {
		if err = c.deleteHandle(p, storage.DeleteRequest{ID: id}); err == nil {
			return reason
		}
	}
	return fmt.Errorf("%w. Cleanup of volume %s failed, volume is orphaned: %v", reason, name, err)
}

// prepare makes the checks that come before the call, and the request (XPROV-031).
func (c *provisioner) prepare(p *engine.Proc, claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) (storage.CreateRequest, provisionState, error) {
	req := storage.CreateRequest{
		Name:         volumeNameFor(claim),
		Modes:        claim.Spec.AccessModes,
		VolumeMode:   objects.VolumeModeOf(claim.Spec.VolumeMode),
		Parameters:   map[string]string{},
		MountOptions: class.MountOptions,
		Class:        class.Name,
		Node:         selectedNode(claim),
	}
	req.Claim.Namespace, req.Claim.Name = claim.Namespace, claim.Name
	capacity := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	req.Size = capacity.Value()
	for key, value := range class.Parameters {
		// What the sidecar itself understands is not the driver's.
		if !strings.HasPrefix(key, parameterPrefix) {
			req.Parameters[key] = value
		}
	}
	source := dataSourceOf(claim)
	if source != nil {
		switch source.Kind {
		case kindSnapshot, kindClaim:
		default:
			// XPROV-031: a populator will fill a volume of its own.
			c.event(p, claim, corev1.EventTypeNormal, reasonProvisioning, "Assuming an external populator will provision the volume")
			return req, finished, fmt.Errorf("%w because data source (%s) is not handled by the provisioner, assuming an external populator will provision it", ErrIgnored, source.Kind)
		}
	}
	// XPROV-031: a new volume has no labels to select by.
	if claim.Spec.Selector != nil {
		return req, finished, fmt.Errorf("claim Selector is not supported")
	}
	if source != nil {
		// XPROV-031: the source may become fit.
		if err := c.checkSource(p, claim, class, source); err != nil {
			return req, noChange, fmt.Errorf("error getting handle for DataSource Type %s by Name %s: %w", source.Kind, source.Name, err)
		}
		req.Content = source
	}
	if backends.HasTopology(c.driver.backend) {
		state, err := c.require(claim, class, &req)
		if err != nil {
			return req, state, err
		}
	}
	if name := objects.ValueOf(claim.Spec.VolumeAttributesClassName); name != "" {
		vac, err := p.API().AttributesClasses.Get(p, name)
		if err != nil {
			// XPROV-031: it may come.
			return req, noChange, err
		}
		if vac.DriverName != c.name {
			// XPROV-031: it never will.
			return req, finished, fmt.Errorf("VAC %s referenced in PVC is for driver %s which does not match driver name %s", name, vac.DriverName, c.name)
		}
	}
	return req, finished, nil
}

// selectedNode is the node that the scheduler chose for a claim, "" for none.
func selectedNode(claim *corev1.PersistentVolumeClaim) string {
	if node, ok := claim.Annotations[objects.AnnSelectedNode]; ok {
		return node
	}
	return claim.Annotations[annAlphaSelectedNode]
}

// volumeOf is the volume that the driver's answer makes (XPROV-030).
func (c *provisioner) volumeOf(claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, req storage.CreateRequest, resp storage.CreateResponse) *corev1.PersistentVolume {
	attributes := map[string]string{attributeProvisioner: fmt.Sprintf("%d-%s", c.started.UnixMilli(), c.name)}
	for key, value := range resp.Context {
		attributes[key] = value
	}
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: req.Name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:     corev1.ResourceList{corev1.ResourceStorage: objects.Bytes(resp.Size)},
			AccessModes:  claim.Spec.AccessModes,
			VolumeMode:   claim.Spec.VolumeMode,
			MountOptions: class.MountOptions,
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: c.name, VolumeHandle: resp.ID, VolumeAttributes: attributes,
			}},
		},
	}
	if class.ReclaimPolicy != nil {
		pv.Spec.PersistentVolumeReclaimPolicy = *class.ReclaimPolicy
	}
	if req.VolumeMode != corev1.PersistentVolumeBlock {
		pv.Spec.CSI.FSType = fsTypeOf(class)
	}
	// XPROV-030: from where the volume can be reached.
	if backends.HasTopology(c.driver.backend) {
		pv.Spec.NodeAffinity = affinityOf(resp.Topology)
	}
	// XPROV-030: an empty name is no class.
	if name := claim.Spec.VolumeAttributesClassName; objects.ValueOf(name) != "" {
		pv.Spec.VolumeAttributesClassName = name
	}
	// XPROV-030: always there. Secrets are not simulated, so they are empty.
	if !c.cfg.NoSecretAnnotations {
		pv.Annotations = map[string]string{annDeletionSecretName: "", annDeletionSecretSpace: ""}
	}
	return pv
}

// fsTypeOf is the file system that a class asks for, "" for the driver's own choice.
func fsTypeOf(class *storagev1.StorageClass) string {
	if fsType, ok := class.Parameters[parameterFSType]; ok {
		return fsType
	}
	return class.Parameters["fstype"]
}

// complete fills in what the driver has no part in (XPROV-027, XPROV-030).
func (c *provisioner) complete(pv *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) {
	// XPROV-030: nobody else's claim can get it. It is not marked as bound by the controller.
	pv.Spec.ClaimRef = &corev1.ObjectReference{
		APIVersion: "v1", Kind: kindClaim, Namespace: claim.Namespace, Name: claim.Name,
		UID: claim.UID, ResourceVersion: claim.ResourceVersion,
	}
	pv.Spec.StorageClassName = objects.ClassOf(claim)
	if pv.Annotations == nil {
		pv.Annotations = map[string]string{}
	}
	// XPROV-030: the class's word, which is an in-tree name where a driver took over from a plugin.
	pv.Annotations[objects.AnnProvisionedBy] = class.Provisioner
	// RECL-042, XPROV-030: the asset is protected from the beginning, whatever the policy.
	if !c.cfg.NoFinalizer {
		pv.Finalizers, _ = with(pv.Finalizers, objects.ExternalFinalizer)
	}
}
