package strategy

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validatePodAnnotations validates the annotations of a pod that have a meaning (API-463). old is nil for a new one.
func validatePodAnnotations(pod, old *corePod) field.ErrorList {
	if len(pod.Annotations) == 0 {
		return nil
	}
	var errs field.ErrorList
	if mirror, isMirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; isMirror && pod.Spec.NodeName == "" {
		errs = append(errs, field.Invalid(annotationPath(corev1.MirrorPodAnnotationKey), mirror, "must set spec.nodeName if mirror pod annotation is set"))
	}
	if cost, given := pod.Annotations[corev1.PodDeletionCost]; given && !isCost(cost) && !keepsCost(old) {
		errs = append(errs, field.Invalid(annotationPath(corev1.PodDeletionCost), cost, "must be a 32bit integer"))
	}
	return append(errs, validateProfileAnnotations(pod)...)
}

// validateAnnotationChange validates what an update does to such annotations. As on the server, what is wrong with the new ones comes again.
func validateAnnotationChange(pod, old *corePod) field.ErrorList {
	if len(pod.Annotations) == 0 && len(old.Annotations) == 0 {
		return nil
	}
	var errs field.ErrorList
	mirror, isMirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	switch before, was := old.Annotations[corev1.MirrorPodAnnotationKey]; {
	case was && (!isMirror || mirror != before):
		errs = append(errs, field.Forbidden(annotationPath(corev1.MirrorPodAnnotationKey), "may not remove or update mirror pod annotation"))
	case !was && isMirror:
		errs = append(errs, field.Forbidden(annotationPath(corev1.MirrorPodAnnotationKey), "may not add mirror pod annotation"))
	}
	errs = append(errs, validateAppArmorChange(pod, old)...)
	return append(errs, validatePodAnnotations(pod, old)...)
}

func annotationPath(key string) *field.Path { return field.NewPath("metadata", "annotations").Key(key) }

// keepsCost reports whether a pod was stored with a cost that is none.
func keepsCost(old *corePod) bool {
	if old == nil {
		return false
	}
	cost, given := old.Annotations[corev1.PodDeletionCost]
	return given && !isCost(cost)
}

// isCost reports whether a text is a number without needless digits.
func isCost(text string) bool {
	n, err := strconv.ParseInt(text, 10, 32)
	return err == nil && strconv.FormatInt(n, 10) == text
}
