package quota

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/volsim/volsim/api"
)

// inScope reports whether a quota counts an object, whatever its resources (QUO-014).
func inScope(q *corev1.ResourceQuota, obj api.Object) bool {
	for _, scope := range q.Spec.Scopes {
		if !matchesScope(corev1.ScopedResourceSelectorRequirement{ScopeName: scope, Operator: corev1.ScopeSelectorOpExists}, obj) {
			return false
		}
	}
	if q.Spec.ScopeSelector != nil {
		for _, requirement := range q.Spec.ScopeSelector.MatchExpressions {
			if !matchesScope(requirement, obj) {
				return false
			}
		}
	}
	return true
}

// matchesScope reports whether an object is in a scope. Objects other than pods and claims are in none (QUO-014).
func matchesScope(r corev1.ScopedResourceSelectorRequirement, obj api.Object) bool {
	switch obj := obj.(type) {
	case *corev1.PersistentVolumeClaim:
		return r.ScopeName == corev1.ResourceQuotaScopeVolumeAttributesClass && selectsName(r, attributesClasses(obj)...)
	case *corev1.Pod:
		switch r.ScopeName {
		case corev1.ResourceQuotaScopeTerminating:
			return HasDeadline(obj)
		case corev1.ResourceQuotaScopeNotTerminating:
			return !HasDeadline(obj)
		case corev1.ResourceQuotaScopeBestEffort:
			return obj.Status.QOSClass == corev1.PodQOSBestEffort
		case corev1.ResourceQuotaScopeNotBestEffort:
			return obj.Status.QOSClass != corev1.PodQOSBestEffort
		case corev1.ResourceQuotaScopePriorityClass:
			if obj.Spec.PriorityClassName == "" {
				return selectsName(r)
			}
			return selectsName(r, obj.Spec.PriorityClassName)
		case corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
			return looksElsewhere(obj.Spec.Affinity)
		}
	}
	return false
}

// looksElsewhere reports whether an affinity to pods, or against them, is about pods of named or selected namespaces.
func looksElsewhere(a *corev1.Affinity) bool {
	if a == nil {
		return false
	}
	elsewhere := func(term corev1.PodAffinityTerm) bool {
		return len(term.Namespaces) > 0 || term.NamespaceSelector != nil
	}
	weighted := func(term corev1.WeightedPodAffinityTerm) bool { return elsewhere(term.PodAffinityTerm) }
	if p := a.PodAffinity; p != nil && (slices.ContainsFunc(p.RequiredDuringSchedulingIgnoredDuringExecution, elsewhere) ||
		slices.ContainsFunc(p.PreferredDuringSchedulingIgnoredDuringExecution, weighted)) {
		return true
	}
	p := a.PodAntiAffinity
	return p != nil && (slices.ContainsFunc(p.RequiredDuringSchedulingIgnoredDuringExecution, elsewhere) ||
		slices.ContainsFunc(p.PreferredDuringSchedulingIgnoredDuringExecution, weighted))
}

// HasDeadline reports whether a pod is in the scope Terminating.
func HasDeadline(pod *corev1.Pod) bool {
	return pod.Spec.ActiveDeadlineSeconds != nil && *pod.Spec.ActiveDeadlineSeconds >= 0
}

// attributesClasses returns the names of the VolumeAttributesClasses that a claim wants, has, or is being changed to.
func attributesClasses(claim *corev1.PersistentVolumeClaim) []string {
	var names []string
	for _, name := range []*string{claim.Spec.VolumeAttributesClassName, claim.Status.CurrentVolumeAttributesClassName} {
		if name != nil && *name != "" {
			names = append(names, *name)
		}
	}
	if modify := claim.Status.ModifyVolumeStatus; modify != nil && modify.TargetVolumeAttributesClassName != "" {
		names = append(names, modify.TargetVolumeAttributesClassName)
	}
	return names
}

// selectsName reports whether a requirement selects one of the names; without names, whether it selects an object that has none.
func selectsName(r corev1.ScopedResourceSelectorRequirement, names ...string) bool {
	selector, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: string(r.ScopeName), Operator: metav1.LabelSelectorOperator(r.Operator), Values: r.Values},
	}})
	if err != nil {
		return false
	}
	if len(names) == 0 {
		return selector.Matches(labels.Set{})
	}
	return slices.ContainsFunc(names, func(name string) bool { return selector.Matches(labels.Set{string(r.ScopeName): name}) })
}
