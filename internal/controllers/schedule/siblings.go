package schedule

import (
	"iter"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/snapshot"
)

// siblings returns the selector of the pods that a pod is spread with by default: those that its services and its controller select
// (SCHED-127). owner returns an object of the pod's namespace.
func siblings(pod *corev1.Pod, services iter.Seq[*corev1.Service], owner func(kind api.Kind, name string) (*plain.Object, bool)) labels.Selector {
	all := labels.Set{}
	for service := range services {
		// SCHED-127: a service without a selector selects nothing.
		if given := service.Spec.Selector; service.Namespace == pod.Namespace && given != nil &&
			labels.SelectorFromSet(given).Matches(labels.Set(pod.Labels)) {
			all = labels.Merge(all, given)
		}
	}
	selector := all.AsSelector()
	given := ownSelector(metav1.GetControllerOfNoCopy(pod), owner)
	if given == nil {
		return selector
	}
	if other, err := metav1.LabelSelectorAsSelector(given); err == nil {
		if requirements, ok := other.Requirements(); ok {
			selector = selector.Add(requirements...)
		}
	}
	return selector
}

// ownSelector returns the selector of the controller of a pod; nil if there is none that spreads its pods.
func ownSelector(ref *metav1.OwnerReference, owner func(kind api.Kind, name string) (*plain.Object, bool)) *metav1.LabelSelector {
	if ref == nil {
		return nil
	}
	kind := api.Kind(ref.Kind)
	if ref.APIVersion == appsv1.SchemeGroupVersion.String() {
		kind += ".apps"
	}
	switch kind {
	case snapshot.ReplicaSets:
		if obj, ok := owner(kind, ref.Name); ok {
			return plain.Shared[*appsv1.ReplicaSet](obj).Spec.Selector
		}
	case snapshot.StatefulSets:
		if obj, ok := owner(kind, ref.Name); ok {
			return plain.Shared[*appsv1.StatefulSet](obj).Spec.Selector
		}
	case snapshot.ReplicationControllers:
		if obj, ok := owner(kind, ref.Name); ok {
			return &metav1.LabelSelector{MatchLabels: plain.Shared[*corev1.ReplicationController](obj).Spec.Selector}
		}
	}
	return nil
}

// servicesAmong returns the Services among objects.
func servicesAmong(objs iter.Seq[*plain.Object]) iter.Seq[*corev1.Service] {
	return func(yield func(*corev1.Service) bool) {
		for obj := range objs {
			if api.KindOf(obj) == snapshot.Services && !yield(plain.Shared[*corev1.Service](obj)) {
				return
			}
		}
	}
}

// siblings is siblings with the objects in the informers.
func (s *scheduler) siblings(pod *corev1.Pod) labels.Selector {
	if len(s.groups) == 0 {
		return labels.Everything()
	}
	services := func(func(*plain.Object) bool) {}
	if informer := s.groups[snapshot.Services]; informer != nil {
		services = slices.Values(informer.List())
	}
	return siblings(pod, servicesAmong(services), func(kind api.Kind, name string) (*plain.Object, bool) {
		informer := s.groups[kind]
		if informer == nil {
			return nil, false
		}
		return informer.Get(api.Key(pod.Namespace, name))
	})
}
