package plugin

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/kubeletstatus"
	"github.com/volsim/volsim/internal/core/objects"
)

// FindEnvironment looks for the Secrets and ConfigMaps, and their keys, that the environment of a container names (MNT-378).
func (h *Host) FindEnvironment(c *corev1.Container, namespace string) error {
	for _, source := range objects.EnvironmentSources(c) {
		if source.Optional != nil && *source.Optional {
			// MNT-378: the variables are left out.
			continue
		}
		value, err := h.content(source, namespace, "data")
		if err != nil {
			return MissingError{err}
		}
		for i := range source.Items {
			key := source.Items[i].Key
			if _, has := value(key); !has {
				return MissingError{fmt.Errorf("couldn't find key %s in %s %s/%s", key, source.Kind, namespace, source.Name)}
			}
		}
	}
	return nil
}

// FindSubPaths looks at the paths in volumes that a container mounts, and returns an error if one cannot be (MNT-402).
func (h *Host) FindSubPaths(c *corev1.Container, pod *corev1.Pod) error {
	for i := range c.VolumeMounts {
		path := c.VolumeMounts[i].SubPath
		if text := c.VolumeMounts[i].SubPathExpr; text != "" {
			missing := map[string]bool{}
			path = expand(text, func(name string) string {
				value, ok := h.variable(c, pod, name, len(c.Env))
				if !ok || value == "" {
					missing[name] = true
				}
				return value
			})
			if len(missing) > 0 {
				return MissingError{fmt.Errorf("missing value for %s", strings.Join(slices.Sorted(maps.Keys(missing)), ", "))}
			}
		}
		switch {
		case strings.HasPrefix(path, "/"):
			return MissingError{fmt.Errorf("error SubPath `%s` must not be an absolute path", path)}
		case slices.Contains(strings.Split(path, "/"), ".."):
			return MissingError{fmt.Errorf("unable to provision SubPath `%s`: must not contain '..'", path)}
		}
	}
	return nil
}

var references = regexp.MustCompile(`\$\$|\$\([^)]*\)`)

// expand replaces $(NAME) by the value of a variable, and $$ by $.
func expand(text string, value func(name string) string) string {
	return references.ReplaceAllStringFunc(text, func(reference string) string {
		if reference == "$$" {
			return "$"
		}
		return value(reference[len("$(") : len(reference)-len(")")])
	})
}

// unknown is the value of a variable that is defined, and whose value is not known.
const unknown = "unknown"

// variable returns the value of a variable of a container, as those see it that come after the first n entries of env (MNT-402).
func (h *Host) variable(c *corev1.Container, pod *corev1.Pod, name string, n int) (value string, ok bool) {
	for i := n - 1; i >= 0; i-- {
		if v := &c.Env[i]; v.Name == name {
			if v.ValueFrom != nil {
				return h.valueFrom(v.ValueFrom, pod)
			}
			return expand(v.Value, func(name string) string {
				if value, ok := h.variable(c, pod, name, i); ok {
					return value
				}
				return "$(" + name + ")"
			}), true
		}
	}
	for i := len(c.EnvFrom) - 1; i >= 0; i-- {
		from := &c.EnvFrom[i]
		key, ok := strings.CutPrefix(name, from.Prefix)
		if !ok {
			continue
		}
		source := objects.FileSource{Kind: objects.ConfigMapKind}
		if from.ConfigMapRef != nil {
			source.Name = from.ConfigMapRef.Name
		} else if from.SecretRef != nil {
			source.Kind, source.Name = objects.SecretKind, from.SecretRef.Name
		}
		if value, ok := h.valueOf(source, pod.Namespace, key); ok {
			return value, true
		}
	}
	// SIM: Services have no variables but for the one that every cluster has.
	return unknown, strings.HasPrefix(name, "KUBERNETES_")
}

// valueFrom returns the value that a variable takes from elsewhere.
func (h *Host) valueFrom(from *corev1.EnvVarSource, pod *corev1.Pod) (value string, ok bool) {
	switch {
	case from.FieldRef != nil:
		return fieldOf(from.FieldRef.FieldPath, pod), true
	case from.ConfigMapKeyRef != nil:
		return h.valueOf(objects.FileSource{Kind: objects.ConfigMapKind, Name: from.ConfigMapKeyRef.Name}, pod.Namespace, from.ConfigMapKeyRef.Key)
	case from.SecretKeyRef != nil:
		return h.valueOf(objects.FileSource{Kind: objects.SecretKind, Name: from.SecretKeyRef.Name}, pod.Namespace, from.SecretKeyRef.Key)
	}
	return unknown, true // a resource, or a file
}

func (h *Host) valueOf(source objects.FileSource, namespace, key string) (value string, ok bool) {
	content, err := h.content(source, namespace, "data")
	if err != nil {
		return "", false
	}
	return content(key)
}

// fieldOf returns a field of a pod, for the downward API.
func fieldOf(path string, pod *corev1.Pod) string {
	name, subscript, _ := strings.Cut(strings.TrimSuffix(path, "']"), "['")
	switch name {
	case "metadata.name":
		return pod.Name
	case "metadata.namespace":
		return pod.Namespace
	case "metadata.uid":
		return string(pod.UID)
	case "metadata.labels":
		return fieldIn(pod.Labels, subscript)
	case "metadata.annotations":
		return fieldIn(pod.Annotations, subscript)
	case "spec.nodeName":
		return pod.Spec.NodeName
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName
	case "status.hostIP", "status.hostIPs":
		return kubeletstatus.NodeAddress
	}
	return kubeletstatus.PodAddress
}

// fieldIn returns one of the labels or annotations of a pod, or all of them.
func fieldIn(values map[string]string, key string) string {
	if key != "" {
		return values[key]
	}
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		lines = append(lines, fmt.Sprintf("%s=%q", key, values[key]))
	}
	return strings.Join(lines, "\n")
}
