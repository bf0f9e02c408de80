package explain

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/schedule"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/warnings"
)

// podAttached reports whether a volume is attached to the pod's node, or needs no attachment; if not, it explains what is missing.
func (x *explainer) podAttached(e *Explanation, pod *corev1.Pod, volume *corev1.Volume, pv *corev1.PersistentVolume,
	node *corev1.Node) bool {
	spec := objects.SpecOf(pv)
	csi := spec.CSI()
	plugin, err := objects.PluginOf(x.backends(), spec)
	if gone := goneWith(pv); gone != "" && err != nil {
		// MNT-047: Kubernetes no longer has the plugin.
		e.because("MNT-047", fmt.Sprintf("volume %s (%s): the kubelet has no plugin for its kind: %s", volume.Name, pv.Name, gone))
		e.todo("move the data to a volume of a CSI driver: no kubelet since that version mounts this one")
		e.manual("each retry of the kubelet fails the same way")
		return false
	}
	if csi == nil || err != nil || !plugin.Attachable(spec, x.drivers[csi.Driver]) {
		return x.usedOnce(e, pod, volume, pv)
	}
	id := volumeName(pv)
	if inStatus(node, id) {
		if !slices.Contains(node.Status.VolumesInUse, id) {
			e.because("MNT-174",
				fmt.Sprintf("volume %s is attached to node %s, but the kubelet has not reported it as in use yet", volume.Name, node.Name))
			if !x.alive(node) {
				x.kubeletGone(e, pod)
				return false
			}
			// MNT-241: a kubelet without the driver may report it as in use, but mounts nothing.
			if failed := x.lastEvent(pod, isMountFailure); failed != nil {
				if x.notRegistered(e, pod, mountRule(failed.Message), failed.Message) {
					return false
				}
			}
			e.next(actors.Kubelet(node.Name), "reports the volume as in use")
			e.automatic(x.Now, "MNT-172", "with the next node status report, within 10s")
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
	if x.attachedElsewhere(e, fmt.Sprintf("volume %s (%s)", volume.Name, pv.Name), pv, pod.Spec.NodeName) || x.triedElsewhere(e, volume, pv) {
		return false
	}
	x.notBegun(e, pod, volume, node)
	return false
}

// goneWith returns the warning about a volume whose plugin Kubernetes no longer has; "" for others.
func goneWith(pv *corev1.PersistentVolume) string {
	all := warnings.For(pv, nil)
	if at := slices.IndexFunc(all, func(text string) bool { return strings.Contains(text, "non-functional") }); at >= 0 {
		return all[at]
	}
	return ""
}

// underWay explains a volume whose attachment exists.
func (x *explainer) underWay(e *Explanation, pod *corev1.Pod, volume *corev1.Volume, name string) {
	va, _ := x.attachments[name]
	switch {
	case va.DeletionTimestamp != nil:
		e.because("ATT-141",
			fmt.Sprintf("volume %s is still being detached from node %s, and is attached again only after that", volume.Name, pod.Spec.NodeName))
		e.next(actors.AttachDetach, "attaches it after the detach")
	case va.Status.Attached:
		e.because("ATT-111", fmt.Sprintf("volume %s is attached, but the status of node %s does not list it yet", volume.Name, pod.Spec.NodeName))
		e.next(actors.AttachDetach, "adds it to the node status")
		e.automatic(x.Now, "ATT-145", "when the controller next checks the attachment, within 7s")
	default:
		e.because("ATT-145", fmt.Sprintf("volume %s is being attached to node %s", volume.Name, pod.Spec.NodeName))
		e.next(actors.AttachDetach, "waits until "+actors.Attacher(va.Spec.Attacher)+" has attached it")
	}
}

// attachedElsewhere reports whether the volume allows one node only and is attached to another node (ATT-069, ATT-070); what names the
// volume.
func (x *explainer) attachedElsewhere(e *Explanation, what string, pv *corev1.PersistentVolume, node string) bool {
	if objects.MultiAttachAllowed(objects.SpecOf(pv)) {
		return false
	}
	holder, since := x.holder(pv, node)
	if holder == "" {
		return false
	}
	e.because("ATT-070", fmt.Sprintf("%s allows one node only and is attached to node %s%s", what, holder, since))
	if x.unregistered(pv, node) {
		// ATT-172: this comes after the detach.
		e.Notes = append(e.Notes, fmt.Sprintf("after that it cannot be attached to node %s: driver %s is not registered there (the CSINode does not list it)", node,
			objects.CSIOf(pv).Driver))
	}
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
		x.usedElsewhere(e, staying[0], x.wantedBy(pv, node))
	case len(leaving) > 0:
		for _, other := range leaving {
			x.addPod(e, other)
		}
		e.next(actors.AttachDetach, fmt.Sprintf("detaches it when pod %s on node %s is gone", api.KeyOf(leaving[0]), holder))
		e.follow()
	default:
		x.awaitRelease(e, pv, holder)
	}
	return true
}

// usedElsewhere explains a volume that stays on another node, because a pod uses it there. waiting are the pods that want it here.
func (x *explainer) usedElsewhere(e *Explanation, user *corev1.Pod, waiting []*corev1.Pod) {
	e.manual(fmt.Sprintf("the volume stays on node %[2]s until pod %[1]s is deleted", api.KeyOf(user), user.Spec.NodeName))
	uses := fmt.Sprintf("pod %s, which uses the volume on node %s", api.KeyOf(user), user.Spec.NodeName)
	owner := metav1.GetControllerOfNoCopy(user)
	switch rollout := x.deploymentOf(user); {
	case owner == nil:
		e.todo("delete " + uses)
		return
	case slices.ContainsFunc(waiting, func(pod *corev1.Pod) bool { return sameOwner(pod, user) }):
		// RS-020, STS-020: the controller wants both pods.
		e.todo(fmt.Sprintf("scale %s to 1, give its pods a volume that many nodes can use (ReadWriteMany), or let them run on one node: it also owns %s",
			x.workloadOf(user), uses))
	case rollout != "" && slices.ContainsFunc(waiting, func(pod *corev1.Pod) bool { return x.deploymentOf(pod) == rollout }):
		// DEP-040: with Recreate the old pods go before the new ones come.
		e.todo(fmt.Sprintf("set the strategy of deployment %s to Recreate, or scale it to 0 and back: a rolling update keeps %s", rollout, uses))
	default:
		e.todo(fmt.Sprintf("scale down %s %s: it owns %s", strings.ToLower(owner.Kind), owner.Name, uses))
	}
	// RS-020, STS-020: the controller makes a pod again.
	e.Notes = append(e.Notes, fmt.Sprintf("if you only delete pod %s, %s %s creates it again, and that may get the volume first", api.KeyOf(user),
		strings.ToLower(owner.Kind), owner.Name))
}

// sameOwner reports whether one controller owns two pods.
func sameOwner(a, b *corev1.Pod) bool {
	of, other := metav1.GetControllerOfNoCopy(a), metav1.GetControllerOfNoCopy(b)
	return of != nil && other != nil && of.UID == other.UID
}

// workloadOf returns the workload that a user scales to change the number of pods like one that has a controller, such as deployment shop/web.
func (x *explainer) workloadOf(pod *corev1.Pod) string {
	if rollout := x.deploymentOf(pod); rollout != "" {
		return "deployment " + rollout
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	return strings.ToLower(owner.Kind) + " " + api.Key(pod.Namespace, owner.Name)
}

// usedByOne says what ends the wait for a ReadWriteOncePod claim that another pod uses (SCHED-184).
func (x *explainer) usedByOne(e *Explanation, pod *corev1.Pod, d schedule.Decision) {
	at := slices.IndexFunc(d.Nodes, func(n schedule.NodeResult) bool { return n.Rule == "SCHED-184" })
	key := d.Nodes[at].Claim
	var users []*corev1.Pod
	for _, other := range x.byClaim[key] {
		if other.UID != pod.UID && other.Spec.NodeName != "" && !objects.Terminated(other) && other.DeletionTimestamp == nil {
			users = append(users, other)
		}
	}
	if len(users) == 0 {
		e.next(actors.Scheduler, fmt.Sprintf("places it when no pod uses claim %s", key)) // those that do are being deleted
		return
	}
	user := users[0]
	if schedule.Outranks(user, pod) {
		e.Notes = append(e.Notes, fmt.Sprintf("pod %s has a higher priority (%s instead of %s): the scheduler may have evicted an earlier pod for it", api.KeyOf(user),
			priority(user), priority(pod)))
	}
	switch rollout := x.deploymentOf(pod); {
	case sameOwner(pod, user):
		// RS-020: the controller makes a deleted pod again.
		e.todo(fmt.Sprintf("scale %s to 1, or give its pods a claim that is not ReadWriteOncePod: only one pod can use claim %s", x.workloadOf(pod), key))
		return
	case rollout != "" && x.deploymentOf(user) == rollout:
		// DEP-040: with Recreate the old pods go before the new ones come.
		e.todo(fmt.Sprintf("set the strategy of deployment %s to Recreate: a rolling update keeps pod %s, which uses claim %s", rollout, api.KeyOf(user), key))
		return
	}
	e.todo(fmt.Sprintf("delete pod %s, which uses claim %s", api.KeyOf(user), key))
}

// deploymentOf returns the key of the Deployment whose ReplicaSet owns a pod; "" if there is none.
func (x *explainer) deploymentOf(pod *corev1.Pod) string {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return ""
	}
	for _, set := range x.Workloads {
		if of := metav1.GetControllerOfNoCopy(set); set.UID == owner.UID && of != nil && of.Kind == "Deployment" {
			return api.Key(set.Namespace, of.Name)
		}
	}
	return ""
}

// triedElsewhere reports whether the volume is being attached to or detached from another node. A volume that allows one node only has one
// operation at a time (ATT-081, ATT-088).
func (x *explainer) triedElsewhere(e *Explanation, volume *corev1.Volume, pv *corev1.PersistentVolume) bool {
	others := x.byVolume[pv.Name]
	if len(others) == 0 || objects.MultiAttachAllowed(objects.SpecOf(pv)) {
		return false
	}
	e.because("ATT-081",
		fmt.Sprintf("volume %s (%s) allows one node only and is being attached to or detached from node %s", volume.Name, pv.Name,
			others[0].Spec.NodeName))
	e.next(actors.AttachDetach, "waits until that operation ends")
	e.Related = append(e.Related, x.attachment(others[0]))
	e.follow()
	return true
}

// awaitRelease explains a pod that waits for a detach which no pod blocks.
func (x *explainer) awaitRelease(e *Explanation, pv *corev1.PersistentVolume, holder string) {
	for _, va := range x.byVolume[pv.Name] {
		if va.Spec.NodeName != holder || va.DeletionTimestamp == nil || x.seen[api.RefTo(va)] {
			continue
		}
		// ATT-175: the detach is under way, and may fail.
		e.next(actors.AttachDetach, fmt.Sprintf("waits until it is detached from node %s", holder))
		e.Related = append(e.Related, x.attachment(va))
		e.follow()
		return
	}
	rule, why := e.Rule, e.Why
	x.release(e, pv, holder)
	e.Notes = append(e.Notes, withRule(e.Why, e.Rule))
	e.because(rule, why)
}

// holder returns another node to which the volume is attached, and since when if the attachment is known.
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

// notBegun explains a volume without an attachment.
func (x *explainer) notBegun(e *Explanation, pod *corev1.Pod, volume *corev1.Volume, node *corev1.Node) {
	if node != nil {
		if _, managed := node.Annotations[objects.AnnManagedAttach]; !managed {
			// ATT-021: the controller attaches only to nodes with the annotation.
			e.because("ATT-021",
				fmt.Sprintf("volume %s is not attached, because the attach/detach controller does not manage node %s", volume.Name, node.Name))
			e.next(actors.Kubelet(node.Name), "sets annotation "+objects.AnnManagedAttach+" on the Node object")
			e.manual("without the annotation no component attaches volumes to the node")
			return
		}
	}
	e.because("ATT-068", fmt.Sprintf("volume %s is not attached to node %s", volume.Name, pod.Spec.NodeName))
	if failed := x.lastEvent(pod, reasoned("FailedAttachVolume")); failed != nil {
		e.Notes = append(e.Notes, fmt.Sprintf("last failure (%s): %s", stamp(timeOf(failed)), failed.Message))
	}
	if x.alive(node) && x.notRegistered(e, pod, "ATT-068", "") {
		return
	}
	e.next(actors.AttachDetach, "attaches it")
	e.automatic(x.Now, "ATT-084", "with the next pass of the controller; failures are retried within 2m2s")
}

// usedOnce reports whether no other pod on the node uses a ReadWriteOncePod volume (MNT-194).
func (x *explainer) usedOnce(e *Explanation, pod *corev1.Pod, volume *corev1.Volume, pv *corev1.PersistentVolume) bool {
	if !slices.Equal(pv.Spec.AccessModes, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}) {
		return true
	}
	for _, other := range x.byClaim[api.Key(pod.Namespace, objects.ClaimOf(pod, volume))] {
		if other.UID == pod.UID || other.Spec.NodeName != pod.Spec.NodeName || objects.Terminated(other) || !running(other) {
			continue
		}
		e.because("MNT-194", fmt.Sprintf("volume %s is ReadWriteOncePod, and pod %s uses it", volume.Name, other.Name))
		x.awaitEnd(e, []*corev1.Pod{other})
		return false
	}
	return true
}
