package explain

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/objects"
)

// podAttached reports whether a volume is attached to the pod's node, or need not be; if not, it explains at which step it is.
func (x *explainer) podAttached(e *Explanation, pod *corev1.Pod, volume *corev1.Volume, pv *corev1.PersistentVolume, node *corev1.Node) bool {
	csi := pv.Spec.CSI
	plugin, err := objects.PluginOf(x.backends(), objects.SpecOfVolume(volume, pv))
	if csi == nil || err != nil || !plugin.Attachable(objects.SpecOfVolume(volume, pv), x.drivers[csi.Driver]) {
		return x.usedOnce(e, pod, volume, pv)
	}
	id := volumeName(pv)
	if inStatus(node, id) {
		if !slices.Contains(node.Status.VolumesInUse, id) {
			e.say("MNT-174", fmt.Sprintf("volume %s is attached to node %s, and the kubelet has not reported that it uses it", volume.Name, node.Name))
			if !x.alive(node) {
				x.kubeletGone(e, pod)
				return false
			}
			e.next(actors.Kubelet(node.Name), "has to report the volume as in use")
			e.at(x.Now, "MNT-172", "at the next report of the node's status, within 10 s")
			return false
		}
		return x.usedOnce(e, pod, volume, pv)
	}
	name := objects.AttachmentName(csi.VolumeHandle, csi.Driver, pod.Spec.NodeName)
	if va, ok := x.attachments[name]; ok {
		x.underWay(e, pod, volume, name)
		e.Related = append(e.Related, x.attachment(va))
		if !va.Status.Attached || va.DeletionTimestamp != nil {
			e.follow()
		}
		return false
	}
	if x.held(e, fmt.Sprintf("volume %s (%s)", volume.Name, pv.Name), pv, pod.Spec.NodeName) || x.triedElsewhere(e, volume, pv) {
		return false
	}
	x.notBegun(e, pod, volume, node)
	return false
}

// underWay is a volume whose attachment exists.
func (x *explainer) underWay(e *Explanation, pod *corev1.Pod, volume *corev1.Volume, name string) {
	va, _ := x.attachments[name]
	switch {
	case va.DeletionTimestamp != nil:
		e.say("ATT-141", fmt.Sprintf("volume %s is still being detached from node %s, and can only then be attached again", volume.Name, pod.Spec.NodeName))
		e.next(actors.AttachDetach, "attaches it when it is detached")
	case va.Status.Attached:
		e.say("ATT-111", fmt.Sprintf("volume %s is attached, and the status of node %s does not say so yet", volume.Name, pod.Spec.NodeName))
		e.next(actors.AttachDetach, "has to write the status of the node")
		e.at(x.Now, "ATT-145", "when the controller looks at the attachment, within 7 s")
	default:
		e.say("ATT-145", fmt.Sprintf("volume %s is being attached to node %s", volume.Name, pod.Spec.NodeName))
		e.next(actors.AttachDetach, "waits for the external attacher of "+va.Spec.Attacher)
	}
}

// held reports whether the volume allows one node only and is attached to another than this one (ATT-069, ATT-070); what names it.
func (x *explainer) held(e *Explanation, what string, pv *corev1.PersistentVolume, node string) bool {
	if objects.MultiAttachAllowed(objects.VolumeSpec{PV: pv}) {
		return false
	}
	holder, since := x.holder(pv, node)
	if holder == "" {
		return false
	}
	e.say("ATT-070", fmt.Sprintf("%s allows one node only, and is attached to node %s%s", what, holder, since))
	var staying, leaving []*corev1.Pod
	for _, other := range x.wantedBy(pv, holder) {
		if other.DeletionTimestamp == nil {
			staying = append(staying, other)
		} else {
			leaving = append(leaving, other)
		}
	}
	switch {
	case len(staying) > 0:
		e.next(Somebody, fmt.Sprintf("has to delete pod %s, which uses it on node %s", api.KeyOf(staying[0]), holder))
		e.never(fmt.Sprintf("as long as pod %s is there, the volume stays on node %s", api.KeyOf(staying[0]), holder))
	case len(leaving) > 0:
		for _, other := range leaving {
			x.addPod(e, other)
		}
		e.next(actors.AttachDetach, fmt.Sprintf("detaches it when pod %s is gone from node %s", api.KeyOf(leaving[0]), holder))
		e.follow()
	default:
		x.awaitRelease(e, pv, holder)
	}
	return true
}

// triedElsewhere reports whether the volume is on its way to or from another node: there is one operation at a time on a volume
// that allows one node only (ATT-081, ATT-088).
func (x *explainer) triedElsewhere(e *Explanation, volume *corev1.Volume, pv *corev1.PersistentVolume) bool {
	others := x.byVolume[pv.Name]
	if len(others) == 0 || objects.MultiAttachAllowed(objects.VolumeSpec{PV: pv}) {
		return false
	}
	e.say("ATT-081", fmt.Sprintf("volume %s (%s) allows one node only, and is on its way to or from node %s", volume.Name, pv.Name, others[0].Spec.NodeName))
	e.next(actors.AttachDetach, "does one thing at a time with it")
	e.Related = append(e.Related, x.attachment(others[0]))
	e.follow()
	return true
}

// awaitRelease has the pod wait for a detachment that nobody's pods are in the way of.
func (x *explainer) awaitRelease(e *Explanation, pv *corev1.PersistentVolume, holder string) {
	because := e.Because
	x.release(e, pv, holder)
	e.Notes = append(e.Notes, withRule(e.Because.Text, e.Because.Rule))
	e.Because = because
}

// holder is another node that has the volume, and since when as far as the attachment tells.
func (x *explainer) holder(pv *corev1.PersistentVolume, except string) (node, since string) {
	for _, va := range x.byVolume[pv.Name] {
		if va.Spec.NodeName != except && va.Status.Attached {
			return va.Spec.NodeName, " since " + stamp(va.CreationTimestamp.Time)
		}
	}
	for _, other := range x.holders[volumeName(pv)] {
		if other.Name != except {
			return other.Name, ""
		}
	}
	return "", ""
}

// notBegun is a volume that the attach/detach controller has not begun to attach.
func (x *explainer) notBegun(e *Explanation, pod *corev1.Pod, volume *corev1.Volume, node *corev1.Node) {
	if node != nil {
		if _, managed := node.Annotations[objects.AnnManagedAttach]; !managed {
			// ATT-021
			e.say("ATT-021", fmt.Sprintf("volume %s is not attached, and node %s is not managed by the attach/detach controller", volume.Name, node.Name))
			e.next(actors.Kubelet(node.Name), "has to annotate its node with "+objects.AnnManagedAttach)
			e.never("without the annotation nobody attaches volumes to the node")
			return
		}
	}
	e.say("ATT-068", fmt.Sprintf("volume %s is not attached to node %s", volume.Name, pod.Spec.NodeName))
	if failed := x.lastEvent(pod, reasoned("FailedAttachVolume")); failed != nil {
		e.Notes = append(e.Notes, fmt.Sprintf("last error, at %s: %s", stamp(timeOf(failed)), failed.Message))
	}
	e.next(actors.AttachDetach, "has to attach it")
	e.at(x.Now, "ATT-084", "at the next pass; after an error it tries again, at most 2m2s apart")
}

// usedOnce reports whether no other pod on the node has a volume that one pod at a time may use (MNT-194).
func (x *explainer) usedOnce(e *Explanation, pod *corev1.Pod, volume *corev1.Volume, pv *corev1.PersistentVolume) bool {
	if !slices.Equal(pv.Spec.AccessModes, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}) {
		return true
	}
	for _, other := range x.byClaim[api.Key(pod.Namespace, objects.ClaimOf(pod, volume))] {
		if other.UID == pod.UID || other.Spec.NodeName != pod.Spec.NodeName || objects.Terminated(other) || !running(other) {
			continue
		}
		e.say("MNT-194", fmt.Sprintf("volume %s may be used by one pod at a time, and pod %s uses it", volume.Name, other.Name))
		x.awaitEnd(e, []*corev1.Pod{other})
		return false
	}
	return true
}
