package script

import (
	"time"

	"github.com/volsim/volsim/api"
)

// replaceTimeout is how long kubectl replace --force waits for the deletion.
const replaceTimeout = 5 * time.Minute

// readForcedReplace returns replace --force: all objects are deleted, as gracefully as by delete, and then created.
func readForcedReplace(s *Script, files []string, a arguments) (step, error) {
	timeout := replaceTimeout
	if a.has("timeout") {
		var err error
		if timeout, err = positiveDuration(a.get("timeout", "")); err != nil {
			return nil, err
		}
	}
	objs, err := s.manifests(files, a.get("namespace", ""))
	if err != nil {
		return nil, err
	}
	d := deletion{ignoreNotFound: true, wait: true, timeout: timeout}
	for _, m := range objs {
		d.targets.refs = append(d.targets.refs, api.RefTo(m.obj))
	}
	create, err := forObjects(s, files, a.get("namespace", ""), func(r *runner, obj api.Object) error {
		if err := r.cluster.Create(obj); err != nil {
			return err
		}
		r.printf("%s replaced\n", displayName(api.RefTo(obj)))
		return nil
	})
	return func(r *runner) error {
		if err := d.run(r); err != nil {
			return err
		}
		return create(r)
	}, err
}
