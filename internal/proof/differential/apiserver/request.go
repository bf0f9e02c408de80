package apiserver

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
)

// request is a parsed HTTP request.
type request struct {
	actor     string // who asks
	method    string
	resource  *resource
	namespace string
	name      string
	sub       string // subresource, "" for none
	watch     bool
	query     url.Values
	patchType string
	body      []byte
	labels    labels.Selector
	fields    fields.Selector
}

func (r *request) key() string { return api.Key(r.namespace, r.name) }

// parse reads a request. The path is /api/v1 or /apis/<group>/<version>, then perhaps namespaces/<namespace>, then
// <resource>[/<name>[/<subresource>]].
func (s *Server) parse(req *http.Request) (*request, error) {
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	group, version := "", ""
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		version, parts = parts[1], parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		group, version, parts = parts[1], parts[2], parts[3:]
	default:
		return nil, notServed(req)
	}
	r := &request{actor: req.UserAgent(), method: req.Method, query: req.URL.Query(), patchType: req.Header.Get("Content-Type")}
	if parts[0] == "namespaces" && len(parts) >= 3 {
		r.namespace, parts = parts[1], parts[2:]
	}
	r.resource = s.resource(schema.GroupVersionResource{Group: group, Version: version, Resource: parts[0]})
	if r.resource == nil || len(parts) > 3 {
		return nil, notServed(req)
	}
	if len(parts) > 1 {
		r.name = parts[1]
	}
	if len(parts) > 2 {
		r.sub = parts[2]
	}
	if w := r.query.Get("watch"); w == "true" || w == "1" {
		r.watch = true
	}
	var err error
	if r.labels, err = labels.Parse(r.query.Get("labelSelector")); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if r.fields, err = fields.ParseSelector(r.query.Get("fieldSelector")); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if req.Body != nil {
		if r.body, err = io.ReadAll(req.Body); err != nil {
			return nil, fmt.Errorf("read the body: %w", err)
		}
		if err := req.Body.Close(); err != nil {
			return nil, fmt.Errorf("close the body: %w", err)
		}
	}
	return r, nil
}

func notServed(req *http.Request) error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, req.Method, schema.GroupResource{}, "",
		req.URL.Path+" is not served here", 0, true)
}

// selects reports whether the request selects the object.
func (r *request) selects(obj api.Object) bool {
	if r.namespace != "" && obj.GetNamespace() != r.namespace {
		return false
	}
	return r.labels.Matches(labels.Set(obj.GetLabels())) && (r.fields.Empty() || r.fields.Matches(r.resource.fieldsOf(obj)))
}
