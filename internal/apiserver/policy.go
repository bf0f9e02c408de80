package apiserver

import (
	"errors"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/expression"
	"github.com/volsim/volsim/internal/apiserver/kinds"
	"github.com/volsim/volsim/internal/apiserver/ownership"
	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// The server evaluates policies in the passes in which it calls webhooks: policies that change an object before webhooks that do so, and policies
// that refuse a write before webhooks that do so (API-416).

// policy is a policy with at least one binding.
type policy struct {
	*kinds.PolicySpec
	name, version string // version is the resourceVersion
	scope         scope
	bindings      []*policyBinding
	compiled      *compiledPolicy // nil until it is needed
}

type policyBinding struct {
	*kinds.BindingSpec
	name  string
	scope *scope // nil for that of the policy
}

// compiledPolicy has the expressions of a policy.
type compiledPolicy struct {
	*expression.Compiler
	conditions                         []*expression.Expression
	validations, messages, annotations []*expression.Expression
	mutations                          []*expression.Expression
}

// policies are those that have bindings, in the order of their names. The server's lock guards them.
type policies struct {
	stale                bool
	mutating, validating []*policy
	types                *ownership.Tracker
}

// FollowPolicies lets the admission policies of a cluster take effect, also if it gets no server (API-429). It costs nothing while there are none.
func FollowPolicies(e *engine.Engine) {
	follows := false
	e.Store().OnOther(func(t store.Table[*plain.Object]) {
		if !follows && slices.Contains(policyKinds, t.Kind()) {
			follows = true
			New(Config{Backend: ForEngine(e), NoManagedFields: true})
		}
	})
}

// IsPolicyKind reports whether a kind is one of admission policies or of their bindings.
func IsPolicyKind(kind api.Kind) bool { return slices.Contains(policyKinds, kind) }

var policyKinds = []api.Kind{kinds.MutatingPolicy, kinds.ValidatingPolicy, kinds.MutatingBinding, kinds.ValidatingBinding}

// followPolicies keeps s.policies from now on.
func (s *Server) followPolicies() {
	s.store.OnOther(func(t store.Table[*plain.Object]) {
		if !slices.Contains(policyKinds, t.Kind()) {
			return
		}
		changed := func() {
			s.policies.stale = true
			s.reviewControllersByPolicies()
		}
		if t.Len() > 0 {
			changed()
		}
		if _, err := t.Watch(store.WatchOptions[*plain.Object]{}, func(api.Change[*plain.Object]) { changed() }); err != nil {
			panic(err) // a watch from now on needs no history
		}
	})
}

// currentPolicies returns the policies that there are now.
func (s *Server) currentPolicies() *policies {
	if p := &s.policies; p.stale {
		p.mutating = s.readPolicies(kinds.MutatingPolicy, kinds.MutatingBinding, p.mutating)
		p.validating = s.readPolicies(kinds.ValidatingPolicy, kinds.ValidatingBinding, p.validating)
		p.stale = false
	}
	return &s.policies
}

// readPolicies returns the policies of a kind. Those that are known and have not changed need not be compiled again.
func (s *Server) readPolicies(kind, bindings api.Kind, known []*policy) []*policy {
	byName := map[string][]*policyBinding{}
	for _, obj := range s.store.List(bindings) {
		spec, err := kinds.ReadBindingSpec(obj.(*plain.Object))
		if err != nil {
			continue // validation refuses it, unless it was loaded
		}
		b := &policyBinding{BindingSpec: spec, name: obj.GetName()}
		if spec.MatchResources != nil {
			c, err := newScope(spec.MatchResources)
			if err != nil {
				continue
			}
			b.scope = &c
		}
		byName[spec.PolicyName] = append(byName[spec.PolicyName], b)
	}
	var list []*policy
	for _, obj := range s.store.List(kind) {
		bound := byName[obj.GetName()]
		spec, err := kinds.ReadPolicySpec(obj.(*plain.Object))
		if err != nil || len(bound) == 0 || spec.MatchConstraints == nil {
			continue
		}
		p := &policy{PolicySpec: spec, name: obj.GetName(), version: obj.GetResourceVersion(), bindings: bound}
		if p.scope, err = newScope(spec.MatchConstraints); err != nil {
			continue
		}
		if i := slices.IndexFunc(known, func(k *policy) bool { return k.name == p.name && k.version == p.version }); i >= 0 {
			p.compiled = known[i].compiled
		}
		list = append(list, p)
	}
	return list
}

// ignoresFailures reports whether the request goes on if the policy fails.
func (p *policy) ignoresFailures() bool {
	return p.FailurePolicy != nil && *p.FailurePolicy == admissionregistrationv1.Ignore
}

// compile returns the expressions of the policy.
func (p *policy) compile() (*compiledPolicy, error) {
	if p.compiled != nil {
		return p.compiled, nil
	}
	c := &compiledPolicy{Compiler: expression.Plain()}
	if len(p.Variables) > 0 {
		composed, err := expression.Composed()
		if err != nil {
			return nil, err
		}
		c.Compiler = composed
	}
	known := expression.Known{Params: p.ParamKind != nil, Authorizer: true}
	for _, v := range p.Variables {
		c.Declare(v.Name, v.Expression, known, true)
	}
	c.conditions = c.Conditions(p.MatchConditions, known.Params)
	c.compileValidations(p, known)
	known.Patches = true
	for _, m := range p.Mutations {
		text, t := "", kinds.JSONPatchList
		if m.JSONPatch != nil {
			text = m.JSONPatch.Expression
		} else if m.ApplyConfiguration != nil {
			text, t = m.ApplyConfiguration.Expression, kinds.PartialObject
		}
		c.mutations = append(c.mutations, c.Compile(text, known, true, t))
	}
	p.compiled = c
	return c, nil
}

// hasPolicies reports whether policies can apply to a resource (API-415): not to policies and bindings, nor to reviews of what a client may do.
func hasPolicies(r *resources.Resource) bool {
	switch r.Group {
	case admissionregistrationv1.GroupName:
		return r.Kind == kinds.MutatingConfiguration || r.Kind == kinds.ValidatingConfiguration
	case authenticationv1.GroupName, authorizationv1.GroupName:
		return !r.Review
	}
	return true
}

// needsPolicies reports whether a rule of a policy matches a request, or the admission of pods or certificates is about it. It does not evaluate selectors.
func (s *Server) needsPolicies(r *request) bool {
	if s.needsPodSecurity(r) || r.resource.Kind == kinds.SigningRequest {
		return true
	}
	list := s.currentPolicies()
	if len(list.mutating)+len(list.validating) == 0 || !hasPolicies(r.resource) {
		return false
	}
	matches := func(p *policy) bool {
		return slices.ContainsFunc(r.operations(), func(op admissionv1.Operation) bool { return p.scope.mayMatch(s, r, op) })
	}
	return slices.ContainsFunc(list.mutating, matches) || slices.ContainsFunc(list.validating, matches)
}

// invocation is a policy to be evaluated for a write, with a binding and a parameter.
type invocation struct {
	*policy
	binding *policyBinding
	version *resources.Resource
	// param is the parameter in JSON, nil for none; key tells the invocation from others.
	param []byte
	key   string
	// err says why the policy cannot be evaluated. Without a binding it is about the policy itself.
	err error
}

// invocations returns the policies to be evaluated for a write.
func (q *reviews) invocations(list []*policy, a *attributes, obj, old []byte) []*invocation {
	if !hasPolicies(a.resource) {
		return nil
	}
	var all []*invocation
	for _, p := range list {
		version := p.scope.version(q.server, a)
		if version == nil {
			continue
		}
		selected, err := p.scope.selects(q.server, a, obj, old)
		if !selected && err == nil {
			continue
		}
		var params *resources.Resource
		if err == nil && p.ParamKind != nil {
			params, err = q.server.paramResource(p.ParamKind)
		}
		if err != nil {
			all = append(all, &invocation{policy: p, err: fmt.Errorf("failed to configure policy: %w", err)})
			continue
		}
		for _, b := range p.bindings {
			all = append(all, q.bound(p, b, a, version, params, obj, old)...)
		}
	}
	return all
}

// bound returns a policy to be evaluated with a binding: once for each parameter.
func (q *reviews) bound(p *policy, b *policyBinding, a *attributes, version, params *resources.Resource, obj, old []byte) []*invocation {
	if b.scope != nil {
		if b.scope.version(q.server, a) == nil {
			return nil
		}
		selected, err := b.scope.selects(q.server, a, obj, old)
		if err != nil {
			return []*invocation{{policy: p, binding: b, err: fmt.Errorf("failed to configure binding: %w", err)}}
		}
		if !selected {
			return nil
		}
	}
	key := p.name + "/" + b.name
	if params == nil || b.ParamRef == nil {
		return []*invocation{{policy: p, binding: b, version: version, key: key}}
	}
	found, err := q.server.paramsOf(b.ParamRef, params, a.namespace)
	if err != nil {
		return []*invocation{{policy: p, binding: b, err: fmt.Errorf("failed to configure binding: %w", err)}}
	}
	var all []*invocation
	for _, param := range found {
		data, err := q.server.encode(params, param)
		if err != nil {
			err = fmt.Errorf("failed to configure binding: %w", err)
		}
		all = append(all, &invocation{policy: p, binding: b, version: version, param: data, key: key + "/" + api.RefTo(param).Key, err: err})
	}
	return all
}

// paramResource returns the resource of the parameters of a policy.
func (s *Server) paramResource(k *admissionregistrationv1.ParamKind) (*resources.Resource, error) {
	gvk := schema.FromAPIVersionAndKind(k.APIVersion, k.Kind)
	for _, r := range s.resources.All() {
		if r.GVK() == gvk && !r.Review {
			return r, nil
		}
	}
	return nil, fmt.Errorf("failed to find resource referenced by paramKind: '%v'", gvk)
}

// paramsOf returns the parameters that a binding names, for a write in a namespace (API-418).
func (s *Server) paramsOf(p *admissionregistrationv1.ParamRef, r *resources.Resource, namespace string) ([]api.Object, error) {
	switch {
	case !r.Namespaced && p.Namespace != "":
		return nil, errors.New("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
	case !r.Namespaced:
		namespace = ""
	case p.Namespace != "":
		namespace = p.Namespace
	case namespace == "":
		return nil, errors.New("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
	}
	var found []api.Object
	if p.Name != "" {
		obj, err := s.store.Get(r.Kind, api.Key(namespace, p.Name))
		if err == nil {
			found = []api.Object{obj}
		} else if !apierrors.IsNotFound(err) {
			return nil, err
		}
	} else {
		selector, err := metav1.LabelSelectorAsSelector(p.Selector)
		if err != nil {
			return nil, err
		}
		for _, obj := range s.store.List(r.Kind) {
			if obj.GetNamespace() == namespace && selector.Matches(labels.Set(obj.GetLabels())) {
				found = append(found, obj)
			}
		}
	}
	// API-418: parameterNotFoundAction says what happens without parameters.
	if len(found) == 0 && p.ParameterNotFoundAction != nil && *p.ParameterNotFoundAction == admissionregistrationv1.DenyAction {
		return nil, errors.New("no params found for policy binding with `Deny` parameterNotFoundAction")
	}
	return found, nil
}

// policyValues returns the values for the conditions of a policy, and those for its other expressions.
func (q *reviews) policyValues(i *invocation, a *attributes, obj, old []byte) (conditions, values map[string]any, err error) {
	if conditions, err = q.celValues(a, i.version, obj, old); err != nil {
		return nil, nil, err
	}
	conditions["params"] = nil
	if i.param != nil {
		if conditions["params"], err = decodedFields(i.param, nil); err != nil {
			return nil, nil, err
		}
	}
	values, err = q.withNamespace(conditions, a)
	return asRequested(conditions), values, err
}
