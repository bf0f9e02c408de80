package apiserver

import (
	"net/http"
	"slices"
	"strings"
	syncatomic "sync/atomic"

	authenticationv1 "k8s.io/api/authentication/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/auth"
	"github.com/volsim/volsim/internal/apiserver/columns"
	"github.com/volsim/volsim/internal/apiserver/kinds"
	"github.com/volsim/volsim/internal/apiserver/rbac"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// API-525: an answer names the FlowSchema that its request matches, and the priority level of that. No request waits.

// flow has the values of two response headers: the uid of the FlowSchema, and that of the priority level. All responses share the lists.
type flow struct{ schema, level []string }

// flowCache has the flows of the cluster. The server's lock guards all but exist.
type flowCache struct {
	exist   syncatomic.Bool // there may be FlowSchemas
	stale   bool
	schemas []*flowcontrolv1.FlowSchema
	flows   []*flow // of these schemas
	admin   *flow   // of the requests of the administrator, if all of them match the same schema
}

// flowOf returns the flow of a request, nil for none. user is nil for the administrator.
func (s *Server) flowOf(req *http.Request, user *authenticationv1.UserInfo) *flow {
	c := &s.flows
	if !c.exist.Load() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.stale {
		s.readFlows()
	}
	switch {
	case len(c.flows) == 0:
		return nil
	case user == nil && c.admin != nil:
		return c.admin
	case user == nil:
		user = administrator
	}
	r := auth.RequestOfPath(req)
	r.User = *user
	for i, schema := range c.schemas {
		if flowMatches(schema, r) {
			return c.flows[i]
		}
	}
	return nil
}

// administrator is the user of a request without a name, as flows see it.
var administrator = &authenticationv1.UserInfo{Groups: auth.AdministratorGroups}

// readFlows reads the schemas whose level exists, in the order in which they are tried.
func (s *Server) readFlows() {
	c := &s.flows
	c.schemas, c.flows, c.admin, c.stale = nil, nil, nil, false
	for _, obj := range columns.InOrder(kinds.FlowSchema, s.store.List(kinds.FlowSchema)) {
		schema := plain.Shared[*flowcontrolv1.FlowSchema](obj.(*plain.Object))
		level, err := s.store.Get(kinds.PriorityLevel, api.Key("", schema.Spec.PriorityLevelConfiguration.Name))
		if err != nil {
			continue
		}
		c.schemas = append(c.schemas, schema)
		c.flows = append(c.flows, &flow{[]string{string(obj.GetUID())}, []string{string(level.GetUID())}})
	}
	if len(c.schemas) > 0 && matchesAll(c.schemas[0], administrator) {
		c.admin = c.flows[0]
	}
}

// followFlows keeps s.flows from now on.
func (s *Server) followFlows() {
	s.store.OnOther(func(t store.Table[*plain.Object]) {
		if kind := t.Kind(); kind != kinds.FlowSchema && kind != kinds.PriorityLevel {
			return
		}
		changed := func() {
			s.flows.stale = true
			s.flows.exist.Store(true)
		}
		changed()
		if _, err := t.Watch(store.WatchOptions[*plain.Object]{}, func(api.Change[*plain.Object]) { changed() }); err != nil {
			panic(err) // a watch from now on needs no history
		}
	})
}

// matchesAll reports whether all requests of a user match a schema, at least those of the default schema exempt.
func matchesAll(schema *flowcontrolv1.FlowSchema, user *authenticationv1.UserInfo) bool {
	return flowMatches(schema, rbac.Request{User: *user, Path: "\x00", Verb: "\x00"}) &&
		flowMatches(schema, rbac.Request{User: *user, Verb: "\x00", Group: "\x00", Resource: "\x00"}) &&
		flowMatches(schema, rbac.Request{User: *user, Verb: "\x00", Group: "\x00", Resource: "\x00", Namespace: "\x00"})
}

// flowMatches reports whether a request matches a rule of a schema.
func flowMatches(schema *flowcontrolv1.FlowSchema, r rbac.Request) bool {
	return slices.ContainsFunc(schema.Spec.Rules, func(rule flowcontrolv1.PolicyRulesWithSubjects) bool {
		if !slices.ContainsFunc(rule.Subjects, func(s flowcontrolv1.Subject) bool { return subjectMatches(s, r.User) }) {
			return false
		}
		if r.Path != "" {
			return slices.ContainsFunc(rule.NonResourceRules, func(n flowcontrolv1.NonResourcePolicyRule) bool {
				return named(n.Verbs, r.Verb) && slices.ContainsFunc(n.NonResourceURLs, func(url string) bool {
					begin, any := strings.CutSuffix(url, kinds.Anything)
					return url == r.Path || any && strings.HasPrefix(r.Path, begin)
				})
			})
		}
		resource := r.Resource
		if r.Subresource != "" {
			resource += "/" + r.Subresource
		}
		return slices.ContainsFunc(rule.ResourceRules, func(o flowcontrolv1.ResourcePolicyRule) bool {
			inScope := o.ClusterScope
			if r.Namespace != "" {
				inScope = named(o.Namespaces, r.Namespace)
			}
			return inScope && named(o.Verbs, r.Verb) && named(o.APIGroups, r.Group) && named(o.Resources, resource)
		})
	})
}

func subjectMatches(s flowcontrolv1.Subject, user authenticationv1.UserInfo) bool {
	switch {
	case s.User != nil:
		return s.User.Name == kinds.Anything || s.User.Name == user.Username
	case s.Group != nil:
		return s.Group.Name == kinds.Anything || slices.Contains(user.Groups, s.Group.Name)
	case s.ServiceAccount != nil:
		namespace, name, ok := auth.ServiceAccountOf(user.Username)
		return ok && namespace == s.ServiceAccount.Namespace && (s.ServiceAccount.Name == kinds.Anything || s.ServiceAccount.Name == name)
	}
	return false
}
