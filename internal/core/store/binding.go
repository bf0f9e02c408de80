package store

import (
	"fmt"
	"maps"
	"slices"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/strategy"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	podResource     = schema.GroupResource{Resource: "pods"}
	bindingResource = schema.GroupResource{Resource: "pods/binding"}
)

// Bind assigns the pod with that key to a node, as a POST to its binding subresource does (API-260 to API-262), and returns the pod as
// stored. The uid and resourceVersion of the binding, if set, are preconditions; its labels and annotations are added to the pod. The
// node need not exist. Errors: a server error for a malformed binding; BadRequest if it is nil or has another name; NotFound; Conflict
// if the pod cannot be assigned.
func (s *Store) Bind(key string, binding *corev1.Binding) (*corev1.Pod, error) {
	pods := own(s.Pods)
	if binding == nil {
		return nil, pods.badRequest("bind", "the binding is nil")
	}
	namespace, name := objects.SplitKey(key)
	// API-020, API-009: a binding has the name of its pod.
	if binding.Namespace != "" && binding.Namespace != namespace {
		return nil, errOtherNamespace()
	}
	if binding.Name != name {
		return nil, errOtherBinding()
	}
	// API-260: a malformed binding is rejected before the pod is looked up.
	if err := validateBinding(binding); err != nil {
		return nil, err
	}
	c := pods.whole().Get(key)
	if c == nil {
		// API-261: only an existing pod can be bound.
		return nil, pods.notFound(key)
	}
	var labels map[string]string
	if node, ok := s.Nodes.Lookup(binding.Target.Name); ok {
		labels = node.Labels
	}
	b, err := bound(c.obj, binding, labels, clock(s.now()))
	if err != nil {
		return nil, err
	}
	// The labels and annotations that come with a binding are not validated.
	if !s.dry {
		c.validMeta, c.validSpec = false, false
	}
	pods.put(c, b)
	return b, nil
}

func errOtherBinding() error {
	return apierrors.NewBadRequest("name in URL does not match name in Binding object")
}

// bound returns the pod after the binding (API-260 to API-262): a new object that shares unchanged fields with the old one and has its
// resourceVersion. node are the labels of the target node, nil if it does not exist. The errors are those of Bind.
func bound(pod *corev1.Pod, binding *corev1.Binding, node map[string]string, now metav1.Time) (*corev1.Pod, error) {
	if err := validateBinding(binding); err != nil {
		return nil, err
	}
	if binding.Name != pod.Name {
		return nil, errOtherBinding()
	}
	// API-261: the uid and the version that the binding names are preconditions.
	if binding.UID != "" && binding.UID != pod.UID {
		return nil, apierrors.NewConflict(podResource, pod.Name, errUID("/registry/pods/"+api.KeyOf(pod), binding.UID, pod.UID))
	}
	if binding.ResourceVersion != "" && binding.ResourceVersion != pod.ResourceVersion {
		return nil, apierrors.NewConflict(podResource, pod.Name, errVersion("/registry/pods/"+api.KeyOf(pod), binding.ResourceVersion, pod.ResourceVersion))
	}
	// API-261: a pod is assigned once, and not while it is being deleted or gated.
	switch {
	case pod.DeletionTimestamp != nil:
		return nil, bindingConflict(pod, "pod %s is being deleted, cannot be assigned to a host", pod.Name)
	case pod.Spec.NodeName != "":
		return nil, bindingConflict(pod, "pod %v is already assigned to node %q", pod.Name, pod.Spec.NodeName)
	case len(pod.Spec.SchedulingGates) > 0:
		return nil, bindingConflict(pod, "pod %v has non-empty .spec.schedulingGates", pod.Name)
	}
	// API-262: generation does not change.
	b := *pod
	b.Spec.NodeName = binding.Target.Name
	b.Status.NominatedNodeName = ""
	b.Annotations = merged(pod.Annotations, binding.Annotations)
	b.Labels = merged(pod.Labels, binding.Labels)
	// API-256: the pod gets the topology labels of its node, if the binding names the kind of its target.
	if binding.Target.Kind == string(api.Node) {
		b.Labels = merged(b.Labels, topologyLabels(node))
	}
	b.Status.Conditions = withScheduled(pod.Status.Conditions, now)
	return &b, nil
}

// validateBinding validates a binding (API-260). The error for a malformed one is a server error without a reason.
func validateBinding(binding *corev1.Binding) error {
	var errs field.ErrorList
	// API-260: the target is a node, and it has a name.
	if kind := binding.Target.Kind; kind != "" && kind != string(api.Node) {
		errs = append(errs, field.NotSupported(field.NewPath("target", "kind"), kind, []string{string(api.Node), "<empty>"}))
	}
	if binding.Target.Name == "" {
		errs = append(errs, field.Required(field.NewPath("target", "name"), ""))
	}
	if len(errs) == 0 {
		return nil
	}
	return serverError(errs.ToAggregate().Error())
}

func bindingConflict(pod *corev1.Pod, why string, args ...any) error {
	return apierrors.NewConflict(bindingResource, pod.Name, fmt.Errorf(why, args...))
}

// withScheduled returns a copy of the conditions in which PodScheduled is True, since now unless it was True before.
func withScheduled(conditions []corev1.PodCondition, now metav1.Time) []corev1.PodCondition {
	scheduled := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: now}
	for i := range conditions {
		if conditions[i].Type != corev1.PodScheduled {
			continue
		}
		if conditions[i].Status == corev1.ConditionTrue {
			scheduled.LastTransitionTime = conditions[i].LastTransitionTime
		}
		conditions = slices.Clone(conditions)
		conditions[i] = scheduled
		return conditions
	}
	return append(slices.Clip(conditions), scheduled)
}

// topologyLabels returns the labels of a node that name its zone and region (API-256).
func topologyLabels(node map[string]string) map[string]string {
	var labels map[string]string
	for _, key := range [...]string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion} {
		if value, ok := node[key]; ok {
			if labels == nil {
				labels = map[string]string{}
			}
			labels[key] = value
		}
	}
	return labels
}

// merged returns m with the entries of extra, which win. It returns m itself if that changes nothing.
func merged(m, extra map[string]string) map[string]string {
	own := m
	for key, value := range extra {
		if old, ok := own[key]; ok && old == value {
			continue
		}
		if strategy.SameMap(own, m) {
			own = maps.Clone(m)
			if own == nil {
				own = make(map[string]string, len(extra))
			}
		}
		own[key] = value
	}
	return own
}
