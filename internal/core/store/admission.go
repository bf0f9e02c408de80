package store

import (
	"errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	corev1 "k8s.io/api/core/v1"
)

func admitVolume(_ *Store, volume *corePV) error {
	protect(&volume.ObjectMeta, objects.VolumeProtectionFinalizer)
	return nil
}

func admitAttributesClass(_ *Store, class *volumeAttributesClass) error {
	protect(&class.ObjectMeta, objects.VACProtectionFinalizer)
	return nil
}

// admitClaim is API-250, BIND-017: first the class, then the protection.
func admitClaim(s *Store, claim *corePVC) error {
	// API-251: a class that is named, even as "", is a choice.
	if _, annotated := claim.Annotations[corev1.BetaStorageClassAnnotation]; !annotated && claim.Spec.StorageClassName == nil {
		// API-253: without a default class the claim stays without.
		if class := s.defaultClass(); class != nil {
			claim.Spec.StorageClassName = new(class.Name)
		}
	}
	protect(&claim.ObjectMeta, objects.ClaimProtectionFinalizer)
	return nil
}

// defaultClass is the class for claims that name none, nil if there is no default.
func (s *Store) defaultClass() *storageClass {
	var newest *storageClass
	for class := range s.Classes.All() {
		// API-252: either annotation will do, with just this value.
		if class.Annotations[objects.AnnDefaultClass] != "true" && class.Annotations[objects.AnnBetaDefaultClass] != "true" {
			continue
		}
		// API-253: the newest wins. Classes come in the order of their names, so of one second the first stays.
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

// admitResize refuses an expansion that could not be carried out (API-224, EXP-001). Neither the volume nor its driver is asked.
func admitResize(s *Store, claim, old *corePVC) error {
	size := storageOf(claim.Spec.Resources.Requests)
	if size.Cmp(storageOf(old.Spec.Resources.Requests)) <= 0 {
		return nil
	}
	// API-224: the phase is that of the stored claim. Validation has refused the rest of such updates already (API-221).
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
