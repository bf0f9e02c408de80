package script

import (
	"errors"

	"github.com/volsim/volsim/api"
)

// readWatch rejects get --watch, and readRaw get --raw: what the page loads first is limited.
func readWatch(arguments, query, func(api.Object) bool, map[string]bool) (step, error) {
	return nil, errors.New("get --watch is not available in the browser; use wait, or trace write")
}

// observe calls fn when it is polled and an object has changed: watches of the store are left out, too. So versions that are written at once are one.
func (r *runner) observe(ref api.Ref, fn func(obj api.Object, gone bool)) (poll, stop func(), err error) {
	changed := r.changes(ref)
	changed()
	return func() {
		if changed() {
			obj, err := r.get(ref)
			fn(obj, err != nil)
		}
	}, func() {}, nil
}

func readRaw(arguments) (step, error) {
	return nil, errors.New("get --raw is not available in the browser")
}
