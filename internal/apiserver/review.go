package apiserver

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/apiserver/webhooks"
	"github.com/volsim/volsim/internal/core/store"
)

// A write is reviewed at the points where the store asks for it: Mutate, once more Mutate if the rest of the admission has changed the object, and
// Validate. Each asks policies first and webhooks last.

var _ store.Reviewer = (*reviews)(nil)

// reviews has the answers of webhooks about one request. It implements store.Reviewer.
type reviews struct {
	server   *Server
	request  *request                    // in this pass
	known    map[string]*webhooks.Answer // by the key of their call
	pending  []*webhookCall              // without an answer in this pass
	used     []*webhooks.Answer          // in this pass, in the order of their use
	recorded []*webhooks.Answer          // of a request that a script repeats; the webhooks are not called
	again    bool                        // a script repeats the request
	number   uint64                      // for a generated name; zero if there is none yet
	dryRun   bool
	invoked  invoked                    // webhooks
	applied  invoked                    // policies
	silent   bool                       // webhooks are not called
	as       *authenticationv1.UserInfo // nil for the client
}

// errUnanswered ends a pass.
var errUnanswered = errors.New("a webhook has not answered yet")

// Number implements store.Reviewer.
func (q *reviews) Number(n uint64) uint64 {
	if q.number == 0 {
		q.number = n
	}
	return q.number
}

// Mutate implements store.Reviewer.
func (q *reviews) Mutate(w store.Write) (api.Object, bool, error) {
	r := q.request
	if r.subresource == resources.SubresourceScale {
		return w.Object, false, nil // API-395: its scale was reviewed
	}
	if w.Last && q.dryRun {
		return nil, false, nil
	}
	a := q.attributesOf(w)
	obj, old, err := q.encoded(w)
	if err != nil {
		return nil, false, err
	}
	read := func(data []byte) (api.Object, []byte, error) { return q.read(r.resource, data, w.Default) }
	result, changed, err := q.mutate(a, obj, old, w.Again, w.Object, read)
	if err != nil || result == nil {
		return nil, false, err
	}
	if changed && !w.Again {
		r.warnOfOwners(result, " after mutating admission happens")
	}
	return result, changed, q.server.checkSchema(r, result, w.Old)
}

// mutate lets policies, and then webhooks, change an object. stored is the object, and read decodes what became of it.
func (q *reviews) mutate(a *attributes, obj, old []byte, again bool, stored api.Object, read func([]byte) (api.Object, []byte, error)) (api.Object, bool, error) {
	m := &mutation{attributes: a, obj: obj, old: old, stored: stored, read: read, again: again}
	if err := q.applyPolicies(m); err != nil {
		return nil, false, err
	}
	if err := q.askMutating(m); err != nil {
		return nil, false, err
	}
	return m.stored, m.changed, nil
}

// Validate implements store.Reviewer.
func (q *reviews) Validate(w store.Write) error {
	if q.request.subresource == resources.SubresourceScale {
		return q.validateScale(w)
	}
	if w.Last && q.dryRun {
		return nil
	}
	obj, old, err := q.encoded(w)
	if err != nil {
		return err
	}
	return q.validate(q.attributesOf(w), obj, old)
}

// validate lets policies, and then webhooks, refuse a write.
func (q *reviews) validate(a *attributes, obj, old []byte) error {
	if err := q.checkPodSecurity(a, obj, old); err != nil {
		return err
	}
	if err := q.checkSigning(a, obj, old); err != nil {
		return err
	}
	if err := q.checkPolicies(a, obj, old); err != nil {
		return err
	}
	return q.askValidating(a, obj, old)
}

// attributesOf returns the attributes of a write: resource, operation, namespace, name.
func (q *reviews) attributesOf(w store.Write) *attributes {
	r := q.request
	obj, operation := w.Object, admissionv1.Update
	switch {
	case w.Object == nil:
		obj, operation = w.Old, admissionv1.Delete
	case w.Old == nil:
		operation = admissionv1.Create
	}
	a := &attributes{
		resource: r.resource, subresource: r.subresource, body: r.resource, operation: operation, namespace: r.namespace, name: r.name, grace: w.Grace, last: w.Last,
	}
	if a.name == "" && operation != admissionv1.Delete {
		a.name = obj.GetName() // a deletecollection does not name the objects
	}
	if r.resource.Kind == store.NamespaceKind {
		a.namespace = a.name
	}
	return a
}

// attributes are what webhooks are asked about, apart from the objects.
type attributes struct {
	resource    *resources.Resource
	subresource string
	body        *resources.Resource // of the objects; that of the request unless a subresource has a body of its own
	operation   admissionv1.Operation
	namespace   string
	name        string
	anyName     bool   // the names of the objects are not known yet
	grace       *int64 // of a delete, nil for none
	last        bool   // see store.Write
}

// operations are what webhooks may see of a request.
func (r *request) operations() []admissionv1.Operation {
	switch r.verb {
	case resources.VerbCreate:
		return []admissionv1.Operation{admissionv1.Create}
	case resources.VerbUpdate, resources.VerbPatch:
		return []admissionv1.Operation{admissionv1.Update, admissionv1.Create}
	case resources.VerbDelete, resources.VerbDeleteCollection:
		return []admissionv1.Operation{admissionv1.Delete}
	}
	return nil
}

// mutation is an object on its way through policies and webhooks that may change it.
type mutation struct {
	*attributes
	obj, old []byte                                   // in the version of the request
	stored   api.Object                               // obj, decoded
	read     func([]byte) (api.Object, []byte, error) // decodes what became of it
	again    bool                                     // this is the second round
	changed  bool
}

// replace makes a changed object that of the mutation. It reports whether the object differs, apart from defaults.
func (q *reviews) replace(m *mutation, data []byte) (changed bool, err error) {
	result, before, err := m.read(data)
	if err != nil {
		return false, apierrors.NewInternalError(err)
	}
	changed = !sameJSON(m.obj, before)
	m.stored = result
	m.obj, err = q.encodedBody(m.attributes, result)
	return changed, err
}

// invoked are the webhooks, or the policies, that one object went through. Their keys tell them apart.
type invoked struct {
	once     map[string]bool // may be asked again
	reinvoke map[string]bool // are to be asked again
	last     []byte          // the object after the last of them
}

// begin begins the first round, or the second one, in which the rest of the admission may have changed the object since.
func (v *invoked) begin(obj []byte, again bool) {
	if !again {
		*v = invoked{once: map[string]bool{}, reinvoke: map[string]bool{}}
	} else if !sameJSON(v.last, obj) {
		// API-389: the rest of the admission has changed the object since.
		v.require()
	}
}

// require lets all that may be asked again be asked again.
func (v *invoked) require() {
	for key := range v.once {
		v.reinvoke[key] = true
	}
	clear(v.once)
}

// warn adds a warning for the client. A client gets each warning once.
func (q *reviews) warn(text string) {
	if !slices.Contains(q.request.warnings, text) {
		q.request.warnings = append(q.request.warnings, text)
	}
}

// forbidden returns the error of a request that admission refuses.
func forbidden(a *attributes, obj []byte, reason error) *apierrors.StatusError {
	name := a.name
	if name == "" {
		// API-021: an object without a name is called by the name that is to be generated.
		var meta metav1.PartialObjectMetadata
		if name = "Unknown"; obj != nil && json.Unmarshal(obj, &meta) == nil {
			name = cmp.Or(meta.GenerateName, name)
		}
	}
	return apierrors.NewForbidden(a.resource.GroupResource(), name, reason)
}
