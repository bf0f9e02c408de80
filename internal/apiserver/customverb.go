package apiserver

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/resources"
)

// customVerbs are the verbs of requests for one custom object, by HTTP methods.
var customVerbs = map[string]string{
	http.MethodGet: resources.VerbGet, http.MethodHead: resources.VerbGet, http.MethodPost: resources.VerbCreate, http.MethodPut: resources.VerbUpdate, http.MethodPatch: resources.VerbPatch, http.MethodDelete: resources.VerbDelete,
}

// setCustomVerb derives the verb of a request for custom objects. One handler of kube-apiserver answers all of them, so methods that it does not have
// are answered unlike those of other kinds (API-571).
func (r *request) setCustomVerb(req *http.Request, p route) error {
	r.verb = customVerbs[req.Method]
	switch {
	case r.name != "":
	case r.verb == resources.VerbGet:
		r.verb = resources.VerbList
	case r.verb == resources.VerbDelete:
		r.verb = resources.VerbDeleteCollection
	}
	r.watchIfAsked()
	// Across namespaces there are lists and watches only.
	if r.resource.Namespaced && !p.namespaced && r.verb != resources.VerbList && r.verb != resources.VerbWatch {
		return errNoRoute
	}
	gr := r.resource.GroupResource()
	if r.subresource != "" {
		if r.resource.Subresource(r.subresource) == nil && (r.subresource != string(api.Status) || !r.resource.Status) {
			return apierrors.NewNotFound(gr, r.name)
		}
		if r.verb == resources.VerbCreate || r.verb == resources.VerbDelete {
			return apierrors.NewMethodNotSupported(gr, r.verb)
		}
	}
	switch {
	case r.verb == "":
		return apierrors.NewMethodNotSupported(gr, r.verb)
	case r.name == "" && (r.verb == resources.VerbUpdate || r.verb == resources.VerbPatch):
		return apierrors.NewBadRequest("name must be provided")
	case r.verb == resources.VerbCreate:
		r.name = "" // that of the body counts
	}
	return nil
}
