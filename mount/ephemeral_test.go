package mount

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/strategy"
)

// debug adds an ephemeral container to a pod.
func (w *fixture) debug(pod, name string) {
	_, err := w.Store().Pods.PatchWith("default/"+pod, func(pod *corev1.Pod) error {
		pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers[:len(pod.Spec.EphemeralContainers):len(pod.Spec.EphemeralContainers)],
			corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: name, Image: "busybox"}})
		return nil
	}, strategy.EphemeralContainers)
	w.OK(err)
}

// An ephemeral container runs at once, and ends with its pod.
func TestEphemeralContainers(t *testing.T) {
	w := newFixture(t)
	w.run("p1")
	w.Advance(15 * time.Second)
	began := w.Now()
	w.debug("p1", "second")
	w.debug("p1", "first")
	w.Advance(time.Millisecond)
	pod := w.stored("p1")
	var names []string
	for _, s := range pod.Status.EphemeralContainerStatuses {
		names = append(names, s.Name)
		want(t, "MNT-376: "+s.Name, []any{s.State.Running != nil, s.Ready, s.ContainerID != "", s.Image}, []any{true, false, true, "busybox:latest"})
	}
	want(t, "MNT-375: order", names, []string{"first", "second"})
	want(t, "MNT-377: when", w.Now().Sub(began) < time.Second && pod.Status.ObservedGeneration == pod.Generation, true)
	want(t, "MNT-376: phase", []any{pod.Status.Phase, pod.Status.ContainerStatuses[0].Ready}, []any{corev1.PodRunning, true})
	w.OK(w.node.Exit("default/p1", corev1.PodSucceeded))
	w.Advance(time.Second)
	ended := w.stored("p1").Status.EphemeralContainerStatuses
	want(t, "MNT-376: end", []any{ended[0].State.Terminated != nil, ended[1].State.Terminated != nil}, []any{true, true})
}

// The statuses of main containers are sorted, those of init containers are not.
func TestOrderOfStatuses(t *testing.T) {
	w := newFixture(t)
	pod := fake.Pod("p", fake.OnNode("n1"))
	pod.Spec.Containers = []corev1.Container{{Name: "web", Image: "web"}, {Name: "agent", Image: "agent"}}
	pod.Spec.InitContainers = []corev1.Container{{Name: "z", Image: "z"}, {Name: "a", Image: "a"}}
	w.Create(pod)
	w.Advance(5 * time.Second)
	status := w.stored("p").Status
	names := func(statuses []corev1.ContainerStatus) (list []string) {
		for _, s := range statuses {
			list = append(list, s.Name+" "+s.Image)
		}
		return list
	}
	want(t, "MNT-375: main containers", names(status.ContainerStatuses), []string{"agent agent:latest", "web web:latest"})
	want(t, "MNT-375: init containers", names(status.InitContainerStatuses), []string{"z z:latest", "a a:latest"})
}

// A failed sync is repeated at once when the pod changes, except for its status.
func TestChangedPodIsSynced(t *testing.T) {
	w := newFixture(t)
	worker := w.node.kubelet.workers[w.pod("p1").UID]
	patch := func(sub api.Subresource, change func(*corev1.Pod)) {
		_, err := w.Store().Pods.PatchWith("default/p1", func(pod *corev1.Pod) error { change(pod); return nil }, sub)
		w.OK(err)
		w.Advance(time.Millisecond)
	}
	for range 200 {
		if w.Advance(time.Second); worker.state == podRetrying {
			break
		}
	}
	want(t, "MNT-009: the first sync failed", worker.state, podRetrying)
	patch(api.Status, func(pod *corev1.Pod) { pod.Status.Message = "hello" })
	want(t, "MNT-377: the status", worker.state, podRetrying)
	patch(api.Main, func(pod *corev1.Pod) { pod.Labels = map[string]string{"a": "b"} })
	want(t, "MNT-377: the labels", worker.state, podSyncing)
	// A change during a sync is synced after it.
	patch(api.Main, func(pod *corev1.Pod) { pod.Annotations = map[string]string{"a": "b"} })
	before := worker.lastSync
	for range 200 {
		if w.Advance(time.Second); worker.lastSync != before {
			break
		}
	}
	want(t, "MNT-377: the annotations", []any{worker.lastSync != before, worker.state}, []any{true, podSyncing})
}

// A running pod reports the generation of each change of its spec, though nothing else in its status changes.
func TestNewGeneration(t *testing.T) {
	w := newFixture(t)
	w.run("p1")
	for range 3 {
		_, err := w.Store().Pods.PatchWith("default/p1", func(pod *corev1.Pod) error {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: "k" + pod.ResourceVersion, Operator: corev1.TolerationOpExists})
			return nil
		}, api.Main)
		w.OK(err)
		w.Advance(time.Second)
		pod := w.stored("p1")
		want(t, "MNT-380: the status", pod.Status.ObservedGeneration, pod.Generation)
		for _, c := range pod.Status.Conditions {
			want(t, "MNT-380: condition "+string(c.Type), c.ObservedGeneration, pod.Generation)
		}
	}
	want(t, "MNT-380: changes", w.stored("p1").Generation, int64(4))
}
