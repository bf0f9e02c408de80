package auth

import (
	"reflect"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/rbac"
)

// AnswerReview returns a review with its answer. who is the user that makes the request.
func (a *Authority) AnswerReview(obj api.Object, who authenticationv1.UserInfo) api.Object {
	switch review := obj.(type) {
	case *authorizationv1.SelfSubjectAccessReview:
		review.Status = a.access(who, review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes)
	case *authorizationv1.SubjectAccessReview:
		review.Status = a.access(subjectOf(review.Spec), review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes)
	case *authorizationv1.LocalSubjectAccessReview:
		review.Status = a.access(subjectOf(review.Spec), review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes)
	case *authorizationv1.SelfSubjectRulesReview:
		// API-498: the answer has neither metadata nor spec.
		return &authorizationv1.SelfSubjectRulesReview{Status: a.rules(who, review.Spec.Namespace)}
	case *authenticationv1.SelfSubjectReview:
		review.Status.UserInfo = who
		review.CreationTimestamp = metav1.NewTime(a.Now().UTC().Truncate(1e9))
	case *authenticationv1.TokenReview:
		review.Status = a.reviewToken(review.Spec)
	}
	return obj
}

// CheckReview validates a review (API-499).
func CheckReview(obj api.Object) error {
	var errs field.ErrorList
	spec := field.NewPath("spec")
	switch review := obj.(type) {
	case *authorizationv1.SelfSubjectRulesReview:
		if review.Spec.Namespace == "" {
			return apierrors.NewBadRequest("no namespace on request")
		}
	case *authenticationv1.TokenReview:
		if review.Spec.Token == "" {
			return apierrors.NewBadRequest("token is required for TokenReview in authentication")
		}
	case *authorizationv1.SelfSubjectAccessReview:
		errs = checkAccess(review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes)
		errs = append(errs, checkSelectors(review.Spec.ResourceAttributes)...)
		errs = append(errs, checkNoMeta(review.ObjectMeta, "must be empty")...)
	case *authorizationv1.SubjectAccessReview:
		errs = append(checkSubjectAccess(review.Spec), checkNoMeta(review.ObjectMeta, "must be empty")...)
	case *authorizationv1.LocalSubjectAccessReview:
		meta := review.ObjectMeta
		meta.Namespace = ""
		errs = append(checkSubjectAccess(review.Spec), checkNoMeta(meta, "must be empty except for namespace")...)
		if asked := review.Spec.ResourceAttributes; asked != nil && asked.Namespace != review.Namespace {
			errs = append(errs, field.Invalid(spec.Child("resourceAttributes.namespace"), asked.Namespace, "must match metadata.namespace"))
		}
		if asked := review.Spec.NonResourceAttributes; asked != nil {
			errs = append(errs, field.Invalid(spec.Child("nonResourceAttributes"), shownPath(*asked), "disallowed on this kind of request"))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: authorizationv1.GroupName}, "", errs)
}

// shownPath has the fields of what a review asks as an error shows them.
type shownPath struct{ Path, Verb string }

func checkAccess(resource *authorizationv1.ResourceAttributes, other *authorizationv1.NonResourceAttributes) (errs field.ErrorList) {
	spec := field.NewPath("spec")
	switch {
	case resource != nil && other != nil:
		errs = append(errs, field.Invalid(spec.Child("nonResourceAttributes"), shownPath(*other), "cannot be specified in combination with resourceAttributes"))
	case resource == nil && other == nil:
		errs = append(errs, field.Invalid(spec.Child("resourceAttributes"), nil, "exactly one of nonResourceAttributes or resourceAttributes must be specified"))
	}
	return errs
}

func checkSubjectAccess(spec authorizationv1.SubjectAccessReviewSpec) field.ErrorList {
	errs := checkAccess(spec.ResourceAttributes, spec.NonResourceAttributes)
	if spec.User == "" && len(spec.Groups) == 0 {
		errs = append(errs, field.Invalid(field.NewPath("spec", "user"), spec.User, "at least one of user or group must be specified"))
	}
	return append(errs, checkSelectors(spec.ResourceAttributes)...)
}

func checkNoMeta(meta metav1.ObjectMeta, why string) field.ErrorList {
	if reflect.DeepEqual(meta, metav1.ObjectMeta{}) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata"), meta, why)}
}

// subjectOf returns the user that a review is about.
func subjectOf(spec authorizationv1.SubjectAccessReviewSpec) authenticationv1.UserInfo {
	return authenticationv1.UserInfo{Username: spec.User, Groups: spec.Groups}
}

// access answers a review of what a user may do (API-498).
func (a *Authority) access(user authenticationv1.UserInfo, resource *authorizationv1.ResourceAttributes, other *authorizationv1.NonResourceAttributes) authorizationv1.SubjectAccessReviewStatus {
	r := rbac.Request{User: user}
	if resource != nil {
		r.Verb, r.Group, r.Resource, r.Subresource = resource.Verb, resource.Group, resource.Resource, resource.Subresource
		r.Namespace, r.Name = resource.Namespace, resource.Name
	} else {
		r.Verb, r.Path = other.Verb, other.Path
	}
	allowed, reason := a.currentRoles().Authorize(r)
	return authorizationv1.SubjectAccessReviewStatus{Allowed: allowed, Reason: reason, EvaluationError: unreadSelectors(resource)}
}

// rules answers a SelfSubjectRulesReview.
func (a *Authority) rules(user authenticationv1.UserInfo, namespace string) authorizationv1.SubjectRulesReviewStatus {
	rules, missing := a.currentRoles().Rules(user, namespace)
	status := authorizationv1.SubjectRulesReviewStatus{
		ResourceRules: []authorizationv1.ResourceRule{}, NonResourceRules: []authorizationv1.NonResourceRule{}, EvaluationError: missing,
	}
	for _, rule := range rules {
		if len(rule.Resources) > 0 {
			status.ResourceRules = append(status.ResourceRules, authorizationv1.ResourceRule{
				Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames,
			})
		}
		if len(rule.NonResourceURLs) > 0 {
			status.NonResourceRules = append(status.NonResourceRules, authorizationv1.NonResourceRule{Verbs: rule.Verbs, NonResourceURLs: rule.NonResourceURLs})
		}
	}
	return status
}
