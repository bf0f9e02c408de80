package apiserver

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
)

// admit completes a new object as those admission plugins of kube-apiserver do that only matter to clients.
func (s *Server) admit(obj api.Object) error {
	switch obj := obj.(type) {
	case *corev1.Node:
		if s.cfg.TaintNodes {
			taintNode(obj)
		}
	case *corev1.Pod:
		if s.cfg.PodPriority {
			return s.setPriority(obj)
		}
	}
	return nil
}

func taintNode(node *corev1.Node) {
	// API-257: a new node is not ready, whatever it reports.
	taint := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
	if !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) }) {
		node.Spec.Taints = append(slices.Clip(node.Spec.Taints), taint)
	}
}

// priorityClassKind is the kind of classes of priority.
const priorityClassKind api.Kind = "PriorityClass.scheduling.k8s.io"

// priorityClass holds the fields that a pod gets from its class.
type priorityClass struct {
	name   string
	value  int32
	policy corev1.PreemptionPolicy
}

// systemClasses exist in every cluster.
var systemClasses = []priorityClass{
	{"system-cluster-critical", 2_000_000_000, corev1.PreemptLowerPriority},
	{"system-node-critical", 2_000_001_000, corev1.PreemptLowerPriority},
}

// setPriority sets the priority of a new pod to that of its class, or of the default class, or to 0.
func (s *Server) setPriority(pod *corev1.Pod) error {
	class, ok := s.priorityClass(pod.Spec.PriorityClassName)
	forbidden := func(format string, args ...any) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, pod.Name, fmt.Errorf(format, args...))
	}
	const given = "must not be provided in pod spec; priority admission controller computed"
	switch {
	case !ok:
		return forbidden("no PriorityClass with name %s was found", pod.Spec.PriorityClassName)
	case pod.Spec.Priority != nil && *pod.Spec.Priority != class.value:
		return forbidden("the integer value of priority (%d) "+given+" %d from the given PriorityClass name", *pod.Spec.Priority, class.value)
	case pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy != class.policy:
		return forbidden("the string value of PreemptionPolicy (%s) "+given+" %s from the given PriorityClass name",
			*pod.Spec.PreemptionPolicy, class.policy)
	}
	pod.Spec.PriorityClassName, pod.Spec.Priority, pod.Spec.PreemptionPolicy = class.name, &class.value, &class.policy
	return nil
}

// keepPriority restores the priority that an update of a pod omits.
func (s *Server) keepPriority(r *request, obj api.Object) {
	pod, ok := obj.(*corev1.Pod)
	if !ok || !s.cfg.PodPriority {
		return
	}
	old, found := s.store.Pods.Lookup(r.key())
	if !found {
		return
	}
	if pod.Spec.Priority == nil {
		pod.Spec.Priority = old.Spec.Priority
	}
	if pod.Spec.PreemptionPolicy == nil {
		pod.Spec.PreemptionPolicy = old.Spec.PreemptionPolicy
	}
}

// priorityClass returns the class of that name. "" is the default class, or priority 0 if there is none.
func (s *Server) priorityClass(name string) (priorityClass, bool) {
	i := slices.IndexFunc(systemClasses, func(c priorityClass) bool { return c.name == name })
	if i >= 0 {
		return systemClasses[i], true
	}
	if name != "" {
		obj, err := s.store.Get(priorityClassKind, name)
		if err != nil {
			return priorityClass{}, false
		}
		return classOf(obj), true
	}
	found := priorityClass{policy: corev1.PreemptLowerPriority}
	for _, obj := range s.store.List(priorityClassKind) {
		if isDefault, _ := obj.(*plain.Object).Content["globalDefault"].(bool); !isDefault {
			continue
		}
		if class := classOf(obj); found.name == "" || class.value < found.value {
			found = class
		}
	}
	return found, true
}

func classOf(obj api.Object) priorityClass {
	content := obj.(*plain.Object).Content
	class := priorityClass{name: obj.GetName(), policy: corev1.PreemptLowerPriority}
	switch value := content["value"].(type) {
	case int64:
		class.value = int32(value)
	case float64:
		class.value = int32(value)
	}
	if policy, _ := content["preemptionPolicy"].(string); policy != "" {
		class.policy = corev1.PreemptionPolicy(policy)
	}
	return class
}
