package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/store"
)

// TestLabelKeys checks the selectors of new pods with matchLabelKeys and mismatchLabelKeys.
func TestLabelKeys(t *testing.T) {
	web := func() *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	}
	for _, tt := range []struct {
		rule, name string
		term       corev1.PodAffinityTerm
		want       string // the selector, with the values of the pod
	}{
		{"SCHED-299", "a label of the pod", corev1.PodAffinityTerm{LabelSelector: web(), MatchLabelKeys: []string{"version"}}, "app=web,version in (2)"},
		{"SCHED-299", "not that label", corev1.PodAffinityTerm{LabelSelector: web(), MismatchLabelKeys: []string{"version"}}, "app=web,version notin (2)"},
		{"SCHED-299", "a label that the pod has not", corev1.PodAffinityTerm{LabelSelector: web(), MatchLabelKeys: []string{"tenant"}}, "app=web"},
		{"SCHED-299", "no selector", corev1.PodAffinityTerm{MatchLabelKeys: []string{"version"}}, "<none>"},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			pod := fake.Pod("p", fake.Labels("version", "2"))
			tt.term.TopologyKey = corev1.LabelHostname
			pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{tt.term}}}
			pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelHostname,
				WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: tt.term.LabelSelector.DeepCopy(), MatchLabelKeys: tt.term.MatchLabelKeys}}
			// Validation requires a selector (API-263).
			created, err := store.New(store.Config{}).CreateWith(pod, store.CreateOptions{SkipValidation: true})
			require.NoError(t, err)
			spec := created.(*corev1.Pod).Spec
			got := spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector
			require.Equal(t, tt.want, metav1.FormatLabelSelector(got), tt.rule)
			if len(tt.term.MismatchLabelKeys) == 0 {
				require.Equal(t, tt.want, metav1.FormatLabelSelector(spec.TopologySpreadConstraints[0].LabelSelector), tt.rule)
			}
			require.Equal(t, tt.term.LabelSelector, pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector, "the caller's")
		})
	}
}
