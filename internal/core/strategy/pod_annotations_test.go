package strategy

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// TestPodAnnotations: annotations of pods that have a meaning (API-463).
func TestPodAnnotations(t *testing.T) {
	pod := func(node, key, value string) *corePod {
		p := &corePod{Spec: corev1.PodSpec{NodeName: node}}
		if key != "" {
			p.Annotations = map[string]string{key: value}
		}
		return p
	}
	mirror, cost := corev1.MirrorPodAnnotationKey, corev1.PodDeletionCost
	for _, tt := range []struct {
		name     string
		pod, old *corePod
		errors   int
	}{
		{"a mirror pod without a node", pod("", mirror, "x"), nil, 1},
		{"a mirror pod", pod("n1", mirror, "x"), nil, 0},
		{"a pod becomes a mirror pod", pod("n1", mirror, "x"), pod("n1", "", ""), 1},
		{"a mirror pod loses its annotation", pod("n1", "", ""), pod("n1", mirror, "x"), 1},
		{"a cost", pod("", cost, "-5"), nil, 0},
		{"a cost that is no number", pod("", cost, "x"), nil, 1},
		{"an empty cost", pod("", cost, ""), nil, 1},
		{"a cost with a sign", pod("", cost, "+1"), nil, 1},
		{"a cost that becomes wrong", pod("", cost, "x"), pod("", cost, "1"), 1},
		{"a cost that was wrong before", pod("", cost, "x"), pod("", cost, "y"), 0},
	} {
		errs := validatePodAnnotations(tt.pod, tt.old)
		if tt.old != nil {
			errs = validateAnnotationChange(tt.pod, tt.old)
		}
		require.Len(t, errs, tt.errors, "API-463: %s", tt.name)
	}
}
