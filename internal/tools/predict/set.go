package predict

import (
	"cmp"

	"github.com/volsim/volsim/internal/core/objname"
	"github.com/volsim/volsim/internal/tools/containers"
)

// parseSet reads set image OBJECT CONTAINER=IMAGE..., set env OBJECT KEY=VALUE... KEY-... and set resources OBJECT --requests=… --limits=….
func parseSet(namespace string, args []string) (func(*run) error, error) {
	change, err := containers.Parse(args)
	if err != nil {
		return nil, err
	}
	ref, err := objname.ParseIn(cmp.Or(change.Namespace, namespace), change.Object)
	if err != nil {
		return nil, err
	}
	return func(r *run) error {
		obj, err := r.Cluster.Objects(ref.Kind).Get(ref.Key)
		if err != nil {
			return err
		}
		patch, err := change.Patch(obj)
		if err != nil {
			return err
		}
		r.touched = append(r.touched, ref)
		return r.Patch(obj, string(patch))
	}, nil
}
