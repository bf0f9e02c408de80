package store

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/strategy/sample"
)

func priorityClassNamed(name string, value int32, isDefault bool) *schedulingv1.PriorityClass {
	return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value, GlobalDefault: isDefault}
}

func TestPriority(t *testing.T) {
	high, low, other := priorityClassNamed("high", 1000, false), priorityClassNamed("low", 5, true), priorityClassNamed("other", 7, true)
	never := priorityClassNamed("never", 3, false)
	never.PreemptionPolicy = new(corev1.PreemptNever)
	given := func(class string, priority *int32) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.PriorityClassName, p.Spec.Priority = class, priority }
	}
	for _, tt := range []struct {
		rule, name string
		classes    []api.Object
		pod        func(*corev1.Pod)
		served     bool // as in a cluster with an API server
		want, err  string
	}{
		{"API-258", "that of the class", []api.Object{high}, given("high", nil), false, "high 1000 PreemptLowerPriority", ""},
		{"API-258", "the policy of the class", []api.Object{never}, given("never", nil), false, "never 3 Never", ""},
		{"API-258", "a class of every cluster", nil, given("system-node-critical", nil), false, "system-node-critical 2000001000 PreemptLowerPriority", ""},
		{"API-258", "the default class with the lowest priority", []api.Object{high, other, low}, given("", nil), false, "low 5 PreemptLowerPriority", ""},
		{"API-258", "no default class", []api.Object{high}, given("", nil), false, "", ""},
		{"API-258", "no default class, of an API server", []api.Object{high}, given("", nil), true, " 0 PreemptLowerPriority", ""},
		{"API-258", "a priority and no class", nil, given("", new(int32(3))), false, " 3 ", ""},
		{"API-258", "a priority and no class, of an API server", nil, given("", new(int32(3))), true, "", "the integer value of priority (3) must not be provided"},
		{"API-258", "a missing class", []api.Object{high}, given("gold", nil), false, "", "no PriorityClass with name gold was found"},
		{"API-258", "another priority than that of the class", []api.Object{high}, given("high", new(int32(3))), false, "", "computed 1000 from the given PriorityClass name"},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			s := New(Config{})
			if tt.served {
				s.CompletePriorities()
			}
			for _, class := range tt.classes {
				_, err := s.Load(class) // two of them are the default
				require.NoError(t, err)
			}
			pod := sample.Pod()
			tt.pod(pod)
			stored, err := s.Pods.CreateWith(pod, CreateOptions{})
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, priorityOf(stored))
			// API-258: an update that omits the priority keeps it.
			update := stored.DeepCopy()
			update.Labels, update.Spec.Priority, update.Spec.PreemptionPolicy = map[string]string{"a": "b"}, nil, nil
			updated, err := s.Pods.Update(update)
			require.NoError(t, err)
			require.Equal(t, tt.want, priorityOf(updated))
		})
	}
}

// priorityOf describes the priority of a pod.
func priorityOf(pod *corev1.Pod) string {
	if pod.Spec.Priority == nil {
		return ""
	}
	parts := []string{pod.Spec.PriorityClassName, strconv.Itoa(int(*pod.Spec.Priority)), ""}
	if pod.Spec.PreemptionPolicy != nil {
		parts[2] = string(*pod.Spec.PreemptionPolicy)
	}
	return strings.Join(parts, " ")
}

func TestPriorityClassDefault(t *testing.T) {
	for _, tt := range []struct{ rule, name, given, want string }{
		{"API-314", "the default policy", "", "PreemptLowerPriority"},
		{"API-314", "the given policy", "Never", "Never"},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			class := priorityClassNamed("high", 1, false)
			if tt.given != "" {
				class.PreemptionPolicy = new(corev1.PreemptionPolicy(tt.given))
			}
			stored, err := New(Config{}).CreateWith(class, CreateOptions{})
			require.NoError(t, err)
			require.Equal(t, tt.want, stored.(*plain.Object).Content()["preemptionPolicy"])
		})
	}
}

func TestPriorityClassValidation(t *testing.T) {
	class := func(name string, value int32, isDefault bool, policy corev1.PreemptionPolicy) api.Object {
		c := priorityClassNamed(name, value, isDefault)
		c.PreemptionPolicy = &policy
		return c
	}
	const lower = corev1.PreemptLowerPriority
	for _, tt := range []struct {
		rule, name string
		class      api.Object
		update     api.Object // nil for a create
		want       string
	}{
		{"API-442", "a second default", class("second", 1, true, lower), nil, "PriorityClass first is already marked as default. Only one default can exist"},
		{"API-442", "another becomes the default", class("a", 1, false, lower), class("a", 1, true, lower), "PriorityClass first is already marked as default"},
		{"API-442", "the default stays the default", class("first", 1, true, lower), class("first", 1, true, lower), ""},
		{"API-442", "the highest value", class("a", 1_000_000_000, false, lower), nil, ""},
		{"API-442", "a higher one", class("a", 1_000_000_001, false, lower), nil, "value: Forbidden: maximum allowed value of a user defined priority is 1000000000"},
		{"API-442", "a class of the system", class("system-node-critical", 2_000_001_000, false, lower), nil, ""},
		{"API-442", "its value", class("system-node-critical", 1, false, lower), nil, "error: value of system-node-critical PriorityClass must be 2000001000"},
		{"API-442", "it is no default", class("system-node-critical", 2_000_001_000, true, lower), nil,
			"error: globalDefault of system-node-critical PriorityClass must be false"},
		{"API-442", "the prefix is reserved", class("system-a", 1, false, lower), nil,
			"metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-a is not a known system priority class"},
		{"API-442", "an unknown policy", class("a", 1, false, "Always"), nil, `preemptionPolicy: Unsupported value: "Always": supported values: "PreemptLowerPriority", "Never"`},
		{"API-443", "another value", class("a", 1, false, lower), class("a", 2, false, lower), "value: Forbidden: may not be changed in an update."},
		{"API-443", "another policy", class("a", 1, false, lower), class("a", 1, false, "Never"), `preemptionPolicy: Invalid value: "Never": field is immutable`},
		{"API-443", "another default", class("a", 1, false, lower), class("a", 1, true, lower), ""},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			s := New(Config{})
			if strings.Contains(tt.want, "first") {
				_, err := s.CreateWith(class("first", 5, true, lower), CreateOptions{})
				require.NoError(t, err)
			}
			_, err := s.CreateWith(tt.class, CreateOptions{})
			if tt.update != nil {
				require.NoError(t, err)
				_, err = s.Update(tt.update)
			}
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.True(t, apierrors.IsInvalid(err) || apierrors.IsForbidden(err), "%v", err)
			require.ErrorContains(t, err, tt.want)
		})
	}
}
