package plugin

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// MissingError says that an object, or a key in it, is missing of which a volume has files.
type MissingError struct{ error }

// Lacks reports whether files of a volume are missing.
func (h *Host) Lacks(volume *corev1.Volume, pod *corev1.Pod) bool {
	return podPlugin{inTreePlugin{h: h}}.findFiles(volume, pod, nil) != nil
}

// findFiles looks for what the files of a volume are made of, and returns an error if any of it is missing (MNT-316 to MNT-319). With token,
// it also fetches the tokens that the volume has.
func (t podPlugin) findFiles(volume *corev1.Volume, pod *corev1.Pod, token func(*corev1.ServiceAccountTokenProjection) error) error {
	var missing, other error
	switch {
	case volume.Secret != nil:
		source := volume.Secret
		missing = t.findSecret(pod.Namespace, source.SecretName, source.Items, source.Optional)
	case volume.ConfigMap != nil:
		source := volume.ConfigMap
		missing = t.findConfigMap(pod.Namespace, source.Name, source.Items, source.Optional)
	case volume.DownwardAPI != nil:
		missing = findContainers(volume.DownwardAPI.Items, pod)
	case volume.Projected != nil:
		missing, other = t.findSources(volume.Projected.Sources, pod, token)
	}
	if missing != nil {
		return MissingError{missing}
	}
	return other
}

// findSources looks for the sources of a projected volume. Either error has what is wrong with all of them: missing if something is missing.
func (t podPlugin) findSources(sources []corev1.VolumeProjection, pod *corev1.Pod, token func(*corev1.ServiceAccountTokenProjection) error) (missing, other error) {
	// MNT-317: the errors of all sources come together.
	var errs []error
	lacks := false
	for i := range sources {
		var err error
		switch s := &sources[i]; {
		case s.Secret != nil:
			err = t.findSecret(pod.Namespace, s.Secret.Name, s.Secret.Items, s.Secret.Optional)
		case s.ConfigMap != nil:
			err = t.findConfigMap(pod.Namespace, s.ConfigMap.Name, s.ConfigMap.Items, s.ConfigMap.Optional)
		case s.DownwardAPI != nil:
			err = findContainers(s.DownwardAPI.Items, pod)
		case s.ServiceAccountToken != nil && token != nil:
			errs = append(errs, token(s.ServiceAccountToken))
		}
		lacks = lacks || err != nil
		errs = append(errs, err)
	}
	if all := utilerrors.NewAggregate(errs); lacks {
		return all, nil
	} else {
		return nil, all
	}
}

func (t podPlugin) findSecret(namespace, name string, items []corev1.KeyToPath, optional *bool) error {
	return t.findKeys(engine.SecretKind, namespace, name, items, optional, "secret", "references non-existent secret key: %s")
}

func (t podPlugin) findConfigMap(namespace, name string, items []corev1.KeyToPath, optional *bool) error {
	return t.findKeys(engine.ConfigMapKind, namespace, name, items, optional, "configmap", "configmap references non-existent config key: %s")
}

// findKeys looks for an object and the keys that items name.
func (t podPlugin) findKeys(kind api.Kind, namespace, name string, items []corev1.KeyToPath, optional *bool, resource, lacks string) error {
	if optional != nil && *optional {
		// MNT-316: what is missing is left out.
		return nil
	}
	has, ok := t.h.API.Files(kind, namespace, name)
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: resource}, name)
	}
	for i := range items {
		if key := items[i].Key; !has(key) {
			return fmt.Errorf(lacks, key)
		}
	}
	return nil
}

// findContainers looks for the containers whose resources the items of a downwardAPI volume name (MNT-319).
func findContainers(items []corev1.DownwardAPIVolumeFile, pod *corev1.Pod) error {
	var errs []error
	for i := range items {
		ref := items[i].ResourceFieldRef
		if ref == nil {
			continue
		}
		named := func(c corev1.Container) bool { return c.Name == ref.ContainerName }
		if !slices.ContainsFunc(pod.Spec.Containers, named) && !slices.ContainsFunc(pod.Spec.InitContainers, named) {
			errs = append(errs, fmt.Errorf("container %s not found", ref.ContainerName))
		}
	}
	return utilerrors.NewAggregate(errs)
}
