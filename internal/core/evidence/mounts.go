package evidence

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// readPods reads the last mount errors of pods that wait for their volumes.
func (r *reader) readPods() {
	claims := map[string]*corev1.PersistentVolumeClaim{}
	for _, claim := range r.claims {
		claims[api.KeyOf(claim)] = claim
	}
	for _, pod := range r.pods {
		if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodRunning || objects.Terminated(pod) {
			continue
		}
		changes := r.changesOwnership(pod)
		failed := r.about(pod, hasReason("FailedMount", "FailedMapVolume"))
		if len(failed) == 0 {
			continue
		}
		known := false
		for _, event := range slices.Backward(failed) {
			volume, isDriver := r.csiVolume(pod, volumeOf(event.Message))
			op, isCall := mountCall(event.Message)
			code, desc, ok := errorOf(event.Message)
			if !isDriver || !isCall || !ok {
				continue
			}
			r.mountRefused(pod, volume, op, code, desc, failed)
			known = true
			break
		}
		last := failed[len(failed)-1]
		if known || changes || !mountTimedOut(last.Message) {
			continue
		}
		for _, key := range objects.ClaimsOf(pod) {
			claim := claims[key]
			if claim == nil || r.volumes[claim.Spec.VolumeName] == nil {
				continue
			}
			if pv := r.volumes[claim.Spec.VolumeName]; pv.Spec.CSI != nil {
				r.mountSilent(pod, pv, failed)
			}
		}
	}
}

// csiVolume is a volume of a CSI driver, by the name that the kubelet gives it.
type csiVolume struct{ name, driver, handle string }

// csiVolume returns the volume of a CSI driver that the kubelet names in a message about a pod; ok is false if it names another volume.
func (r *reader) csiVolume(pod *corev1.Pod, name string) (volume csiVolume, ok bool) {
	if pv := r.volumes[name]; pv != nil {
		if pv.Spec.CSI == nil {
			return volume, false
		}
		return csiVolume{name, pv.Spec.CSI.Driver, pv.Spec.CSI.VolumeHandle}, true
	}
	for i := range pod.Spec.Volumes {
		if inline := pod.Spec.Volumes[i].CSI; inline != nil && pod.Spec.Volumes[i].Name == name {
			// MNT-303: a volume in the pod itself.
			return csiVolume{name, inline.Driver, objects.InlineHandle(pod.UID, name)}, true
		}
	}
	return volume, false
}

// mountRefused reads an error of the driver on a node.
func (r *reader) mountRefused(pod *corev1.Pod, volume csiVolume, op storage.Op, code storage.Code, desc string, failed []*corev1.Event) {
	same := slices.DeleteFunc(slices.Clone(failed), func(event *corev1.Event) bool { return volumeOf(event.Message) != volume.name })
	count, since, last := total(same)
	r.found = append(r.found, Assumption{Subject: "driver/" + volume.driver, Behaviour: Refuses, Object: "pod/" + api.KeyOf(pod),
		Operation: op, Node: pod.Spec.NodeName, Code: code, Message: desc, Count: count, Since: since, Last: last, key: volume.handle,
		Evidence: fmt.Sprintf("driver %s has refused to mount volume %s on node %s%s with %s", volume.driver, volume.name,
			pod.Spec.NodeName, seen(count, since, r.now), code)})
}

// mountSilent reads a mount that does not end: the volume is attached, and the kubelet still waits.
func (r *reader) mountSilent(pod *corev1.Pod, pv *corev1.PersistentVolume, failed []*corev1.Event) {
	driver := pv.Spec.CSI.Driver
	if object := r.drivers[driver]; object == nil || object.Spec.AttachRequired == nil || *object.Spec.AttachRequired {
		va := objects.AttachmentName(backends.Handle(pv), driver, pod.Spec.NodeName)
		attached := slices.ContainsFunc(r.attachments,
			func(a *storagev1.VolumeAttachment) bool { return a.Name == va && a.Status.Attached })
		if !attached {
			// The wait is for the attachment, which has evidence of its own.
			return
		}
	}
	count, since, last := total(failed)
	r.found = append(r.found, Assumption{Subject: "driver/" + driver, Behaviour: Silent, Object: "pod/" + api.KeyOf(pod),
		Node: pod.Spec.NodeName, Operation: storage.Stage, Code: storage.DeadlineExceeded, Message: "context deadline exceeded",
		Count: count, Since: since, Last: last, key: pv.Spec.CSI.VolumeHandle,
		Evidence: fmt.Sprintf("driver %s has not mounted volume %s on node %s: the kubelet has timed out%s", driver, pv.Name,
			pod.Spec.NodeName, seen(count, since, r.now))})
}

// changesOwnership reads that the kubelet still changes the group of the files of a volume (MNT-333). It reports whether that is so.
func (r *reader) changesOwnership(pod *corev1.Pod) bool {
	changing := r.about(pod, hasReason("VolumePermissionChangeInProgress"))
	count, since, last := total(changing)
	if count == 0 || r.now.Sub(last) > staleHeartbeat || !r.reports(pod.Spec.NodeName) {
		return false
	}
	r.found = append(r.found, Assumption{Subject: "pod/" + api.KeyOf(pod), Behaviour: Silent, Object: "pod/" + api.KeyOf(pod), Operation: ChangeOwnership,
		Node: pod.Spec.NodeName, Message: changing[len(changing)-1].Message, Count: count, Since: since, Last: last, key: string(pod.UID), owner: ownerOf(pod),
		Evidence: fmt.Sprintf("the kubelet of node %s has changed the group of files for pod %s since %s", pod.Spec.NodeName, api.KeyOf(pod),
			clock(since, r.now))})
	return true
}

// mountFailed reads which volumes are not mounted for a reason that is not the answer of a CSI driver, such as an NFS volume, one of a missing Secret,
// or one with another SELinux label: an assumption about each. The simulation would mount them.
func (r *reader) mountFailed(pod *corev1.Pod, a Assumption) {
	failed := map[string][]*corev1.Event{} // by the name of the volume, oldest first
	for _, event := range r.about(pod, hasReason("FailedMount", "FailedAttachVolume")) {
		if name := r.unmounted(pod, event); name != "" {
			failed[name] = append(failed[name], event)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(failed)) {
		events := failed[name]
		count, since, last := total(events)
		// The caches of a kubelet that has just started lag behind: one failure says nothing.
		if count < 2 || r.now.Sub(last) > staleHeartbeat {
			continue
		}
		newest := events[len(events)-1]
		a.Behaviour, a.Operation, a.Count, a.Since, a.Last, a.Message = Refuses, StartContainers, count, since, last, newest.Message
		a.Node, a.owner = pod.Spec.NodeName, ownerOf(pod)
		if len(MissingFilesOf(a.Message)) > 0 {
			a.Node = "" // it is missing for each node
		}
		what := fmt.Sprintf("the kubelet of node %s has failed to mount volume %s of pod %s", pod.Spec.NodeName, name, api.KeyOf(pod))
		if newest.Reason == "FailedAttachVolume" {
			what = fmt.Sprintf("volume %s of pod %s has not been attached to node %s: failed", name, api.KeyOf(pod), pod.Spec.NodeName)
		}
		a.Evidence = what + seen(count, since, r.now)
		r.found = append(r.found, a)
	}
}

// unmounted returns the name of the volume that, by an event, could not be attached or mounted, and for which the simulation does not find the same; "" if
// there is none.
func (r *reader) unmounted(pod *corev1.Pod, event *corev1.Event) string {
	// MNT-339: the volume has another label on the node, whatever its plugin.
	if volume, ok := ConflictOf(event.Message); ok {
		return volume
	}
	name := volumeOf(event.Message)
	if pv := r.volumes[name]; pv != nil && pv.Spec.HostPath != nil {
		// Nothing attaches such a volume: the dump does not have the true one, and its driver is unknown.
		return name
	}
	_, isCall := mountCall(event.Message)
	_, _, isError := errorOf(event.Message)
	_, isDriver := r.csiVolume(pod, name)
	if !isCall || isError || isDriver && !strings.Contains(event.Message, ownershipFailed) {
		return ""
	}
	return name
}

func ownerOf(pod *corev1.Pod) (uid types.UID) {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		uid = owner.UID
	}
	return uid
}
