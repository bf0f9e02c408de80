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
)

// forceDetachAfter is how long a volume that is still mounted on a node that is not ready stays attached there (ATT-063).
const forceDetachAfter = 6 * time.Minute

// podGCPeriod is how often pods on nodes out of service are looked for (ATT-196).
const podGCPeriod = 20 * time.Second

// attachment explains a VolumeAttachment: on its way, in place, or what keeps it.
func (x *explainer) attachment(va *storagev1.VolumeAttachment) Explanation {
	phase := "Attaching"
	if va.Status.Attached {
		phase = "Attached"
	}
	e := x.begin(va, phase)
	pv, known := x.attachedVolume(va)
	switch {
	case va.DeletionTimestamp != nil && !known && len(va.Finalizers) > 0:
		e.say("ATT-177", "it is being detached, but its volume does not exist any more")
		e.next(Somebody, "has to detach the volume in the storage system, and take the finalizer off")
		e.never("without the volume the attacher cannot detach it")
	case va.DeletionTimestamp != nil:
		e.say("ATT-175", fmt.Sprintf("it is being detached from node %s", va.Spec.NodeName))
		if failed := va.Status.DetachError; failed != nil {
			e.Notes = append(e.Notes, fmt.Sprintf("last error of the driver, at %s: %s", stamp(failed.Time.Time), failed.Message))
		}
		e.next(actors.Attacher(va.Spec.Attacher), "has to detach the volume")
		e.at(x.Now, "ATT-175", "as soon as the driver has detached it; after an error it tries again, at most 5 min apart (ATT-171)")
	case !va.Status.Attached:
		x.attaching(&e, va)
	case !known:
		// ATT-132
		e.say("ATT-132", "it is attached, and its volume does not exist any more")
		e.next(Somebody, "has to delete it")
		e.never("after a restart the attach/detach controller does not know it")
	default:
		x.attached(&e, va, pv)
	}
	return e
}

func (x *explainer) attachedVolume(va *storagev1.VolumeAttachment) (*corev1.PersistentVolume, bool) {
	if va.Spec.Source.PersistentVolumeName == nil {
		return nil, false
	}
	pv, ok := x.volumes[*va.Spec.Source.PersistentVolumeName]
	return pv, ok
}

// attaching is an attachment that is not there yet (ATT-172).
func (x *explainer) attaching(e *Explanation, va *storagev1.VolumeAttachment) {
	e.say("ATT-172", fmt.Sprintf("the driver has not attached it to node %s yet", va.Spec.NodeName))
	if failed := va.Status.AttachError; failed != nil {
		e.say("ATT-142", fmt.Sprintf("the driver could not attach it to node %s, at %s: %s", va.Spec.NodeName, stamp(failed.Time.Time), failed.Message))
	}
	pv, ok := x.attachedVolume(va)
	switch {
	case !ok:
		e.next(Somebody, "has to delete it, and the pod that wants it: the volume does not exist any more")
		e.never("a volume that is gone is not attached any more")
		return
	case pv.DeletionTimestamp != nil:
		// ATT-172: step 1.
		e.next(Somebody, fmt.Sprintf("has to delete the pod that wants it: volume %s is being deleted", pv.Name))
		e.never("a volume that is being deleted is not attached any more")
		return
	case x.held(e, "the volume", pv, va.Spec.NodeName):
		return
	}
	if csiNode, ok := x.csiNodes[va.Spec.NodeName]; !ok || !runsDriver(csiNode, va.Spec.Attacher) {
		// ATT-172: step 3.
		e.Notes = append(e.Notes, fmt.Sprintf("driver %s is not registered on node %s: no CSINode lists it there", va.Spec.Attacher, va.Spec.NodeName))
		if !x.alive(x.nodes[va.Spec.NodeName]) {
			e.next(Somebody, fmt.Sprintf("has to bring node %s back, for the driver to register", va.Spec.NodeName))
			e.never("without the driver on the node the volume is not attached to it")
			return
		}
	}
	e.next(actors.Attacher(va.Spec.Attacher), "has to attach the volume")
	e.at(x.Now, "ATT-171", "as soon as the driver has attached it; after an error it tries again, at most 5 min apart")
}

func runsDriver(csiNode *storagev1.CSINode, driver string) bool {
	return slices.ContainsFunc(csiNode.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == driver })
}

// attached is an attachment in place: wanted by pods there, or about to go.
func (x *explainer) attached(e *Explanation, va *storagev1.VolumeAttachment, pv *corev1.PersistentVolume) {
	wanted := x.wantedBy(pv, va.Spec.NodeName)
	if len(wanted) > 0 {
		// ATT-025
		e.say("ATT-025", fmt.Sprintf("pod %s on node %s uses it", api.KeyOf(wanted[0]), va.Spec.NodeName))
		e.settled()
		return
	}
	x.release(e, pv, va.Spec.NodeName)
}

// wantedBy are the pods on a node for which the volume stays attached there (ATT-025): those of the claim that it points at, and of
// claims that point at it, since what was attached for a pod stays for it.
func (x *explainer) wantedBy(pv *corev1.PersistentVolume, node string) []*corev1.Pod {
	claims := slices.Clone(x.byVolumeName[pv.Name])
	if ref := pv.Spec.ClaimRef; ref != nil && !slices.Contains(claims, api.Key(ref.Namespace, ref.Name)) {
		claims = append(claims, api.Key(ref.Namespace, ref.Name))
	}
	var wanted []*corev1.Pod
	for _, claim := range claims {
		for _, pod := range x.byClaim[claim] {
			if pod.Spec.NodeName == node && attach.Action(pod) == attach.AddVolumes {
				wanted = append(wanted, pod)
			}
		}
	}
	return wanted
}

// release explains when a volume that no pod on the node wants is detached from it (ATT-064).
func (x *explainer) release(e *Explanation, pv *corev1.PersistentVolume, name string) {
	node := x.nodes[name]
	facts := attach.DetachFacts{Mounted: x.mounted(pv, node), OutOfService: objects.OutOfService(node), Healthy: objects.Healthy(node)}
	decision, _ := attach.DecideDetach(facts)
	// ATT-064
	e.say("ATT-064", decision.Why)
	switch {
	case !decision.Waiting:
		e.next(actors.AttachDetach, "has to detach it from node "+name)
		e.at(x.Now, "ATT-064", "at the next pass")
	case facts.Healthy && !x.alive(node):
		e.next(Somebody, fmt.Sprintf("has to bring the kubelet of node %s back", name))
		e.never("the kubelet does not unmount it, and the node counts as ready")
	case facts.Healthy:
		e.next("kubelet/"+name, "has to unmount it, and to report that it does not use it any more")
		e.at(x.Now, "MNT-170", "as soon as the kubelet has unmounted it and reported")
	default:
		e.next(Somebody, fmt.Sprintf("can have it detached at once: taint node %s with %s", name, corev1.TaintNodeOutOfService))
		e.at(x.forceDetachAt(pv, name), "ATT-064", fmt.Sprintf("it is detached by force from node %s, mounted or not", name))
	}
}

// forceDetachAt is when a volume that no pod wants is detached from a node that is not ready, at the earliest.
func (x *explainer) forceDetachAt(pv *corev1.PersistentVolume, node string) time.Time {
	if x.DetachPendingSince != nil {
		if since, ok := x.DetachPendingSince(volumeName(pv), node); ok {
			return since.Add(forceDetachAfter)
		}
	}
	// ATT-045, ATT-134: the controller counts from when it found out.
	return x.Now.Add(forceDetachAfter)
}

// mounted reports whether the node says that it uses the volume (ATT-043).
func (x *explainer) mounted(pv *corev1.PersistentVolume, node *corev1.Node) bool {
	if node == nil {
		// ATT-044: nothing says that it is not.
		return true
	}
	return slices.Contains(node.Status.VolumesInUse, volumeName(pv))
}

// volumeName is the unique name of a CSI volume (ATT-001), "" for any other.
func volumeName(pv *corev1.PersistentVolume) corev1.UniqueVolumeName {
	if pv.Spec.CSI == nil {
		return ""
	}
	return objects.CSIVolumeName(pv.Spec.CSI.Driver, pv.Spec.CSI.VolumeHandle)
}

// inStatus reports whether the node's status lists the volume as attached.
func inStatus(node *corev1.Node, volume corev1.UniqueVolumeName) bool {
	return node != nil && slices.ContainsFunc(node.Status.VolumesAttached, func(a corev1.AttachedVolume) bool { return a.Name == volume })
}
