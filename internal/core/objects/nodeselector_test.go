package objects_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/objects"
)

func TestSelectsNode(t *testing.T) {
	node := fake.Node("n1", fake.Labels("disk", "ssd"))
	selecting := func(key, value string) *corev1.Pod {
		pod := fake.Pod("p")
		pod.Spec.NodeSelector = map[string]string{key: value}
		return pod
	}
	wanting := func(terms ...corev1.NodeSelectorTerm) *corev1.Pod {
		pod := fake.Pod("p")
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
		}}
		return pod
	}
	label := func(op corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "disk", Operator: op, Values: values}}}
	}
	field := func(key string, op corev1.NodeSelectorOperator, value string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: []string{value}}}}
	}
	for _, tc := range []struct {
		name string
		pod  *corev1.Pod
		want bool
	}{
		{"no wishes", fake.Pod("p"), true},
		{"a label", selecting("disk", "ssd"), true},
		{"another value", selecting("disk", "hdd"), false},
		{"no such label", selecting("gpu", ""), false},
		{"an expression", wanting(label(corev1.NodeSelectorOpIn, "ssd", "nvme")), true},
		{"one of the terms", wanting(label(corev1.NodeSelectorOpDoesNotExist), label(corev1.NodeSelectorOpExists)), true},
		{"none of the terms", wanting(label(corev1.NodeSelectorOpNotIn, "ssd"), corev1.NodeSelectorTerm{}), false},
		{"its name", wanting(field("metadata.name", corev1.NodeSelectorOpIn, "n1")), true},
		{"another name", wanting(field("metadata.name", corev1.NodeSelectorOpIn, "n2")), false},
		{"not another name", wanting(field("metadata.name", corev1.NodeSelectorOpNotIn, "n2")), true},
		{"not its name", wanting(field("metadata.name", corev1.NodeSelectorOpNotIn, "n1")), false},
		{"an unknown field", wanting(field("metadata.uid", corev1.NodeSelectorOpIn, "n1")), false},
	} {
		if got := objects.SelectsNode(tc.pod, node); got != tc.want {
			t.Errorf("SelectsNode, %s = %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestTolerated(t *testing.T) {
	taint := &corev1.Taint{Key: "k", Value: "v", Effect: corev1.TaintEffectNoSchedule}
	for _, tc := range []struct {
		name       string
		toleration corev1.Toleration
		want       bool
	}{
		{"the same", corev1.Toleration{Key: "k", Operator: corev1.TolerationOpEqual, Value: "v", Effect: corev1.TaintEffectNoSchedule}, true},
		{"equal is the default", corev1.Toleration{Key: "k", Value: "v"}, true},
		{"another value", corev1.Toleration{Key: "k", Value: "w"}, false},
		{"any value", corev1.Toleration{Key: "k", Operator: corev1.TolerationOpExists}, true},
		{"any key", corev1.Toleration{Operator: corev1.TolerationOpExists}, true},
		{"another key", corev1.Toleration{Key: "l", Operator: corev1.TolerationOpExists}, false},
		{"another effect", corev1.Toleration{Key: "k", Value: "v", Effect: corev1.TaintEffectNoExecute}, false},
	} {
		pod := fake.Pod("p")
		pod.Spec.Tolerations = []corev1.Toleration{tc.toleration}
		if got := objects.Tolerated(pod, taint); got != tc.want {
			t.Errorf("Tolerated, %s = %v, want %v", tc.name, got, tc.want)
		}
	}
	if objects.Tolerated(fake.Pod("p"), taint) {
		t.Error("Tolerated without tolerations = true, want false")
	}
}
