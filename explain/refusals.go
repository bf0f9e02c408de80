package explain

import (
	"fmt"
	"slices"

	"github.com/volsim/volsim/api"
)

// withRefusals returns the explanation with the writes to the object that a policy or a webhook has refused, and those to others by the actor that
// is next. While it refuses them, there is no automatic change.
func (x *explainer) withRefusals(e Explanation, object api.Ref, others ...api.Ref) Explanation {
	for i := range x.Refusals {
		r := &x.Refusals[i]
		isNext := slices.ContainsFunc(e.Next, func(s Step) bool { return s.Actor == r.Actor })
		if r.Object != object && !(isNext && slices.Contains(others, r.Object)) {
			continue
		}
		text := fmt.Sprintf("the last %s by %s was refused: %s", r.Request(), r.Actor, r.Err)
		if e.Changes.When != Automatic {
			e.Notes = append(e.Notes, withRule(text, r.Rule))
			continue
		}
		e.Notes = append(e.Notes, "otherwise: "+withRule(e.Why, e.Rule))
		e.because(r.Rule, text)
		e.todo("change what refuses the " + r.Request() + ", or the object so that it is accepted")
		e.manual(r.Actor + " tries again, and is refused while nothing changes")
	}
	return e
}
