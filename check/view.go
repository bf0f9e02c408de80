package check

import (
	"slices"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/trace"
)

// View is the state of a cluster as an invariant reads it: the objects at the API server, and the volumes as storage calls left them.
type View struct {
	state     *state
	invariant *watched
}

// Object returns the stored object, nil if there is none. It is shared and must not be modified.
func (v *View) Object(ref api.Ref) api.Object { return v.state.objects[ref] }

// Uses returns the storage calls that attached, staged and published a volume (its handle at a backend), oldest first, without those that
// were undone.
func (v *View) Uses(backend, volume string) []trace.Entry {
	r := v.state.records[volumeID{backend, volume}]
	if r == nil {
		return nil
	}
	calls := make([]trace.Entry, len(r.uses))
	for i, u := range r.uses {
		calls[i] = u.Entry
	}
	return calls
}

// Report records a violation at the current time. The witness are the entries that prove it, in any order. The violation is about their
// objects and volume.
func (v *View) Report(text string, witness ...trace.Entry) {
	violation := Violation{Text: text, Witness: slices.Clone(witness)}
	for _, e := range witness {
		if e.Object != (api.Ref{}) && !slices.Contains(violation.Objects, e.Object) {
			violation.Objects = append(violation.Objects, e.Object)
		}
		if e.Type == trace.Storage && violation.Volume == "" {
			violation.Backend, violation.Volume = e.Call.Target, e.Call.Key
		}
	}
	v.state.report(v.invariant, violation)
}
