// Package rbac decides what a user may do, from Roles, ClusterRoles and their bindings (API-494 to API-498). The default roles of
// Kubernetes apply, unless the cluster has others of the same name.
package rbac

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Masters is the group whose members may do everything.
const Masters = "system:masters"

// Request is a request that a user makes: a verb, and a resource or a path.
type Request struct {
	User authenticationv1.UserInfo
	Verb string
	// Path is that of a request that is not for objects; "" for one that is.
	Path string
	// The rest is that of a request for objects. Namespace is "" for the cluster.
	Group, Resource, Subresource, Namespace, Name string
}

// Roles are the roles and bindings of a cluster.
type Roles struct {
	clusterRoles    map[string]*rbacv1.ClusterRole
	roles           map[string]*rbacv1.Role // by namespace/name
	clusterBindings []*rbacv1.ClusterRoleBinding
	bindings        map[string][]*rbacv1.RoleBinding // by namespace
	complete        bool
}

// New returns the roles and bindings of a cluster, which must not change. They are all of them if they are complete; otherwise the default ones
// apply, too, unless there are others of the same name.
func New(clusterRoles []*rbacv1.ClusterRole, clusterBindings []*rbacv1.ClusterRoleBinding, roles []*rbacv1.Role, bindings []*rbacv1.RoleBinding, complete bool) *Roles {
	r := &Roles{clusterRoles: map[string]*rbacv1.ClusterRole{}, roles: map[string]*rbacv1.Role{}, bindings: map[string][]*rbacv1.RoleBinding{}, complete: complete}
	known := &DefaultRoles{}
	if !complete {
		known = Defaults()
	}
	for _, role := range slices.Concat(known.ClusterRoles, clusterRoles) {
		r.clusterRoles[role.Name] = role
	}
	for _, role := range slices.Concat(known.Roles, roles) {
		r.roles[keyOf(role)] = role
	}
	r.clusterBindings = withDefaults(clusterBindings, known.ClusterRoleBindings)
	for _, b := range withDefaults(bindings, known.RoleBindings) {
		r.bindings[b.Namespace] = append(r.bindings[b.Namespace], b)
	}
	return r
}

func keyOf(obj metav1.Object) string { return obj.GetNamespace() + "/" + obj.GetName() }

// withDefaults returns bindings, and the default ones that the cluster has no others for.
func withDefaults[T metav1.Object](bindings, defaults []T) []T {
	all := slices.Clone(bindings)
	for _, b := range defaults {
		if !slices.ContainsFunc(bindings, func(own T) bool { return keyOf(own) == keyOf(b) }) {
			all = append(all, b)
		}
	}
	return all
}

// grant is a role that a binding gives to a user.
type grant struct {
	rules []rbacv1.PolicyRule
	err   error  // the role does not exist
	by    string // the binding, as the reason of a decision names it
}

// grants yields the roles that a user has in a namespace: those of the cluster first. The namespace may be "".
func (r *Roles) grants(user authenticationv1.UserInfo, namespace string) func(yield func(grant) bool) {
	return func(yield func(grant) bool) {
		for _, b := range r.clusterBindings {
			if subject := findSubject(b.Subjects, user, ""); subject != nil {
				rules, err := r.rulesOf(b.RoleRef, "")
				by := fmt.Sprintf("ClusterRoleBinding %q of %s %q to %s", b.Name, b.RoleRef.Kind, b.RoleRef.Name, describe(subject, ""))
				if !yield(grant{rules, err, by}) {
					return
				}
			}
		}
		if namespace == "" {
			return
		}
		for _, b := range r.bindings[namespace] {
			if subject := findSubject(b.Subjects, user, namespace); subject != nil {
				rules, err := r.rulesOf(b.RoleRef, namespace)
				by := fmt.Sprintf("RoleBinding %q of %s %q to %s", b.Name+"/"+namespace, b.RoleRef.Kind, b.RoleRef.Name, describe(subject, namespace))
				if !yield(grant{rules, err, by}) {
					return
				}
			}
		}
	}
}

// Authorize decides a request. The reason is that of the server: the binding that allows it, or the roles that are missing; often it is "".
func (r *Roles) Authorize(req Request) (allowed bool, reason string) {
	// API-494
	if slices.Contains(req.User.Groups, Masters) {
		return true, ""
	}
	var missing []string
	for g := range r.grants(req.User, req.Namespace) {
		if slices.ContainsFunc(g.rules, func(rule rbacv1.PolicyRule) bool { return allows(rule, req) }) {
			return true, "RBAC: allowed by " + g.by
		}
		if g.err != nil && !slices.Contains(missing, g.err.Error()) {
			missing = append(missing, g.err.Error())
		}
	}
	switch len(missing) {
	case 0:
		return false, ""
	case 1:
		return false, "RBAC: " + missing[0]
	}
	return false, "RBAC: [" + strings.Join(missing, ", ") + "]"
}

// Rules returns the rules that a user has in a namespace, and the roles that are missing, as an error.
func (r *Roles) Rules(user authenticationv1.UserInfo, namespace string) (rules []rbacv1.PolicyRule, missing string) {
	var all []string
	for g := range r.grants(user, namespace) {
		rules = append(rules, g.rules...)
		if g.err != nil {
			all = append(all, g.err.Error())
		}
	}
	return rules, strings.Join(all, ", ")
}

// rulesOf returns the rules of the role that a binding refers to.
func (r *Roles) rulesOf(ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	if ref.Kind == "Role" {
		role := r.roles[namespace+"/"+ref.Name]
		if role == nil {
			return nil, fmt.Errorf("role.rbac.authorization.k8s.io %q not found", ref.Name)
		}
		return role.Rules, nil
	}
	role := r.clusterRoles[ref.Name]
	if role == nil {
		return nil, fmt.Errorf("clusterrole.rbac.authorization.k8s.io %q not found", ref.Name)
	}
	if r.complete {
		return role.Rules, nil
	}
	return r.aggregated(role, nil), nil
}

// Aggregate returns the rules that a ClusterRole gets from those that it aggregates (API-497). They are in the order of their names.
func Aggregate(role *rbacv1.ClusterRole, all []*rbacv1.ClusterRole) []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for _, part := range slices.SortedFunc(slices.Values(all), func(a, b *rbacv1.ClusterRole) int { return strings.Compare(a.Name, b.Name) }) {
		if part.Name != role.Name && selects(role.AggregationRule, part) {
			rules = appendNew(rules, part.Rules)
		}
	}
	return rules
}

// appendNew appends the rules that are not in a list yet.
func appendNew(rules, more []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	for _, rule := range more {
		if !slices.ContainsFunc(rules, func(known rbacv1.PolicyRule) bool { return known.String() == rule.String() }) {
			rules = append(rules, rule)
		}
	}
	return rules
}

// aggregated returns the rules of a ClusterRole, and of those that it aggregates (API-497).
func (r *Roles) aggregated(role *rbacv1.ClusterRole, within []*rbacv1.ClusterRole) []rbacv1.PolicyRule {
	if role.AggregationRule == nil || slices.Contains(within, role) {
		return role.Rules
	}
	within = append(within, role)
	rules := slices.Clone(role.Rules)
	for _, name := range slices.Sorted(maps.Keys(r.clusterRoles)) {
		part := r.clusterRoles[name]
		if slices.Contains(within, part) || !selects(role.AggregationRule, part) {
			continue
		}
		rules = appendNew(rules, r.aggregated(part, within))
	}
	return rules
}

func selects(aggregation *rbacv1.AggregationRule, role *rbacv1.ClusterRole) bool {
	return slices.ContainsFunc(aggregation.ClusterRoleSelectors, func(s metav1.LabelSelector) bool {
		selector, err := metav1.LabelSelectorAsSelector(&s)
		return err == nil && selector.Matches(labels.Set(role.Labels))
	})
}

// findSubject returns the first subject that is the user or one of its groups, nil for none (API-495). Namespace is that of the binding.
func findSubject(subjects []rbacv1.Subject, user authenticationv1.UserInfo, namespace string) *rbacv1.Subject {
	i := slices.IndexFunc(subjects, func(s rbacv1.Subject) bool {
		switch s.Kind {
		case rbacv1.UserKind:
			return s.Name == user.Username
		case rbacv1.GroupKind:
			return slices.Contains(user.Groups, s.Name)
		case rbacv1.ServiceAccountKind:
			in := s.Namespace
			if in == "" {
				in = namespace
			}
			return in != "" && user.Username == "system:serviceaccount:"+in+":"+s.Name
		}
		return false
	})
	if i < 0 {
		return nil
	}
	return &subjects[i]
}

func describe(s *rbacv1.Subject, namespace string) string {
	if s.Kind != rbacv1.ServiceAccountKind {
		return fmt.Sprintf("%s %q", s.Kind, s.Name)
	}
	if s.Namespace != "" {
		namespace = s.Namespace
	}
	return fmt.Sprintf("%s %q", s.Kind, s.Name+"/"+namespace)
}

// allows reports whether a rule allows a request (API-496).
func allows(rule rbacv1.PolicyRule, req Request) bool {
	if !has(rule.Verbs, req.Verb) {
		return false
	}
	if req.Path != "" {
		return slices.ContainsFunc(rule.NonResourceURLs, func(url string) bool {
			prefix, open := strings.CutSuffix(url, "*")
			return url == req.Path || open && strings.HasPrefix(req.Path, strings.TrimRight(prefix, "*"))
		})
	}
	resource := req.Resource
	if req.Subresource != "" {
		resource += "/" + req.Subresource
	}
	return has(rule.APIGroups, req.Group) && (has(rule.Resources, resource) || req.Subresource != "" && slices.Contains(rule.Resources, "*/"+req.Subresource)) &&
		(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, req.Name))
}

// has reports whether a list has a value, or one for all.
func has(list []string, value string) bool {
	return slices.Contains(list, "*") || slices.Contains(list, value)
}
