package kubeletstatus

import (
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A pod of a node, from its arrival to its end: what a kubelet reports of its containers (MNT-384, MNT-387), with the parts of the stored status
// that do not change used again, and nothing of the stored pod changed.
func TestPodStatuses(t *testing.T) {
	t.Run("lists of their own", func(t *testing.T) { testPodStatuses(t, nil) })
	t.Run("shared lists", func(t *testing.T) { testPodStatuses(t, &Lists{}) })
}

func testPodStatuses(t *testing.T, lists *Lists) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	at := metav1.NewTime(now.Truncate(time.Second))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u", Generation: 2},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry/app",
			VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}, {Name: "config", MountPath: "/config", ReadOnly: true}}}}},
	}
	complete := func(status corev1.PodStatus, now time.Time) *corev1.Pod {
		before := pod.DeepCopy()
		Complete(lists, &status, pod, now)
		next := *pod
		next.Status = status
		if !reflect.DeepEqual(pod, before) {
			t.Errorf("the stored pod changed")
		}
		return &next
	}
	states := func(pod *corev1.Pod) (conditions string) {
		for _, c := range pod.Status.Conditions {
			conditions += string(c.Type) + "=" + string(c.Status) + " "
		}
		return conditions
	}
	mounts := []corev1.VolumeMountStatus{{Name: "data", MountPath: "/data"},
		{Name: "config", MountPath: "/config", ReadOnly: true, RecursiveReadOnly: new(corev1.RecursiveReadOnlyDisabled)}}
	steps := []struct {
		rule       string
		status     func(*Lists, *corev1.Pod) corev1.PodStatus
		phase      corev1.PodPhase
		conditions string
		container  corev1.ContainerStatus
	}{
		{"MNT-384 MNT-408", Waiting, corev1.PodPending, "PodReadyToStartContainers=False Initialized=True Ready=False ContainersReady=False PodScheduled=True ",
			corev1.ContainerStatus{Image: "registry/app", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}}},
		{"MNT-380", Running, corev1.PodRunning, "PodReadyToStartContainers=True Initialized=True Ready=True ContainersReady=True PodScheduled=True ",
			corev1.ContainerStatus{Image: "registry/app:latest", ImageID: "registry/app:latest", ContainerID: "fakeRuntime://p_ns_u_0_main_0", Ready: true,
				Resources: &corev1.ResourceRequirements{}, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}}}},
		{"MNT-387 MNT-373", func(l *Lists, pod *corev1.Pod) corev1.PodStatus {
			return Terminated(l, pod, Exited, corev1.PodFailed, "", "")
		}, corev1.PodFailed,
			"PodReadyToStartContainers=False Initialized=True Ready=False ContainersReady=False PodScheduled=True ",
			corev1.ContainerStatus{Image: "registry/app:latest", ImageID: "registry/app:latest", ContainerID: "fakeRuntime://p_ns_u_0_main_0",
				Resources: &corev1.ResourceRequirements{}, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error",
					ContainerID: "fakeRuntime://p_ns_u_0_main_0", StartedAt: at, FinishedAt: at}}}},
	}
	for i, step := range steps {
		next := complete(step.status(lists, pod), now)
		step.container.Name, step.container.VolumeMounts = "main", mounts
		if got := next.Status.ContainerStatuses[0]; !reflect.DeepEqual(got, step.container) {
			t.Errorf("%s: container %+v, want %+v", step.rule, got, step.container)
		}
		if next.Status.Phase != step.phase || states(next) != step.conditions {
			t.Errorf("%s: %s with %s, want %s with %s", step.rule, next.Status.Phase, states(next), step.phase, step.conditions)
		}
		if i > 0 && &next.Status.ContainerStatuses[0].VolumeMounts[0] != &pod.Status.ContainerStatuses[0].VolumeMounts[0] {
			t.Errorf("%s: the list of mounts is a new one", step.rule)
		}
		pod = next
	}
	if !pod.Status.StartTime.Equal(&at) || pod.Status.HostIP != NodeAddress || pod.Status.PodIP != PodAddress {
		t.Errorf("start %v, addresses %s and %s; want %v, %s and %s", pod.Status.StartTime, pod.Status.HostIP, pod.Status.PodIP, at, NodeAddress, PodAddress)
	}
	// What others wrote into the status is replaced.
	pod.Status.ContainerStatuses[0].VolumeMounts = []corev1.VolumeMountStatus{mounts[1], mounts[0]}
	pod.Status.ContainerStatuses[0].ContainerID, pod.Status.ContainerStatuses[0].Image = "other", "registry/application"
	got := complete(Terminated(lists, pod, Exited, corev1.PodFailed, "", ""), now).Status.ContainerStatuses[0]
	want := steps[2].container
	want.Name, want.VolumeMounts = "main", mounts
	if !reflect.DeepEqual(got, want) {
		t.Errorf("container %+v, want %+v", got, want)
	}
}

// TestEndedContainer: a container that ends keeps the time of its start, and afterwards the time of its end.
func TestEndedContainer(t *testing.T) {
	start := metav1.NewTime(time.Unix(1000, 0).UTC())
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}, InitContainers: []corev1.Container{{Name: "first"}}}}
	at := func(s int, status corev1.PodStatus) corev1.ContainerStateTerminated {
		Complete(nil, &status, pod, start.Add(time.Duration(s)*time.Second))
		pod = &corev1.Pod{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec, Status: status}
		if ended := status.ContainerStatuses[0].State.Terminated; ended != nil {
			return *ended
		}
		return corev1.ContainerStateTerminated{}
	}
	at(0, Running(nil, pod))
	if first := pod.Status.InitContainerStatuses[0].State.Terminated; !first.StartedAt.Equal(&start) || !first.FinishedAt.Equal(&start) {
		t.Errorf("MNT-373: the init container ends as %+v", first)
	}
	want := corev1.ContainerStateTerminated{Reason: "Completed", ContainerID: pod.Status.ContainerStatuses[0].ContainerID,
		StartedAt: start, FinishedAt: metav1.NewTime(start.Add(7 * time.Second))}
	if got := at(7, Terminated(nil, pod, Exited, corev1.PodSucceeded, "", "")); got != want {
		t.Errorf("MNT-373: the container ends as %+v, want %+v", got, want)
	}
	if got := at(9, Terminated(nil, pod, Exited, corev1.PodSucceeded, "", "")); got != want {
		t.Errorf("MNT-373: the container that ended is %+v, want %+v", got, want)
	}
}
