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

// files proposes to create the Secrets and ConfigMaps of which the volumes of a pod or the environment of a container are made, or to add keys to
// them (MNT-316, MNT-378): all together, as the pod starts only then. override says that. It returns false if something else is missing.
func (p *proposer) files(key, override string) bool {
	pod, err := p.cluster.Pods.Get(key)
	if err != nil {
		return false
	}
	way := Way{assume: []string{override}}
	var does []string
	for _, a := range p.snapshot.Evidence.StartFailures(pod) {
		all := evidence.MissingFilesOf(a.Message)
		if missing, ok := evidence.MissingVariableOf(a.Message); ok {
			all = append(all, missing)
		}
		if len(all) == 0 {
			return false
		}
		for _, missing := range all {
			text, command := file(pod, missing)
			if text == "" {
				return false
			}
			if !slices.Contains(does, text) {
				does, way.Commands = append(does, text), append(way.Commands, command)
			}
		}
	}
	if len(does) == 0 {
		return false
	}
	way.Does = strings.Join(does, "; ")
	p.add(way)
	return true
}

// file returns the command that supplies what is missing for a pod, and what it does; "" if that is unknown.
func file(pod *corev1.Pod, missing evidence.MissingFile) (does string, command Command) {
	field := "data"
	if missing.Kind == objects.SecretKind {
		field = "stringData"
	}
	source := sourceOf(pod, missing)
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
		return fmt.Sprintf("create %s %s/%s; choose its content", missing.Kind, pod.Namespace, missing.Name),
			Command{Args: []string{"apply", "-f", "-"}, Manifest: manifest(fields)}
	case source.Name != "":
		return fmt.Sprintf("add key %s to %s %s/%s; choose its value", missing.Key, missing.Kind, pod.Namespace, source.Name),
			namespaced(pod, "patch", strings.ToLower(string(missing.Kind)), source.Name, "-p", fmt.Sprintf(`{%q:{%q:%q}}`, field, missing.Key, placeholder))
	}
	return "", command
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
