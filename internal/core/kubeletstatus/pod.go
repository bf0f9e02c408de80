package kubeletstatus

import (
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Terminal reports whether pods in that phase have ended: Succeeded or Failed.
func Terminal(phase corev1.PodPhase) bool {
	return phase == corev1.PodSucceeded || phase == corev1.PodFailed
}

// Parts of the status that many pods share. A stored object does not change, so nobody writes to them.
var (
	creating     = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
	initializing = &corev1.ContainerStateWaiting{Reason: "PodInitializing"}
	started      = &corev1.ContainerStateRunning{} // Complete adds when, also to the next two
	completed    = &corev1.ContainerStateTerminated{Reason: "Completed"}
	failed       = &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 1}
	noResources  = &corev1.ResourceRequirements{}
	nodeIPs      = []corev1.HostIP{{IP: NodeAddress}}
	podIPs       = []corev1.PodIP{{IP: PodAddress}}
)

// Waiting returns the status of a pod whose containers do not run yet (MNT-384). A pod that has statuses of containers keeps them.
func Waiting(l *Lists, pod *corev1.Pod) corev1.PodStatus {
	status := pod.Status
	if len(status.ContainerStatuses) > 0 {
		return status
	}
	// MNT-384: the phase is Pending, whatever the pod waits for.
	status.Phase = corev1.PodPending
	why := creating
	if len(pod.Spec.InitContainers) > 0 {
		why = initializing
	}
	state := corev1.ContainerState{Waiting: why}
	status.InitContainerStatuses = containersAs(pod.Spec.InitContainers, state, false)
	status.ContainerStatuses = containerStatuses(pod.Spec.Containers, state, false)
	ready, containersReady := notReady(pod, &status)
	status.Conditions = l.with(status.Conditions, condition(corev1.PodReadyToStartContainers, corev1.ConditionFalse, ""), initializedAs(pod, &status), ready,
		containersReady)
	return status
}

// Running returns the status of a pod whose containers run.
func Running(l *Lists, pod *corev1.Pod) corev1.PodStatus {
	status := pod.Status
	if status.Phase == corev1.PodRunning && len(status.ContainerStatuses) > 0 && status.ContainerStatuses[0].State.Running != nil {
		return withEphemeral(status, pod)
	}
	status.Phase = corev1.PodRunning
	status.InitContainerStatuses = initialized(pod.Spec.InitContainers)
	status.ContainerStatuses = containerStatuses(pod.Spec.Containers, corev1.ContainerState{Running: started}, true)
	status.Conditions = l.with(status.Conditions,
		condition(corev1.PodReadyToStartContainers, corev1.ConditionTrue, ""),
		condition(corev1.PodInitialized, corev1.ConditionTrue, ""),
		gatedReady(pod, status.Conditions),
		condition(corev1.ContainersReady, corev1.ConditionTrue, ""),
	)
	return withEphemeral(status, pod)
}

// StillRunning returns the status of a pod whose containers ran when the kubelet last saw them. A status that says so already stays.
func StillRunning(l *Lists, pod *corev1.Pod) corev1.PodStatus {
	if pod.Status.Phase == corev1.PodRunning {
		return withEphemeral(pod.Status, pod)
	}
	return Running(l, pod)
}

// withEphemeral adds the statuses of ephemeral containers that have none: they run (MNT-376).
func withEphemeral(status corev1.PodStatus, pod *corev1.Pod) corev1.PodStatus {
	if len(status.EphemeralContainerStatuses) == len(pod.Spec.EphemeralContainers) {
		return status
	}
	statuses := slices.Clone(status.EphemeralContainerStatuses)
	for i := range pod.Spec.EphemeralContainers {
		c := &pod.Spec.EphemeralContainers[i]
		if !slices.ContainsFunc(statuses, func(s corev1.ContainerStatus) bool { return s.Name == c.Name }) {
			statuses = append(statuses, corev1.ContainerStatus{Name: c.Name, Image: c.Image, State: corev1.ContainerState{Running: started}})
		}
	}
	sort.Sort(byName(statuses))
	status.EphemeralContainerStatuses = statuses
	return status
}

// containersAs returns the statuses of containers in one state, in their order.
func containersAs(containers []corev1.Container, state corev1.ContainerState, ready bool) []corev1.ContainerStatus {
	if len(containers) == 0 {
		return nil
	}
	statuses := make([]corev1.ContainerStatus, 0, len(containers))
	for i := range containers {
		statuses = append(statuses, corev1.ContainerStatus{Name: containers[i].Name, Image: containers[i].Image, State: state, Ready: ready})
	}
	return statuses
}

// containerStatuses returns the statuses of main containers, by name (MNT-375).
func containerStatuses(containers []corev1.Container, state corev1.ContainerState, ready bool) []corev1.ContainerStatus {
	statuses := containersAs(containers, state, ready)
	if len(statuses) > 1 {
		sort.Sort(byName(statuses))
	}
	return statuses
}

// byName is the order of statuses.
type byName []corev1.ContainerStatus

func (s byName) Len() int           { return len(s) }
func (s byName) Less(i, j int) bool { return s[i].Name < s[j].Name }
func (s byName) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }

func condition(kind corev1.PodConditionType, status corev1.ConditionStatus, reason string) corev1.PodCondition {
	return corev1.PodCondition{Type: kind, Status: status, Reason: reason}
}

// kubeletConditions are the conditions that a kubelet reports, in its order. Those of other components come before them.
var kubeletConditions = []corev1.PodConditionType{
	corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled,
}

// find returns the position of a condition in a list, -1 if it is not there.
func find(conditions []corev1.PodCondition, kind corev1.PodConditionType) int {
	for i := range conditions {
		if conditions[i].Type == kind {
			return i
		}
	}
	return -1
}

// place returns the place of a condition in the order of a kubelet.
func place(c *corev1.PodCondition) int { return slices.Index(kubeletConditions, c.Type) }

// The addresses of all nodes and pods: there is no network.
const (
	NodeAddress = "192.0.2.2"
	PodAddress  = "192.168.192.168"
)

// Complete adds what a kubelet reports besides the state of the containers: times, generations, addresses and the details of containers. What did
// not change since the status of the pod has the times of that one.
func Complete(l *Lists, status *corev1.PodStatus, pod *corev1.Pod, now time.Time) {
	at := metav1.NewTime(now.Truncate(time.Second))
	if status.StartTime == nil {
		status.StartTime = new(at)
	}
	status.ObservedGeneration = pod.Generation
	status.Conditions = l.own(status.Conditions, pod.Status.Conditions)
	if find(status.Conditions, corev1.PodScheduled) < 0 {
		// MNT-408: a pod that names its node itself.
		status.Conditions = l.with(status.Conditions, condition(corev1.PodScheduled, corev1.ConditionTrue, ""))
	}
	status.InitContainerStatuses = unshared(status.InitContainerStatuses, pod.Status.InitContainerStatuses)
	status.ContainerStatuses = unshared(status.ContainerStatuses, pod.Status.ContainerStatuses)
	status.EphemeralContainerStatuses = unshared(status.EphemeralContainerStatuses, pod.Status.EphemeralContainerStatuses)
	for i := range status.Conditions {
		c := &status.Conditions[i]
		if c.LastTransitionTime.IsZero() {
			c.LastTransitionTime = at
		}
		if slices.Contains(kubeletConditions, c.Type) {
			c.ObservedGeneration = pod.Generation
		}
	}
	status.Conditions = l.share(status.Conditions)
	status.HostIP, status.HostIPs = NodeAddress, nodeIPs
	if pod.Spec.HostNetwork && status.PodIP == "" {
		status.PodIP, status.PodIPs = NodeAddress, []corev1.PodIP{{IP: NodeAddress}}
	}
	if status.Resources == nil {
		status.Resources = noResources
	}
	hasSandbox := func(s corev1.ContainerStatus) bool { return running(s) || fails(s) }
	if status.PodIP == "" && (slices.ContainsFunc(status.ContainerStatuses, hasSandbox) || slices.ContainsFunc(status.InitContainerStatuses, hasSandbox)) {
		status.PodIP, status.PodIPs = PodAddress, podIPs
	}
	ran := status.PodIP != ""
	completeContainers(status.InitContainerStatuses, pod.Status.InitContainerStatuses, pod.Spec.InitContainers, pod, ran, at)
	completeContainers(status.ContainerStatuses, pod.Status.ContainerStatuses, pod.Spec.Containers, pod, ran, at)
	if len(status.EphemeralContainerStatuses) > 0 {
		completeContainers(status.EphemeralContainerStatuses, pod.Status.EphemeralContainerStatuses, asContainers(pod.Spec.EphemeralContainers), pod, ran, at)
	}
}

// asContainers returns what ephemeral containers have in common with others.
func asContainers(ephemeral []corev1.EphemeralContainer) []corev1.Container {
	containers := make([]corev1.Container, len(ephemeral))
	for i := range ephemeral {
		containers[i] = corev1.Container(ephemeral[i].EphemeralContainerCommon)
	}
	return containers
}

// unshared returns a list that may be written to: a copy of one that a stored pod has.
func unshared[E any](list, stored []E) []E {
	if same(list, stored) {
		return slices.Clone(list)
	}
	return list
}

// same reports whether two lists have the same memory.
func same[E any](a, b []E) bool { return len(a) > 0 && len(b) > 0 && &a[0] == &b[0] }

func running(status corev1.ContainerStatus) bool { return status.State.Running != nil }

// completeContainers adds the details of containers. What the stored statuses have already is used again. ran reports that the pod had an
// address, and so a container runtime.
func completeContainers(statuses, stored []corev1.ContainerStatus, containers []corev1.Container, pod *corev1.Pod, ran bool, now metav1.Time) {
	for i := range statuses {
		status := &statuses[i]
		at := position(containers, status.Name, i)
		if at < 0 {
			continue
		}
		spec, old := &containers[at], &corev1.ContainerStatus{}
		if i < len(stored) && stored[i].Name == status.Name {
			old = &stored[i]
		}
		if status.VolumeMounts == nil {
			status.VolumeMounts = volumeMounts(spec.VolumeMounts, old.VolumeMounts)
		}
		if status.State.Waiting != nil || !ran {
			continue
		}
		if status.ContainerID == "" {
			status.ContainerID = containerID(pod, at, spec.Name, old.ContainerID)
			status.Image = withTag(spec.Image, old.Image)
			status.ImageID = status.Image
			status.Resources, status.AllocatedResources = &spec.Resources, spec.Resources.Requests
		}
		switch state := status.State; {
		case state.Running != nil && state.Running.StartedAt.IsZero():
			status.State.Running = &corev1.ContainerStateRunning{StartedAt: now}
		case state.Terminated == completed || state.Terminated == failed:
			status.State.Terminated = ended(state.Terminated, &old.State, status.ContainerID, now)
		}
	}
}

// position returns the place of a container in a list, -1 if it is not there. It is likely to be at a given place.
func position(containers []corev1.Container, name string, likely int) int {
	if likely < len(containers) && containers[likely].Name == name {
		return likely
	}
	return slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == name })
}

// ended returns the state of a container that ends now, with its ID and times (MNT-373): stored, if it has ended in the same way before.
func ended(state *corev1.ContainerStateTerminated, stored *corev1.ContainerState, id string, at metav1.Time) *corev1.ContainerStateTerminated {
	if was := stored.Terminated; was != nil && was.Reason == state.Reason && was.ContainerID == id {
		return was
	}
	next := *state
	next.ContainerID, next.StartedAt, next.FinishedAt = id, at, at
	if stored.Running != nil {
		next.StartedAt = stored.Running.StartedAt
	}
	return &next
}

// containerID returns the ID of a container: stored, if that is the same.
func containerID(pod *corev1.Pod, at int, name, stored string) string {
	var room [256]byte
	id := append(room[:0], "fakeRuntime://"...)
	for _, part := range []string{pod.Name, pod.Namespace, string(pod.UID)} {
		id = append(append(id, part...), '_')
	}
	id = append(strconv.AppendInt(id, int64(at), 10), '_')
	id = append(append(id, name...), "_0"...)
	if string(id) == stored {
		return stored
	}
	return string(id)
}

// volumeMounts returns the statuses of mounts: stored, if they are the same.
func volumeMounts(mounts []corev1.VolumeMount, stored []corev1.VolumeMountStatus) []corev1.VolumeMountStatus {
	same := func(m corev1.VolumeMount, s corev1.VolumeMountStatus) bool {
		if m.Name != s.Name || m.MountPath != s.MountPath || m.ReadOnly != s.ReadOnly || s.VolumeStatus != nil {
			return false
		}
		if mode := s.RecursiveReadOnly; mode != nil {
			return m.ReadOnly && *mode == corev1.RecursiveReadOnlyDisabled
		}
		return !m.ReadOnly
	}
	if len(stored) > 0 && slices.EqualFunc(mounts, stored, same) {
		return stored
	}
	var statuses []corev1.VolumeMountStatus
	for _, m := range mounts {
		status := corev1.VolumeMountStatus{Name: m.Name, MountPath: m.MountPath, ReadOnly: m.ReadOnly}
		if m.ReadOnly {
			status.RecursiveReadOnly = new(corev1.RecursiveReadOnlyDisabled)
		}
		statuses = append(statuses, status)
	}
	return statuses
}

const latest = ":latest"

// withTag returns the name of an image as a container runtime reports it: stored, if that is the same.
func withTag(image, stored string) string {
	if name := image[strings.LastIndex(image, "/")+1:]; image == "" || strings.ContainsAny(name, ":@") {
		return image
	}
	if strings.HasPrefix(stored, image) && stored[len(image):] == latest {
		return stored
	}
	return image + latest
}
