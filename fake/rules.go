package fake

import (
	"errors"
	"fmt"
	"slices"

	"github.com/volsim/volsim/api"
)

// ruleSet implements [Faults].
type ruleSet struct {
	rules []*Rule
	errs  []error
}

// Rule is one entry of [Faults]. Its methods return the rule itself, so that calls can be chained.
type Rule struct {
	set     *ruleSet
	match   Match
	fault   api.Fault
	skip    int // matching calls that do not count yet
	left    int // calls that the rule still applies to; unlimited
	applied int // calls that the rule applied to
}

// unlimited is a rule that never gets used up.
const unlimited = -1

func (s *ruleSet) add(match Match, fault api.Fault) *Rule {
	r := &Rule{set: s, match: match, fault: fault, left: unlimited}
	if err := errors.Join(checkMatch(match), checkFault(fault)); err != nil {
		r.invalid(err)
		return r
	}
	s.rules = append(s.rules, r)
	return r
}

func checkFault(fault api.Fault) error {
	switch {
	case fault.Delay < 0:
		return fmt.Errorf("a delay of %s; it must not be negative", fault.Delay)
	case fault.Restart < 0:
		return fmt.Errorf("a restart after %s; it must not be negative", fault.Restart)
	case fault.Restart > 0 && !fault.Crash:
		return errors.New("a restart without a crash; set Crash")
	case fault.Effect && fault.Err == nil && !fault.Crash:
		return errors.New("an effect without an error or a crash; set Err or Crash")
	case fault.Err == nil && !fault.Crash && fault.Delay == 0:
		return errors.New("nothing fails; set Err, Crash or Delay")
	}
	return nil
}

// Inject implements api.Injector.
func (s *ruleSet) Inject(call api.Call) api.Fault {
	for _, r := range s.rules {
		if r.left == 0 || !covers(r.match, call) {
			continue
		}
		if r.skip > 0 {
			r.skip--
			continue
		}
		if r.left > 0 {
			r.left--
		}
		r.applied++
		return faultOf(r.fault, call)
	}
	return api.Fault{}
}

// faultOf returns the fault of a call: an error about an object gets the name of that of the call.
func faultOf(fault api.Fault, call api.Call) api.Fault {
	if about, ok := fault.Err.(interface{ For(call api.Call) error }); ok {
		fault.Err = about.For(call)
	}
	return fault
}

// Active reports whether a rule that is not used up may match a request of the actor to the API server. While it does, the actor makes
// also the periodic requests that it otherwise skips because they would find nothing new.
func (s *ruleSet) Active(actor string) bool {
	for _, r := range s.rules {
		if r.left != 0 && matches(r.match.Actor, actor) && !isBackend(r.match) {
			return true
		}
	}
	return false
}

func (s *ruleSet) err() error { return errors.Join(s.errs...) }

func (s *ruleSet) clear(verbs []string) {
	s.errs = nil
	s.rules = slices.DeleteFunc(s.rules, func(r *Rule) bool { return len(verbs) == 0 || slices.Contains(verbs, r.match.Verb) })
}

func (s *ruleSet) unused() []string {
	var unused []string
	for _, r := range s.rules {
		if r.applied == 0 {
			unused = append(unused, r.describe())
		}
	}
	return unused
}

// Times limits the rule to the next n matching calls; -1 removes the limit. [Faults.Err] reports any other number below 1.
func (r *Rule) Times(n int) *Rule {
	if n < 1 && n != unlimited {
		r.invalid(fmt.Errorf("Times(%d); give 1 or more, or -1 for no limit", n))
		return r
	}
	r.left = n
	return r
}

// Once limits the rule to the next matching call.
func (r *Rule) Once() *Rule { return r.Times(1) }

// Skip makes the rule pass over the next n matching calls; later rules may match them. [Faults.Err] reports a negative number.
func (r *Rule) Skip(n int) *Rule {
	if n < 0 {
		r.invalid(fmt.Errorf("Skip(%d); give 0 or more", n))
		return r
	}
	r.skip = n
	return r
}

// Fired returns how many calls the rule applied to.
func (r *Rule) Fired() int { return r.applied }

func (r *Rule) invalid(err error) {
	r.set.errs = append(r.set.errs, fmt.Errorf("fault %s: %w", matchText(r.match), err))
}

// describe returns the match and the fault, such as "{Verb: Create}: error rpc error: ..., 2 left".
func (r *Rule) describe() string {
	s := matchText(r.match) + ":"
	if r.fault.Delay > 0 {
		s += " delay " + r.fault.Delay.String()
	}
	if r.fault.Err != nil {
		s += " error " + r.fault.Err.Error()
	}
	if r.fault.Crash {
		s += " crash, restart after " + r.fault.Restart.String()
	}
	if r.fault.Effect {
		s += ", after taking effect"
	}
	if r.left != unlimited {
		s += fmt.Sprintf(", %d left", r.left)
	}
	return s
}
