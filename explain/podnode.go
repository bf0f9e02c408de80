package explain

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/objects"
)

// scheduledPod is one that has a node: it runs, or waits there for its volumes.
func (x *explainer) scheduledPod(e *Explanation, pod *corev1.Pod) {
	node := x.nodes[pod.Spec.NodeName]
	if running(pod) {
		e.say("MNT-380", fmt.Sprintf("it runs on node %s", pod.Spec.NodeName))
		e.settled()
		if !x.alive(node) {
			e.Notes = append(e.Notes, fmt.Sprintf("node %s is not ready: whether it still runs is not known", pod.Spec.NodeName))
		}
		x.addClaims(e, pod)
		return
	}
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		// MNT-065: what no container uses is not waited for.
		if usedBy(pod, volume.Name) && !x.podVolume(e, pod, volume, node) {
			return
		}
	}
	if message := missingVolume(pod); message != "" {
		e.say("MNT-385", fmt.Sprintf("the kubelet of node %s found a volume gone as it made a container: %s", pod.Spec.NodeName, message))
		e.next(actors.Kubelet(pod.Spec.NodeName), "mounts it, and tries again")
		e.at(x.Now, "MNT-134", "at a pass of the kubelet")
		return
	}
	if failed := x.lastEvent(pod, isMountFailure); failed != nil {
		x.failedMount(e, pod, failed)
		return
	}
	if !x.alive(node) {
		x.kubeletGone(e, pod)
		return
	}
	e.say("MNT-380", fmt.Sprintf("its volumes are there for node %s; the kubelet mounts them, and starts its containers", pod.Spec.NodeName))
	e.next(actors.Kubelet(pod.Spec.NodeName), "has to mount its volumes and start it")
	e.at(x.Now, "MNT-134", "at a pass of the kubelet")
	x.addClaims(e, pod)
}

// missingVolume is what the kubelet said about a volume that a container needed and that was not mounted, "" if it did not (MNT-385).
func missingVolume(pod *corev1.Pod) string {
	for i := range pod.Status.ContainerStatuses {
		if waiting := pod.Status.ContainerStatuses[i].State.Waiting; waiting != nil && strings.HasPrefix(waiting.Message, "cannot find volume ") {
			return waiting.Message
		}
	}
	return ""
}

// running reports whether a container of the pod has started: then all its volumes are mounted.
func running(pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodRunning {
		return true
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			if statuses[i].State.Running != nil || statuses[i].State.Terminated != nil {
				return true
			}
		}
	}
	return false
}

func usedBy(pod *corev1.Pod, volume string) bool {
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			c := &containers[i]
			if slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == volume }) ||
				slices.ContainsFunc(c.VolumeDevices, func(d corev1.VolumeDevice) bool { return d.Name == volume }) {
				return true
			}
		}
	}
	return false
}

func (x *explainer) kubeletGone(e *Explanation, pod *corev1.Pod) {
	e.say("MNT-380", fmt.Sprintf("node %s is not ready, so nobody starts it there", pod.Spec.NodeName))
	e.next(Somebody, fmt.Sprintf("has to bring node %s back, or delete the pod", pod.Spec.NodeName))
	e.never("until the node is back")
}

// podVolume reports whether a volume of the pod is ready for the node to be mounted; if not, it explains.
func (x *explainer) podVolume(e *Explanation, pod *corev1.Pod, volume *corev1.Volume, node *corev1.Node) bool {
	name := objects.ClaimOf(pod, volume)
	if name == "" {
		return true
	}
	key := api.Key(pod.Namespace, name)
	claim, ok := x.claims[key]
	if !ok {
		e.say("MNT-072a", fmt.Sprintf("volume %s: claim %s does not exist", volume.Name, key))
		if volume.Ephemeral != nil {
			e.next("ephemeral-volume-controller", "has to create it")
			e.at(x.Now, "EPH-005", "as soon as the claim is there")
			return false
		}
		e.next(Somebody, "has to create it")
		e.never("nothing makes a claim that a pod names")
		return false
	}
	pv, ready := x.podClaim(e, pod, volume, claim)
	if !ready {
		return false
	}
	if rule, text := x.modeMismatch(pod, volume, pv); rule != "" {
		e.say(rule, text)
		e.next(Somebody, "has to create the pod in another way, or with another claim")
		e.never("neither the pod nor the volume can be changed")
		return false
	}
	if node != nil && !objects.AdmitsNode(pv, node.Labels) {
		e.say("MNT-191", fmt.Sprintf("volume %s: volume %q cannot be reached from node %s", volume.Name, pv.Name, node.Name))
		e.next(Somebody, "has to delete the pod, so that one on another node can be made")
		e.never("the kubelet refuses it each time")
		return false
	}
	return x.podAttached(e, pod, volume, pv, node)
}

// podClaim finds the volume of a claim as the kubelet does (MNT-072).
func (x *explainer) podClaim(e *Explanation, pod *corev1.Pod, volume *corev1.Volume, claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolume, bool) {
	key := api.KeyOf(claim)
	switch {
	case claim.DeletionTimestamp != nil && !slices.Contains(claim.Finalizers, objects.ClaimProtectionFinalizer):
		e.say("MNT-072b", fmt.Sprintf("volume %s: claim %s is being deleted", volume.Name, key))
	case claim.Status.Phase != corev1.ClaimBound:
		e.say("MNT-072c", fmt.Sprintf("volume %s: claim %s is not bound", volume.Name, key))
	case claim.Spec.VolumeName == "":
		e.say("MNT-072d", fmt.Sprintf("volume %s: claim %s names no volume", volume.Name, key))
	case volume.Ephemeral != nil && !objects.OwnsClaim(pod, claim):
		e.say("MNT-072e", fmt.Sprintf("volume %s: claim %s was not created for this pod", volume.Name, key))
		e.next(Somebody, "has to delete the claim that is in the way, and then the pod")
		e.never("a claim of that name stays what it is")
		return nil, false
	default:
		pv, ok := x.volumes[claim.Spec.VolumeName]
		switch {
		case !ok:
			e.say("MNT-072f", fmt.Sprintf("volume %s: volume %q of claim %s does not exist", volume.Name, claim.Spec.VolumeName, key))
		case pv.Spec.ClaimRef == nil:
			e.say("MNT-072g", fmt.Sprintf("volume %s: volume %q does not point at claim %s", volume.Name, pv.Name, key))
		case pv.Spec.ClaimRef.UID != claim.UID:
			e.say("MNT-072h", fmt.Sprintf("volume %s: volume %q belongs to another claim than %s", volume.Name, pv.Name, key))
		default:
			return pv, true
		}
	}
	x.addClaim(e, key)
	e.next(actors.Kubelet(pod.Spec.NodeName), fmt.Sprintf("tries again when claim %s is in order (MNT-160)", key))
	e.follow()
	return nil, false
}

// modeMismatch is a volume that the pod uses as what it is not (MNT-072k, MNT-072l), or that does not say what it is (MNT-072j).
func (x *explainer) modeMismatch(pod *corev1.Pod, volume *corev1.Volume, pv *corev1.PersistentVolume) (rule, text string) {
	if pv.Spec.VolumeMode == nil {
		// An API server fills it in.
		return "MNT-072j", fmt.Sprintf("volume %s: volume %q has no volumeMode", volume.Name, pv.Name)
	}
	block := objects.VolumeModeOf(pv.Spec.VolumeMode) == corev1.PersistentVolumeBlock
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			mounted := slices.ContainsFunc(containers[i].VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == volume.Name })
			device := slices.ContainsFunc(containers[i].VolumeDevices, func(d corev1.VolumeDevice) bool { return d.Name == volume.Name })
			switch {
			case mounted && block:
				return "MNT-072k", fmt.Sprintf("volume %s has volumeMode Block, but is specified in volumeMounts", volume.Name)
			case device && !block:
				return "MNT-072l", fmt.Sprintf("volume %s has volumeMode Filesystem, but is specified in volumeDevices", volume.Name)
			}
		}
	}
	return "", ""
}

// mountErrors finds the rule behind the message of an Event about mounting.
var mountErrors = []struct{ prefix, rule string }{
	{"MountVolume.FindPluginBySpec failed", "MNT-190"},
	{"MountVolume.NodeAffinity check failed", "MNT-191"},
	{"MountVolume.NewMounter initialization failed", "MNT-192"},
	{"MountVolume.MountOptionSupport check failed", "MNT-193"},
	{"MountVolume.WaitForAttach failed", "MNT-195"},
	{"MountVolume.MountDevice failed", "MNT-196"},
	{"MountVolume.GetDeviceMountPath failed", "MNT-196"},
	{"MountVolume.SetUp failed", "MNT-197"},
	{"MountVolume.Setup failed while expanding volume", "MNT-198"},
	{"MapVolume.NodeAffinity check failed", "MNT-220"},
	{"MapVolume.NewBlockVolumeMapper initialization failed", "MNT-220"},
	{"MapVolume.WaitForAttach failed", "MNT-222"},
	{"MapVolume.SetUpDevice failed", "MNT-223"},
	{"MapVolume.MapPodDevice failed", "MNT-225"},
	{"MapVolume.EvalHostSymlinks failed", "MNT-226"},
	{"MapVolume failed", "MNT-226"},
	{"MapVolume.MapBlockVolume failed", "MNT-227"},
	{"MapVolume.MarkVolumeAsMounted failed while expanding volume", "MNT-229"},
	{"Unable to attach or mount volumes", "MNT-381"},
}

func isMountFailure(event *corev1.Event) bool {
	return event.Reason == "FailedMount" || event.Reason == "FailedMapVolume"
}

// failedMount is a pod whose volumes are there, and could not be mounted.
func (x *explainer) failedMount(e *Explanation, pod *corev1.Pod, failed *corev1.Event) {
	rule := "MNT-160"
	for _, known := range mountErrors {
		if strings.HasPrefix(failed.Message, known.prefix) {
			rule = known.rule
			break
		}
	}
	if strings.Contains(failed.Message, "uses the ReadWriteOncePod access mode") {
		rule = "MNT-194"
		if strings.HasPrefix(failed.Message, "MapVolume.") {
			rule = "MNT-221"
		}
	}
	e.say(rule, fmt.Sprintf("the kubelet of node %s could not mount a volume, at %s: %s", pod.Spec.NodeName, stamp(timeOf(failed)), failed.Message))
	e.next(actors.Kubelet(pod.Spec.NodeName), "tries again, at most 2m2s apart (MNT-005)")
	e.at(x.Now, "MNT-160", "at the next attempt")
}
