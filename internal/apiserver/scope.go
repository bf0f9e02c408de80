package apiserver

import (
	"encoding/json"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/kinds"
	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/core/store"
)

// scope says which writes a webhook, a policy or a binding is about.
type scope struct {
	rules, excluded     []admissionregistrationv1.NamedRuleWithOperations
	exact               bool // other versions of a resource do not match
	namespaces, objects labels.Selector
}

// newScope returns the scope that an object describes.
func newScope(m *admissionregistrationv1.MatchResources) (scope, error) {
	c := scope{rules: m.ResourceRules, excluded: m.ExcludeResourceRules, exact: m.MatchPolicy != nil && *m.MatchPolicy == admissionregistrationv1.Exact}
	var err error
	if c.namespaces, err = selectorOf(m.NamespaceSelector); err != nil {
		return c, err
	}
	c.objects, err = selectorOf(m.ObjectSelector)
	return c, err
}

// forAnyName returns rules that name no objects.
func forAnyName(rules []admissionregistrationv1.RuleWithOperations) []admissionregistrationv1.NamedRuleWithOperations {
	list := make([]admissionregistrationv1.NamedRuleWithOperations, len(rules))
	for i := range rules {
		list[i].RuleWithOperations = rules[i]
	}
	return list
}

// selectorOf returns a selector of labels; one that is absent selects all.
func selectorOf(s *metav1.LabelSelector) (labels.Selector, error) {
	if s == nil {
		return labels.Everything(), nil
	}
	return metav1.LabelSelectorAsSelector(s)
}

// version returns the resource in the version of the scope that a request matches, nil if the rules do not match.
func (c *scope) version(s *Server, a *attributes) *resources.Resource {
	if c.matching(s, c.excluded, a) != nil {
		return nil // API-415: an excluded request does not match, whatever the other rules say
	}
	if len(c.rules) == 0 {
		return a.resource // API-415: a binding without rules is about all that its policy is about
	}
	return c.matching(s, c.rules, a)
}

// mayMatch reports whether the rules match a request, whatever the selectors and the names in the rules say.
func (c *scope) mayMatch(s *Server, r *request, op admissionv1.Operation) bool {
	a := &attributes{resource: r.resource, subresource: r.subresource, operation: op, namespace: r.namespace, anyName: true}
	return c.matching(s, c.rules, a) != nil
}

// matching returns the resource in the version of the first rule that matches a request, nil for none.
func (c *scope) matching(s *Server, rules []admissionregistrationv1.NamedRuleWithOperations, a *attributes) *resources.Resource {
	for i := range rules {
		if ruleMatches(&rules[i], a, a.resource) {
			return a.resource
		}
	}
	if c.exact {
		return nil
	}
	// API-385: a rule that names another version of the kind matches, too, the earlier rule first.
	others := s.resources.Equivalent(a.resource)
	for i := range rules {
		for _, r := range others {
			if ruleMatches(&rules[i], a, r) {
				return r
			}
		}
	}
	return nil
}

// ruleMatches reports whether a rule matches a request, which counts as one for the resource r.
func ruleMatches(rule *admissionregistrationv1.NamedRuleWithOperations, a *attributes, r *resources.Resource) bool {
	// API-415: a rule of a policy may also name objects.
	if len(rule.ResourceNames) > 0 && !a.anyName && !slices.Contains(rule.ResourceNames, a.name) {
		return false
	}
	// API-383: a rule names operations, groups, versions, resources with subresources, and a scope; a star is all of them.
	return scopeMatches(rule.Scope, r) && named(rule.Operations, admissionregistrationv1.OperationType(a.operation)) && named(rule.APIGroups, r.Group) &&
		named(rule.APIVersions, r.Version) && slices.ContainsFunc(rule.Resources, func(name string) bool {
		resource, sub, _ := strings.Cut(name, "/")
		return (resource == kinds.Anything || resource == r.Resource) && (sub == kinds.Anything || sub == a.subresource)
	})
}

func named[T ~string](names []T, name T) bool {
	return slices.Contains(names, kinds.Anything) || slices.Contains(names, name)
}

func scopeMatches(scope *admissionregistrationv1.ScopeType, r *resources.Resource) bool {
	switch {
	case scope == nil || *scope == admissionregistrationv1.AllScopes:
		return true
	case *scope == admissionregistrationv1.NamespacedScope:
		return r.Namespaced
	}
	return !r.Namespaced
}

// selects reports whether the selectors select the namespace and the objects of a request.
func (c *scope) selects(s *Server, a *attributes, obj, old []byte) (bool, error) {
	if ok, err := c.selectsNamespace(s, a, obj); !ok || err != nil {
		return false, err
	}
	if c.objects.Empty() {
		return true, nil
	}
	// API-384: one of the two objects is enough.
	return obj != nil && c.objects.Matches(labelsIn(obj)) || old != nil && c.objects.Matches(labelsIn(old)), nil
}

func (c *scope) selectsNamespace(s *Server, a *attributes, obj []byte) (bool, error) {
	// API-384: objects without a namespace are always selected; a namespace itself is by its own labels, which an update may change.
	if a.namespace == "" || c.namespaces.Empty() {
		return true, nil
	}
	if a.resource.Kind == store.NamespaceKind && a.subresource == "" && a.operation != admissionv1.Delete {
		return c.namespaces.Matches(labelsIn(obj)), nil
	}
	namespace, err := s.namespaceOf(a)
	if err != nil {
		return false, err
	}
	if namespace == nil {
		return c.namespaces.Matches(labels.Set{namespaceLabel: a.namespace}), nil
	}
	return c.namespaces.Matches(labels.Set(namespace.GetLabels())), nil
}

// namespaceLabel has the name of the namespace.
const namespaceLabel = "kubernetes.io/metadata.name"

// namespaceOf returns the namespace of a write, nil for one that is no object.
func (s *Server) namespaceOf(a *attributes) (api.Object, error) {
	namespace, err := s.store.Get(store.NamespaceKind, a.namespace)
	if apierrors.IsNotFound(err) && s.store.Lookup(store.NamespaceKind, metav1.NamespaceDefault) == nil {
		// SIM: in a cluster that does not require them, a namespace that is no object has the label of all.
		return nil, nil
	}
	return namespace, err
}

// labelsIn returns the labels in the JSON of an object.
func labelsIn(data []byte) labels.Set {
	var obj metav1.PartialObjectMetadata
	if data != nil && json.Unmarshal(data, &obj) != nil {
		return nil
	}
	return obj.Labels
}
