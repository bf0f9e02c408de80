package rbac

import (
	"fmt"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// Everything are the rules of who may do everything.
var Everything = []rbacv1.PolicyRule{
	{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
	{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}},
}

// RulesOf returns the rules of the role that a binding in a namespace refers to, and whether the role exists.
func (r *Roles) RulesOf(ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, bool) {
	rules, err := r.rulesOf(ref, namespace)
	return rules, err == nil
}

// MayGrant returns why a user may not grant rules in a namespace: the user does not have all of them (API-502). It is "" for a user who may.
func (r *Roles) MayGrant(user authenticationv1.UserInfo, namespace string, rules []rbacv1.PolicyRule) string {
	own, missing := r.Rules(user, namespace)
	var lacking []rbacv1.PolicyRule
	for _, rule := range rules {
		for _, part := range partsOf(rule) {
			if !slices.ContainsFunc(own, func(rule rbacv1.PolicyRule) bool { return allows(rule, requestFor(part)) }) {
				lacking = add(lacking, part)
			}
		}
	}
	if len(lacking) == 0 {
		return ""
	}
	var lines []string
	for _, rule := range lacking {
		lines = append(lines, shown(rule))
	}
	slices.Sort(lines)
	text := fmt.Sprintf("user %q (groups=%q) is attempting to grant RBAC permissions not currently held:\n%s", user.Username, user.Groups,
		strings.Join(slices.Compact(lines), "\n"))
	if missing != "" {
		text += fmt.Sprintf("; resolution errors: [%s]", missing)
	}
	return text
}

// partsOf breaks a rule down into rules with one verb, one group, one resource and at most one name, or one URL.
func partsOf(rule rbacv1.PolicyRule) (parts []rbacv1.PolicyRule) {
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				part := rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{verb}}
				if len(rule.ResourceNames) == 0 {
					parts = append(parts, part)
				}
				for _, name := range rule.ResourceNames {
					part.ResourceNames = []string{name}
					parts = append(parts, part)
				}
			}
		}
	}
	for _, url := range rule.NonResourceURLs {
		for _, verb := range rule.Verbs {
			parts = append(parts, rbacv1.PolicyRule{NonResourceURLs: []string{url}, Verbs: []string{verb}})
		}
	}
	return parts
}

// requestFor returns the request that only rules allow that cover a part of a rule.
func requestFor(part rbacv1.PolicyRule) Request {
	r := Request{Verb: part.Verbs[0]}
	if len(part.NonResourceURLs) > 0 {
		r.Path = part.NonResourceURLs[0]
		return r
	}
	r.Group = part.APIGroups[0]
	r.Resource, r.Subresource, _ = strings.Cut(part.Resources[0], "/")
	if len(part.ResourceNames) > 0 {
		r.Name = part.ResourceNames[0]
	}
	return r
}

// add adds a part of a rule to a list, in which parts that differ in the verb are one rule.
func add(list []rbacv1.PolicyRule, part rbacv1.PolicyRule) []rbacv1.PolicyRule {
	for i := range list {
		known := &list[i]
		if len(part.Resources) > 0 && slices.Equal(known.APIGroups, part.APIGroups) && slices.Equal(known.Resources, part.Resources) &&
			slices.Equal(known.ResourceNames, part.ResourceNames) {
			known.Verbs = append(slices.Clip(known.Verbs), part.Verbs...)
			return list
		}
	}
	return append(list, part)
}

// shown describes a rule as the error does.
func shown(rule rbacv1.PolicyRule) string {
	var parts []string
	for _, f := range []struct {
		name   string
		values []string
	}{
		{"APIGroups", rule.APIGroups}, {"Resources", rule.Resources}, {"NonResourceURLs", rule.NonResourceURLs}, {"ResourceNames", rule.ResourceNames},
		{"Verbs", rule.Verbs},
	} {
		if len(f.values) > 0 {
			parts = append(parts, fmt.Sprintf("%s:%q", f.name, f.values))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
