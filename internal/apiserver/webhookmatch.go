package apiserver

import (
	"encoding/json"
	"slices"
	"strings"

	celgo "github.com/google/cel-go/cel"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// webhook is a webhook of a configuration.
type webhook struct {
	admissionregistrationv1.MutatingWebhook // those that validate have the same fields
	id                                      string
	mutating                                bool
	namespaces, objects                     labels.Selector
	programs                                []celgo.Program // of the conditions that have been evaluated
}

// webhooks are those of all configurations, in the order in which they are asked. The server's lock guards them.
type webhooks struct {
	stale                bool
	mutating, validating []*webhook
}

// followWebhooks keeps s.webhooks from now on.
func (s *Server) followWebhooks() {
	s.store.OnOther(func(t store.Table[*plain.Object]) {
		if kind := t.Kind(); kind != mutatingConfigurations && kind != validatingConfigurations {
			return
		}
		s.webhooks.stale = true
		_, err := t.Watch(store.WatchOptions[*plain.Object]{}, func(api.Change[*plain.Object]) { s.webhooks.stale = true })
		if err != nil {
			panic(err) // a watch from now on needs no history
		}
	})
}

// current returns the webhooks of the configurations that there are now.
func (s *Server) currentWebhooks() *webhooks {
	if s.webhooks.stale {
		// API-388: configurations come in the order of their names.
		s.webhooks = webhooks{mutating: s.readConfigurations(mutatingConfigurations), validating: s.readConfigurations(validatingConfigurations)}
	}
	return &s.webhooks
}

func (w *webhooks) none() bool { return len(w.mutating)+len(w.validating) == 0 }

func (s *Server) readConfigurations(kind api.Kind) []*webhook {
	var all []*webhook
	for _, obj := range s.store.List(kind) {
		hooks, err := readWebhooks(obj.(*plain.Object))
		if err != nil {
			continue // validation refuses it, unless it was loaded
		}
		for i := range hooks {
			h := &webhook{MutatingWebhook: hooks[i], mutating: kind == mutatingConfigurations, id: obj.GetName() + "/" + hooks[i].Name}
			var namespaceErr, objectErr error
			h.namespaces, namespaceErr = selectorOf(h.NamespaceSelector)
			h.objects, objectErr = selectorOf(h.ObjectSelector)
			if namespaceErr == nil && objectErr == nil {
				all = append(all, h)
			}
		}
	}
	return all
}

// selectorOf returns a selector of labels; one that is absent selects all.
func selectorOf(s *metav1.LabelSelector) (labels.Selector, error) {
	if s == nil {
		return labels.Everything(), nil
	}
	return metav1.LabelSelectorAsSelector(s)
}

// isConfiguration reports whether a resource is about admission. Webhooks are not asked about it.
func (r *resource) isConfiguration() bool {
	return r.Group == admissionregistrationv1.GroupName
}

// asksWebhooks reports whether a rule of a webhook matches a request, whatever the selectors say.
func (s *Server) asksWebhooks(r *request) bool {
	hooks := s.currentWebhooks()
	if hooks.none() || r.resource.isConfiguration() {
		return false
	}
	matches := func(h *webhook) bool {
		return slices.ContainsFunc(r.operations(), func(op admissionv1.Operation) bool {
			return s.versionFor(h, &attributes{resource: r.resource, subresource: r.subresource, operation: op, namespace: r.namespace}) != nil
		})
	}
	return slices.ContainsFunc(hooks.mutating, matches) || slices.ContainsFunc(hooks.validating, matches)
}

// operations are what webhooks may see of a request.
func (r *request) operations() []admissionv1.Operation {
	switch r.verb {
	case verbCreate:
		return []admissionv1.Operation{admissionv1.Create}
	case verbUpdate, verbPatch:
		return []admissionv1.Operation{admissionv1.Update, admissionv1.Create}
	case verbDelete, verbDeleteCollection:
		return []admissionv1.Operation{admissionv1.Delete}
	}
	return nil
}

// attributes are what webhooks are asked about, apart from the objects.
type attributes struct {
	resource    *resource
	subresource string
	body        *resource // of the objects; that of the request unless a subresource has a body of its own
	operation   admissionv1.Operation
	namespace   string
	name        string
	grace       *int64 // of a delete, nil for none
	last        bool   // see store.Write
}

// versionFor returns the resource in the version in which a webhook is asked about a request, nil if its rules do not match.
func (s *Server) versionFor(h *webhook, a *attributes) *resource {
	matches := func(r *resource) bool {
		return slices.ContainsFunc(h.Rules, func(rule admissionregistrationv1.RuleWithOperations) bool { return ruleMatches(&rule, a, r) })
	}
	if matches(a.resource) {
		return a.resource
	}
	if h.MatchPolicy != nil && *h.MatchPolicy == admissionregistrationv1.Exact {
		return nil
	}
	// API-385: a rule that names another version of the kind matches, too, the earlier rule first.
	others := s.equivalent(a.resource)
	for i := range h.Rules {
		for _, r := range others {
			if ruleMatches(&h.Rules[i], a, r) {
				return r
			}
		}
	}
	return nil
}

// equivalent returns the other resources with the same objects.
func (s *Server) equivalent(r *resource) []*resource {
	var list []*resource
	if !r.custom && r.kind != api.Event {
		return nil
	}
	for _, other := range s.allResources() {
		if other != r && other.kind == r.kind && !other.review {
			list = append(list, other)
		}
	}
	return list
}

// ruleMatches reports whether a rule matches a request, which counts as one for the resource r.
func ruleMatches(rule *admissionregistrationv1.RuleWithOperations, a *attributes, r *resource) bool {
	// API-383: a rule names operations, groups, versions, resources with subresources, and a scope; a star is all of them.
	return scopeMatches(rule.Scope, r) && named(rule.Operations, admissionregistrationv1.OperationType(a.operation)) && named(rule.APIGroups, r.Group) &&
		named(rule.APIVersions, r.Version) && slices.ContainsFunc(rule.Resources, func(name string) bool {
		resource, sub, _ := strings.Cut(name, "/")
		return (resource == anything || resource == r.Resource) && (sub == anything || sub == a.subresource)
	})
}

func named[T ~string](names []T, name T) bool {
	return slices.Contains(names, anything) || slices.Contains(names, name)
}

func scopeMatches(scope *admissionregistrationv1.ScopeType, r *resource) bool {
	switch {
	case scope == nil || *scope == admissionregistrationv1.AllScopes:
		return true
	case *scope == admissionregistrationv1.NamespacedScope:
		return r.namespaced
	}
	return !r.namespaced
}

// selected reports whether the selectors of a webhook select the namespace and the objects of a request.
func (s *Server) selected(h *webhook, a *attributes, obj, old []byte) (bool, error) {
	if ok, err := s.namespaceSelected(h, a, obj); !ok || err != nil {
		return false, err
	}
	if h.objects.Empty() {
		return true, nil
	}
	// API-384: one of the two objects is enough.
	return obj != nil && h.objects.Matches(labelsIn(obj)) || old != nil && h.objects.Matches(labelsIn(old)), nil
}

func (s *Server) namespaceSelected(h *webhook, a *attributes, obj []byte) (bool, error) {
	isNamespace := a.resource.kind == store.NamespaceKind
	// API-384: objects without a namespace are always selected; a namespace itself is by its own labels, which an update may change.
	if a.namespace == "" || h.namespaces.Empty() {
		return true, nil
	}
	if isNamespace && a.subresource == "" && a.operation != admissionv1.Delete {
		return h.namespaces.Matches(labelsIn(obj)), nil
	}
	namespace, err := s.store.Get(store.NamespaceKind, a.namespace)
	if apierrors.IsNotFound(err) && s.store.Lookup(store.NamespaceKind, metav1.NamespaceDefault) == nil {
		// SIM: in a cluster that does not require them, a namespace that is no object has the label of all.
		return h.namespaces.Matches(labels.Set{"kubernetes.io/metadata.name": a.namespace}), nil
	}
	if err != nil {
		return false, err
	}
	return h.namespaces.Matches(labels.Set(namespace.GetLabels())), nil
}

// labelsIn returns the labels in the JSON of an object.
func labelsIn(data []byte) labels.Set {
	var obj metav1.PartialObjectMetadata
	if data != nil && json.Unmarshal(data, &obj) != nil {
		return nil
	}
	return obj.Labels
}
