package store

import (
	"errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	corev1 "k8s.io/api/core/v1"
)

func admitVolume(_ *Store, volume *corePV) error {
	protect(&volume.ObjectMeta, &volumeProtection)
	return nil
}

func admitAttributesClass(_ *Store, class *volumeAttributesClass) error {
	protect(&class.ObjectMeta, &attributesClassProtection)
	return nil
}

// admitClaim sets the default class of a claim, then its protection finalizer (API-250, BIND-017).
func admitClaim(s *Store, claim *corePVC) error {
	// API-251: a claim that names a class, even "", gets no default.
	if _, annotated := claim.Annotations[corev1.BetaStorageClassAnnotation]; !annotated && claim.Spec.StorageClassName == nil {
		// API-253: without a default class the claim gets none.
		if class := s.defaultClass(); class != nil {
			claim.Spec.StorageClassName = new(class.Name)
		}
	}
	protect(&claim.ObjectMeta, &claimProtection)
	return nil
}

// defaultClass returns the class for claims that name none, or nil if there is no default.
func (s *Store) defaultClass() *storageClass {
	var newest *storageClass
	for _, class := range s.Classes.List() {
		// API-252: either annotation marks a default class, if its value is exactly "true".
		if class.Annotations[objects.AnnDefaultClass] != "true" && class.Annotations[objects.AnnBetaDefaultClass] != "true" {
			continue
		}
		// API-253: the newest class wins; among classes of the same second, the first by name.
		if newest == nil || class.CreationTimestamp.Unix() > newest.CreationTimestamp.Unix() {
			newest = class
		}
	}
	return newest
}

var (
	errNotBound      = errors.New("Only bound persistent volume claims can be expanded")
	errNotExpandable = errors.New("only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize")
)

// admitResize rejects an expansion of a claim that is not bound or whose class does not allow expansion (API-224, EXP-001). It checks
// neither the volume nor its driver.
func admitResize(s *Store, claim, old *corePVC) error {
	size := storageOf(claim.Spec.Resources.Requests)
	if size.Cmp(storageOf(old.Spec.Resources.Requests)) <= 0 {
		return nil
	}
	// API-224: the phase of the stored claim counts. Validation has already rejected other changes to a claim that is not bound (API-221).
	if old.Status.Phase != corev1.ClaimBound {
		return forbidden(resourceOf(api.PersistentVolumeClaim), claim.Name, errNotBound)
	}
	name := objects.ClassOf(claim)
	if name == "" || name != objects.ClassOf(old) {
		return forbidden(resourceOf(api.PersistentVolumeClaim), claim.Name, errNotExpandable)
	}
	class, ok := s.Classes.Lookup(name)
	if !ok || class.AllowVolumeExpansion == nil || !*class.AllowVolumeExpansion {
		return forbidden(resourceOf(api.PersistentVolumeClaim), claim.Name, errNotExpandable)
	}
	return nil
}
