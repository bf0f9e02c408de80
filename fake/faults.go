package fake

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/volsim/volsim/api"
)

// Faults is an engine.Injector with engine.Foresight, made of rules. The rule added first that matches a call and is not used up decides about it; so
// rules for the same calls come one after the other, and a rule without end hides those behind it. A call that no rule matches is
// left alone. The zero value has no rules. Rules may be added and cleared at any time.
//
//	f := fake.NewFaults()
//	f.Fail(fake.Match{Target: "disk.example.com", Verb: "Create"}, storage.Errorf(storage.Internal, "on fire")).Times(3)
//	f.Lose(fake.Match{Verb: "Attach", Node: "n1"}, storage.Errorf(storage.Unavailable, "gone")).Once()
type Faults struct {
	rules []*Rule
	errs  []error
	heard []func() // see OnFault
}

// Rule is one entry of [Faults]. Its methods return the rule itself, so that they can be chained.
type Rule struct {
	faults *Faults
	match  Match
	fault  api.Fault
	skip   int // matching calls to leave alone first
	left   int // how often it still applies; forever
	fired  int
}

// forever in [Rule.Times] is a rule without end.
const forever = -1

// NewFaults makes an injector without rules.
func NewFaults() *Faults { return &Faults{} }

// Add adds a rule that does the given thing to every matching call. It refuses a match that no call can ever meet, and a fault
// that is nothing or contradicts itself.
func (f *Faults) Add(match Match, fault api.Fault) (*Rule, error) {
	r := &Rule{faults: f, match: match, fault: fault, left: forever}
	if err := errors.Join(match.check(), checkFault(fault)); err != nil {
		return r, fmt.Errorf("fault %s: %w", match, err)
	}
	f.rules = append(f.rules, r)
	f.tell()
	return r, nil
}

// tell tells of a rule that may apply to calls from now on.
func (f *Faults) tell() {
	for _, fn := range f.heard {
		fn()
	}
}

// OnFault has fn called whenever a rule is added, or a limit of one changed.
func (f *Faults) OnFault(fn func()) { f.heard = append(f.heard, fn) }

// Awaits reports whether there is a rule for the call that is not used up, also if others are before it, or other calls are to be left
// alone first.
func (f *Faults) Awaits(call api.Call) bool {
	for _, r := range f.rules {
		if r.left != 0 && r.match.covers(call) {
			return true
		}
	}
	return false
}

func checkFault(fault api.Fault) error {
	switch {
	case fault.Delay < 0:
		return fmt.Errorf("a delay of %s: it must not be negative", fault.Delay)
	case fault.Restart < 0:
		return fmt.Errorf("a restart after %s: it must not be negative", fault.Restart)
	case fault.Restart > 0 && !fault.Crash:
		return errors.New("a restart without a crash: set Crash")
	case fault.Effect && fault.Err == nil && !fault.Crash:
		return errors.New("an effect without an error or a crash is no fault: set Err or Crash")
	case fault.Err == nil && !fault.Crash && fault.Delay == 0:
		return errors.New("nothing goes wrong: set Err, Crash or Delay")
	}
	return nil
}

// add is Add for the shorthands: an error is kept for Err.
func (f *Faults) add(match Match, fault api.Fault) *Rule {
	r, err := f.Add(match, fault)
	if err != nil {
		f.errs = append(f.errs, err)
	}
	return r
}

// Fail makes matching calls fail with err, without effect. Like every rule it applies forever unless limited with Times or Once.
func (f *Faults) Fail(match Match, err error) *Rule { return f.add(match, api.Fault{Err: err}) }

// Lose lets matching calls take effect, but the caller gets err: the reply was lost.
func (f *Faults) Lose(match Match, err error) *Rule {
	return f.add(match, api.Fault{Err: err, Effect: true})
}

// Slow makes matching calls take so much longer.
func (f *Faults) Slow(match Match, delay time.Duration) *Rule {
	return f.add(match, api.Fault{Delay: delay})
}

// Crash stops the caller just before the matching call takes effect, or just after with [Rule.Effect]. It is started again after
// the given time.
func (f *Faults) Crash(match Match, restart time.Duration) *Rule {
	return f.add(match, api.Fault{Crash: true, Restart: restart})
}

// Err tells which rules were refused, nil if none was. They have no effect.
func (f *Faults) Err() error { return errors.Join(f.errs...) }

// Clear drops every rule that has one of the verbs, or all rules if there are none; and what [Faults.Err] has.
func (f *Faults) Clear(verbs ...string) {
	f.errs = nil
	f.rules = slices.DeleteFunc(f.rules, func(r *Rule) bool { return len(verbs) == 0 || slices.Contains(verbs, r.match.Verb) })
}

// Unused describes the rules that never applied, in the order in which they were added: faults that a test meant to have and did not.
func (f *Faults) Unused() []string {
	var unused []string
	for _, r := range f.rules {
		if r.fired == 0 {
			unused = append(unused, r.String())
		}
	}
	return unused
}

// Inject is asked by the engine before every call.
func (f *Faults) Inject(call api.Call) api.Fault {
	for _, r := range f.rules {
		if r.left == 0 || !r.match.covers(call) {
			continue
		}
		if r.skip > 0 {
			r.skip--
			continue
		}
		if r.left > 0 {
			r.left--
		}
		r.fired++
		return r.fault
	}
	return api.Fault{}
}

// Times limits the rule to the next n matching calls; -1 is no limit. Any other number below 1 is refused, and shows in Faults.Err.
func (r *Rule) Times(n int) *Rule {
	if n < 1 && n != forever {
		r.refuse("%d times: give it 1 or more, or -1 for no limit", n)
		return r
	}
	r.left = n
	r.faults.tell()
	return r
}

// Once is Times(1).
func (r *Rule) Once() *Rule { return r.Times(1) }

// Skip lets the first n matching calls pass. A call passes to the rules behind this one. A number below 0 is refused.
func (r *Rule) Skip(n int) *Rule {
	if n < 0 {
		r.refuse("skip %d calls: give it 0 or more", n)
		return r
	}
	r.skip = n
	return r
}

// Delay makes the call take longer, besides what else the rule does. Less than zero is refused.
func (r *Rule) Delay(d time.Duration) *Rule {
	if d < 0 {
		r.refuse("a delay of %s: it must not be negative", d)
		return r
	}
	r.fault.Delay = d
	return r
}

// Effect lets the call take effect before the error or the crash. A rule with neither is refused.
func (r *Rule) Effect() *Rule {
	if r.fault.Err == nil && !r.fault.Crash {
		r.refuse("an effect without an error or a crash is no fault")
		return r
	}
	r.fault.Effect = true
	return r
}

// Fired is how many calls the rule applied to.
func (r *Rule) Fired() int { return r.fired }

func (r *Rule) refuse(format string, args ...any) {
	r.faults.errs = append(r.faults.errs, fmt.Errorf("fault %s: %w", r.match, fmt.Errorf(format, args...)))
}

// String is the match, and what happens: "{Verb: Create}: error rpc error: ..., 2 left".
func (r *Rule) String() string {
	s := r.match.String() + ":"
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
	if r.left != forever {
		s += fmt.Sprintf(", %d left", r.left)
	}
	return s
}
