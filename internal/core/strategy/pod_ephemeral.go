package strategy

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
)

// EphemeralContainers is the subresource of a pod that adds ephemeral containers to it (API-506).
const EphemeralContainers api.Subresource = "ephemeralcontainers"

// Part is a subresource that changes a part of the spec.
type Part[T api.Object] struct {
	// Prepare restores what the subresource does not change.
	Prepare  func(obj, old T)
	Validate func(obj, old T) field.ErrorList
}

var podParts = map[api.Subresource]Part[*corePod]{
	EphemeralContainers: {prepareEphemeral, validateEphemeralUpdate},
	Resize:              {prepareResize, validateResize},
}

// prepareEphemeral restores everything but the ephemeral containers (API-506).
func prepareEphemeral(pod, old *corePod) {
	added := pod.Spec.EphemeralContainers
	keepAllBut(pod, old)
	pod.Spec.EphemeralContainers = added
}

// keepAllBut restores a pod, for a subresource that then changes a part of it.
func keepAllBut(pod, old *corePod) {
	pod.Spec, pod.Status = old.Spec, old.Status
	pod.Labels, pod.Annotations, pod.Finalizers, pod.OwnerReferences = old.Labels, old.Annotations, old.Finalizers, old.OwnerReferences
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = old.DeletionTimestamp, old.DeletionGracePeriodSeconds
}

// validateEphemeralUpdate validates an update of the ephemeral containers of a pod (API-507).
func validateEphemeralUpdate(pod, old *corePod) field.ErrorList {
	// API-507: a static pod has none.
	if _, ok := old.Annotations[corev1.MirrorPodAnnotationKey]; ok {
		return field.ErrorList{field.Forbidden(field.NewPath(""), "static pods do not support ephemeral containers")}
	}
	errs := append(ValidateGenerateName(&pod.ObjectMeta), validatePodAnnotations(pod, old)...)
	errs = append(errs, validatePod(pod, old)...)
	path := field.NewPath("spec", ephemeralList)
	for _, was := range old.Spec.EphemeralContainers {
		now := ephemeralContainer(pod.Spec.EphemeralContainers, was.Name)
		switch {
		// API-507: ephemeral containers are never removed or changed.
		case now == nil:
			errs = append(errs, field.Forbidden(path, fmt.Sprintf("existing ephemeral containers %q may not be removed\n", was.Name)))
		case !SemanticEqual(now, &was):
			errs = append(errs, field.Forbidden(path, fmt.Sprintf("existing ephemeral containers %q may not be changed\n%v", was.Name,
				diff.Diff(internalForm{was}, internalForm{*now}))))
		}
	}
	return errs
}

// ephemeralContainer returns the last container of that name, or nil.
func ephemeralContainer(containers []corev1.EphemeralContainer, name string) *corev1.EphemeralContainer {
	for i := len(containers) - 1; i >= 0; i-- {
		if containers[i].Name == name {
			return &containers[i]
		}
	}
	return nil
}

// validateEphemeralContainers validates the ephemeral containers of a pod (API-507).
func validateEphemeralContainers(spec *corev1.PodSpec, volumes podVolumes) field.ErrorList {
	at := specField(ephemeralList)
	var errs field.ErrorList
	for i := range spec.EphemeralContainers {
		e := &spec.EphemeralContainers[i]
		c, path := (*corev1.Container)(&e.EphemeralContainerCommon), at().Index(i)
		errs = append(errs, validateContainer(spec, c, volumes, func() *field.Path { return path })...)
		if hasImageSpace(c) {
			errs = append(errs, errImageSpace(c, path))
		}
		if hasContainer(spec.Containers, c.Name) || hasContainer(spec.InitContainers, c.Name) || ephemeralContainer(spec.EphemeralContainers[:i], c.Name) != nil {
			errs = append(errs, field.Duplicate(path.Child("name"), c.Name))
		}
		if target := e.TargetContainerName; target != "" && !hasContainer(spec.Containers, target) && !hasContainer(spec.InitContainers, target) {
			errs = append(errs, field.NotFound(path.Child("targetContainerName"), target))
		}
		const why = "cannot be set for an Ephemeral Container"
		errs = append(errs, forbidSet([]setField{
			{"ports", c.Ports != nil}, {"resources", c.Resources.Limits != nil || c.Resources.Requests != nil || c.Resources.Claims != nil},
			{"resizePolicy", c.ResizePolicy != nil}, {"restartPolicy", c.RestartPolicy != nil}, {"restartPolicyRules", c.RestartPolicyRules != nil},
			{"livenessProbe", c.LivenessProbe != nil}, {"readinessProbe", c.ReadinessProbe != nil}, {"startupProbe", c.StartupProbe != nil},
			{"lifecycle", c.Lifecycle != nil},
		}, path, why)...)
		for j, mount := range c.VolumeMounts {
			if mount.SubPath != "" {
				errs = append(errs, field.Forbidden(path.Child("volumeMounts").Index(j).Child("subPath"), why))
			}
			if mount.SubPathExpr != "" {
				errs = append(errs, field.Forbidden(path.Child("volumeMounts").Index(j).Child("subPathExpr"), why))
			}
		}
	}
	return errs
}

// hasImageSpace reports whether an image has spaces around it, which only templates may have (API-375).
func hasImageSpace(c *corev1.Container) bool { return strings.TrimSpace(c.Image) != c.Image }

func errImageSpace(c *corev1.Container, at *field.Path) *field.Error {
	return field.Invalid(at.Child("image"), c.Image, "must not have leading or trailing whitespace")
}

// defaultEphemeralContainers sets the defaults of ephemeral containers, which are those of other containers (API-096).
func defaultEphemeralContainers(containers []corev1.EphemeralContainer, hostNetwork bool) []corev1.EphemeralContainer {
	l := lazyCopy[corev1.EphemeralContainer]{items: containers}
	for i := range containers {
		one := []corev1.Container{corev1.Container(containers[i].EphemeralContainerCommon)}
		if completed := defaultContainers(one, hostNetwork); !SameSlice(completed, one) {
			l.at(i).EphemeralContainerCommon = corev1.EphemeralContainerCommon(completed[0])
		}
	}
	return l.items
}
