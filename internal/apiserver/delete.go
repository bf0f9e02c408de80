package apiserver

import (
	"encoding/json"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/core/store"
)

// deletion returns the options of a delete, and warns about a Job whose pods stay.
func (s *Server) deletion(r *request) (metav1.DeleteOptions, error) {
	opts, err := s.readDeletion(r)
	if err == nil && r.resource.Kind == "Job.batch" && opts.PropagationPolicy == nil && opts.OrphanDependents == nil { //nolint:staticcheck // deprecated, and still served
		// API-353: the default for Jobs is that of old clients.
		r.warnings = append(r.warnings, "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "+
			"propagationPolicy=Orphan to suppress this warning")
	}
	return opts, err
}

// readDeletion reads the options of a delete, from its body or else its query.
func (s *Server) readDeletion(r *request) (metav1.DeleteOptions, error) {
	if len(r.body) == 0 {
		var opts metav1.DeleteOptions
		err := parameters(r.query, &opts, metav1validation.ValidateDeleteOptions)
		return opts, err
	}
	mediaType, err := mediaTypeOf(r.contentType)
	if err != nil {
		return metav1.DeleteOptions{}, err
	}
	obj, _, err := s.codec.read(body{inCoreGroup(r), r.contentType, metav1.FieldValidationIgnore}, mediaType, resources.CoreGroup.WithKind("DeleteOptions"))
	if err != nil {
		return metav1.DeleteOptions{}, apierrors.NewBadRequest(err.Error())
	}
	opts, ok := obj.(*metav1.DeleteOptions)
	if !ok {
		return metav1.DeleteOptions{}, apierrors.NewBadRequest("decoded object cannot be converted to DeleteOptions")
	}
	opts.IgnoreStoreReadErrorWithClusterBreakingPotential = nil // its feature is off
	return *opts, invalidOptions(opts, metav1validation.ValidateDeleteOptions(opts))
}

// inCoreGroup returns the body of a delete with the options of the core group. Typed clients of a custom kind name the group of the kind.
func inCoreGroup(r *request) []byte {
	var options map[string]json.RawMessage
	if r.resource.Typed || json.Unmarshal(r.body, &options) != nil {
		return r.body // it is not in JSON, or malformed, which the codec reports
	}
	version, err := json.Marshal(r.resource.GroupVersion().String())
	if err != nil || string(options["apiVersion"]) != string(version) {
		return r.body
	}
	options["apiVersion"] = json.RawMessage(`"v1"`)
	data, err := json.Marshal(options)
	if err != nil {
		return r.body
	}
	return data
}

func (s *Server) delete(r *request) ([]byte, int, error) {
	opts, err := s.deletion(r)
	if err != nil {
		return nil, 0, err
	}
	// API-509: the classes of the system can only be deleted together with all others.
	if r.resource.Kind == store.PriorityClassKind && store.IsSystemClass(r.name) {
		return nil, 0, apierrors.NewForbidden(r.resource.GroupVersionResource.GroupResource(), r.name,
			errors.New("this is a system priority class and cannot be deleted"))
	}
	r.describe(&opts, opts.DryRun)
	dryRun := len(opts.DryRun) > 0
	obj, err := s.write(r, r.ref(), dryRun, func() (api.Object, error) {
		if _, err := s.live(r); err != nil && !apierrors.IsNotFound(err) {
			return nil, err // API-481: the server reads the object in the version of the request
		}
		return s.store.Delete(r.resource.Kind, r.key(), deleteOptions(opts))
	})
	if err != nil {
		return nil, 0, err
	}
	gone := s.gone(r, obj, dryRun)
	code := http.StatusOK
	if orphan := opts.OrphanDependents; !gone && orphan != nil && !*orphan {
		code = http.StatusAccepted
	}
	if gone && !r.resource.KeepsDeleted {
		data, err := r.format.encode(&metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess,
			Details: &metav1.StatusDetails{Name: obj.GetName(), Group: r.resource.Group, Kind: r.resource.Resource, UID: obj.GetUID()},
		}, statusKind)
		return data, code, err
	}
	data, err := s.represent(r, obj)
	return data, code, err
}

// gone reports whether a delete removed the object, and not only marked it.
func (s *Server) gone(r *request, deleted api.Object, dryRun bool) bool {
	if dryRun {
		grace := deleted.GetDeletionGracePeriodSeconds()
		return len(deleted.GetFinalizers()) == 0 && (grace == nil || *grace == 0)
	}
	stored, err := s.store.Get(r.resource.Kind, r.key())
	return err != nil || stored.GetUID() != deleted.GetUID()
}

// deleteCollection deletes the objects that the request selects, one by one, and returns them as they were.
func (s *Server) deleteCollection(r *request) ([]byte, error) {
	opts, err := s.deletion(r)
	if err != nil {
		return nil, err
	}
	page, err := s.page(r)
	if err != nil {
		return nil, err
	}
	r.describe(&opts, opts.DryRun)
	one := *r
	one.verb = resources.VerbDelete
	for _, obj := range page.items {
		ref := api.RefTo(obj)
		if one.reviews != nil {
			one.reviews.request = &one
		}
		_, err := s.write(&one, ref, len(opts.DryRun) > 0, func() (api.Object, error) {
			return s.store.Delete(ref.Kind, ref.Key, deleteOptions(opts))
		})
		if err == errUnanswered {
			continue // the webhooks are asked about all objects at once
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
	}
	if r.reviews != nil {
		r.warnings = one.warnings
	}
	return s.representList(r, page.items, page.meta)
}
