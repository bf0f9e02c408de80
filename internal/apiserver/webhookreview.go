package apiserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// A request that webhooks are asked about is tried until all of them have answered: a pass carries it out without storing anything, up to the
// first answer that is missing. Then the webhooks are asked, without the server's lock, and the next pass finds their answers. When a pass finds
// all of them, the request is carried out. An answer belongs to all that the webhook was shown. So a request that another write has overtaken is
// reviewed again, as it is on a real server, which repeats an update whose object has changed meanwhile.

// reviews are those of one request. They implement store.Reviewer.
type reviews struct {
	server   *Server
	request  *request // in this pass
	verdicts map[string]*verdict
	pending  []*question
	used     []*verdict // in this pass, in the order of their use
	recorded []*verdict // of a request that is done again; the webhooks are not asked
	again    bool       // the request is one that is done again
	number   uint64     // for a generated name; zero if there is none yet
	dryRun   bool
	invoked  invocations
	as       *authenticationv1.UserInfo // nil for the client
}

// verdict is what a webhook answered, or why it could not be asked.
type verdict struct {
	Failure  string         `json:"failure,omitempty"`
	Allowed  bool           `json:"allowed,omitempty"`
	Status   *metav1.Status `json:"status,omitempty"`
	Patch    []byte         `json:"patch,omitempty"`
	Type     string         `json:"type,omitempty"` // of the patch, "" for JSONPatch
	Warnings []string       `json:"warnings,omitempty"`
}

// question is a review that a webhook is to be asked for.
type question struct {
	key     string
	webhook *webhook
	review  *admissionv1.AdmissionReview
	answer  *verdict
}

// errUnanswered ends a pass.
var errUnanswered = errors.New("a webhook has not answered yet")

// invocations are the webhooks that one object went through.
type invocations struct {
	once     map[*webhook]bool // may be asked again
	reinvoke map[*webhook]bool // are to be asked again
	last     []byte            // the object after the last of them
}

// require lets all webhooks that may be asked again be asked again.
func (v *invocations) require() {
	for h := range v.once {
		v.reinvoke[h] = true
	}
	clear(v.once)
}

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
	if r.subresource == subresourceScale {
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
	if q.request.subresource == subresourceScale {
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

// attributesOf returns what webhooks are told about a write.
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
	if r.resource.kind == store.NamespaceKind {
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
func (s *Server) encodeUncached(r *resource, obj api.Object) ([]byte, error) {
	if data, ok := obj.(*plain.Object); ok {
		obj = data.Copy() // the original is completed later
	}
	value, err := s.codec.presentable(r, obj)
	if err != nil {
		return nil, err
	}
	return encodeObject(value, r.gvk())
}

// read decodes an object that a webhook has changed, and sets its defaults. It returns its JSON before that, too.
func (q *reviews) read(res *resource, data []byte, setDefaults func(api.Object)) (api.Object, []byte, error) {
	decoded, _, err := q.server.codec.read(body{data, "", metav1.FieldValidationIgnore}, runtime.ContentTypeJSON, res.gvk())
	if err != nil {
		return nil, nil, err
	}
	given, ok := decoded.(api.Object)
	if !ok || given.GetObjectKind().GroupVersionKind() != res.gvk() && !given.GetObjectKind().GroupVersionKind().Empty() {
		return nil, nil, fmt.Errorf("converting %T to %s: unknown conversion", decoded, res.kindName)
	}
	before, err := encodeObject(given, res.gvk())
	if err != nil {
		return nil, nil, err
	}
	if _, err := q.server.conform(res, given); err != nil {
		return nil, nil, err
	}
	obj, err := res.storable(given)
	if err != nil {
		return nil, nil, err
	}
	if setDefaults != nil {
		setDefaults(obj)
	}
	return obj, before, nil
}

// convert returns the JSON of an object in another version of its kind.
func (q *reviews) convert(data []byte, from, to *resource) ([]byte, error) {
	if data == nil || from == to {
		return data, nil
	}
	if from.custom {
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

// mutate asks the webhooks that may change an object, one after the other (API-388). stored is the object, and read decodes what became of it.
func (q *reviews) mutate(a *attributes, obj, old []byte, again bool, stored api.Object, read func([]byte) (api.Object, []byte, error)) (api.Object, bool, error) {
	if !again {
		q.invoked = invocations{once: map[*webhook]bool{}, reinvoke: map[*webhook]bool{}}
	} else if !sameJSON(q.invoked.last, obj) {
		// API-389: the rest of the admission has changed the object since.
		q.invoked.require()
	}
	dirty := false
	for _, h := range q.server.currentWebhooks().mutating {
		version, err := q.matches(h, a, obj, old)
		if err != nil {
			return nil, false, err
		}
		if version == nil || again && !q.invoked.reinvoke[h] {
			continue
		}
		v, err := q.ask(h, a, version, obj, old, again)
		if err != nil {
			return nil, false, err
		}
		patched, err := q.patched(h, a, v, version, obj)
		changed := false
		if err == nil && patched != nil {
			result, before, readErr := read(patched)
			if readErr != nil {
				return nil, false, apierrors.NewInternalError(readErr)
			}
			changed = !sameJSON(obj, before)
			stored = result
			if obj, err = q.encodedBody(a, result); err != nil {
				return nil, false, err
			}
		}
		if changed {
			dirty = true
			q.invoked.require()
		}
		if h.ReinvocationPolicy != nil && *h.ReinvocationPolicy == admissionregistrationv1.IfNeededReinvocationPolicy {
			q.invoked.once[h] = true
		}
		if err := h.judged(err); err != nil {
			return nil, false, err
		}
	}
	q.invoked.last = obj
	return stored, dirty, nil
}

// encodedBody returns the JSON of an object in the version of the request.
func (q *reviews) encodedBody(a *attributes, obj api.Object) ([]byte, error) {
	return q.server.encodeUncached(a.body, obj)
}

// validate asks the webhooks that may refuse a write. The error is that of the first of them (API-390).
func (q *reviews) validate(a *attributes, obj, old []byte) error {
	var verdicts []*verdict
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
		asked, verdicts = append(asked, h), append(verdicts, v)
	}
	if unanswered {
		return errUnanswered
	}
	var first error
	for i, h := range asked {
		if err := h.judged(q.allowed(h, verdicts[i])); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// matches returns the resource in the version in which a webhook is asked about a write, nil if it is not asked.
func (q *reviews) matches(h *webhook, a *attributes, obj, old []byte) (*resource, error) {
	version := q.server.versionFor(h, a)
	if version == nil {
		return nil, nil
	}
	ok, err := q.server.selected(h, a, obj, old)
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
func (q *reviews) allowed(h *webhook, v *verdict) error {
	if v.Failure != "" {
		return &callError{h.Name, v.Failure}
	}
	for _, text := range v.Warnings {
		// API-387: a client gets each warning once.
		if !slices.Contains(q.request.warnings, text) {
			q.request.warnings = append(q.request.warnings, text)
		}
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
func (q *reviews) patched(h *webhook, a *attributes, v *verdict, version *resource, obj []byte) ([]byte, error) {
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

// ask returns the answer of a webhook. One that has not been asked yet is asked after this pass.
func (q *reviews) ask(h *webhook, a *attributes, version *resource, obj, old []byte, again bool) (*verdict, error) {
	if q.again {
		if len(q.recorded) == 0 {
			return nil, apierrors.NewInternalError(fmt.Errorf("the answer of the webhook %q is not in the script", h.Name))
		}
		v := q.recorded[0]
		q.recorded = q.recorded[1:]
		return v, nil
	}
	if s := h.SideEffects; q.dryRun && s != nil && *s != admissionregistrationv1.SideEffectClassNone && *s != admissionregistrationv1.SideEffectClassNoneOnDryRun {
		// API-393: webhooks of the past may have side effects.
		return nil, apierrors.NewBadRequest(fmt.Sprintf("admission webhook %q does not support dry run", h.Name))
	}
	review, err := q.review(a, version, obj, old)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	key, err := reviewKey(h, review, again, a.last)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if v := q.verdicts[key]; v != nil {
		q.used = append(q.used, v)
		return v, nil
	}
	q.pending = append(q.pending, &question{key: key, webhook: h, review: review})
	return nil, errUnanswered
}

// times are in what a webhook is shown. They pass until it has answered, and make no difference.
var times = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"`)

// markedVersion is the resourceVersion of an object that is marked before it is removed. It is not known before.
var markedVersion = regexp.MustCompile(`"resourceVersion":"\d+"`)

// reviewKey returns what an answer belongs to: all that the webhook is shown.
func reviewKey(h *webhook, review *admissionv1.AdmissionReview, again, last bool) (string, error) {
	data, err := json.Marshal(review)
	if err != nil {
		return "", err
	}
	if last {
		data = markedVersion.ReplaceAll(data, []byte("0"))
	}
	client, err := json.Marshal(h.ClientConfig)
	return fmt.Sprint(h.mutating, h.id, again, last, string(client), string(times.ReplaceAll(data, []byte("0")))), err
}

// review returns what a webhook is shown, without a uid (API-386).
func (q *reviews) review(a *attributes, version *resource, obj, old []byte) (*admissionv1.AdmissionReview, error) {
	kind, shown := version.gvk(), version
	requested := a.resource.gvk()
	if a.body != a.resource {
		kind, requested, shown = a.body.gvk(), a.body.gvk(), a.body
	}
	obj, err := q.convert(obj, a.body, shown)
	if err != nil {
		return nil, err
	}
	if old, err = q.convert(old, a.body, shown); err != nil {
		return nil, err
	}
	return &admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{
		Kind: metav1.GroupVersionKind(kind), Resource: metav1.GroupVersionResource(version.GroupVersionResource), SubResource: a.subresource,
		RequestKind: (*metav1.GroupVersionKind)(&requested), RequestResource: (*metav1.GroupVersionResource)(&a.resource.GroupVersionResource),
		RequestSubResource: a.subresource, Name: a.name, Namespace: a.namespace, Operation: a.operation, UserInfo: q.user(),
		Object: runtime.RawExtension{Raw: obj}, OldObject: runtime.RawExtension{Raw: old}, DryRun: &q.dryRun, Options: q.optionsFor(a),
	}}, nil
}

// user is who makes the request.
func (q *reviews) user() authenticationv1.UserInfo {
	if q.as != nil {
		return *q.as
	}
	return authenticationv1.UserInfo{Username: q.request.client, Groups: clientGroups}
}

// clientGroups are the groups of every client: it may do everything.
var clientGroups = []string{"system:masters", "system:authenticated"}

// optionsFor returns the options of the request as those of an operation.
func (q *reviews) optionsFor(a *attributes) runtime.RawExtension {
	if q.request.options == nil {
		return runtime.RawExtension{}
	}
	fields := map[string]any{}
	data, err := json.Marshal(q.request.options)
	if err == nil {
		err = json.Unmarshal(data, &fields)
	}
	if err != nil {
		return runtime.RawExtension{}
	}
	kind := map[admissionv1.Operation]string{admissionv1.Create: "CreateOptions", admissionv1.Update: "UpdateOptions", admissionv1.Delete: "DeleteOptions"}[a.operation]
	fields["kind"], fields["apiVersion"] = kind, metav1.SchemeGroupVersion.String()
	if a.grace != nil {
		fields["gracePeriodSeconds"] = *a.grace
	}
	delete(fields, "force") // API-386: of an apply, which counts as an update or a create
	data, _ = json.Marshal(fields)
	return runtime.RawExtension{Raw: data}
}

// sameJSON reports whether two documents are the same.
func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// reviewBody lets webhooks change the body of a request for a subresource, and refuse it. obj has the Go type of its kind, old is nil for a create.
// Without webhooks it returns the body.
func reviewBody[T api.Object](r *request, res *resource, name string, obj T) (T, error) {
	q := r.reviews
	if q == nil {
		return obj, nil
	}
	a := &attributes{resource: r.resource, subresource: r.subresource, body: res, operation: admissionv1.Create, namespace: r.namespace, name: name}
	reviewed, err := q.mutateBody(a, obj, nil)
	if err != nil {
		return obj, err
	}
	data, err := encodeObject(reviewed, res.gvk())
	if err != nil {
		return obj, err
	}
	return reviewed.(T), q.validate(a, data, nil)
}

// mutateBody lets webhooks change a body.
func (q *reviews) mutateBody(a *attributes, obj api.Object, old []byte) (api.Object, error) {
	data, err := encodeObject(obj, a.body.gvk())
	if err != nil {
		return nil, err
	}
	read := func(data []byte) (api.Object, []byte, error) { return q.read(a.body, data, nil) }
	result, changed, err := q.mutate(a, data, old, false, obj, read)
	if err != nil || !changed {
		return result, err
	}
	if data, err = encodeObject(result, a.body.gvk()); err != nil {
		return nil, err
	}
	result, _, err = q.mutate(a, data, old, true, result, read)
	return result, err
}

// bodyOfKind stands for the resource in bodies of a subresource.
func bodyOfKind(gvk schema.GroupVersionKind) *resource {
	return &resource{
		GroupVersionResource: gvk.GroupVersion().WithResource(gvk.Kind), kindName: gvk.Kind, typed: true,
		stored: func(obj api.Object) api.Object { return obj },
	}
}

// scaleBody is the body of the subresource scale.
var scaleBody = bodyOfKind(scales.gvk())

// validateScale asks the webhooks about the scale of the object of a write.
func (q *reviews) validateScale(w store.Write) error {
	data := make([][]byte, 2)
	for i, obj := range []api.Object{w.Object, w.Old} {
		scale, err := q.server.scaleOf(q.request.resource, obj.(*plain.Object))
		if err == nil {
			data[i], err = encodeObject(scale, scaleBody.gvk())
		}
		if err != nil {
			return err
		}
	}
	return q.validate(q.scaleAttributes(), data[0], data[1])
}

// reviewScale lets webhooks change a scale.
func (r *request) reviewScale(scale, old *autoscalingv1.Scale) (*autoscalingv1.Scale, error) {
	if r.reviews == nil {
		return scale, nil
	}
	before, err := encodeObject(old, scaleBody.gvk())
	if err != nil {
		return nil, err
	}
	reviewed, err := r.reviews.mutateBody(r.reviews.scaleAttributes(), scale, before)
	if err != nil {
		return nil, err
	}
	return reviewed.(*autoscalingv1.Scale), nil
}

// scaleAttributes are those of an update of a scale.
func (q *reviews) scaleAttributes() *attributes {
	r := q.request
	return &attributes{resource: r.resource, subresource: r.subresource, body: scaleBody, operation: admissionv1.Update, namespace: r.namespace, name: r.name}
}
