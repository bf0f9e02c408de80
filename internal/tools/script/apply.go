package script

import (
	"fmt"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/apply"
	"github.com/volsim/volsim/internal/core/document"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/store"
)

func readApply(s *Script, args []string) (step, error) {
	a, err := readArguments(args, fileOption, namespaceOption)
	if err != nil {
		return nil, err
	}
	files, err := readFiles(s, "apply", a)
	if err != nil {
		return nil, err
	}
	objs, err := s.manifests(files, a.get("namespace", ""))
	if err != nil {
		return nil, err
	}
	manifests := make([]*apply.Manifest, len(objs))
	for i, m := range objs {
		manifests[i] = apply.NewManifest(m.obj)
	}
	return func(r *runner) error {
		var failed error
		for i, m := range objs {
			if err := r.apply(m.obj, manifests[i]); err != nil {
				failed = both(failed, m.explain(err))
			}
		}
		return failed
	}, nil
}

// apply creates an object, or patches it with the difference to the manifest applied before.
func (r *runner) apply(obj api.Object, wanted *apply.Manifest) error {
	ref := api.RefTo(obj)
	if obj.GetName() == "" {
		return fmt.Errorf("apply %s: missing name; use create with generateName", ref.Kind)
	}
	var stored api.Object
	if r.exists(ref) {
		stored, _ = r.get(ref)
	}
	if stored == nil {
		created := store.Share(obj)
		document.SetType(created)
		if err := internals.Give(r.cluster, created); err != nil {
			return err
		}
		r.applied[ref] = wanted
		r.tell(ref, "created")
		return nil
	}
	patch, err := r.applied.Patch(wanted, stored)
	if err != nil {
		return err
	}
	if err := r.cluster.Patch(emptyObject(ref), patch); err != nil {
		return err
	}
	r.applied[ref] = wanted
	now, err := r.get(ref)
	if err == nil && now.GetResourceVersion() == stored.GetResourceVersion() {
		r.tell(ref, "unchanged")
		return nil
	}
	r.tell(ref, "configured")
	return nil
}
