package apiserver

import (
	"encoding/json"
	"fmt"
	"regexp"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/volsim/volsim/internal/apiserver/auth"
	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/apiserver/webhooks"
)

// webhookCall is a call of a webhook. Its key has the webhook and what the webhook is shown.
type webhookCall struct {
	key     string
	webhook *webhook
	review  *admissionv1.AdmissionReview
	answer  *webhooks.Answer
}

// ask returns the answer of a webhook. If there is none yet, the webhook is called after this pass.
func (q *reviews) ask(h *webhook, a *attributes, version *resources.Resource, obj, old []byte, again bool) (*webhooks.Answer, error) {
	if q.again {
		if len(q.recorded) == 0 {
			return nil, apierrors.NewInternalError(fmt.Errorf("the answer of the webhook %q is not in the script", h.Name))
		}
		v := q.recorded[0]
		q.recorded = q.recorded[1:]
		return v, nil
	}
	if s := h.SideEffects; q.dryRun && s != nil && *s != admissionregistrationv1.SideEffectClassNone && *s != admissionregistrationv1.SideEffectClassNoneOnDryRun {
		// API-393: only webhooks that were stored in an older API version have side effects.
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
	if v := q.known[key]; v != nil {
		q.used = append(q.used, v)
		return v, nil
	}
	q.pending = append(q.pending, &webhookCall{key: key, webhook: h, review: review})
	return nil, errUnanswered
}

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
	return fmt.Sprint(h.Mutating, h.id, again, last, string(client), string(times.ReplaceAll(data, []byte("0")))), err
}

// times are in what a webhook is shown. They pass until it has answered, and make no difference.
var times = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"`)

// markedVersion is the resourceVersion of an object that is marked before it is removed. It is not known before.
var markedVersion = regexp.MustCompile(`"resourceVersion":"\d+"`)

// review returns what a webhook is shown, without a uid (API-386).
func (q *reviews) review(a *attributes, version *resources.Resource, obj, old []byte) (*admissionv1.AdmissionReview, error) {
	kind, shown := version.GVK(), version
	requested := a.resource.GVK()
	if a.body != a.resource {
		kind, requested, shown = a.body.GVK(), a.body.GVK(), a.body
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
	return q.request.userInfo()
}

// userInfo is who makes the request: the administrator has the name of the client.
func (r *request) userInfo() authenticationv1.UserInfo {
	if r.user != nil {
		return *r.user
	}
	return authenticationv1.UserInfo{Username: r.client, Groups: auth.AdministratorGroups}
}

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
