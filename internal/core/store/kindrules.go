package store

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
)

// KindRules are rules of a kind whose objects are stored as data, in addition to those of all kinds (API-300).
type KindRules struct {
	// Default sets missing fields.
	Default func(obj *plain.Object)
	// Check returns what is wrong with an object. It is called for new objects and for updates.
	Check func(obj *plain.Object) field.ErrorList
	// CheckStatus does the same for updates of the status. Nil is nothing.
	CheckStatus func(obj *plain.Object) field.ErrorList
}

// UseKindRules adds rules of a kind that is not simulated. Without them its objects are stored as they are sent.
func (s *Store) UseKindRules(kind api.Kind, rules KindRules) {
	if s.others.rules == nil {
		s.others.rules = map[api.Kind]KindRules{}
	}
	s.others.rules[kind] = rules
	if t, ok := s.others.tables[kind]; ok && !s.asGiven {
		known := rules.add(*own(t).strategy)
		own(t).strategy = &known
	}
}

// add adds the rules to a strategy.
func (r KindRules) add(s strategy[*plain.Object]) strategy[*plain.Object] {
	s.defaults, s.validateCreate = r.Default, r.Check
	s.validateUpdate = func(obj, _ *plain.Object) field.ErrorList { return r.Check(obj) }
	if r.CheckStatus != nil {
		s.validateStatus = func(obj, _ *plain.Object) field.ErrorList { return r.CheckStatus(obj) }
	}
	return s
}
