package predict

import (
	"cmp"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objname"
	"github.com/volsim/volsim/internal/tools/containers"
)

// parseSet reads set image OBJECT CONTAINER=IMAGE..., set env OBJECT KEY=VALUE... KEY-..., set resources OBJECT --requests=… --limits=…, and set
// serviceaccount OBJECT ACCOUNT.
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
		if account := change.ServiceAccount(); account != "" {
			_, err := r.Cluster.Objects("ServiceAccount").Get(api.Key(obj.GetNamespace(), account))
			if err != nil {
				r.note("Service account %s is assumed to exist, although the dump lacks it: without it no new pod is created.",
					api.Key(obj.GetNamespace(), account))
			}
		}
		r.touched = append(r.touched, ref)
		return r.Patch(obj, string(patch))
	}, nil
}
