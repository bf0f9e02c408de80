package objects

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestAdmitsNode(t *testing.T) {
	labels := map[string]string{"zone": "a", "size": "10"}
	expression := func(key string, op corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}}
	}
	field := corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn,
		Values: []string{"n"}}}}
	for _, tc := range []struct {
		rule, name string
		terms      []corev1.NodeSelectorTerm
		want       bool
	}{
		{"MNT-191", "in", []corev1.NodeSelectorTerm{expression("zone", corev1.NodeSelectorOpIn, "a", "b")}, true},
		{"MNT-191", "not in the set", []corev1.NodeSelectorTerm{expression("zone", corev1.NodeSelectorOpIn, "b")}, false},
		{"MNT-191", "one of two terms",
			[]corev1.NodeSelectorTerm{expression("zone", corev1.NodeSelectorOpIn, "b"), expression("zone", corev1.NodeSelectorOpExists)}, true},
		{"MNT-191", "not in", []corev1.NodeSelectorTerm{expression("other", corev1.NodeSelectorOpNotIn, "x")}, true},
		{"MNT-191", "absent", []corev1.NodeSelectorTerm{expression("zone", corev1.NodeSelectorOpDoesNotExist)}, false},
		{"MNT-191", "greater", []corev1.NodeSelectorTerm{expression("size", corev1.NodeSelectorOpGt, "9")}, true},
		{"MNT-191", "less", []corev1.NodeSelectorTerm{expression("size", corev1.NodeSelectorOpLt, "9")}, false},
		{"MNT-191", "no number", []corev1.NodeSelectorTerm{expression("zone", corev1.NodeSelectorOpGt, "9")}, false},
		{"MNT-191", "a field of the node", []corev1.NodeSelectorTerm{field}, true},
		{"MNT-191", "an empty term", []corev1.NodeSelectorTerm{{}}, false},
		{"MNT-191", "no terms", nil, false},
	} {
		pv := &corev1.PersistentVolume{}
		pv.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: tc.terms}}
		if got := AdmitsNode(pv, labels); got != tc.want {
			t.Errorf("%s: AdmitsNode of %s = %v, want %v", tc.rule, tc.name, got, tc.want)
		}
	}
	if !AdmitsNode(&corev1.PersistentVolume{}, nil) {
		t.Errorf("MNT-191: a volume without affinity does not admit a node")
	}
}
