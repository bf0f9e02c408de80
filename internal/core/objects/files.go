package objects

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
)

// Kinds whose objects become files in volumes and variables of containers.
const (
	SecretKind    api.Kind = "Secret"
	ConfigMapKind api.Kind = "ConfigMap"
)

// FileSource is a Secret or a ConfigMap that a volume or the environment of a container names.
type FileSource struct {
	Kind     api.Kind
	Name     string
	Items    []corev1.KeyToPath
	Optional *bool
}

// FileSources returns the Secrets and ConfigMaps that a volume names, in their order.
func FileSources(volume *corev1.VolumeSource) (all []FileSource) {
	switch {
	case volume.Secret != nil:
		s := volume.Secret
		all = append(all, FileSource{SecretKind, s.SecretName, s.Items, s.Optional})
	case volume.ConfigMap != nil:
		s := volume.ConfigMap
		all = append(all, FileSource{ConfigMapKind, s.Name, s.Items, s.Optional})
	case volume.Projected != nil:
		for i := range volume.Projected.Sources {
			if s, ok := ProjectedFile(&volume.Projected.Sources[i]); ok {
				all = append(all, s)
			}
		}
	}
	return all
}

// ProjectedFile returns the Secret or the ConfigMap that a part of a projected volume names.
func ProjectedFile(part *corev1.VolumeProjection) (source FileSource, ok bool) {
	switch {
	case part.Secret != nil:
		s := part.Secret
		return FileSource{SecretKind, s.Name, s.Items, s.Optional}, true
	case part.ConfigMap != nil:
		s := part.ConfigMap
		return FileSource{ConfigMapKind, s.Name, s.Items, s.Optional}, true
	}
	return source, false
}

// EnvironmentSources returns the Secrets and ConfigMaps that the environment of a container names, in the order in which a kubelet reads them.
// One variable has one item.
func EnvironmentSources(c *corev1.Container) (all []FileSource) {
	for i := range c.EnvFrom {
		switch from := &c.EnvFrom[i]; {
		case from.ConfigMapRef != nil:
			all = append(all, FileSource{ConfigMapKind, from.ConfigMapRef.Name, nil, from.ConfigMapRef.Optional})
		case from.SecretRef != nil:
			all = append(all, FileSource{SecretKind, from.SecretRef.Name, nil, from.SecretRef.Optional})
		}
	}
	for i := range c.Env {
		from := c.Env[i].ValueFrom
		switch {
		case from == nil:
		case from.ConfigMapKeyRef != nil:
			ref := from.ConfigMapKeyRef
			all = append(all, FileSource{ConfigMapKind, ref.Name, []corev1.KeyToPath{{Key: ref.Key}}, ref.Optional})
		case from.SecretKeyRef != nil:
			ref := from.SecretKeyRef
			all = append(all, FileSource{SecretKind, ref.Name, []corev1.KeyToPath{{Key: ref.Key}}, ref.Optional})
		}
	}
	return all
}
