package apiserver

import (
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/auth"
	"github.com/volsim/volsim/internal/apiserver/kinds"
	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/core/plain"
)

// definitionOf returns what the definition of a custom resource says, nil for other resources. The caller does not have the lock.
func (s *Server) definitionOf(r *resources.Resource) *resources.DefinedVersion {
	if !r.Custom {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.resources.Definition(r)
}

// checkSchemaAtOnce is checkSchema, unless webhooks may still change the object.
func (s *Server) checkSchemaAtOnce(r *request, obj, old api.Object) error {
	if r.reviews != nil {
		return nil // see reviews.Mutate
	}
	return s.checkSchema(r, obj, old)
}

// checkSchema refuses a custom object that violates its schema, and a role or binding that its writer may not grant. old is the stored object, nil for
// a create: what was wrong before may stay as it is.
func (s *Server) checkSchema(r *request, obj, old api.Object) error {
	if err := r.checkKind(obj.GetName()); err != nil && (old == nil || obj.GetResourceVersion() == old.GetResourceVersion()) {
		return err
	}
	if err := s.checkGrant(r, obj, old); err != nil {
		return err
	}
	if err := s.checkClaimStatus(r, obj, old); err != nil {
		return err
	}
	v := s.resources.Definition(r.resource)
	if !v.Checks() {
		return nil
	}
	if old != nil && obj.GetResourceVersion() != old.GetResourceVersion() {
		return nil // API-551: the store refuses the version, before anything else is validated
	}
	var metadata field.ErrorList
	if r.subresource != string(api.Status) {
		metadata = s.store.MetadataErrors(r.resource.Kind, obj, old)
	}
	previous, _ := old.(*plain.Object)
	errs, warnings := v.Check(obj.(*plain.Object), previous, api.Subresource(r.subresource), metadata)
	r.warnings = append(r.warnings, warnings...)
	if len(errs) > 0 {
		return apierrors.NewInvalid(r.resource.GVK().GroupKind(), obj.GetName(), errs)
	}
	return nil
}

// checkKind refuses a custom object whose body names another kind than the path (API-332). The server finds out when it validates the object.
func (r *request) checkKind(name string) error {
	given, want := r.kindOfBody, r.resource.GVK()
	var errs fieldErrors
	if given.Kind != want.Kind {
		errs = append(errs, field.Invalid(field.NewPath("kind"), given.Kind, "must be "+want.Kind))
	}
	if given.GroupVersion() != want.GroupVersion() {
		errs = append(errs, field.Invalid(field.NewPath("apiVersion"), given.GroupVersion().String(), "must be "+want.GroupVersion().String()))
	}
	if !r.resource.Custom || given.Empty() || len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(given.GroupKind(), name, errs)
}

// checkGrant refuses a role or a binding with permissions that its writer does not have. The administrator has all.
func (s *Server) checkGrant(r *request, obj, old api.Object) error {
	if r.user == nil {
		return nil
	}
	return s.auth.CheckGrant(auth.Grant{User: *r.user, Resource: r.resource.GroupResource(), Namespace: r.namespace, Name: r.name, Object: obj, Old: old})
}

// checkClaimStatus refuses the status of a ResourceClaim by a user who may not allocate devices, or report about those of a driver (API-585).
func (s *Server) checkClaimStatus(r *request, obj, old api.Object) error {
	if r.user == nil || old == nil || r.resource.Kind != kinds.ResourceClaim || r.subresource != string(api.Status) {
		return nil
	}
	claim, err := plain.As[*resourcev1.ResourceClaim](obj)
	if err != nil {
		return nil // the body was decoded before
	}
	if errs := s.auth.CheckClaimStatus(*r.user, r.verb, claim, plain.Shared[*resourcev1.ResourceClaim](old.(*plain.Object))); len(errs) > 0 {
		return apierrors.NewInvalid(r.resource.GVK().GroupKind(), obj.GetName(), errs)
	}
	return nil
}
