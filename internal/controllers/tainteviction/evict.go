package tainteviction

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/objects"
)

// Forever is the result of Evict for a pod that stays.
const Forever time.Duration = -1

// Evict returns how long a pod with these tolerations stays on a node with these NoExecute taints: Forever, or zero and more. For each
// taint the first toleration that matches counts, and of those the shortest (NODE-062).
func Evict(tolerations []corev1.Toleration, taints []corev1.Taint) time.Duration {
	stays := Forever
	for i := range taints {
		var tolerated *corev1.Toleration
		for j := range tolerations {
			if objects.Tolerates(&tolerations[j], &taints[i]) {
				tolerated = &tolerations[j]
				break
			}
		}
		if tolerated == nil {
			return 0
		}
		// NODE-062: without seconds the taint is tolerated for ever.
		if tolerated.TolerationSeconds == nil {
			continue
		}
		limit := max(time.Duration(*tolerated.TolerationSeconds)*time.Second, 0)
		if stays == Forever || limit < stays {
			stays = limit
		}
	}
	return stays
}

// Begun returns when a pod with these tolerations began to wait for its eviction: when the first NoExecute taint was added that it tolerates for a
// limited time, or when it was created if that was later; zero if the taints do not tell. A controller that runs all the time counts from
// there (NODE-063, NODE-064).
func Begun(pod *corev1.Pod, taints []corev1.Taint) time.Time {
	var begun time.Time
	for i := range taints {
		added := taints[i].TimeAdded
		if added == nil || Evict(pod.Spec.Tolerations, taints[i:i+1]) <= 0 {
			continue
		}
		if begun.IsZero() || added.Time.Before(begun) {
			begun = added.Time
		}
	}
	if created := pod.CreationTimestamp.Time; !begun.IsZero() && created.After(begun) {
		return created
	}
	return begun
}

// NoExecute returns the taints with effect NoExecute.
func NoExecute(taints []corev1.Taint) []corev1.Taint {
	var some []corev1.Taint
	for _, taint := range taints {
		if taint.Effect == corev1.TaintEffectNoExecute {
			some = append(some, taint)
		}
	}
	return some
}
