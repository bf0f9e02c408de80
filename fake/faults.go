package fake

import (
	"time"

	"github.com/volsim/volsim/api"
)

// Faults injects faults into calls, by rules. It implements [api.Injector].
//
// For each call, the first rule applies that matches it and is not used up. Rules apply in the order in which they were added, so a rule
// without a limit hides later rules for the same calls. Rules may be added and cleared at any time. A cluster has its Faults in the field
// of that name; the zero value has no rules.
//
//	c.Faults.Fail(fake.Match{Target: "disk.example.com", Verb: "Create"}, storage.Errorf(storage.Internal, "on fire")).Times(3)
//	c.Faults.Lose(fake.Match{Verb: "Attach", Node: "n1"}, storage.Errorf(storage.Unavailable, "gone")).Once()
//
// A rule that is invalid, because no call can match it for example, has no effect; [Faults.Err] reports it.
type Faults struct {
	ruleSet
}

// NewFaults returns an injector without rules.
func NewFaults() *Faults { return &Faults{} }

// Add adds a rule that injects the fault into every matching call. It applies without end unless it is limited with [Rule.Times].
func (f *Faults) Add(match Match, fault api.Fault) *Rule { return f.add(match, fault) }

// Fail makes matching calls fail with err. They have no effect.
func (f *Faults) Fail(match Match, err error) *Rule { return f.Add(match, api.Fault{Err: err}) }

// Lose loses the reply to matching calls: they take effect, but the caller gets err.
func (f *Faults) Lose(match Match, err error) *Rule {
	return f.Add(match, api.Fault{Err: err, Effect: true})
}

// Slow makes matching calls take longer.
func (f *Faults) Slow(match Match, delay time.Duration) *Rule {
	return f.Add(match, api.Fault{Delay: delay})
}

// Crash stops the caller of a matching call before the call takes effect, and starts it again after restart.
func (f *Faults) Crash(match Match, restart time.Duration) *Rule {
	return f.Add(match, api.Fault{Crash: true, Restart: restart})
}

// Err returns an error for each invalid rule or limit since the last Clear; nil if there is none.
func (f *Faults) Err() error { return f.err() }

// Clear removes the rules whose verb is listed, or all rules if no verb is given. It also resets [Faults.Err].
func (f *Faults) Clear(verbs ...string) { f.clear(verbs) }

// Unused describes the rules that never applied, in the order in which they were added. They are often a mistake in a test.
func (f *Faults) Unused() []string { return f.unused() }
