package mount

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// Secrets and ConfigMaps that pods name in volumes (MNT-316) and environments (MNT-378). Other changes than those that a mount or a container may
// wait for make no difference here: what is in the files of a volume and in variables is not simulated.

// fileKey is the key of a Secret or a ConfigMap in Nodes.byObject.
func fileKey(kind api.Kind, key string) string { return string(kind) + " " + key }

// appendFiles appends the keys of the Secrets and ConfigMaps that the volumes and the environments of a pod name.
func appendFiles(keys []string, pod *corev1.Pod) []string {
	for i := range pod.Spec.Volumes {
		for _, source := range objects.FileSources(&pod.Spec.Volumes[i].VolumeSource) {
			keys = append(keys, fileKey(source.Kind, api.Key(pod.Namespace, source.Name)))
		}
	}
	for _, containers := range [...][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			for _, source := range objects.EnvironmentSources(&containers[i]) {
				keys = append(keys, fileKey(source.Kind, api.Key(pod.Namespace, source.Name)))
			}
		}
	}
	return keys
}

// followFiles watches Secrets and ConfigMaps: the next sync of a pod sets its volumes up again, and a pod that waits is retried soon.
func (ns *Nodes) followFiles(t store.Table[*plain.Object]) {
	if kind := t.Kind(); kind == objects.SecretKind || kind == objects.ConfigMapKind {
		// The watch cannot fail: it begins now, so it needs no history.
		_, _ = t.Watch(store.WatchOptions[*plain.Object]{From: ns.engine.Store().Version()}, func(c api.Change[*plain.Object]) {
			ns.requeuePods(fileKey(kind, c.Key))
		})
	}
}

// await notes whether a mount waits for an object.
func (op *operations) await(key engine.OperationKey, waits bool) {
	switch {
	case !waits:
		delete(op.awaiting, key)
	case op.awaiting == nil:
		op.awaiting = map[engine.OperationKey]bool{key: true}
	default:
		op.awaiting[key] = true
	}
}
