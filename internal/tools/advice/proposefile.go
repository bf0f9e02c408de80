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

// file proposes to create a Secret or a ConfigMap of which a volume of a pod or the environment of a container is made, or to add a key to it
// (MNT-316, MNT-378). override says that the pod starts then. It returns false if there is nothing to propose.
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
	case missing.Key == "":
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

// sourceOf returns what the pod takes from the object that is missing, or that lacks a key.
func sourceOf(pod *corev1.Pod, missing evidence.MissingFile) objects.FileSource {
	if missing.Volume == "" {
		return environmentOf(pod, missing)
	}
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

// environmentOf returns what the environments of the pod's containers take from an object.
func environmentOf(pod *corev1.Pod, missing evidence.MissingFile) objects.FileSource {
	whole := objects.FileSource{Kind: missing.Kind, Name: missing.Name}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			for _, source := range objects.EnvironmentSources(&containers[i]) {
				if source.Kind == whole.Kind && source.Name == whole.Name {
					whole.Items = append(whole.Items, source.Items...)
				}
			}
		}
	}
	return whole
}
