package apiserver

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
)

// customVerbs are the verbs of requests for one custom object, by HTTP methods.
var customVerbs = map[string]string{
	http.MethodGet: verbGet, http.MethodHead: verbGet, http.MethodPost: verbCreate, http.MethodPut: verbUpdate, http.MethodPatch: verbPatch, http.MethodDelete: verbDelete,
}

// setCustomVerb derives the verb of a request for custom objects. One handler of kube-apiserver answers all of them, so methods that it does not have
// are answered unlike those of other kinds (API-571).
func (r *request) setCustomVerb(req *http.Request, p route) error {
	r.verb = customVerbs[req.Method]
	switch {
	case r.name != "":
	case r.verb == verbGet:
		r.verb = verbList
	case r.verb == verbDelete:
		r.verb = verbDeleteCollection
	}
	r.watchIfAsked()
	// Across namespaces there are lists and watches only.
	if r.resource.namespaced && !p.namespaced && r.verb != verbList && r.verb != verbWatch {
		return errNoRoute
	}
	gr := r.resource.GroupResource()
	if r.subresource != "" {
		if r.resource.subresource(r.subresource) == nil && (r.subresource != string(api.Status) || !r.resource.status) {
			return apierrors.NewNotFound(gr, r.name)
		}
		if r.verb == verbCreate || r.verb == verbDelete {
			return apierrors.NewMethodNotSupported(gr, r.verb)
		}
	}
	switch {
	case r.verb == "":
		return apierrors.NewMethodNotSupported(gr, r.verb)
	case r.name == "" && (r.verb == verbUpdate || r.verb == verbPatch):
		return apierrors.NewBadRequest("name must be provided")
	case r.verb == verbCreate:
		r.name = "" // that of the body counts
	}
	return nil
}
