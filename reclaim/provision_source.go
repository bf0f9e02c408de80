package reclaim

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

// Kinds of data sources that the CSI sidecar handles.
const (
	kindClaim    = string(api.PersistentVolumeClaim)
	kindSnapshot = "VolumeSnapshot"
)

// dataSourceOf returns the data source of a claim, nil for an empty volume.
func dataSourceOf(claim *corev1.PersistentVolumeClaim) *corev1.TypedObjectReference {
	if source := claim.Spec.DataSource; source != nil {
		return &corev1.TypedObjectReference{APIGroup: source.APIGroup, Kind: source.Kind, Name: source.Name, Namespace: &claim.Namespace}
	}
	if source := claim.Spec.DataSourceRef; source != nil {
		ref := *source
		if objects.ValueOf(ref.Namespace) == "" {
			ref.Namespace = &claim.Namespace
		}
		return &ref
	}
	return nil
}

var errSourceUnbound = errors.New("claim in dataSource not bound or invalid")

// checkSource returns the handle of a source, and an error while a volume cannot be created from it (XPROV-031).
func (c *provisioner) checkSource(p *engine.Process, claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass,
	source *corev1.TypedObjectReference) (handle string, err error) {
	if source.Kind == kindSnapshot {
		return c.checkSnapshot(p, claim, class, source)
	}
	namespace := objects.ValueOf(source.Namespace)
	origin, ok := c.claims.Get(api.Key(namespace, source.Name))
	requested, existing := claim.Spec.Resources.Requests[corev1.ResourceStorage], corev1.ResourceList{}
	if ok {
		existing = origin.Spec.Resources.Requests
	}
	size := existing[corev1.ResourceStorage]
	switch {
	case !ok:
		return "", fmt.Errorf("error getting PVC %s (namespace %q) from api server: persistentvolumeclaim %q not found", source.Name, namespace,
			source.Name)
	// XPROV-031: the source must be Bound and not being deleted.
	case origin.Status.Phase != corev1.ClaimBound:
		return "", fmt.Errorf("the PVC DataSource %s must have a status of Bound.  Got %v", source.Name, origin.Status.Phase)
	case origin.DeletionTimestamp != nil:
		return "", fmt.Errorf("the PVC DataSource %s is currently being deleted", source.Name)
	// XPROV-031: the source must not be larger than the new claim.
	case requested.Cmp(size) < 0:
		return "",
			fmt.Errorf("error, new PVC request must be greater than or equal in size to the specified PVC data source, requested %d but source is %d", requested.Value(), size.Value())
	case origin.Spec.VolumeName == "":
		return "", fmt.Errorf("volume name is empty in source PVC %s", origin.Name)
	}
	pv, err := p.API().Volumes.Get(p, origin.Spec.VolumeName)
	// XPROV-031: the source's volume must be of the same driver and bound to the source.
	if err != nil || pv.Spec.CSI == nil || pv.Spec.CSI.Driver != class.Provisioner ||
		!objects.IsMine(pv, origin) || pv.Spec.ClaimRef.UID != origin.UID || pv.Status.Phase != corev1.VolumeBound {
		return "", errSourceUnbound
	}
	if objects.VolumeModeOf(claim.Spec.VolumeMode) != objects.VolumeModeOf(pv.Spec.VolumeMode) {
		return "", fmt.Errorf("the source PVC and destination PVCs must have the same volume mode for cloning")
	}
	return pv.Spec.CSI.VolumeHandle, nil
}
