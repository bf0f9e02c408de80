package apiserver

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/kinds"
	"github.com/volsim/volsim/internal/apiserver/ownership"
	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// call makes a read or a write through the backend.
func (s *Server) call(r *request, ref api.Ref, fn func() (api.Object, error)) (api.Object, error) {
	if r.pass {
		return fn()
	}
	return s.cfg.Backend.Call(api.Call{
		Actor: r.actor, Target: api.APIServer, Verb: r.callVerb(), Kind: string(ref.Kind), Key: ref.Key,
	}, fn)
}

// write makes a write through the backend. A dry run does everything but the write, and leaves no record.
func (s *Server) write(r *request, ref api.Ref, dryRun bool, fn func() (api.Object, error)) (obj api.Object, err error) {
	owned := func() (api.Object, error) {
		defer s.fields.Begin(ownership.Write{Resource: r.resource, Subresource: r.subresource, Manager: r.manager})()
		var obj api.Object
		var err error
		s.store.Warned(func(text string) { r.warnings = append(r.warnings, text) }, func() { obj, err = fn() })
		return obj, err
	}
	if r.reviews != nil && !r.ofPod() {
		plainly := owned
		owned = func() (obj api.Object, err error) {
			s.store.Reviewed(r.reviews, func() { obj, err = plainly() })
			return obj, err
		}
	}
	if dryRun || r.pass {
		s.store.DryRun(func() { obj, err = owned() })
		return obj, err
	}
	return s.call(r, ref, owned)
}

// ofPod reports whether the request is a binding or an eviction. Webhooks review the Binding or the Eviction then, not the pod.
func (r *request) ofPod() bool {
	return r.subresource == resources.SubresourceBinding || r.subresource == resources.SubresourceEviction || r.resource.Resource == resources.Bindings
}

// represent makes one object the answer, in the type that the request asks for: it returns it encoded, or sets r.shown.
func (s *Server) represent(r *request, obj api.Object) ([]byte, error) {
	obj, err := s.asRead(r.resource, obj)
	if err != nil {
		return nil, err
	}
	if r.format.as != nil {
		return s.convert(r, obj)
	}
	if known := s.encoded.find(r.resource, obj, r.format.protobuf); known != nil {
		return known.data, nil
	}
	shown, err := s.shown(r.resource, obj)
	r.shown = &shown
	return nil, err
}

func (s *Server) get(r *request) ([]byte, int, error) {
	var opts metav1.GetOptions
	if err := parameters(r.query, &opts, func(*metav1.GetOptions) (none fieldErrors) { return none }); err != nil {
		return nil, 0, err
	}
	if err := s.checkVersion(opts.ResourceVersion); err != nil {
		return nil, 0, err
	}
	obj, err := s.call(r, r.ref(), func() (api.Object, error) { return s.getObject(r) })
	if err != nil {
		return nil, 0, err
	}
	data, err := s.represent(r, obj)
	return data, http.StatusOK, err
}

func (s *Server) create(r *request) ([]byte, int, error) {
	var opts metav1.CreateOptions
	if err := parameters(r.query, &opts, metav1validation.ValidateCreateOptions); err != nil {
		return nil, 0, err
	}
	r.describe(&opts, opts.DryRun)
	switch r.subresource {
	case resources.SubresourceBinding:
		return s.bind(r, opts)
	case resources.SubresourceEviction:
		return s.evict(r, opts)
	case resources.SubresourceToken:
		return s.issueToken(r, opts)
	}
	if r.resource.Resource == resources.Bindings && r.resource.Review {
		return s.bind(r, opts)
	}
	if r.resource.Review {
		return s.answerReview(r, opts)
	}
	obj, err := s.object(r, opts.FieldValidation)
	if err != nil {
		return nil, 0, err
	}
	if err := r.checkNamespace(obj); err != nil {
		return nil, 0, err
	}
	r.warnOfOwners(obj, "")
	r.warnOfName(obj)
	if s.cfg.VirtualTime {
		s.renameEvent(r, obj)
	}
	dryRun := len(opts.DryRun) > 0
	ref := api.Ref{Kind: r.resource.Kind, Key: api.Key(r.namespace, obj.GetName())}
	created, err := s.write(r, ref, dryRun, func() (api.Object, error) {
		if err := s.checkSchemaAtOnce(r, obj, nil); err != nil {
			return nil, err
		}
		admit := s.admit
		if r.resource.Kind == kinds.SigningRequest {
			admit = r.sign
		}
		return s.store.CreateWith(obj, store.CreateOptions{DryRun: dryRun, Owned: true, Admit: admit})
	})
	if err != nil {
		return nil, 0, err
	}
	data, err := s.represent(r, created)
	return data, http.StatusCreated, err
}

func (s *Server) update(r *request) ([]byte, int, error) {
	var opts metav1.UpdateOptions
	if err := parameters(r.query, &opts, metav1validation.ValidateUpdateOptions); err != nil {
		return nil, 0, err
	}
	r.describe(&opts, opts.DryRun)
	obj, err := s.object(r, opts.FieldValidation)
	if err != nil {
		return nil, 0, err
	}
	if err := r.checkIdentity(obj); err != nil {
		return nil, 0, err
	}
	r.warnOfOwners(obj, "")
	r.warnOfName(obj)
	dryRun, code := len(opts.DryRun) > 0, http.StatusOK
	updated, err := s.write(r, r.ref(), dryRun, func() (api.Object, error) {
		old, err := s.live(r)
		if err == nil {
			err = s.checkSchemaAtOnce(r, obj, old)
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
		how := store.UpdateOptions{Owned: true}
		if apierrors.IsNotFound(err) && r.resource.CreatesOnUpdate && r.subresource == "" {
			how.Absent, code = &store.CreateOptions{DryRun: dryRun, Owned: true, Admit: s.admit}, http.StatusCreated
		}
		// Any other missing object is the store's error.
		return s.replace(r, obj, how)
	})
	if err != nil {
		return nil, 0, err
	}
	data, err := s.represent(r, updated)
	return data, code, err
}

// warnOfName warns about the name of a configuration of admission that is meant for files of the server (API-411).
func (r *request) warnOfName(obj api.Object) {
	const reserved = ".static.k8s.io"
	if isConfiguration(r.resource) && strings.HasSuffix(obj.GetName(), reserved) {
		r.warnings = append(r.warnings, fmt.Sprintf("metadata.name: names ending with %q are reserved for static manifest-based configurations and cannot be managed via the API", reserved))
	}
}

// warnOfOwners warns about owner references that come twice. The store drops them. when says when they were found, "" for before admission.
func (r *request) warnOfOwners(obj api.Object, when string) {
	if _, uids := store.DistinctOwners(obj.GetOwnerReferences()); len(uids) > 0 {
		// API-353: such requests may be refused one day.
		r.warnings = append(r.warnings, fmt.Sprintf(".metadata.ownerReferences contains duplicate entries%s; API server dedups owner references in 1.20+, and may reject such "+
			"requests as early as 1.24; please fix your requests; duplicate UID(s) observed: %s", when, strings.Join(uids, ", ")))
	}
}

// Bodies of subresources of pods.
var (
	bindingBody  = bodyOfKind(resources.CoreGroup.WithKind("Binding"))
	evictionBody = bodyOfKind(policyv1.SchemeGroupVersion.WithKind("Eviction"))
)

// success is the answer to a write that returns no object.
func (r *request) success() ([]byte, int, error) {
	data, err := r.format.encode(&metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess, Code: http.StatusCreated,
	}, statusKind)
	return data, http.StatusCreated, err
}

func (s *Server) bind(r *request, opts metav1.CreateOptions) ([]byte, int, error) {
	obj, warnings, err := s.codec.decode(body{r.body, r.contentType, opts.FieldValidation}, resources.CoreGroup.WithKind("Binding"))
	if err != nil {
		return nil, 0, err
	}
	r.warnings = append(r.warnings, warnings...)
	binding := obj.(*corev1.Binding)
	if err := r.checkNamespace(binding); err != nil {
		return nil, 0, err
	}
	pod := api.Ref{Kind: api.Pod, Key: r.key()}
	if r.name == "" {
		if binding.Name == "" {
			return nil, 0, apierrors.NewBadRequest("Name parameter required.")
		}
		pod.Key = api.Key(r.namespace, binding.Name)
	}
	if binding, err = reviewBody(r, bindingBody, cmp.Or(r.name, binding.Name), binding); err != nil {
		return nil, 0, err
	}
	_, err = s.write(r, pod, len(opts.DryRun) > 0, func() (api.Object, error) { return s.store.Bind(pod.Key, binding) })
	if err != nil {
		return nil, 0, err
	}
	return r.success()
}

// evict deletes a pod unless a PodDisruptionBudget forbids it.
func (s *Server) evict(r *request, opts metav1.CreateOptions) ([]byte, int, error) {
	obj, warnings, err := s.codec.decode(body{r.body, r.contentType, opts.FieldValidation}, policyv1.SchemeGroupVersion.WithKind("Eviction"))
	if err != nil {
		return nil, 0, err
	}
	r.warnings = append(r.warnings, warnings...)
	eviction := obj.(*policyv1.Eviction)
	if err := r.checkNamespace(eviction); err != nil {
		return nil, 0, err
	}
	if eviction.Name != r.name {
		return nil, 0, apierrors.NewBadRequest("name in URL does not match name in Eviction object")
	}
	if eviction, err = reviewBody(r, evictionBody, r.name, eviction); err != nil {
		return nil, 0, err
	}
	given := metav1.DeleteOptions{}
	if eviction.DeleteOptions != nil {
		given = *eviction.DeleteOptions
	}
	// API-555: both places that can ask for a dry run agree.
	if len(opts.DryRun) > 0 && len(given.DryRun) > 0 && !slices.Equal(opts.DryRun, given.DryRun) {
		return nil, 0, fmt.Errorf("Non-matching dry-run options in request and content: %v and %v", opts.DryRun, given.DryRun) //nolint:staticcheck // the words of kube-apiserver
	}
	dryRun := len(opts.DryRun) > 0 || len(given.DryRun) > 0
	_, err = s.write(r, r.ref(), dryRun, func() (api.Object, error) {
		if _, err := s.store.Get(api.Pod, r.key()); err != nil {
			return nil, err
		}
		if err := invalidOptions(&given, metav1validation.ValidateDeleteOptions(&given)); err != nil {
			return nil, err
		}
		evict := func() (api.Object, error) { return s.store.Evict(r.key(), deleteOptions(given)) }
		if s.fields == nil {
			return evict()
		}
		return s.fields.Keep(evict) // no manager owns the condition DisruptionTarget
	})
	if err != nil {
		return nil, 0, err
	}
	return r.success()
}

// deleteOptions converts the options of a delete.
func deleteOptions(given metav1.DeleteOptions) api.DeleteOptions {
	opts := api.DeleteOptions{GracePeriodSeconds: given.GracePeriodSeconds}
	if policy := given.PropagationPolicy; policy != nil {
		opts.PropagationPolicy = *policy
	}
	if orphan := given.OrphanDependents; orphan != nil { //nolint:staticcheck // deprecated, and still served
		opts.PropagationPolicy = metav1.DeletePropagationBackground
		if *orphan {
			opts.PropagationPolicy = metav1.DeletePropagationOrphan
		}
	}
	if p := given.Preconditions; p != nil {
		opts.UID, opts.ResourceVersion = deref(p.UID), deref(p.ResourceVersion)
	}
	return opts
}

func deref[T types.UID | string](p *T) T {
	if p == nil {
		return ""
	}
	return *p
}

// checkVersion checks the resourceVersion of a read: the server cannot answer with a state that is yet to come.
func (s *Server) checkVersion(text string) error {
	v, err := parseVersion(text)
	if err != nil {
		return err
	}
	if current := s.store.Version(); v > current {
		return tooLarge(v, current)
	}
	return nil
}

// tooLarge returns the error for a resourceVersion that the server has not reached.
func tooLarge(asked, current uint64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", asked, current), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version",
	}}
	return err
}

// replace stores a new version of an object, or of the part that the subresource of the request stands for.
func (s *Server) replace(r *request, obj api.Object, opts store.UpdateOptions) (api.Object, error) {
	if r.resource.Kind == kinds.SigningRequest && r.subresource != "" {
		return s.replaceSigning(r, obj.(*plain.Object), opts)
	}
	return s.store.UpdateWith(obj, api.Subresource(r.subresource), opts)
}
