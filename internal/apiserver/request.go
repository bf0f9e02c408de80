package apiserver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	internalscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	internalvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/resources"
)

// request is a parsed request for objects.
type request struct {
	actor       string                     // in whose name it writes
	client      string                     // the name in User-Agent
	user        *authenticationv1.UserInfo // nil for the administrator
	manager     string                     // the owner of the fields that it writes, for managedFields
	verb        string
	resource    *resources.Resource
	subresource string // "" for none
	namespace   string // "" for none, or for all
	name        string // "" for a collection
	query       url.Values
	contentType string // header Content-Type
	sent        Sent
	body        []byte
	kindOfBody  schema.GroupVersionKind // of a custom object, as it was sent
	selectable  []string                // fields that the definition of a custom kind makes selectable, for lists and watches
	decoded     api.Object              // the body of a create or an update in a Go type, nil if it has not been decoded
	changes     map[string]any          // the body of a JSON merge patch, nil if it has not been decoded
	format      format
	list        internalversion.ListOptions // of a list, a watch and a deletecollection
	selector    selector                    // of a list, a watch and a deletecollection
	warnings    []string                    // headers of the answer
	items       []byte                      // of the answer to a list, if others share them
	tail        string                      // what follows items
	shown       *shown                      // the object of the answer, to be encoded when the server's lock is free; nil for none

	context context.Context // of the client
	reviews *reviews        // by webhooks; nil for none
	options any             // of the request, shown to webhooks
	pass    bool            // it stores nothing
}

// Verbs by HTTP methods.
var (
	collectionVerbs = map[string]string{http.MethodGet: resources.VerbList, http.MethodPost: resources.VerbCreate, http.MethodDelete: resources.VerbDeleteCollection}
	objectVerbs     = map[string]string{
		http.MethodGet: resources.VerbGet, http.MethodPut: resources.VerbUpdate, http.MethodPatch: resources.VerbPatch, http.MethodDelete: resources.VerbDelete,
	}
	subresourceVerbs = map[string]string{
		http.MethodGet: resources.VerbGet, http.MethodPost: resources.VerbCreate, http.MethodPut: resources.VerbUpdate, http.MethodPatch: resources.VerbPatch,
	}
)

func (r *request) key() string { return api.Key(r.namespace, r.name) }

func (r *request) ref() api.Ref { return api.Ref{Kind: r.resource.Kind, Key: r.key()} }

// route is a parsed path of an object or a collection.
type route struct {
	gvr         schema.GroupVersionResource
	namespace   string
	namespaced  bool // it names a namespace
	name        string
	subresource string
	watch       bool // it is a path of the deprecated form /api/v1/watch/…
}

// parsePath reads /api/VERSION or /apis/GROUP/VERSION, then perhaps namespaces/NAMESPACE, then RESOURCE[/NAME[/SUBRESOURCE]].
func parsePath(text string) (route, bool) {
	parts := strings.Split(strings.TrimPrefix(text, "/"), "/")
	if len(parts) > 1 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1] // one slash may follow
	}
	if slices.Contains(parts, "") {
		return route{}, false
	}
	var p route
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		p.gvr.Version, parts = parts[1], parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		p.gvr.Group, p.gvr.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return route{}, false
	}
	if parts[0] == "watch" && len(parts) > 1 {
		p.watch, parts = true, parts[1:]
	}
	// A namespace is an object, too: namespaces/NAME and its subresources.
	if parts[0] == "namespaces" && len(parts) >= 3 && parts[2] != "status" && parts[2] != "finalize" {
		p.namespace, p.namespaced, parts = parts[1], true, parts[2:]
	}
	if len(parts) > 3 {
		return route{}, false
	}
	p.gvr.Resource = parts[0]
	if len(parts) > 1 {
		p.name = parts[1]
	}
	if len(parts) > 2 {
		p.subresource = parts[2]
	}
	return p, true
}

// parse reads a request for objects. Its errors are those of the server, or errNoRoute.
func (s *Server) parse(req *http.Request) (*request, error) {
	p, ok := parsePath(req.URL.Path)
	if !ok {
		return nil, errNoRoute
	}
	res := s.resource(p.gvr)
	if res == nil || p.namespaced && !res.Namespaced {
		return nil, errNoRoute
	}
	r := &request{
		resource: res, subresource: p.subresource, namespace: p.namespace, name: p.name,
		contentType: req.Header.Get("Content-Type"), context: req.Context(),
	}
	if req.URL.RawQuery != "" {
		r.query = req.URL.Query()
	}
	if err := r.setVerb(req, p); err != nil {
		return nil, err
	}
	if res.Group == "" && res.Resource == "endpoints" {
		r.warnings = append(r.warnings, "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
	}
	defined := s.definitionOf(res)
	if defined != nil && defined.Warning != "" {
		r.warnings = append(r.warnings, defined.Warning)
	}
	r.client = managerOf(req.UserAgent())
	r.manager = cmp.Or(r.query.Get("fieldManager"), r.client)
	r.actor = s.cfg.Actor(req, r.manager)
	var err error
	if r.format, err = negotiate(req, r.endpoint()); err != nil {
		return nil, err
	}
	if r.verb == resources.VerbList || r.verb == resources.VerbWatch || r.verb == resources.VerbDeleteCollection {
		if defined != nil {
			r.selectable = defined.Fields
		}
		if err := r.parseListOptions(); err != nil {
			return nil, err
		}
	}
	if r.body, err = s.readBody(req); err != nil {
		return r, err
	}
	r.decode(s.codec)
	r.sent = Sent{Method: req.Method, URI: req.URL.RequestURI(), Client: r.client, ContentType: r.contentType, Body: r.body}
	return r, nil
}

// decode decodes the body of a create, an update or a JSON merge patch, if it is JSON without any problem. The server's lock is not needed for it.
func (r *request) decode(c *codec) {
	if r.verb == resources.VerbPatch && r.resource.Typed && patchTypeOf(r) == types.MergePatchType {
		changes := map[string]any{}
		if strict, err := kjson.UnmarshalStrict(r.body, &changes); err == nil && len(strict) == 0 {
			r.changes = changes
		}
		return
	}
	if r.verb != resources.VerbCreate && r.verb != resources.VerbUpdate || r.subresource != "" && r.subresource != string(api.Status) || r.resource.Review || !r.resource.Typed {
		return
	}
	if mediaType, err := mediaTypeOf(r.contentType); err == nil && mediaType == runtime.ContentTypeJSON {
		r.decoded, _ = c.readOnce(body{r.body, r.contentType, r.query.Get("fieldValidation")}, r.resource.GVK()).(api.Object)
	}
}

// setVerb derives the verb of the request from its method and its path.
func (r *request) setVerb(req *http.Request, p route) error {
	if r.resource.Custom && !p.watch {
		return r.setCustomVerb(req, p)
	}
	collection := r.name == ""
	if r.resource.Namespaced && !p.namespaced {
		// Across namespaces there are lists and watches only.
		if !collection {
			return errNoRoute
		}
		if req.Method != http.MethodGet {
			return errMethod()
		}
	}
	if p.watch {
		if req.Method != http.MethodGet || r.subresource != "" {
			return errNoRoute
		}
		r.verb = resources.VerbWatch
		return nil
	}
	switch {
	case r.resource.Review && !collection:
		return errNoRoute
	case r.subresource != "":
		return r.setSubresourceVerb(req.Method)
	case collection:
		r.verb = collectionVerbs[req.Method]
	default:
		r.verb = objectVerbs[req.Method]
	}
	r.watchIfAsked()
	if r.verb == resources.VerbDeleteCollection && !slices.Contains(r.resource.Verbs(), r.verb) {
		return errMethod() // each namespace is deleted on its own
	}
	if r.verb == "" || r.resource.Review && r.verb != resources.VerbCreate {
		return errMethod()
	}
	return nil
}

// watchIfAsked makes a watch of a list whose query asks for it.
func (r *request) watchIfAsked() {
	if watch := r.query.Get("watch"); r.verb == resources.VerbList && (watch == "true" || watch == "1") {
		r.verb = resources.VerbWatch
	}
}

func (r *request) setSubresourceVerb(method string) error {
	verbs := []string{resources.VerbGet, resources.VerbUpdate, resources.VerbPatch}
	if sub := r.resource.Subresource(r.subresource); sub != nil {
		verbs = sub.Verbs
	} else if r.subresource != string(api.Status) || !r.resource.Status {
		return errNoRoute
	}
	r.verb = subresourceVerbs[method]
	if !slices.Contains(verbs, r.verb) {
		return errMethod()
	}
	return nil
}

// managerOf returns the owner of the fields that a request without a fieldManager writes: the name of the client.
func managerOf(userAgent string) string {
	const longest = 128 // bytes, as for a fieldManager
	name, _, _ := strings.Cut(userAgent, "/")
	if name = strings.ToValidUTF8(name, ""); len(name) > longest {
		name = strings.ToValidUTF8(name[:longest], "")
	}
	return name
}

// parameters decodes query parameters into options of package metav1, and validates them. Without parameters there is nothing to validate.
func parameters[T runtime.Object](query url.Values, into T, validate func(T) field.ErrorList) error {
	if len(query) == 0 {
		return nil
	}
	if err := internalscheme.ParameterCodec.DecodeParameters(query, metav1.SchemeGroupVersion, into); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return invalidOptions(into, validate(into))
}

// invalidOptions returns the error for options that failed validation, nil if they passed.
func invalidOptions(options runtime.Object, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	kind := strings.TrimPrefix(fmt.Sprintf("%T", options), "*v1.")
	kind = strings.TrimPrefix(kind, "*internalversion.")
	return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs)
}

func (r *request) parseListOptions() error {
	if err := internalscheme.ParameterCodec.DecodeParameters(r.query, metav1.SchemeGroupVersion, &r.list); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	const watchLists = true
	internalversion.SetListOptionsDefaults(&r.list, watchLists)
	if r.verb == resources.VerbWatch {
		r.list.Watch = true // a path of the form /watch/… has no parameter
	}
	if err := invalidOptions(&r.list, internalvalidation.ValidateListOptions(&r.list, watchLists)); err != nil {
		return err
	}
	var err error
	r.selector, err = newSelector(r)
	return err
}

// readBody reads the body of a request up to the limit.
func (s *Server) readBody(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	// Bodies are small, and most say how long they are.
	size := int64(bytes.MinRead)
	if n := req.ContentLength; n > 0 && n < size {
		size = n + 1
	}
	data := make([]byte, 0, size)
	for {
		if len(data) == cap(data) {
			data = slices.Grow(data, bytes.MinRead)
		}
		n, err := req.Body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case int64(len(data)) > s.cfg.BodyLimit:
			_ = req.Body.Close()
			return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", s.cfg.BodyLimit))
		case err == io.EOF:
			return data, req.Body.Close()
		case err != nil:
			return nil, fmt.Errorf("read the body: %w", errors.Join(err, req.Body.Close()))
		}
	}
}
