package apiserver

import (
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/expression"
	"github.com/volsim/volsim/internal/apiserver/kinds"
	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/apiserver/webhooks"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// webhook is a webhook of a configuration.
type webhook struct {
	webhooks.Webhook
	id         string
	scope      scope
	conditions []*expression.Expression // nil until they are needed
}

// configuredWebhooks are those of all configurations, in the order in which they are asked. The server's lock guards them.
type configuredWebhooks struct {
	stale                bool
	mutating, validating []*webhook
}

func (w *configuredWebhooks) none() bool { return len(w.mutating)+len(w.validating) == 0 }

// followWebhooks keeps s.webhooks from now on.
func (s *Server) followWebhooks() {
	s.store.OnOther(func(t store.Table[*plain.Object]) {
		if kind := t.Kind(); kind != kinds.MutatingConfiguration && kind != kinds.ValidatingConfiguration {
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
func (s *Server) currentWebhooks() *configuredWebhooks {
	if s.webhooks.stale {
		// API-388: configurations come in the order of their names.
		s.webhooks = configuredWebhooks{mutating: s.readConfigurations(kinds.MutatingConfiguration), validating: s.readConfigurations(kinds.ValidatingConfiguration)}
	}
	return &s.webhooks
}

func (s *Server) readConfigurations(kind api.Kind) []*webhook {
	var all []*webhook
	for _, obj := range s.store.List(kind) {
		hooks, err := kinds.ReadWebhooks(obj.(*plain.Object))
		if err != nil {
			continue // validation refuses it, unless it was loaded
		}
		for i := range hooks {
			var err error
			h := &webhook{Webhook: webhooks.Webhook{MutatingWebhook: hooks[i], Mutating: kind == kinds.MutatingConfiguration}, id: obj.GetName() + "/" + hooks[i].Name}
			h.scope, err = newScope(&admissionregistrationv1.MatchResources{
				NamespaceSelector: h.NamespaceSelector, ObjectSelector: h.ObjectSelector, ResourceRules: forAnyName(h.Rules), MatchPolicy: h.MatchPolicy,
			})
			if err == nil && len(h.Rules) > 0 {
				all = append(all, h)
			}
		}
	}
	return all
}

// isConfiguration reports whether a resource is about admission. Webhooks are not asked about it.
func isConfiguration(r *resources.Resource) bool {
	return r.Group == admissionregistrationv1.GroupName
}

// asksWebhooks reports whether a rule of a webhook matches a request, whatever the selectors say.
func (s *Server) asksWebhooks(r *request) bool {
	hooks := s.currentWebhooks()
	if hooks.none() || isConfiguration(r.resource) {
		return false
	}
	matches := func(h *webhook) bool {
		return slices.ContainsFunc(r.operations(), func(op admissionv1.Operation) bool { return h.scope.mayMatch(s, r, op) })
	}
	return slices.ContainsFunc(hooks.mutating, matches) || slices.ContainsFunc(hooks.validating, matches)
}
