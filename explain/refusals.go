package explain

import (
	"fmt"
	"strings"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objname"
)

// withRefusals returns the explanation with the writes to the objects that a policy or a webhook has refused. While it refuses them, there is
// no automatic change.
func (x *explainer) withRefusals(e Explanation, objects ...api.Ref) Explanation {
	for _, ref := range objects {
		for _, r := range x.Refusals {
			if r.Object != ref {
				continue
			}
			request := fmt.Sprintf("%s of %s", plainVerb(r.Verb), objname.Of(ref))
			e.Notes = append(e.Notes, withRule(fmt.Sprintf("the last %s by %s was refused: %s", request, r.Actor, r.Err), r.Rule))
			if e.Changes.When == Automatic {
				e.todo("change what refuses the " + request + ", or the object so that it is accepted")
				e.manual(r.Actor + " tries again, and is refused while nothing changes")
			}
		}
	}
	return e
}

// plainVerb returns the verb of a write in words: "update of the status" for update-status.
func plainVerb(verb string) string {
	verb, part, _ := strings.Cut(verb, "-")
	if part == "" {
		return verb
	}
	return verb + " of the " + part
}
