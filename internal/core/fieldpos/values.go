package fieldpos

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/internal/core/similar"
)

// values are the Go types whose values decide what a controller does, with all values that Kubernetes v1.36 knows. The empty one is allowed
// everywhere. The operators of selectors and the reclaim policy are not among them, because rules say what an unknown one means (BIND-053,
// RECL-005).
var values = map[reflect.Type][]string{
	reflect.TypeFor[corev1.PersistentVolumeAccessMode]():    {"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"},
	reflect.TypeFor[corev1.PersistentVolumeMode]():          {"Filesystem", "Block"},
	reflect.TypeFor[corev1.PersistentVolumePhase]():         {"Pending", "Available", "Bound", "Released", "Failed"},
	reflect.TypeFor[corev1.PersistentVolumeClaimPhase]():    {"Pending", "Bound", "Lost"},
	reflect.TypeFor[corev1.PodPhase]():                      {"Pending", "Running", "Succeeded", "Failed", "Unknown"},
	reflect.TypeFor[corev1.RestartPolicy]():                 {"Always", "OnFailure", "Never"},
	reflect.TypeFor[corev1.TaintEffect]():                   {"NoSchedule", "PreferNoSchedule", "NoExecute"},
	reflect.TypeFor[corev1.TolerationOperator]():            {"Exists", "Equal", "Lt", "Gt"},
	reflect.TypeFor[corev1.ConditionStatus]():               {"True", "False", "Unknown"},
	reflect.TypeFor[corev1.UnsatisfiableConstraintAction](): {"DoNotSchedule", "ScheduleAnyway"},
	reflect.TypeFor[corev1.PreemptionPolicy]():              {"PreemptLowerPriority", "Never"},
	reflect.TypeFor[storagev1.VolumeBindingMode]():          {"Immediate", "WaitForFirstConsumer"},
	reflect.TypeFor[storagev1.FSGroupPolicy]():              {"None", "File", "ReadWriteOnceWithFSType"},
	reflect.TypeFor[storagev1.VolumeLifecycleMode]():        {"Persistent", "Ephemeral"},
}

// unknownValue returns what is wrong with a value of a type that has a fixed set of them; "" if nothing is.
func unknownValue(t reflect.Type, value string) string {
	allowed, fixed := values[t]
	if !fixed || value == "" || slices.Contains(allowed, value) {
		return ""
	}
	return fmt.Sprintf("unknown value %q: want one of %s%s", value, strings.Join(allowed, ", "), similar.Hint(value, allowed))
}

// CheckValues returns an error if a field of the object, a pointer to a struct, has a value that Kubernetes does not know and that decides
// what a controller does.
func CheckValues(object any) error {
	v := reflect.ValueOf(object)
	return planOf(v.Type()).check(v)
}

// plan says where the values of a type contain some of a fixed set. A nil plan is nowhere.
type plan struct {
	fixed  bool  // a string of a fixed set
	fields []int // of a struct
	inner  []*plan
}

var plans sync.Map // of *plan by reflect.Type

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p := newPlan(t, nil)
	plans.Store(t, p)
	return p
}

// newPlan returns the plan of a type within others.
func newPlan(t reflect.Type, outer []reflect.Type) *plan {
	if _, fixed := values[t]; fixed {
		return &plan{fixed: true}
	}
	if slices.Contains(outer, t) {
		return nil
	}
	outer = append(outer, t)
	p := &plan{}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if inner := newPlan(t.Elem(), outer); inner != nil {
			p.inner = []*plan{inner}
		}
	case reflect.Struct:
		for i := range t.NumField() {
			if inner := newPlan(t.Field(i).Type, outer); inner != nil && t.Field(i).IsExported() {
				p.fields, p.inner = append(p.fields, i), append(p.inner, inner)
			}
		}
	}
	if len(p.inner) == 0 {
		return nil
	}
	return p
}

func (p *plan) check(v reflect.Value) error {
	if p == nil {
		return nil
	}
	if p.fixed {
		if text := unknownValue(v.Type(), v.String()); text != "" {
			return errors.New(text)
		}
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return p.inner[0].check(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := p.inner[0].check(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		var all error
		for _, key := range v.MapKeys() {
			if err := p.inner[0].check(v.MapIndex(key)); err != nil && (all == nil || err.Error() < all.Error()) {
				all = err // the same one in any order
			}
		}
		return all
	case reflect.Struct:
		for i, at := range p.fields {
			if err := p.inner[i].check(v.Field(at)); err != nil {
				return err
			}
		}
	}
	return nil
}
