package evidence

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// readLeftover reads which volumes are still mounted on a node, although no pod of the dump uses them there. On a node that does not respond, the pod
// was deleted by force: nothing has confirmed that its containers stopped. A dump without pods shows nothing.
func (r *reader) readLeftover() {
	if len(r.pods) == 0 {
		return
	}
	silent := r.silentNodes()
	r.readDetached(silent)
	for _, va := range r.attachments {
		pv := r.attachedVolume(va)
		if !va.Status.Attached || pv == nil || pv.Spec.CSI == nil || pv.Spec.ClaimRef == nil {
			continue
		}
		at := slices.IndexFunc(r.nodes, func(node *corev1.Node) bool { return node.Name == va.Spec.NodeName })
		name := objects.CSIVolumeName(pv.Spec.CSI.Driver, pv.Spec.CSI.VolumeHandle)
		// ATT-070: pods of several nodes may use a volume that allows many.
		if at < 0 || objects.MultiAttachAllowed(objects.SpecOf(pv)) || !slices.Contains(r.nodes[at].Status.VolumesInUse, name) ||
			r.usedOn(va.Spec.NodeName, pv.Spec.ClaimRef) {
			continue
		}
		if silent[va.Spec.NodeName] != nil {
			r.found = append(r.found, Assumption{Subject: "pv/" + pv.Name, Behaviour: Silent, Object: "pv/" + pv.Name, Operation: storage.Unpublish,
				Node: va.Spec.NodeName, Evidence: fmt.Sprintf("node %s has not unmounted volume %s, and the dump has no pod that uses it there: "+
					"a pod that was deleted by force may still write to it", va.Spec.NodeName, pv.Name)})
		} else if r.reports(va.Spec.NodeName) {
			r.unmountOverdue(pv, va.Spec.NodeName)
		}
	}
}

// unmountOverdue reads that a kubelet has not unmounted a volume although another pod waits for it, and no pod has used it since (ATT-070).
func (r *reader) unmountOverdue(pv *corev1.PersistentVolume, node string) {
	for _, pod := range r.pods {
		if !slices.Contains(objects.ClaimsOf(pod), api.Key(pv.Spec.ClaimRef.Namespace, pv.Spec.ClaimRef.Name)) {
			continue
		}
		_, since, _ := total(r.about(pod, func(event *corev1.Event) bool {
			return event.Reason == "FailedAttachVolume" && strings.Contains(event.Message, "already exclusively attached to one node") &&
				volumeOf(event.Message) == pv.Name
		}))
		if since.IsZero() || r.now.Sub(since) <= unmountPatience {
			continue
		}
		r.found = append(r.found, Assumption{Subject: "driver/" + pv.Spec.CSI.Driver, Behaviour: Silent, Object: "pv/" + pv.Name,
			Operation: storage.Unpublish, Node: node, Code: storage.DeadlineExceeded, Message: "context deadline exceeded", Since: since,
			key: pv.Spec.CSI.VolumeHandle, Evidence: fmt.Sprintf("the kubelet of node %s has not unmounted volume %s, which no pod there has used since %s",
				node, pv.Name, clock(since, r.now))})
		return
	}
}

// readDetached reads which volumes were detached from a node that does not respond without being unmounted there. The taint says that the
// machine is off.
func (r *reader) readDetached(silent map[string]*corev1.Node) {
	for _, name := range slices.Sorted(maps.Keys(silent)) {
		node := silent[name]
		if objects.OutOfService(node) {
			continue
		}
		var detached []string
		for _, pvName := range slices.Sorted(maps.Keys(r.volumes)) {
			pv := r.volumes[pvName]
			if pv.Spec.CSI == nil || pv.Spec.ClaimRef == nil || objects.MultiAttachAllowed(objects.SpecOf(pv)) || r.usedOn(name, pv.Spec.ClaimRef) {
				continue
			}
			id := objects.CSIVolumeName(pv.Spec.CSI.Driver, pv.Spec.CSI.VolumeHandle)
			if slices.Contains(node.Status.VolumesInUse, id) && !r.attachedTo(name, pvName) && r.attachedAnywhere(pvName) {
				detached = append(detached, pvName)
			}
		}
		if len(detached) == 0 {
			continue
		}
		r.found = append(r.found, Assumption{Subject: "detached/" + name, Behaviour: Silent, Node: name, Evidence: fmt.Sprintf(
			"node %s has not unmounted what is attached to other nodes now (%s): until the machine is off, pods that were deleted by force may still write to it",
			name, strings.Join(detached, ", "))})
	}
}

func (r *reader) attachedTo(node, volume string) bool {
	return slices.ContainsFunc(r.attachments, func(va *storagev1.VolumeAttachment) bool {
		return va.Spec.NodeName == node && objects.ValueOf(va.Spec.Source.PersistentVolumeName) == volume
	})
}

func (r *reader) attachedAnywhere(volume string) bool {
	return slices.ContainsFunc(r.attachments, func(va *storagev1.VolumeAttachment) bool {
		return va.Status.Attached && objects.ValueOf(va.Spec.Source.PersistentVolumeName) == volume
	})
}

// silentNodes returns the nodes whose kubelet does not respond, by name.
func (r *reader) silentNodes() map[string]*corev1.Node {
	silent := map[string]*corev1.Node{}
	for _, node := range r.nodes {
		if slices.ContainsFunc(r.found, func(a Assumption) bool { return a.Subject == "node/"+node.Name && a.Behaviour == Silent }) {
			silent[node.Name] = node
		}
	}
	return silent
}

// usedOn reports whether a pod on the node uses the claim, even one that has ended: its kubelet may not have unmounted the volume yet.
func (r *reader) usedOn(node string, claim *corev1.ObjectReference) bool {
	return slices.ContainsFunc(r.pods, func(pod *corev1.Pod) bool {
		return pod.Spec.NodeName == node && slices.Contains(objects.ClaimsOf(pod), api.Key(claim.Namespace, claim.Name))
	})
}

// Leftover returns the volumes that stay mounted on a node for a pod that the dump no longer has: an assumption about each, with Node and, in
// Object, the volume.
func (s *Set) Leftover() []Assumption {
	var all []Assumption
	for _, a := range s.All() {
		if a.leftover() {
			all = append(all, a)
		}
	}
	return all
}

// LeftoverOn returns the assumption that a volume stays mounted on a node for a pod that the dump no longer has.
func (s *Set) LeftoverOn(volume, node string) (Assumption, bool) {
	return s.first(func(a *Assumption) bool { return a.leftover() && a.Object == "pv/"+volume && a.Node == node })
}

func (a Assumption) leftover() bool {
	return a.Operation == storage.Unpublish && a.Behaviour == Silent && a.Node != "" && strings.HasPrefix(a.Object, "pv/")
}
