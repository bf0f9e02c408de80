package reclaim

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/grants"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/plain"
)

// Kinds of data sources that the CSI sidecar handles.
const (
	kindClaim    = string(api.PersistentVolumeClaim)
	kindSnapshot = "VolumeSnapshot"
)

// errGateOff is the error for a claim that was stored while the gate CrossNamespaceVolumeDataSource was on.
var errGateOff = errors.New("dataSourceRef namespace specified but the CrossNamespaceVolumeDataSource feature is disabled")

// startGrants gives the provisioner ReferenceGrants, if the gate CrossNamespaceVolumeDataSource is on.
func (c *provisioner) startGrants(a *engine.Actor) {
	s := a.Engine().Store()
	if !s.Gates().CrossNamespaceVolumeDataSource {
		return
	}
	table, err := s.Other(grants.Kind)
	if err != nil {
		panic(fmt.Sprintf("reclaim: no table of %s: %v", grants.Kind, err))
	}
	c.grants = engine.NewInformer(a, table)
	// SNAP-033: a new grant syncs no claim. The retry finds it.
	c.grants.Handle(engine.Handler[*plain.Object]{})
}

// allowedSource returns the data source of a claim, nil for an empty volume, and an error if it may not be used (SNAP-033, SNAP-034).
func (c *provisioner) allowedSource(claim *corev1.PersistentVolumeClaim) (*corev1.TypedObjectReference, error) {
	source := objects.DataSourceOf(claim)
	if _, across := grants.Namespace(claim); across && c.grants == nil {
		// SNAP-034: the gate is off.
		return nil, errGateOff
	}
	// SNAP-033: a source in another namespace needs a grant there.
	if grants.Needed(claim) {
		if err := grants.Check(claim, c.grants.List()); err != nil {
			return nil, err
		}
	}
	return source, nil
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
		return "", fmt.Errorf("error getting PVC %s (namespace %q) from api server: persistentvolumeclaim %q not found", source.Name,
			claim.Namespace, source.Name) // it names the namespace of the claim, wherever the source is
	// XPROV-031: the source must be Bound and not being deleted.
	case origin.Status.Phase != corev1.ClaimBound:
		return "", fmt.Errorf("the PVC DataSource %s must have a status of Bound.  Got %v", source.Name, printable(origin.Status))
	case origin.DeletionTimestamp != nil:
		return "", fmt.Errorf("the PVC DataSource %s is currently being deleted", source.Name)
	// XPROV-031: neither claim may do without a class.
	case origin.Spec.StorageClassName == nil:
		return "", fmt.Errorf("the source PVC (%s) storageclass cannot be empty", origin.Name)
	case claim.Spec.StorageClassName == nil:
		return "", fmt.Errorf("the requested PVC (%s) storageclass cannot be empty", claim.Name)
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
	if want, have := objects.VolumeModeOf(claim.Spec.VolumeMode), objects.VolumeModeOf(pv.Spec.VolumeMode); want != have {
		return "",
			fmt.Errorf("the source PVC and destination PVCs must have the same volume mode for cloning.  Source is %s, but new PVC requested %s", have, want)
	}
	return pv.Spec.CSI.VolumeHandle, nil
}

// printable returns a status as errors of the provisioner print it, without pointers and quantities, which print as they are in memory.
func printable(status corev1.PersistentVolumeClaimStatus) corev1.PersistentVolumeClaimStatus {
	return corev1.PersistentVolumeClaimStatus{Phase: status.Phase, AccessModes: status.AccessModes, Conditions: status.Conditions}
}
