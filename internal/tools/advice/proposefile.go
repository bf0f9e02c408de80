package advice

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/evidence"
	"github.com/volsim/volsim/internal/core/objects"
)

// placeholder is a value that the user has to replace.
const placeholder = "VALUE"

// file proposes to create a Secret or a ConfigMap that a volume of a pod is made of, or to add a key to it (MNT-316). override says that the pod
// starts then. It returns false if there is nothing to propose.
func (p *proposer) file(key string, missing evidence.MissingFile, override string) bool {
	pod, err := p.cluster.Pods.Get(key)
	if err != nil {
		return false
	}
	field := "data"
	if missing.Kind == objects.SecretKind {
		field = "stringData"
	}
	source := sourceOf(pod, missing)
	way := Way{assume: []string{override}}
	switch {
	case missing.Name != "":
		content := map[string]string{}
		for _, item := range source.Items {
			content[item.Key] = placeholder
		}
		fields := map[string]any{"apiVersion": "v1", "kind": missing.Kind, "metadata": map[string]any{"name": missing.Name, "namespace": pod.Namespace}}
		if len(content) > 0 {
			fields[field] = content
		}
		way.Does = fmt.Sprintf("create %s %s/%s; choose its content", missing.Kind, pod.Namespace, missing.Name)
		way.Commands = []Command{{Args: []string{"apply", "-f", "-"}, Manifest: manifest(fields)}}
	case source.Name != "":
		way.Does = fmt.Sprintf("add key %s to %s %s/%s; choose its value", missing.Key, missing.Kind, pod.Namespace, source.Name)
		way.Commands = []Command{namespaced(pod, "patch", strings.ToLower(string(missing.Kind)), source.Name, "-p", fmt.Sprintf(`{%q:{%q:%q}}`, field, missing.Key, placeholder))}
	default:
		return false
	}
	p.add(way)
	return true
}

// sourceOf returns what a volume of the pod takes from the object that is missing, or that lacks a key.
func sourceOf(pod *corev1.Pod, missing evidence.MissingFile) objects.FileSource {
	for i := range pod.Spec.Volumes {
		if pod.Spec.Volumes[i].Name != missing.Volume {
			continue
		}
		for _, source := range objects.FileSources(&pod.Spec.Volumes[i].VolumeSource) {
			names := slices.ContainsFunc(source.Items, func(item corev1.KeyToPath) bool { return item.Key == missing.Key })
			if source.Kind == missing.Kind && (source.Name == missing.Name || missing.Name == "" && names) {
				return source
			}
		}
	}
	return objects.FileSource{}
}
