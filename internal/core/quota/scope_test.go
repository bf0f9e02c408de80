package quota

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestAffinityScope: which pods are in the scope CrossNamespacePodAffinity (usesCrossNamespacePodAffinity).
func TestAffinityScope(t *testing.T) {
	named, selected := corev1.PodAffinityTerm{Namespaces: []string{"a"}}, corev1.PodAffinityTerm{NamespaceSelector: &metav1.LabelSelector{}}
	required := func(terms ...corev1.PodAffinityTerm) *corev1.Affinity {
		return &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
	}
	against := func(terms ...corev1.PodAffinityTerm) *corev1.Affinity {
		return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
	}
	preferred := []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: named}}
	for _, tc := range []struct {
		rule, name string
		affinity   *corev1.Affinity
		want       bool
	}{
		{"QUO-014", "none", nil, false},
		{"QUO-014", "own namespace", required(corev1.PodAffinityTerm{TopologyKey: "zone"}), false},
		{"QUO-014", "named namespaces, in the second term", required(corev1.PodAffinityTerm{}, named), true},
		{"QUO-014", "selected namespaces", against(selected), true},
		{"QUO-014", "against pods of the own namespace", against(corev1.PodAffinityTerm{}), false},
		{"QUO-014", "preferred", &corev1.Affinity{PodAffinity: &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: preferred}}, true},
		{"QUO-014", "preferred against", &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: preferred}}, true},
		{"QUO-014", "nodes", &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}, false},
	} {
		t.Run(tc.rule+" "+tc.name, func(t *testing.T) {
			q := &corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Scopes: []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeCrossNamespacePodAffinity}}}
			if got := inScope(q, &corev1.Pod{Spec: corev1.PodSpec{Affinity: tc.affinity}}); got != tc.want {
				t.Errorf("%s: in the scope = %t, want %t", tc.rule, got, tc.want)
			}
		})
	}
}
