package plugin

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/volsim/volsim/internal/core/objects"
)

// MissingError says that an object, or a key in it, is missing of which a volume has files or a container has variables, or that a container lacks a
// variable for a path.
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
	case volume.DownwardAPI != nil:
		missing = findContainers(volume.DownwardAPI.Items, pod)
	case volume.Projected != nil:
		missing, other = t.findSources(volume.Projected.Sources, pod, token)
	default:
		for _, source := range objects.FileSources(&volume.VolumeSource) {
			missing = t.findFile(pod.Namespace, source)
		}
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
		s := &sources[i]
		file, ok := objects.ProjectedFile(s)
		switch {
		case ok:
			err = t.findFile(pod.Namespace, file)
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

// findFile looks for a Secret or a ConfigMap, and the keys of it that a volume names.
func (t podPlugin) findFile(namespace string, source objects.FileSource) error {
	if source.Optional != nil && *source.Optional {
		// MNT-316: what is missing is left out.
		return nil
	}
	value, err := t.h.content(source, namespace, "data", "binaryData")
	if err != nil {
		return err
	}
	for i := range source.Items {
		key := source.Items[i].Key
		switch _, has := value(key); {
		case has:
		case source.Kind == objects.SecretKind:
			return fmt.Errorf("references non-existent secret key: %s", key)
		default:
			return fmt.Errorf("configmap references non-existent config key: %s", key)
		}
	}
	return nil
}

// content returns what some fields of an object have under a key, or that the object does not exist.
func (h *Host) content(source objects.FileSource, namespace string, fields ...string) (value func(key string) (string, bool), err error) {
	value, ok := h.API.Files(source.Kind, namespace, source.Name, fields...)
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: strings.ToLower(string(source.Kind))}, source.Name)
	}
	return value, nil
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
