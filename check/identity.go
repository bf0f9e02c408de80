package check

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

var oneIdentity = Invariant{
	Name:        "one-pod-per-identity",
	Description: "a pod of a StatefulSet runs only when the volumes of the earlier pods with its name are unpublished",
	Rules:       []string{"STS-022"},
	Exceptions: []string{
		"forced by a deletion that does not wait for the node: by a user, the pod garbage collector, or the namespace controller",
		"pods without volumes: no call tells when their containers end",
	},
	watch: func(inv *watched, s *state) Watcher {
		earlier := map[string][]types.UID{} // deleted pods of StatefulSets whose volumes may be published, by key
		return Watcher{forget: func() { clear(earlier) }, written: func(e *trace.Entry) {
			if e.Object.Kind != api.Pod {
				return
			}
			if old, ok := e.Old.(*corev1.Pod); ok && e.New == nil && setOf(old) != "" {
				earlier[e.Object.Key] = append(earlier[e.Object.Key], old.UID)
				return
			}
			pod, ok := e.New.(*corev1.Pod)
			if !ok || pod.Status.Phase != corev1.PodRunning || len(earlier[e.Object.Key]) == 0 {
				return
			}
			if old, ok := e.Old.(*corev1.Pod); ok && old.Status.Phase == corev1.PodRunning {
				return
			}
			for _, uid := range earlier[e.Object.Key] {
				s.checkIdentity(inv, e, pod, uid)
			}
			// Each earlier pod is reported once.
			delete(earlier, e.Object.Key)
		}}
	},
}

// setOf returns the name of the StatefulSet that controls a pod, "" if there is none.
func setOf(pod *corev1.Pod) string {
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil && ref.Kind == "StatefulSet" {
		return ref.Name
	}
	return ""
}

// checkIdentity reports a pod that begins to run while an earlier one of its name has a volume.
func (s *state) checkIdentity(inv *watched, e *trace.Entry, pod *corev1.Pod, earlier types.UID) {
	info := s.pods[earlier]
	if info == nil || earlier == pod.UID || setOf(pod) != setOf(info.pod) {
		return
	}
	var ids []volumeID
	for id, r := range s.records {
		if slices.ContainsFunc(r.uses, func(u use) bool { return u.Op == storage.Publish && u.Pod == earlier && !s.releasedByNode(r, u) }) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return
	}
	slices.SortFunc(ids, compareIDs)
	r := s.records[ids[0]]
	i := slices.IndexFunc(r.uses, func(u use) bool { return u.Op == storage.Publish && u.Pod == earlier })
	v := s.about(r, fmt.Sprintf("pod %s runs on %s while an earlier pod of StatefulSet %s with this name has %s on %s",
		e.Object.Key, pod.Spec.NodeName, setOf(pod), r.id, r.uses[i].Node), r.uses[i].Entry, *e)
	why, witness := s.deletedByForce(earlier)
	v.Forced = why
	v.Witness = append(v.Witness, witness...)
	s.report(inv, v)
}
