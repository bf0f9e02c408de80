package kinds

import (
	"cmp"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	pathvalidation "k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// Rules of roles and bindings (API-501).
var (
	roleRules = store.KindRules{Check: typedCheck(func(role *rbacv1.Role) field.ErrorList { return checkRoleRules(role.Rules, true) })}

	clusterRoleRules = store.KindRules{Check: typedCheck(func(role *rbacv1.ClusterRole) field.ErrorList {
		errs := checkRoleRules(role.Rules, false)
		if role.AggregationRule != nil {
			errs = append(errs, checkAggregation(role.AggregationRule.ClusterRoleSelectors)...)
		}
		return errs
	})}

	roleBindingRules = store.KindRules{
		Default: func(obj *plain.Object) {
			typedDefault(obj, func(b *rbacv1.RoleBinding) { defaultGroups(&b.RoleRef, b.Subjects) })
		},
		Check: func(obj, old *plain.Object) field.ErrorList {
			return typedCheck(func(b *rbacv1.RoleBinding) field.ErrorList {
				errs := checkRoleBinding(b.RoleRef, b.Subjects, "Role", "ClusterRole")
				if old != nil {
					errs = append(errs, checkRef(b.RoleRef, plain.Shared[*rbacv1.RoleBinding](old).RoleRef)...)
				}
				return errs
			})(obj, old)
		},
	}

	clusterRoleBindingRules = store.KindRules{
		Default: func(obj *plain.Object) {
			typedDefault(obj, func(b *rbacv1.ClusterRoleBinding) { defaultGroups(&b.RoleRef, b.Subjects) })
		},
		Check: func(obj, old *plain.Object) field.ErrorList {
			return typedCheck(func(b *rbacv1.ClusterRoleBinding) field.ErrorList {
				errs := checkRoleBinding(b.RoleRef, b.Subjects, "ClusterRole")
				if old != nil {
					errs = append(errs, checkRef(b.RoleRef, plain.Shared[*rbacv1.ClusterRoleBinding](old).RoleRef)...)
				}
				return errs
			})(obj, old)
		},
	}
)

// defaultGroups sets the API group of a role, of users and of groups.
func defaultGroups(ref *rbacv1.RoleRef, subjects []rbacv1.Subject) {
	ref.APIGroup = cmp.Or(ref.APIGroup, rbacv1.GroupName)
	for i := range subjects {
		if s := &subjects[i]; s.Kind == rbacv1.UserKind || s.Kind == rbacv1.GroupKind {
			s.APIGroup = cmp.Or(s.APIGroup, rbacv1.GroupName)
		}
	}
}

func checkRoleRules(rules []rbacv1.PolicyRule, namespaced bool) (errs field.ErrorList) {
	for i, rule := range rules {
		path := field.NewPath("rules").Index(i)
		if len(rule.Verbs) == 0 {
			errs = append(errs, field.Required(path.Child("verbs"), "verbs must contain at least one value"))
		}
		if len(rule.NonResourceURLs) > 0 {
			if namespaced {
				errs = append(errs, field.Invalid(path.Child("nonResourceURLs"), rule.NonResourceURLs, "namespaced rules cannot apply to non-resource URLs"))
			}
			if len(rule.APIGroups) > 0 || len(rule.Resources) > 0 || len(rule.ResourceNames) > 0 {
				errs = append(errs, field.Invalid(path.Child("nonResourceURLs"), rule.NonResourceURLs, "rules cannot apply to both regular resources and non-resource URLs"))
			}
			continue
		}
		if len(rule.APIGroups) == 0 {
			errs = append(errs, field.Required(path.Child("apiGroups"), "resource rules must supply at least one api group"))
		}
		if len(rule.Resources) == 0 {
			errs = append(errs, field.Required(path.Child("resources"), "resource rules must supply at least one resource"))
		}
	}
	return errs
}

func checkAggregation(selectors []metav1.LabelSelector) (errs field.ErrorList) {
	path := field.NewPath("aggregationRule", "clusterRoleSelectors")
	if len(selectors) == 0 {
		errs = append(errs, field.Required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil"))
	}
	for i, selector := range selectors {
		errs = append(errs, metavalidation.ValidateLabelSelector(&selector, metavalidation.LabelSelectorValidationOptions{}, path.Index(i))...)
		if _, err := metav1.LabelSelectorAsSelector(&selector); err != nil {
			errs = append(errs, field.Invalid(path.Index(i), nil, "invalid label selector."))
		}
	}
	return errs
}

// shownRef has the fields of a roleRef as an error shows them.
type shownRef struct{ APIGroup, Kind, Name string }

// checkRef returns an error if an update changes the role of a binding.
func checkRef(ref, old rbacv1.RoleRef) field.ErrorList {
	if ref == old {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("roleRef"), shownRef(ref), "cannot change roleRef")}
}

func checkRoleBinding(ref rbacv1.RoleRef, subjects []rbacv1.Subject, kinds ...string) (errs field.ErrorList) {
	path := field.NewPath("roleRef")
	if ref.APIGroup != rbacv1.GroupName {
		errs = append(errs, field.NotSupported(path.Child("apiGroup"), ref.APIGroup, []string{rbacv1.GroupName}))
	}
	if !slices.Contains(kinds, ref.Kind) {
		errs = append(errs, field.NotSupported(path.Child("kind"), ref.Kind, kinds))
	}
	if ref.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	} else {
		for _, text := range pathvalidation.IsValidPathSegmentName(ref.Name) {
			errs = append(errs, field.Invalid(path.Child("name"), ref.Name, text))
		}
	}
	for i, s := range subjects {
		errs = append(errs, checkRoleSubject(s, len(kinds) > 1, field.NewPath("subjects").Index(i))...)
	}
	return errs
}

func checkRoleSubject(s rbacv1.Subject, namespaced bool, path *field.Path) (errs field.ErrorList) {
	if s.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	}
	group := rbacv1.GroupName
	switch s.Kind {
	case rbacv1.UserKind, rbacv1.GroupKind:
	case rbacv1.ServiceAccountKind:
		if group = ""; s.Name != "" {
			for _, text := range apivalidation.ValidateServiceAccountName(s.Name, false) {
				errs = append(errs, field.Invalid(path.Child("name"), s.Name, text))
			}
		}
	default:
		return append(errs, field.NotSupported(path.Child("kind"), s.Kind, []string{rbacv1.ServiceAccountKind, rbacv1.UserKind, rbacv1.GroupKind}))
	}
	if s.APIGroup != group {
		errs = append(errs, field.NotSupported(path.Child("apiGroup"), s.APIGroup, []string{group}))
	}
	if s.Kind == rbacv1.ServiceAccountKind && !namespaced && s.Namespace == "" {
		errs = append(errs, field.Required(path.Child("namespace"), ""))
	}
	return errs
}
