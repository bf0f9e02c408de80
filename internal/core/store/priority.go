package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/strategy"
)

// PriorityClassKind is the kind of classes of priority. They are stored as data.
const PriorityClassKind api.Kind = "PriorityClass.scheduling.k8s.io"

// priorityClass holds the fields that a pod gets from its class.
type priorityClass struct {
	name   string
	value  int32
	policy corev1.PreemptionPolicy
}

// systemClasses exist in every cluster (API-258).
var systemClasses = []priorityClass{
	{"system-cluster-critical", 2_000_000_000, corev1.PreemptLowerPriority},
	{"system-node-critical", 2_000_001_000, corev1.PreemptLowerPriority},
}

// IsSystemClass reports whether a class of that name exists in every cluster.
func IsSystemClass(name string) bool {
	return slices.ContainsFunc(systemClasses, func(c priorityClass) bool { return c.name == name })
}

// CompletePriorities sets the priority of each new pod from now on, as the admission of an API server does: 0 if no class says otherwise. By
// default, a pod without a class stays as it is while no class is the default.
func (s *Store) CompletePriorities() { s.priorities = true }

// completePriority sets the priority of a new pod to that of its class, or of the default class, or to 0 (API-258).
func (s *Store) completePriority(r resource, obj api.Object) error {
	pod, ok := obj.(*corev1.Pod)
	if !ok || s.asGiven {
		return nil
	}
	spec := &pod.Spec
	class, ok := s.priorityClass(spec.PriorityClassName)
	if ok && class.name == "" && !s.priorities {
		return nil
	}
	const given = "must not be provided in pod spec; priority admission controller computed"
	var err error
	switch {
	// API-258: the class exists, and nothing in the pod contradicts it.
	case !ok:
		err = fmt.Errorf("no PriorityClass with name %s was found", spec.PriorityClassName)
	case spec.Priority != nil && *spec.Priority != class.value:
		err = fmt.Errorf("the integer value of priority (%d) "+given+" %d from the given PriorityClass name", *spec.Priority, class.value)
	case spec.PreemptionPolicy != nil && *spec.PreemptionPolicy != class.policy:
		err = fmt.Errorf("the string value of PreemptionPolicy (%s) "+given+" %s from the given PriorityClass name", *spec.PreemptionPolicy, class.policy)
	}
	if err != nil {
		return forbidden(r, pod.Name, err)
	}
	spec.PriorityClassName, spec.Priority, spec.PreemptionPolicy = class.name, &class.value, &class.policy
	return nil
}

// priorityClass returns the class of that name. "" is the default class, or a class without a name and priority 0 if there is none.
func (s *Store) priorityClass(name string) (priorityClass, bool) {
	i := slices.IndexFunc(systemClasses, func(c priorityClass) bool { return c.name == name })
	if i >= 0 {
		return systemClasses[i], true
	}
	none := priorityClass{policy: corev1.PreemptLowerPriority}
	classes := s.others.tables[PriorityClassKind]
	if classes == nil {
		return none, name == ""
	}
	if name != "" {
		obj, ok := classes.Lookup(name)
		if !ok {
			return none, false
		}
		return classOf(obj), true
	}
	found := none
	for _, obj := range classes.List() {
		if isDefault, _ := obj.Content()["globalDefault"].(bool); !isDefault {
			continue
		}
		// API-258: of several default classes, that with the lowest priority counts.
		if class := classOf(obj); found.name == "" || class.value < found.value {
			found = class
		}
	}
	return found, true
}

// defaultPriorityClass sets the policy of preemption (API-314).
func defaultPriorityClass(obj *plain.Object) {
	if obj.Content()["preemptionPolicy"] != nil {
		return
	}
	content := maps.Clone(obj.Content())
	if content == nil {
		content = map[string]any{}
	}
	content["preemptionPolicy"] = string(corev1.PreemptLowerPriority)
	obj.SetContent(content)
}

// priorityClassStrategy adds what is special about classes. Their generation stays 1.
func priorityClassStrategy(s strategy.Of[*plain.Object]) strategy.Of[*plain.Object] {
	s.Defaults, s.ValidateCreate, s.ValidateUpdate = defaultPriorityClass, validatePriorityClass, validatePriorityUpdate
	s.SpecChanged = nil
	return s
}

var priorityAdmission = admission[*plain.Object]{
	create: (*Store).admitDefaultClass,
	update: func(s *Store, obj, _ *plain.Object) error { return s.admitDefaultClass(obj) },
}

// admitDefaultClass refuses a second class that is the default (API-442).
func (s *Store) admitDefaultClass(obj *plain.Object) error {
	classes := s.others.tables[PriorityClassKind]
	if isDefault, _ := obj.Content()["globalDefault"].(bool); !isDefault || classes == nil || s.asGiven {
		return nil
	}
	for _, other := range classes.List() {
		if isDefault, _ := other.Content()["globalDefault"].(bool); isDefault && other.Name != obj.Name {
			return apierrors.NewForbidden(schema.GroupResource{Group: "scheduling.k8s.io", Resource: "priorityclasses"}, obj.Name,
				fmt.Errorf("PriorityClass %s is already marked as default. Only one default can exist", other.Name))
		}
	}
	return nil
}

// highestPriority is the highest one that a user may give.
const highestPriority = 1_000_000_000

// validatePriorityClass validates a new class (API-442).
func validatePriorityClass(obj *plain.Object) field.ErrorList {
	class := classOf(obj)
	var errs field.ErrorList
	switch {
	case strings.HasPrefix(obj.Name, "system-"):
		if why := notOfSystem(obj, class.value); why != "" {
			errs = append(errs, field.Forbidden(field.NewPath("metadata", "name"),
				"priority class names with 'system-' prefix are reserved for system use only. error: "+why))
		}
	case class.value > highestPriority:
		errs = append(errs, field.Forbidden(field.NewPath("value"), fmt.Sprintf("maximum allowed value of a user defined priority is %d", highestPriority)))
	}
	return append(errs, strategy.RequiredAt(policyOf(obj), field.NewPath("preemptionPolicy"), strategy.PreemptionPolicies)...)
}

// notOfSystem says in which way a class is not the one of every cluster with its name.
func notOfSystem(obj *plain.Object, value int32) string {
	i := slices.IndexFunc(systemClasses, func(c priorityClass) bool { return c.name == obj.Name })
	if i < 0 {
		return obj.Name + " is not a known system priority class"
	}
	if value != systemClasses[i].value {
		return fmt.Sprintf("value of %s PriorityClass must be %d", obj.Name, systemClasses[i].value)
	}
	if isDefault, _ := obj.Content()["globalDefault"].(bool); isDefault {
		return fmt.Sprintf("globalDefault of %s PriorityClass must be false", obj.Name)
	}
	return ""
}

// validatePriorityUpdate reports a change of what pods have copied (API-443).
func validatePriorityUpdate(obj, old *plain.Object) field.ErrorList {
	class, was := classOf(obj), classOf(old)
	var errs field.ErrorList
	if class.value != was.value {
		errs = append(errs, field.Forbidden(field.NewPath("value"), "may not be changed in an update."))
	}
	if policyOf(obj) != policyOf(old) {
		errs = append(errs, field.Invalid(field.NewPath("preemptionPolicy"), policyOf(obj), strategy.Immutable))
	}
	return errs
}

// policyOf returns the policy as it is given.
func policyOf(obj *plain.Object) corev1.PreemptionPolicy {
	policy, _ := obj.Content()["preemptionPolicy"].(string)
	return corev1.PreemptionPolicy(policy)
}

func classOf(obj *plain.Object) priorityClass {
	class := priorityClass{name: obj.Name, policy: corev1.PreemptLowerPriority}
	switch value := obj.Content()["value"].(type) {
	case int64:
		class.value = int32(value)
	case float64:
		class.value = int32(value)
	}
	if policy, _ := obj.Content()["preemptionPolicy"].(string); policy != "" {
		class.policy = corev1.PreemptionPolicy(policy)
	}
	return class
}
