package check

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/trace"
)

func idOfCall(e *trace.Entry) volumeID { return volumeID{e.Call.Target, e.Call.Key} }

func podOfCall(e *trace.Entry) types.UID { return types.UID(e.Call.Pod) }

// podName returns the name of a pod for texts.
func (s *state) podName(uid types.UID) string {
	if info := s.pods[uid]; info != nil {
		return api.KeyOf(info.pod)
	}
	return "a pod with uid " + string(uid)
}

// hasInline reports whether a pod has a volume without a claim.
func hasInline(pod *corev1.Pod) bool {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.PersistentVolumeClaim == nil && v.Ephemeral == nil {
			return true
		}
	}
	return false
}
