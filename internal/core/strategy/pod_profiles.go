package strategy

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// DeprecatedAppArmor is the warning about an annotation that a field has replaced.
const DeprecatedAppArmor = `deprecated since v1.30; use the "appArmorProfile" field instead`

// syncAppArmor sets the AppArmor profiles of containers that only annotations name (API-564), and warns of annotations that need that or are not
// valid (API-320).
func syncAppArmor(pod *corePod) []string {
	if len(pod.Annotations) == 0 || pod.Spec.OS != nil && pod.Spec.OS.Name == corev1.Windows {
		return nil
	}
	s := appArmorSync{pod: pod}
	for i := range pod.Spec.InitContainers {
		s.container(&pod.Spec.InitContainers, i)
	}
	for i := range pod.Spec.Containers {
		s.container(&pod.Spec.Containers, i)
	}
	return s.warnings
}

type appArmorSync struct {
	pod      *corePod
	warnings []string
}

// container sets the profile of the ith container of a list, which may be shared.
func (s *appArmorSync) container(list *[]corev1.Container, i int) {
	c := &(*list)[i]
	key := corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + c.Name
	annotation, ok := s.pod.Annotations[key]
	if !ok || c.SecurityContext != nil && c.SecurityContext.AppArmorProfile != nil {
		return
	}
	profile := AppArmorOf(annotation)
	if profile != nil && len(validateAppArmor(profile, nil)) > 0 {
		profile = nil
	}
	if context := s.pod.Spec.SecurityContext; profile != nil && context != nil && equality.Semantic.DeepEqual(profile, context.AppArmorProfile) {
		return // API-564: the container has the profile of the pod
	}
	s.warnings = append(s.warnings, field.NewPath("metadata", "annotations").Key(key).String()+": "+DeprecatedAppArmor)
	if profile == nil {
		return
	}
	context := corev1.SecurityContext{}
	if c.SecurityContext != nil {
		context = *c.SecurityContext
	}
	context.AppArmorProfile = profile
	*list = slices.Clone(*list)
	(*list)[i].SecurityContext = &context
}

// AppArmorOf returns the profile that an annotation names, nil for none.
func AppArmorOf(annotation string) *corev1.AppArmorProfile {
	local, isLocal := strings.CutPrefix(annotation, corev1.DeprecatedAppArmorBetaProfileNamePrefix)
	switch {
	case annotation == corev1.DeprecatedAppArmorBetaProfileNameUnconfined:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
	case annotation == corev1.DeprecatedAppArmorBetaProfileRuntimeDefault:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault}
	case isLocal && local != "":
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeLocalhost, LocalhostProfile: &local}
	}
	return nil
}

// validateProfileAnnotations validates the annotations of a pod that name profiles of seccomp and of AppArmor (API-569).
func validateProfileAnnotations(pod *corePod) field.ErrorList {
	var errs field.ErrorList
	if profile, ok := pod.Annotations[corev1.SeccompPodAnnotationKey]; ok {
		errs = append(errs, validateSeccompAnnotation(corev1.SeccompPodAnnotationKey, profile)...)
	}
	for _, key := range annotationsWith(corev1.SeccompContainerAnnotationKeyPrefix, pod) {
		errs = append(errs, validateSeccompAnnotation(key, pod.Annotations[key])...)
	}
	for _, key := range annotationsWith(corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix, pod) {
		errs = append(errs, validateAppArmorAnnotation(pod, key)...)
	}
	return errs
}

func validateSeccompAnnotation(key, profile string) field.ErrorList {
	at := field.NewPath("metadata", "annotations")
	file, local := strings.CutPrefix(profile, corev1.SeccompLocalhostProfileNamePrefix)
	switch {
	case profile == corev1.SeccompProfileRuntimeDefault || profile == corev1.DeprecatedSeccompProfileDockerDefault || profile == corev1.SeccompProfileNameUnconfined:
		return nil
	case local:
		return validateRelativePath(file, at, key)
	}
	return field.ErrorList{field.Invalid(at.Child(key), profile, "must be a valid seccomp profile")}
}

func validateAppArmorAnnotation(pod *corePod, key string) field.ErrorList {
	var errs field.ErrorList
	name, found := strings.TrimPrefix(key, corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix), false
	eachContainer(&pod.Spec, func(c *corev1.Container, _ containerPlace) { found = found || c.Name == name })
	if !found {
		errs = append(errs, field.Invalid(annotationPath(key), name, "container not found"))
	}
	profile := pod.Annotations[key]
	if profile != "" && profile != corev1.DeprecatedAppArmorBetaProfileRuntimeDefault && profile != corev1.DeprecatedAppArmorBetaProfileNameUnconfined &&
		!strings.HasPrefix(profile, corev1.DeprecatedAppArmorBetaProfileNamePrefix) {
		errs = append(errs, field.Invalid(annotationPath(key), profile, fmt.Sprintf("invalid AppArmor profile name: %q", profile)))
	}
	return errs
}

// validateAppArmorChange requires that an update leaves the annotations that name AppArmor profiles as they are (API-569).
func validateAppArmorChange(pod, old *corePod) field.ErrorList {
	var errs field.ErrorList
	for _, key := range annotationsWith(corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix, old) {
		if now, kept := pod.Annotations[key]; !kept || now != old.Annotations[key] {
			errs = append(errs, field.Forbidden(annotationPath(key), "may not remove or update AppArmor annotations"))
		}
	}
	for _, key := range annotationsWith(corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix, pod) {
		if _, known := old.Annotations[key]; !known {
			errs = append(errs, field.Forbidden(annotationPath(key), "may not add AppArmor annotations"))
		}
	}
	return errs
}

// annotationsWith returns the names of the annotations with a prefix, in order.
func annotationsWith(prefix string, pod *corePod) (keys []string) {
	for key := range pod.Annotations {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// validateProfilesMatch requires that annotations and fields of a new pod, or of a template, name the same profiles (API-569).
func validateProfilesMatch(pod *corePod) field.ErrorList {
	if len(pod.Annotations) == 0 {
		return nil
	}
	var errs, armor field.ErrorList
	context, path := pod.Spec.SecurityContext, field.NewPath("spec", "securityContext")
	var ofPod *corev1.AppArmorProfile
	if context != nil {
		ofPod = context.AppArmorProfile
		errs = append(errs, matchSeccomp(pod, corev1.SeccompPodAnnotationKey, context.SeccompProfile, path)...)
	}
	eachContainer(&pod.Spec, func(c *corev1.Container, at containerPlace) {
		profile, path := ofPod, at.path().Child("securityContext")
		if c.SecurityContext != nil {
			errs = append(errs, matchSeccomp(pod, corev1.SeccompContainerAnnotationKeyPrefix+c.Name, c.SecurityContext.SeccompProfile, path)...)
			if own := c.SecurityContext.AppArmorProfile; own != nil {
				profile = own
			}
		}
		if pod.Spec.OS == nil || pod.Spec.OS.Name != corev1.Windows {
			armor = append(armor, matchAppArmor(pod, corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix+c.Name, profile, path)...)
		}
	})
	return append(errs, armor...)
}

func matchSeccomp(pod *corePod, key string, profile *corev1.SeccompProfile, path *field.Path) field.ErrorList {
	if profile == nil {
		return nil
	}
	return matchProfile(pod, key, string(profile.Type), profile.LocalhostProfile, path.Child("seccompProfile"), "seccomp")
}

func matchAppArmor(pod *corePod, key string, profile *corev1.AppArmorProfile, path *field.Path) field.ErrorList {
	if profile == nil {
		return nil
	}
	return matchProfile(pod, key, string(profile.Type), profile.LocalhostProfile, path.Child("appArmorProfile"), "apparmor")
}

// matchProfile compares an annotation with a profile. Seccomp and AppArmor have the same types and the same texts for them; only seccomp knows a
// default of Docker.
func matchProfile(pod *corePod, key, kind string, localProfile *string, path *field.Path, of string) field.ErrorList {
	annotation, ok := pod.Annotations[key]
	if !ok {
		return nil
	}
	file, local := strings.CutPrefix(annotation, corev1.SeccompLocalhostProfileNamePrefix)
	same := true
	switch corev1.SeccompProfileType(kind) {
	case corev1.SeccompProfileTypeUnconfined:
		same = annotation == corev1.SeccompProfileNameUnconfined
	case corev1.SeccompProfileTypeRuntimeDefault:
		same = annotation == corev1.SeccompProfileRuntimeDefault || of == "seccomp" && annotation == corev1.DeprecatedSeccompProfileDockerDefault
	case corev1.SeccompProfileTypeLocalhost:
		if same = local; local && (localProfile == nil || *localProfile != file) {
			return field.ErrorList{field.Forbidden(path.Child("localhostProfile"), of+" profile in annotation and field must match")}
		}
	}
	if same {
		return nil
	}
	return field.ErrorList{field.Forbidden(path.Child("type"), of+" type in annotation and field must match")}
}
