package evidence

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// The operations of assumptions about the containers of a pod. No driver has them.
const (
	StartContainers storage.Op = "start containers"
	RunContainers   storage.Op = "run containers"
	StopContainers  storage.Op = "stop containers"
	ChangeOwnership storage.Op = "change ownership"
)

// neverStarted are the reasons of a waiting container that its kubelet could not start. The first are about the image, the last about its
// configuration, such as a missing Secret.
var neverStarted = []string{"ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable",
	"CreateContainerConfigError", "CreateContainerError"}

const crashes = "CrashLoopBackOff"

// Waiting returns the first container of a pod that its kubelet cannot start, or that crashes again and again; nil if there is none.
func Waiting(pod *corev1.Pod) *corev1.ContainerStatus {
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			waiting := statuses[i].State.Waiting
			if waiting == nil || strings.HasPrefix(waiting.Message, "cannot find volume ") {
				continue // MNT-385: the simulated kubelet mounts the volume
			}
			if waiting.Reason == crashes || slices.Contains(neverStarted, waiting.Reason) {
				return &statuses[i]
			}
		}
	}
	return nil
}

// readContainers reads which containers do not start, crash, or are not stopped by their kubelet.
func (r *reader) readContainers() {
	ready := map[string]bool{} // images of containers that run, by namespace
	for _, pod := range r.pods {
		for _, status := range pod.Status.ContainerStatuses {
			if status.State.Running != nil && status.Ready {
				ready[pod.Namespace+" "+imageOf(pod, status.Name)] = true
			}
		}
	}
	for _, pod := range r.pods {
		object := "pod/" + api.KeyOf(pod)
		a := Assumption{Subject: object, Object: object, Node: pod.Spec.NodeName, key: string(pod.UID)}
		if deleted := pod.DeletionTimestamp; deleted != nil {
			// A pod that has ended may also wait for a finalizer.
			blocked := objects.Terminated(pod) && len(pod.Finalizers) > 0
			if !blocked && r.now.Sub(deleted.Time) > Patience && r.reports(pod.Spec.NodeName) {
				a.Behaviour, a.Operation, a.Since = Silent, StopContainers, deleted.Time
				a.Evidence = fmt.Sprintf("the kubelet of node %s has not ended pod %s, which had to stop until %s", pod.Spec.NodeName, api.KeyOf(pod),
					clock(deleted.Time, r.now))
				r.found = append(r.found, a)
			}
			continue
		}
		if pod.Status.Phase != corev1.PodRunning && pod.Spec.NodeName != "" && !objects.Terminated(pod) && r.reports(pod.Spec.NodeName) {
			r.mountFailed(pod, a)
		}
		status := Waiting(pod)
		if status == nil || pod.Spec.NodeName == "" || objects.Terminated(pod) {
			continue
		}
		a.Behaviour, a.Operation, a.Message = Refuses, StartContainers, status.State.Waiting.Message
		what := fmt.Sprintf("does not start (%s)", status.State.Waiting.Reason)
		if status.State.Waiting.Reason == crashes {
			a.Operation, what = RunContainers, fmt.Sprintf("crashes (%d restarts)", status.RestartCount)
		} else if image := imageOf(pod, status.Name); !ready[pod.Namespace+" "+image] {
			a.image = image
		}
		a.Evidence = fmt.Sprintf("container %s of pod %s %s", status.Name, api.KeyOf(pod), what)
		r.found = append(r.found, a)
	}
}

// reports reports whether the kubelet of a node works.
func (r *reader) reports(name string) bool {
	at := slices.IndexFunc(r.nodes, func(node *corev1.Node) bool { return node.Name == name })
	silent := slices.ContainsFunc(r.found, func(a Assumption) bool { return a.Subject == "node/"+name })
	return at >= 0 && objects.Healthy(r.nodes[at]) && !silent
}

func imageOf(pod *corev1.Pod, container string) string {
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if list[i].Name == container {
				return list[i].Image
			}
		}
	}
	return ""
}

// Containers returns what is assumed about the containers of a pod: that they do not start, crash or do not stop.
func (s *Set) Containers(pod *corev1.Pod, op storage.Op) (Assumption, bool) {
	return s.first(func(a *Assumption) bool { return a.Operation == op && a.holds(pod) })
}

// StartFailures returns all that keeps the containers of a pod from starting: an assumption about each volume that its kubelet does not mount.
func (s *Set) StartFailures(pod *corev1.Pod) []Assumption {
	var all []Assumption
	for _, a := range s.All() {
		if a.Operation == StartContainers && a.holds(pod) {
			all = append(all, a)
		}
	}
	return all
}

// holds reports whether an assumption about the containers of a pod is about this one: that pod, the one that replaces it, or one with the same
// image.
func (a *Assumption) holds(pod *corev1.Pod) bool {
	switch {
	case a.key == string(pod.UID):
		return true
	case !strings.HasPrefix(a.Object, "pod/"+pod.Namespace+"/"):
		return false
	case a.owner != "":
		owner := metav1.GetControllerOfNoCopy(pod)
		return owner != nil && owner.UID == a.owner && pod.Status.Phase != corev1.PodRunning && (a.Node == "" || a.Node == pod.Spec.NodeName)
	}
	return a.image != "" && uses(pod, a.image)
}

func uses(pod *corev1.Pod, image string) bool {
	is := func(c corev1.Container) bool { return c.Image == image }
	return slices.ContainsFunc(pod.Spec.Containers, is) || slices.ContainsFunc(pod.Spec.InitContainers, is)
}

// Holds reports whether the kubelet of a pod neither starts nor stops its containers.
func (s *Set) Holds(pod *corev1.Pod) bool {
	ops := []storage.Op{StartContainers, ChangeOwnership}
	if pod.DeletionTimestamp != nil {
		ops = []storage.Op{StopContainers}
	}
	return slices.ContainsFunc(ops, func(op storage.Op) bool {
		_, held := s.Containers(pod, op)
		return held
	})
}
