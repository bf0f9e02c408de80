package explain

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/evidence"
	"github.com/volsim/volsim/internal/core/match"
	"github.com/volsim/volsim/internal/core/objects"
)

// scheduledPod explains a pod with a node: it runs, or waits for its volumes.
func (x *explainer) scheduledPod(e *Explanation, pod *corev1.Pod) {
	node := x.nodes[pod.Spec.NodeName]
	if container, missing, ok := evidence.WaitsForFile(pod); ok && x.alive(node) {
		x.lacksFile(e, pod, container, missing)
		return
	}
	if _, missing := missingVolume(pod); !missing && x.alive(node) && x.containersFail(e, pod) {
		return
	}
	if running(pod) {
		x.runningPod(e, pod, node)
		x.addClaims(e, pod)
		return
	}
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		// MNT-065: the kubelet does not wait for volumes that no container uses.
		if usedBy(pod, volume.Name) && !x.podVolume(e, pod, volume, node) {
			return
		}
	}
	if message, missing := missingVolume(pod); missing {
		e.because("MNT-385",
			fmt.Sprintf("the kubelet of node %s could not create a container, because a volume was no longer mounted: %s",
				pod.Spec.NodeName, message))
		e.next(actors.Kubelet(pod.Spec.NodeName), "mounts it and retries")
		e.automatic(x.Now, "MNT-134", "with the next pass of the kubelet")
		return
	}
	if x.changesOwnership(e, pod) {
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
	// ATT-084: of a volume that the dump does not have, only Events tell.
	if x.lastEvent(pod, reasoned("FailedAttachVolume")) != nil {
		if e.because("ATT-084", ""); x.unmounted(e, pod) {
			return
		}
	}
	// MNT-241: the kubelet calls no driver that is not registered.
	if x.containersOf(e, pod, "its containers") || x.notRegistered(e, pod, "MNT-241", "") {
		return
	}
	e.because("MNT-380", fmt.Sprintf("the kubelet of node %s mounts its volumes and starts its containers", pod.Spec.NodeName))
	e.next(actors.Kubelet(pod.Spec.NodeName), "mounts its volumes and starts it")
	e.automatic(x.Now, "MNT-134", "with the next pass of the kubelet")
	x.addClaims(e, pod)
}

// lacksFile explains a pod with a container whose environment names a Secret, a ConfigMap or a key that is missing.
func (x *explainer) lacksFile(e *Explanation, pod *corev1.Pod, container *corev1.ContainerStatus, missing evidence.MissingFile) {
	if a, ok := x.Evidence.Containers(pod, evidence.StartContainers); ok {
		e.assume(a)
	}
	e.because("MNT-378", fmt.Sprintf("the kubelet of node %s cannot create container %s: %s", pod.Spec.NodeName, container.Name, container.State.Waiting.Message))
	e.todo(supply(pod.Namespace, missing))
	e.manual("the kubelet tries again every ten seconds, and succeeds once it is there")
}

// running reports whether a container of the pod has started. If so, all its volumes are mounted.
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
	e.because("MNT-380", fmt.Sprintf("node %s is not ready, so its kubelet does not start the pod", pod.Spec.NodeName))
	e.todo(fmt.Sprintf("bring node %s back, or delete the pod", pod.Spec.NodeName))
	e.manual("nothing happens before the node comes back")
}

// sourceInPod is podVolume for a source in the pod itself, which must be attached if a CSI driver replaces its plugin (MIG-002).
func (x *explainer) sourceInPod(e *Explanation, pod *corev1.Pod, volume *corev1.Volume, node *corev1.Node) bool {
	spec, err := objects.SpecOfInline(volume).Translated(pod.Namespace)
	return err != nil || spec.PV == nil || x.podAttached(e, pod, volume, spec.PV, node)
}

// podVolume reports whether the kubelet can mount a volume of the pod; if not, it explains why.
func (x *explainer) podVolume(e *Explanation, pod *corev1.Pod, volume *corev1.Volume, node *corev1.Node) bool {
	name := objects.ClaimOf(pod, volume)
	if name == "" {
		return x.sourceInPod(e, pod, volume, node)
	}
	key := api.Key(pod.Namespace, name)
	claim, ok := x.claims[key]
	if !ok {
		e.because("MNT-072a", fmt.Sprintf("volume %s: claim %s does not exist", volume.Name, key))
		if volume.Ephemeral != nil {
			e.next("ephemeral-volume-controller", "creates it")
			e.automatic(x.Now, "EPH-005", "when the claim exists")
			return false
		}
		if x.lacksClaims(pod.Namespace) {
			e.because("MNT-072a", fmt.Sprintf("volume %s: claim %s is not in the dump, which has no claims of this namespace", volume.Name, key))
			e.todo(fmt.Sprintf("add the claims to the dump: kubectl get pvc -n %s -o yaml", pod.Namespace))
			e.todo("create claim " + key + ", if it does not exist")
		} else {
			e.todo("create claim " + key)
		}
		e.manual("no component creates a claim that a pod names")
		return false
	}
	pv, ready := x.podClaim(e, pod, volume, claim)
	if !ready {
		return false
	}
	if rule, text := x.modeMismatch(pod, volume, pv); rule != "" {
		e.because(rule, text)
		e.todo("create the pod again, with matching volumeMounts or volumeDevices, or with another claim")
		e.manual("the mode of a volume and the mounts of a pod cannot be changed")
		return false
	}
	if node != nil && !objects.AdmitsNode(pv, node.Labels) {
		e.because("MNT-191", fmt.Sprintf("volume %s: node %[3]s cannot reach volume %[2]q: it has %[4]s, needs %[5]s", volume.Name, pv.Name, node.Name,
			describeNamed(node, termKeys(pv.Spec.NodeAffinity.Required.NodeSelectorTerms)), match.DescribeAffinity(pv)))
		e.todo("delete the pod and create it again, for another node")
		e.manual("each retry of the kubelet fails the same way")
		return false
	}
	return x.podAttached(e, pod, volume, pv, node)
}

// lacksClaims reports whether a dump has no claims of a namespace, so that a missing one says nothing.
func (x *explainer) lacksClaims(namespace string) bool {
	return x.Evidence != nil && !slices.ContainsFunc(x.Claims, func(claim *corev1.PersistentVolumeClaim) bool { return claim.Namespace == namespace })
}

// podClaim returns the volume of a claim if the kubelet accepts both (MNT-072); if not, it explains why.
func (x *explainer) podClaim(e *Explanation, pod *corev1.Pod, volume *corev1.Volume,
	claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolume, bool) {
	key := api.KeyOf(claim)
	switch {
	case claim.DeletionTimestamp != nil && !slices.Contains(claim.Finalizers, objects.ClaimProtectionFinalizer):
		e.because("MNT-072b", fmt.Sprintf("volume %s: claim %s is being deleted", volume.Name, key))
	case claim.Status.Phase != corev1.ClaimBound:
		e.because("MNT-072c", fmt.Sprintf("volume %s: claim %s is not bound", volume.Name, key))
	case claim.Spec.VolumeName == "":
		e.because("MNT-072d", fmt.Sprintf("volume %s: claim %s names no volume", volume.Name, key))
	case volume.Ephemeral != nil && !objects.OwnsClaim(pod, claim):
		e.because("MNT-072e", fmt.Sprintf("volume %s: claim %s was not created for this pod", volume.Name, key))
		if _, gone := x.ownerGone(claim); gone {
			x.addClaim(e, key)
			e.follow()
			return nil, false
		}
		e.todo("delete the claim with that name, then the pod")
		e.manual("the existing claim does not go away")
		return nil, false
	default:
		pv, ok := x.volumes[claim.Spec.VolumeName]
		switch {
		case !ok:
			e.because("MNT-072f", fmt.Sprintf("volume %s: volume %q of claim %s does not exist", volume.Name, claim.Spec.VolumeName, key))
		case pv.Spec.ClaimRef == nil:
			e.because("MNT-072g", fmt.Sprintf("volume %s: volume %q does not point at claim %s", volume.Name, pv.Name, key))
		case pv.Spec.ClaimRef.UID != claim.UID:
			e.because("MNT-072h", fmt.Sprintf("volume %s: volume %q belongs to another claim, not to %s", volume.Name, pv.Name, key))
		default:
			return pv, true
		}
	}
	x.addClaim(e, key)
	e.next(actors.Kubelet(pod.Spec.NodeName), fmt.Sprintf("retries until claim %s is ready (MNT-160)", key))
	e.follow()
	return nil, false
}

// modeMismatch reports a volume whose mode is not the one that the pod uses (MNT-072k, MNT-072l), or that has none (MNT-072j).
func (x *explainer) modeMismatch(pod *corev1.Pod, volume *corev1.Volume, pv *corev1.PersistentVolume) (rule, text string) {
	if pv.Spec.VolumeMode == nil {
		// MNT-072j: an API server sets the default, so only incomplete dumps have none.
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

func isMountFailure(event *corev1.Event) bool {
	return event.Reason == "FailedMount" || event.Reason == "FailedMapVolume"
}

// failedMount explains a pod whose volumes could not be mounted.
func (x *explainer) failedMount(e *Explanation, pod *corev1.Pod, failed *corev1.Event) {
	e.because(mountRule(failed.Message),
		fmt.Sprintf("the kubelet of node %s could not mount a volume (%s): %s", pod.Spec.NodeName, stamp(timeOf(failed)), failed.Message))
	if x.notRegistered(e, pod, e.Rule, failed.Message) || x.mountFails(e, pod) || x.unmounted(e, pod) {
		return
	}
	if missing := evidence.MissingFilesOf(failed.Message); len(missing) > 0 {
		e.next(actors.Kubelet(pod.Spec.NodeName), "retries every 2m2s or less (MNT-005)")
		for _, file := range missing {
			e.todo(supply(pod.Namespace, file))
		}
		e.manual("each retry fails the same way until then")
		return
	}
	e.next(actors.Kubelet(pod.Spec.NodeName), "retries")
	e.automatic(x.Now, "MNT-160", "retried within 2m2s (MNT-005)")
}

// unmounted explains a pod with volumes that its kubelet is assumed not to mount. It reports whether there are some.
func (x *explainer) unmounted(e *Explanation, pod *corev1.Pod) bool {
	var whys, todos []string
	for _, a := range x.Evidence.StartFailures(pod) {
		e.assume(a)
		whys = append(whys, strings.TrimSuffix(a.Evidence+": "+a.Message, ": "))
		todos = append(todos, mountRemedies(pod, a)...)
	}
	if len(whys) == 0 {
		return false
	}
	e.because(e.Rule, strings.Join(whys, "; "))
	slices.Sort(todos)
	for _, todo := range slices.Compact(todos) {
		e.todo(todo)
	}
	e.manual("each retry of the kubelet fails the same way")
	return true
}

// mountRemedies returns what the user has to do about a volume that the kubelet does not mount.
func mountRemedies(pod *corev1.Pod, a evidence.Assumption) (todos []string) {
	// MNT-339: the label of the first pod on the node decides.
	if volume, ok := evidence.ConflictOf(a.Message); ok {
		return []string{fmt.Sprintf("give pod %s the SELinux level (seLinuxOptions) of the pods that use volume %s on node %s, delete those, or create the pod again for "+
			"another node", api.KeyOf(pod), volume, pod.Spec.NodeName)}
	}
	if a.OwnershipFailed() {
		return []string{"let the storage permit that the kubelet changes the group of the files, or set fsGroupPolicy: None in the CSIDriver, or leave fsGroup out of the securityContext of the pod"}
	}
	for _, missing := range evidence.MissingFilesOf(a.Message) {
		todos = append(todos, supply(pod.Namespace, missing))
	}
	if len(todos) == 0 {
		todos = []string{"create what the volume needs, or repair its storage or its network"}
	}
	return todos
}

// changesOwnership explains a pod for which its kubelet changes the group of many files. It reports whether that is so.
func (x *explainer) changesOwnership(e *Explanation, pod *corev1.Pod) bool {
	a, ok := x.Evidence.Containers(pod, evidence.ChangeOwnership)
	if !ok {
		return false
	}
	e.assume(a)
	// MNT-333: the mount goes on meanwhile.
	e.because("MNT-333", a.Evidence+": "+a.Message)
	e.next(actors.Kubelet(pod.Spec.NodeName), "changes the group of the other files, and then starts the containers")
	e.automatic(x.Now, "MNT-333", "when all files have the group fsGroup of the pod; the more files, the later")
	e.Notes = append(e.Notes, "do not delete the pod: for another one it begins again",
		"with fsGroupChangePolicy: OnRootMismatch in their securityContext, later pods do not wait for that")
	return true
}
