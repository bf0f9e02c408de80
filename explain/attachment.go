package explain

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/attach"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// forceDetachAfter is the wait before a volume that is still mounted is detached from a node that is not ready (ATT-063).
const forceDetachAfter = 6 * time.Minute

// podGCPeriod is the period in which PodGC checks for pods on nodes that are out of service (ATT-196).
const podGCPeriod = 20 * time.Second

// attachment explains a VolumeAttachment.
func (x *explainer) attachment(va *storagev1.VolumeAttachment) Explanation {
	return x.withAssumptions(x.withRefusals(x.attachmentState(va), api.RefTo(va)))
}

// attachmentState explains a VolumeAttachment: what it waits for, or why it stays.
func (x *explainer) attachmentState(va *storagev1.VolumeAttachment) Explanation {
	phase := "Attaching"
	if va.Status.Attached {
		phase = "Attached"
	}
	e := x.begin(va, phase)
	pv, known := x.attachedVolume(va)
	switch {
	case va.DeletionTimestamp != nil && !known && len(va.Finalizers) > 0 && !x.Evidence.Lacks("persistentvolumes"):
		e.because("ATT-177", "it is being detached, but its volume no longer exists")
		e.todo(detachByHand)
		e.manual("without the volume the external attacher cannot detach it")
	case va.DeletionTimestamp != nil && x.nodeIDUnknown(va):
		e.because("ATT-175", fmt.Sprintf("it is being detached from node %s, but nothing has the ID of this node in the storage system: %s", va.Spec.NodeName, noNodeID))
		e.todo(detachByHand)
		e.manual("without the ID of the node the external attacher cannot detach it")
	case va.DeletionTimestamp != nil:
		e.because("ATT-175", fmt.Sprintf("it is being detached from node %s", va.Spec.NodeName))
		if failed := va.Status.DetachError; failed != nil {
			e.because("ATT-175", fmt.Sprintf("the driver could not detach it from node %s (%s): %s", va.Spec.NodeName, stamp(failed.Time.Time), failed.Message))
		}
		e.next(actors.Attacher(va.Spec.Attacher), "detaches the volume")
		if known && x.attachFails(&e, pv, va, storage.Detach) {
			break
		}
		e.automatic(x.Now, "ATT-175", "when the driver has detached it; failures are retried within 5m (ATT-171)")
	case !va.Status.Attached:
		x.attaching(&e, va)
	case !known && x.Evidence.Lacks("persistentvolumes"):
		e.because("ATT-132", "it is attached to node "+va.Spec.NodeName)
		e.settled()
	case !known:
		// ATT-132: after a restart, the controller skips attachments without a volume.
		e.because("ATT-132", "it is attached, but its volume no longer exists")
		e.todo("delete the VolumeAttachment")
		e.manual("the attach/detach controller skips it after a restart")
	default:
		x.attached(&e, va, pv)
	}
	return e
}

const (
	detachByHand = "detach the volume in the storage system, then remove the finalizer of the VolumeAttachment"
	noNodeID     = "the node has no CSINode, and the attachment has no annotation " + objects.AnnNodeID
)

// nodeIDUnknown reports whether a node is gone such that an attacher does not know its ID in the storage system (ATT-175). A dump without CSINodes does
// not tell.
func (x *explainer) nodeIDUnknown(va *storagev1.VolumeAttachment) bool {
	return x.Evidence != nil && len(va.Finalizers) > 0 && x.nodes[va.Spec.NodeName] == nil && x.csiNodes[va.Spec.NodeName] == nil && len(x.csiNodes) > 0 &&
		va.Annotations[objects.AnnNodeID] == ""
}

func (x *explainer) attachedVolume(va *storagev1.VolumeAttachment) (*corev1.PersistentVolume, bool) {
	if source := va.Spec.Source.InlineVolumeSpec; source != nil {
		return &corev1.PersistentVolume{Spec: *source}, true
	}
	if va.Spec.Source.PersistentVolumeName == nil {
		return nil, false
	}
	pv, ok := x.volumes[*va.Spec.Source.PersistentVolumeName]
	return pv, ok
}

// attaching explains a volume that is not attached yet (ATT-172).
func (x *explainer) attaching(e *Explanation, va *storagev1.VolumeAttachment) {
	e.because("ATT-172", fmt.Sprintf("the driver has not attached it to node %s yet", va.Spec.NodeName))
	if failed := va.Status.AttachError; failed != nil {
		e.because("ATT-142",
			fmt.Sprintf("the driver could not attach it to node %s (%s): %s", va.Spec.NodeName, stamp(failed.Time.Time), failed.Message))
	}
	pv, ok := x.attachedVolume(va)
	switch {
	case !ok && x.addKind(e, "persistentvolumes"):
		return
	case !ok:
		e.todo("delete the VolumeAttachment and the pod that uses it: the volume no longer exists")
		e.manual("a missing volume cannot be attached")
		return
	case pv.DeletionTimestamp != nil:
		// ATT-172: a volume that is being deleted is not attached.
		e.todo(fmt.Sprintf("delete the pod that uses it: volume %s is being deleted", pv.Name))
		e.manual("a volume that is being deleted is not attached")
		return
	case x.attachedElsewhere(e, "the volume", pv, va.Spec.NodeName):
		return
	}
	if csiNode, ok := x.csiNodes[va.Spec.NodeName]; !ok || !runsDriver(csiNode, va.Spec.Attacher) {
		// ATT-172: the driver has to be registered on the node.
		e.Notes = append(e.Notes,
			fmt.Sprintf("driver %s is not registered on node %s (its CSINode does not list it)", va.Spec.Attacher, va.Spec.NodeName))
		if x.Evidence != nil && len(x.csiNodes) > 0 && x.alive(x.nodes[va.Spec.NodeName]) {
			e.todo(fmt.Sprintf("start the node plugin of driver %s on node %s, or delete the pod and create it again, for a node that has it",
				va.Spec.Attacher, va.Spec.NodeName))
			e.Assumes = append(e.Assumes,
				fmt.Sprintf("driver %s is not registered on node %s; assumed to continue", va.Spec.Attacher, va.Spec.NodeName))
			e.manual("a volume is attached only to nodes where its driver is registered")
			return
		}
		if !x.alive(x.nodes[va.Spec.NodeName]) {
			e.todo(fmt.Sprintf("bring node %s back, so that the driver registers", va.Spec.NodeName))
			e.manual("a volume is attached only to nodes where its driver is registered")
			return
		}
	}
	e.next(actors.Attacher(va.Spec.Attacher), "attaches the volume")
	if x.attachFails(e, pv, va, storage.Attach) {
		return
	}
	e.automatic(x.Now, "ATT-171", "when the driver has attached it; failures are retried within 5m")
}

func runsDriver(csiNode *storagev1.CSINode, driver string) bool {
	return slices.ContainsFunc(csiNode.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == driver })
}

// attached explains an attached volume: pods use it, or it is about to be detached.
func (x *explainer) attached(e *Explanation, va *storagev1.VolumeAttachment, pv *corev1.PersistentVolume) {
	wanted := x.wantedBy(pv, va.Spec.NodeName)
	if len(wanted) > 0 {
		// ATT-025: pods on the node use it.
		e.because("ATT-025", fmt.Sprintf("pod %s on node %s uses it", api.KeyOf(wanted[0]), va.Spec.NodeName))
		e.settled()
		return
	}
	x.release(e, pv, va.Spec.NodeName)
}

// wantedBy returns the pods on a node that keep the volume attached there (ATT-025): pods of the claim that the volume points at, and of
// claims that name the volume.
func (x *explainer) wantedBy(pv *corev1.PersistentVolume, node string) []*corev1.Pod {
	claims := slices.Clone(x.byVolumeName[pv.Name])
	if ref := pv.Spec.ClaimRef; ref != nil && !slices.Contains(claims, api.Key(ref.Namespace, ref.Name)) {
		claims = append(claims, api.Key(ref.Namespace, ref.Name))
	}
	var wanted []*corev1.Pod
	for _, claim := range claims {
		for _, pod := range x.byClaim[claim] {
			if pod.Spec.NodeName == node && attach.Wants(pod) {
				wanted = append(wanted, pod)
			}
		}
	}
	return wanted
}

// release explains when a volume that no pod on the node uses is detached (ATT-064).
func (x *explainer) release(e *Explanation, pv *corev1.PersistentVolume, name string) {
	node := x.nodes[name]
	facts := attach.DetachFacts{Mounted: x.mounted(pv, node), OutOfService: objects.OutOfService(node), Healthy: objects.Healthy(node)}
	decision, _ := attach.DecideDetach(facts)
	// ATT-064: the same decision as the controller's.
	e.because("ATT-064", decision.Why)
	switch {
	case node == nil:
		// ATT-044: without the Node object nothing shows that the volume is unmounted. A taint would have no node.
		e.because("ATT-064", fmt.Sprintf("node %s does not exist, so nothing shows that the volume is no longer mounted there: waiting for 6 minutes at "+
			"most, unless forced detaching is disabled", name))
		e.next(actors.AttachDetach, fmt.Sprintf("detaches it from node %s after 6 minutes, mounted or not", name))
		if x.Evidence != nil {
			e.todo(fmt.Sprintf("make sure that machine %s is off before that: if it still runs, its containers may write to the volume", name))
		}
		x.forcedDetach(e, pv, name)
		for _, va := range x.byVolume[pv.Name] {
			if va.Spec.NodeName == name && x.nodeIDUnknown(va) {
				e.todo("after that, " + detachByHand)
				e.Notes = append(e.Notes, "the external attacher cannot detach it: "+noNodeID)
			}
		}
	case !decision.Waiting:
		e.next(actors.AttachDetach, "detaches it from node "+name)
		e.automatic(x.Now, "ATT-064", "with the next pass of the controller")
	case facts.Healthy && !x.alive(node):
		e.todo(fmt.Sprintf("bring the kubelet of node %s back", name))
		e.manual("the kubelet does not unmount it, and no forced detach follows while the Node object is Ready")
	case facts.Healthy && x.neverUnmounts(e, pv, name):
	case facts.Healthy:
		e.next(actors.Kubelet(name), "unmounts it, and reports that it is no longer in use")
		e.automatic(x.Now, "MNT-170", "when the kubelet has unmounted and reported it")
	default:
		if left, ok := x.Evidence.LeftoverOn(pv.Name, name); ok {
			e.assume(left)
			e.todo(fmt.Sprintf("power off machine %s before the volume is attached elsewhere, or make sure that it is off: a pod that was deleted by force may still write to it", name))
		}
		e.todo(fmt.Sprintf("to detach it immediately, taint node %s with %s (only if the machine is off)", name, corev1.TaintNodeOutOfService))
		x.forcedDetach(e, pv, name)
	}
}

// neverUnmounts explains a volume that its kubelet should have unmounted long ago. It reports whether that is so.
func (x *explainer) neverUnmounts(e *Explanation, pv *corev1.PersistentVolume, node string) bool {
	a, ok := x.Evidence.LeftoverOn(pv.Name, node)
	if !ok {
		return false
	}
	e.assume(a)
	e.because("ATT-064", a.Evidence+", although the node is Ready")
	e.todo(fmt.Sprintf("look at the log of the kubelet of node %s for the volume: the unmount fails, or a container still runs there; restart the kubelet or reboot the node", node))
	e.manual("only the kubelet can confirm that the volume is unmounted")
	return true
}

// forcedDetach says when an unused volume is detached from a node that is not ready.
func (x *explainer) forcedDetach(e *Explanation, pv *corev1.PersistentVolume, node string) {
	// ATT-045, ATT-134: the controller counts from the pass that found the volume unused.
	since, known := x.Now, false
	if x.DetachPendingSince != nil {
		if begun, ok := x.DetachPendingSince(volumeName(pv), node); ok {
			since, known = begun, true
		}
	}
	text := fmt.Sprintf("forced detach from node %s, mounted or not", node)
	if x.Evidence != nil && !known {
		// A dump does not have the memory of the controller.
		text += "; sooner if the controller waits already"
	}
	e.automatic(since.Add(forceDetachAfter), "ATT-064", text)
}

// mounted reports whether the node status lists the volume as in use (ATT-043).
func (x *explainer) mounted(pv *corev1.PersistentVolume, node *corev1.Node) bool {
	if node == nil {
		// ATT-044: without a Node object, nothing shows that it is unmounted.
		return true
	}
	return slices.Contains(node.Status.VolumesInUse, volumeName(pv))
}

// volumeName returns the unique name of a CSI volume (ATT-001), "" for any other volume.
func volumeName(pv *corev1.PersistentVolume) corev1.UniqueVolumeName {
	csi := objects.CSIOf(pv)
	if csi == nil {
		return ""
	}
	return objects.CSIVolumeName(csi.Driver, csi.VolumeHandle)
}

// inStatus reports whether the node's status lists the volume as attached.
func inStatus(node *corev1.Node, volume corev1.UniqueVolumeName) bool {
	return node != nil && slices.ContainsFunc(node.Status.VolumesAttached, func(a corev1.AttachedVolume) bool { return a.Name == volume })
}
