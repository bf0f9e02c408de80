package predict

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/objname"
)

// deprived notes which running pods have a container whose environment was made of a Secret or a ConfigMap that is deleted: nothing happens to
// them, but they cannot start again (MNT-378).
func (r *run) deprived(ref api.Ref) {
	if ref.Kind != objects.SecretKind && ref.Kind != objects.ConfigMapKind {
		return
	}
	for _, pod := range r.Pods.List() {
		if !running(pod) {
			continue
		}
		needs := func(c corev1.Container) bool {
			return slices.ContainsFunc(objects.EnvironmentSources(&c), func(source objects.FileSource) bool {
				return source.Kind == ref.Kind && api.Key(pod.Namespace, source.Name) == ref.Key && (source.Optional == nil || !*source.Optional)
			})
		}
		containers := slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
		if at := slices.IndexFunc(containers, needs); at >= 0 {
			r.outcome(Outcome{Kind: Changes, Object: objname.Of(api.RefTo(pod)),
				What: fmt.Sprintf("runs on, but cannot start again: the environment of container %s needs %s", containers[at].Name, objname.Of(ref))})
		}
	}
}
