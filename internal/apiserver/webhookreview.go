package apiserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/objectjson"
	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/apiserver/webhooks"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// A request that webhooks review runs in passes. A pass carries the request out without storing anything, up to the first answer that is missing.
// Then the server calls the webhook without its lock, and the next pass finds the answer. When a pass finds all answers, the request is carried
// out. An answer holds for exactly what the webhook was shown. So a request that another write has overtaken is reviewed again, as on a real
// server, which repeats an update whose object has changed meanwhile.

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

// webhookCall is a call of a webhook. Its key has the webhook and what the webhook is shown.
type webhookCall struct {
	key     string
	webhook *webhook
	review  *admissionv1.AdmissionReview
	answer  *webhooks.Answer
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

// encoded returns the objects of a write in JSON, nil for none.
func (q *reviews) encoded(w store.Write) (obj, old []byte, err error) {
	if w.Object != nil {
		obj, err = q.server.encodeUncached(q.request.resource, w.Object)
	}
	if w.Old != nil && err == nil {
		old, err = q.server.encode(q.request.resource, w.Old)
	}
	return obj, old, err
}

// encodeUncached returns the JSON of an object that is not stored.
func (s *Server) encodeUncached(r *resources.Resource, obj api.Object) ([]byte, error) {
	obj, err := s.inVersion(r, obj)
	if err != nil {
		return nil, err
	}
	if data, ok := obj.(*plain.Object); ok {
		obj = data.Copy() // the original is completed later
	}
	value, err := r.Presentable(obj)
	if err != nil {
		return nil, err
	}
	return objectjson.Encode(value, r.GVK())
}

// read decodes an object that a webhook has changed, and sets its defaults. It returns its JSON before that, too.
func (q *reviews) read(res *resources.Resource, data []byte, setDefaults func(api.Object)) (api.Object, []byte, error) {
	decoded, _, err := q.server.codec.read(body{data, "", metav1.FieldValidationIgnore}, runtime.ContentTypeJSON, res.GVK())
	if err != nil {
		return nil, nil, err
	}
	given, ok := decoded.(api.Object)
	if !ok || given.GetObjectKind().GroupVersionKind() != res.GVK() && !given.GetObjectKind().GroupVersionKind().Empty() {
		return nil, nil, fmt.Errorf("converting %T to %s: unknown conversion", decoded, res.KindName)
	}
	before, err := objectjson.Encode(given, res.GVK())
	if err != nil {
		return nil, nil, err
	}
	if _, err := q.server.resources.Definition(res).Conform(given, false); err != nil {
		return nil, nil, err
	}
	obj, err := q.server.storable(res, given)
	if err != nil {
		return nil, nil, err
	}
	if setDefaults != nil {
		setDefaults(obj)
	}
	return obj, before, nil
}

// convert returns the JSON of an object in another version of its kind.
func (q *reviews) convert(data []byte, from, to *resources.Resource) ([]byte, error) {
	if data == nil || from == to {
		return data, nil
	}
	if from.Custom && q.server.resources.ConversionOf(from) != nil {
		obj := &plain.Object{}
		if err := obj.UnmarshalJSON(data); err != nil {
			return nil, err
		}
		return q.server.encodeUncached(to, obj)
	}
	if from.Custom {
		// API-304: versions of a custom object differ in apiVersion only.
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(data, &fields); err != nil {
			return nil, err
		}
		fields["apiVersion"], _ = json.Marshal(to.GroupVersion().String()) // a string can be encoded
		return json.Marshal(fields)
	}
	obj, _, err := q.read(from, data, nil)
	if err != nil {
		return nil, err
	}
	return q.server.encodeUncached(to, obj)
}

// askMutating asks the webhooks that may change an object, one after the other (API-388).
func (q *reviews) askMutating(m *mutation) error {
	q.invoked.begin(m.obj, m.again)
	for _, h := range q.server.currentWebhooks().mutating {
		version, err := q.matches(h, m.attributes, m.obj, m.old)
		if err != nil {
			return err
		}
		if version == nil || m.again && !q.invoked.reinvoke[h.id] {
			continue
		}
		v, err := q.ask(h, m.attributes, version, m.obj, m.old, m.again)
		if err != nil {
			return err
		}
		patched, err := q.patched(h, m.attributes, v, version, m.obj)
		if err == nil && patched != nil {
			changed, err := q.replace(m, patched)
			if err != nil {
				return err
			}
			if changed {
				m.changed = true
				q.invoked.require()
			}
		}
		if h.ReinvocationPolicy != nil && *h.ReinvocationPolicy == admissionregistrationv1.IfNeededReinvocationPolicy {
			q.invoked.once[h.id] = true
		}
		if err := h.judged(err); err != nil {
			return err
		}
	}
	q.invoked.last = m.obj
	return nil
}

// encodedBody returns the JSON of an object in the version of the request.
func (q *reviews) encodedBody(a *attributes, obj api.Object) ([]byte, error) {
	return q.server.encodeUncached(a.body, obj)
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

// askValidating asks the webhooks that may refuse a write. The error is that of the first of them (API-390).
func (q *reviews) askValidating(a *attributes, obj, old []byte) error {
	var answers []*webhooks.Answer
	var asked []*webhook
	unanswered := false
	for _, h := range q.server.currentWebhooks().validating {
		version, err := q.matches(h, a, obj, old)
		if err != nil {
			return err
		}
		if version == nil {
			continue
		}
		v, err := q.ask(h, a, version, obj, old, false)
		if err == errUnanswered {
			unanswered = true // they are asked together
			continue
		}
		if err != nil {
			return err
		}
		asked, answers = append(asked, h), append(answers, v)
	}
	if unanswered {
		return errUnanswered
	}
	var first error
	for i, h := range asked {
		if err := h.judged(q.allowed(h, answers[i])); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// matches returns the resource in the version in which a webhook is asked about a write, nil if it is not asked.
func (q *reviews) matches(h *webhook, a *attributes, obj, old []byte) (*resources.Resource, error) {
	version := h.scope.version(q.server, a)
	if version == nil || q.silent || isConfiguration(a.resource) {
		return nil, nil
	}
	ok, err := h.scope.selects(q.server, a, obj, old)
	if ok && err == nil {
		ok, err = q.conditionsHold(h, a, version, obj, old)
	}
	if !ok || err != nil {
		return nil, err
	}
	return version, nil
}

// callError is the error of a webhook that could not be asked, or whose answer makes no sense.
type callError struct{ webhook, reason string }

func (e *callError) Error() string {
	return fmt.Sprintf("failed calling webhook %q: %s", e.webhook, e.reason)
}

// judged returns what an error of a webhook means for the request.
func (h *webhook) judged(err error) error {
	var failed *callError
	if !errors.As(err, &failed) {
		return err
	}
	if h.FailurePolicy != nil && *h.FailurePolicy == admissionregistrationv1.Ignore {
		return nil // API-392: the request goes on as if there were no such webhook
	}
	return apierrors.NewInternalError(err)
}

// allowed returns the error of a webhook that does not allow a request, and adds its warnings.
func (q *reviews) allowed(h *webhook, v *webhooks.Answer) error {
	if v.Failure != "" {
		return &callError{h.Name, v.Failure}
	}
	for _, text := range v.Warnings {
		q.warn(text)
	}
	if v.Allowed {
		return nil
	}
	return denied(h.Name, v.Status)
}

// denied returns the error of a webhook that refuses a request (API-391).
func denied(name string, given *metav1.Status) error {
	var status metav1.Status
	if given != nil {
		status = *given
	}
	status.Code = max(status.Code, http.StatusBadRequest)
	if status.Status == "" || status.Status == metav1.StatusSuccess {
		status.Status = metav1.StatusFailure
	}
	text := fmt.Sprintf("admission webhook %q denied the request", name)
	switch {
	// API-391: the message says more than the reason.
	case status.Message != "":
		status.Message = text + ": " + status.Message
	case status.Reason != "":
		status.Message = text + ": " + string(status.Reason)
	default:
		status.Message = text + " without explanation"
	}
	return &apierrors.StatusError{ErrStatus: status}
}

// patched returns the JSON of the object that a webhook has changed, in the version of the request; nil if it has not.
func (q *reviews) patched(h *webhook, a *attributes, v *webhooks.Answer, version *resources.Resource, obj []byte) ([]byte, error) {
	if err := q.allowed(h, v); err != nil {
		return nil, err
	}
	if len(v.Patch) == 0 {
		return nil, nil
	}
	patch, err := jsonpatch.DecodePatch(v.Patch)
	if err != nil {
		return nil, &callError{h.Name, "received undecodable patch in webhook response: " + err.Error()}
	}
	if len(patch) == 0 {
		return nil, nil
	}
	if obj == nil {
		// API-388: the object of a delete does not change.
		return nil, apierrors.NewInternalError(fmt.Errorf("admission webhook %q attempted to modify the object, which is not supported for this operation", h.Name))
	}
	if v.Type != "" {
		return nil, &callError{h.Name, fmt.Sprintf("unsupported patch type %q", v.Type)}
	}
	shown := version
	if a.body != a.resource {
		shown = a.body
	}
	if obj, err = q.convert(obj, a.body, shown); err == nil {
		obj, err = patch.Apply(obj)
	}
	if err == nil {
		obj, err = q.convert(obj, shown, a.body)
	}
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return obj, nil
}
