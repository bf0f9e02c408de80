package store

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/strategy"
)

// checkPropagation validates the propagation policy of a delete (GC-001).
func checkPropagation(policy metav1.DeletionPropagation) error {
	switch policy {
	case "", metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan:
		return nil
	}
	// GC-001: there are three policies.
	valid := []string{string(metav1.DeletePropagationForeground), string(metav1.DeletePropagationBackground),
		string(metav1.DeletePropagationOrphan), "nil"}
	return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", field.ErrorList{
		field.NotSupported(field.NewPath("propagationPolicy"), fmt.Sprint(policy), valid)})
}

// collectionFinalizers returns the finalizers of an object that is deleted with this policy: those for the garbage collector as the policy
// requires, at the end, and the others as they are (API-059).
func (t *table[T]) collectionFinalizers(meta *metav1.ObjectMeta, policy metav1.DeletionPropagation) []string {
	if t.resource.kind == api.Event {
		return meta.Finalizers
	}
	orphan, foreground := slices.Contains(meta.Finalizers, metav1.FinalizerOrphanDependents), slices.Contains(meta.Finalizers, metav1.FinalizerDeleteDependents)
	if policy == "" && !orphan && !foreground && orphansByDefault[t.resource.kind] {
		// GC-002: the default depends on the kind.
		policy = metav1.DeletePropagationOrphan
	}
	wanted := ""
	switch {
	// API-059: the policy adds a finalizer.
	case policy == metav1.DeletePropagationOrphan, policy == "" && orphan:
		wanted = metav1.FinalizerOrphanDependents
	case policy == metav1.DeletePropagationForeground, policy == "" && foreground:
		wanted = metav1.FinalizerDeleteDependents
	}
	if orphan == (wanted == metav1.FinalizerOrphanDependents) && foreground == (wanted == metav1.FinalizerDeleteDependents) {
		return meta.Finalizers
	}
	finalizers := slices.DeleteFunc(slices.Clone(meta.Finalizers), func(name string) bool {
		return name == metav1.FinalizerOrphanDependents || name == metav1.FinalizerDeleteDependents
	})
	if wanted != "" {
		finalizers = append(finalizers, wanted)
	}
	return finalizers
}

// orphansByDefault are the kinds whose dependents stay unless the request has a policy (GC-002).
var orphansByDefault = map[api.Kind]bool{"ReplicationController": true, "Job.batch": true}

// loadedOwners holds the owner references of loaded objects (GC-040).
type loadedOwners struct {
	kinds map[api.Kind]bool
	refs  map[types.UID]bool
	// absent are owners that exist and were not loaded.
	absent map[types.UID]bool
}

// noteLoaded records a loaded object and its owners.
func (s *Store) noteLoaded(kind api.Kind, owners []metav1.OwnerReference) {
	if s.loaded.kinds == nil {
		s.loaded.kinds, s.loaded.refs = map[api.Kind]bool{}, map[types.UID]bool{}
	}
	s.loaded.kinds[kind] = true
	for i := range owners {
		s.loaded.refs[owners[i].UID] = true
	}
}

// AssumeOwner says that an owner exists although it is not loaded (GC-040).
func (s *Store) AssumeOwner(uid types.UID) {
	if s.loaded.absent == nil {
		s.loaded.absent = map[types.UID]bool{}
	}
	s.loaded.absent[uid] = true
}

// OwnerAssumed reports whether an owner is assumed to exist: AssumeOwner says so, or a loaded object refers to it, and no object of its kind was loaded, so the
// source of the objects did not contain that kind (GC-040). Owners of the kinds that volsim always has are never assumed.
func (s *Store) OwnerAssumed(kind api.Kind, uid types.UID) bool {
	return s.loaded.absent[uid] || s.loaded.refs[uid] && !s.loaded.kinds[kind] && !HasTypedTable(kind) && objkinds.Get(string(kind)) != nil
}

// distinctOwners returns owners without duplicates, as the API server stores them (API-036). It does not modify owners.
func distinctOwners(owners []metav1.OwnerReference) []metav1.OwnerReference {
	distinct, _ := DistinctOwners(owners)
	return distinct
}

// DistinctOwners returns owners without duplicates, and the uids of those that it left out (API-036, API-353). It does not modify owners.
func DistinctOwners(owners []metav1.OwnerReference) (distinct []metav1.OwnerReference, uids []string) {
	distinct = owners
	for i := 1; i < len(owners); i++ {
		switch {
		case hasOwner(distinct[:min(i, len(distinct))], owners[i:i+1]):
			if len(uids) == 0 {
				distinct = slices.Clone(owners[:i])
			}
			uids = append(uids, string(owners[i].UID))
		case len(uids) > 0:
			distinct = append(distinct, owners[i])
		}
	}
	return distinct, uids
}

// hasOwner reports whether owners contains the owner in one, a list of length 1.
func hasOwner(owners, one []metav1.OwnerReference) bool {
	for i := range owners {
		if strategy.SameOwners(owners[i:i+1], one) {
			return true
		}
	}
	return false
}
