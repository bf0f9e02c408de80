package schedule

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
)

// claimKeys are the keys of the claims that the volumes of a pod use, by volume; "" for a volume that uses none, and empty for a pod without
// claims. They are the same for all versions of a pod.
type claimKeys []string

func claimKeysOf(pod *corev1.Pod) claimKeys {
	var keys claimKeys
	for i := range pod.Spec.Volumes {
		if v := &pod.Spec.Volumes[i]; v.PersistentVolumeClaim == nil && v.Ephemeral == nil {
			continue
		}
		if keys == nil {
			keys = make(claimKeys, len(pod.Spec.Volumes))
		}
		keys[i] = api.Key(pod.Namespace, objects.ClaimOf(pod, &pod.Spec.Volumes[i]))
	}
	return keys
}

// named reports whether the ith volume names its claim, and no earlier one names the same. Ephemeral volumes do not name theirs (SCHED-187).
func (keys claimKeys) named(pod *corev1.Pod, i int) bool {
	// SCHED-187: no other pod can use the claim of an ephemeral volume.
	if pod.Spec.Volumes[i].PersistentVolumeClaim == nil {
		return false
	}
	for j, key := range keys[:i] {
		if key == keys[i] && pod.Spec.Volumes[j].PersistentVolumeClaim != nil {
			return false
		}
	}
	return true
}
