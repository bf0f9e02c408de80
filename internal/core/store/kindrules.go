package store

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/strategy"
)

// KindRules are rules of a kind whose objects are stored as data, in addition to those of all kinds (API-300). A nil function leaves the rules
// that the kind has.
type KindRules struct {
	// Default sets missing fields.
	Default func(obj *plain.Object)
	// PrepareCreate resets what a client cannot set.
	PrepareCreate func(obj *plain.Object)
	// PrepareUpdate restores what an update does not change.
	PrepareUpdate func(obj, old *plain.Object)
	// PrepareStatus completes an update of the status.
	PrepareStatus func(obj, old *plain.Object, now metav1.Time)
	// CheckName returns what is wrong with the name of a new object besides its form. It comes before all other errors.
	CheckName func(obj *plain.Object) field.ErrorList
	// Check returns what is wrong with an object. It is called for new objects and for updates; old is nil for a new one.
	Check func(obj, old *plain.Object) field.ErrorList
	// CheckStatus does the same for updates of the status.
	CheckStatus func(obj, old *plain.Object) field.ErrorList
	// Warn returns the warnings about a valid object; old is nil for a new one.
	Warn func(obj, old *plain.Object) []string
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
func (r KindRules) add(s strategy.Of[*plain.Object]) strategy.Of[*plain.Object] {
	if r.Default != nil {
		s.Defaults = r.Default
	}
	s.ValidateName = r.CheckName
	if r.Check != nil {
		s.ValidateCreate = func(obj *plain.Object) field.ErrorList { return r.Check(obj, nil) }
		known := s.ValidateUpdate
		s.ValidateUpdate = func(obj, old *plain.Object) field.ErrorList {
			errs := r.Check(obj, old)
			if known != nil {
				errs = append(known(obj, old), errs...)
			}
			return errs
		}
	}
	if r.Warn != nil {
		s.Warn = r.Warn
	}
	if r.CheckStatus != nil {
		s.ValidateStatus = r.CheckStatus
	}
	if prepare := s.PrepareCreate; r.PrepareCreate != nil {
		s.PrepareCreate = func(obj *plain.Object, now metav1.Time) {
			prepare(obj, now)
			r.PrepareCreate(obj)
		}
	}
	if prepare := s.PrepareUpdate; r.PrepareUpdate != nil {
		s.PrepareUpdate = func(obj, old *plain.Object) {
			prepare(obj, old)
			r.PrepareUpdate(obj, old)
		}
	}
	if prepare := s.PrepareStatus; r.PrepareStatus != nil {
		s.PrepareStatus = func(obj, old *plain.Object, now metav1.Time) {
			prepare(obj, old, now)
			r.PrepareStatus(obj, old, now)
		}
	}
	return s
}
