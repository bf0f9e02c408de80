package apiserver

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
)

// mutation is an object on its way through policies and webhooks that may change it.
type mutation struct {
	*attributes
	obj, old []byte                                   // in the version of the request
	stored   api.Object                               // obj, decoded
	read     func([]byte) (api.Object, []byte, error) // decodes what became of it
	again    bool                                     // this is the second round
	changed  bool
}

// replace makes a changed object that of the mutation. It reports whether the object differs, apart from defaults.
func (q *reviews) replace(m *mutation, data []byte) (changed bool, err error) {
	result, before, err := m.read(data)
	if err != nil {
		return false, apierrors.NewInternalError(err)
	}
	changed = !sameJSON(m.obj, before)
	m.stored = result
	m.obj, err = q.encodedBody(m.attributes, result)
	return changed, err
}

// mutate lets policies, and then webhooks, change an object. stored is the object, and read decodes what became of it.
func (q *reviews) mutate(a *attributes, obj, old []byte, again bool, stored api.Object, read func([]byte) (api.Object, []byte, error)) (api.Object, bool, error) {
	m := &mutation{attributes: a, obj: obj, old: old, stored: stored, read: read, again: again}
	if err := q.applyPolicies(m); err != nil {
		return nil, false, err
	}
	if err := q.askMutating(m); err != nil {
		return nil, false, err
	}
	return m.stored, m.changed, nil
}

// invoked are the webhooks, or the policies, that one object went through. Their keys tell them apart.
type invoked struct {
	once     map[string]bool // may be asked again
	reinvoke map[string]bool // are to be asked again
	last     []byte          // the object after the last of them
}

// begin begins the first round, or the second one, in which the rest of the admission may have changed the object since.
func (v *invoked) begin(obj []byte, again bool) {
	if !again {
		*v = invoked{once: map[string]bool{}, reinvoke: map[string]bool{}}
	} else if !sameJSON(v.last, obj) {
		// API-389: the rest of the admission has changed the object since.
		v.require()
	}
}

// require lets all that may be asked again be asked again.
func (v *invoked) require() {
	for key := range v.once {
		v.reinvoke[key] = true
	}
	clear(v.once)
}
