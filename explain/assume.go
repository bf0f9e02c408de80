package explain

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/evidence"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/similar"
	"github.com/volsim/volsim/storage"
)

// assume adds what the answer assumes.
func (x *Explanation) assume(a evidence.Assumption) {
	if text := a.String(); !isOneOf(text, x.Assumes) {
		x.Assumes = append(x.Assumes, text)
	}
}

// withAssumptions returns the explanation with the assumptions that a promised change rests on. A change by a controller that does not run,
// or is assumed not to, is none. It may need others in a running cluster, too.
func (x *explainer) withAssumptions(e Explanation, others ...string) Explanation {
	if e.Changes.When != Automatic || len(e.Next) == 0 {
		return e
	}
	actor := e.Next[0].Actor
	if x.Evidence == nil {
		for _, actor := range append([]string{actor}, others...) {
			if x.Stopped == nil {
				break
			}
			if why, remedy := x.Stopped(actor); why != "" {
				e.manual(actor + " " + why)
				e.todo(remedy)
				break
			}
		}
		return e
	}
	if a, ok := x.Evidence.Controller(actor); ok {
		e.assume(a)
		e.manual(actor + " does not run")
		e.todo("start " + actor)
		return e
	}
	if driver, ok := actors.DriverOf(actor); ok {
		e.assume(x.Evidence.Driver(driver))
	}
	if node, ok := actors.NodeOfKubelet(actor); ok && x.nodes[node] != nil {
		e.Assumes = append(e.Assumes, fmt.Sprintf("node %s: it is Ready; assumed to work", node))
	}
	return e
}

// stopped reports whether a controller is assumed not to run.
func (x *explainer) stopped(actor string) bool {
	_, stopped := x.Evidence.Controller(actor)
	return stopped
}

// createFails explains a claim for which the driver is assumed to create no volume. It reports whether there is such an assumption.
func (x *explainer) createFails(e *Explanation, claim *corev1.PersistentVolumeClaim, driver string) bool {
	a, ok := x.Evidence.Create(driver, claim)
	if !ok {
		return false
	}
	e.assume(a)
	e.next(actors.Provisioner(driver), "creates a volume")
	if a.Actor() != "" || a.Behaviour == evidence.Silent {
		// PROV-032: the controller waits for the provisioner.
		e.because("PROV-032", "no volume fits, and "+a.Evidence)
		e.Next = nil
		start := "start the provisioner of driver " + driver
		if meant := x.similarDriver(driver); meant != "" {
			// API-230: the provisioner of a class cannot be changed.
			e.todo(fmt.Sprintf("driver %q is installed: if storage class %q means that one, delete the class and create it again with this provisioner", meant,
				objects.ClassOf(claim)))
			start = "or " + start
		}
		e.todo(start)
		e.manual("no other component creates a volume")
		return true
	}
	// XPROV-026: the provisioner reports failures as Events.
	e.because("XPROV-026", "no volume fits, and "+a.Evidence+": "+a.Message)
	e.Next = nil
	if remedy := x.remedyOf(a, driver, claim); remedy != "" {
		e.todo(remedy)
	}
	if a.Absent() == "" && !a.AboutModes(claim) {
		x.explainError(e, a, driver)
	}
	e.manual("each retry of the provisioner fails the same way")
	return true
}

// similarDriver returns the installed driver that the name of another one probably means; "" if there is none, or if that driver is installed.
func (x *explainer) similarDriver(name string) string {
	var names []string
	for _, driver := range sorted(x.Drivers) {
		names = append(names, driver.Name)
	}
	for _, node := range sorted(x.CSINodes) {
		for i := range node.Spec.Drivers {
			names = append(names, node.Spec.Drivers[i].Name)
		}
	}
	if slices.Contains(names, name) {
		return ""
	}
	return similar.To(name, names)
}

// remedyOf returns what the user can do about an error of a driver if the code says what is at fault; "" if only the log does.
func (x *explainer) remedyOf(a evidence.Assumption, driver string, claim *corev1.PersistentVolumeClaim) string {
	class := objects.ClassOf(claim)
	if limit := x.Evidence.SizeLimit(driver); limit != "" && a.Code == storage.OutOfRange {
		return fmt.Sprintf("create the claim again, with %s: driver %s refuses more", limit, driver)
	}
	if absent := a.Absent(); absent != "" {
		if claim.Spec.DataSource != nil {
			absent += ", or create the claim again with another source"
		}
		return "create " + absent
	}
	if a.AboutModes(claim) {
		return fmt.Sprintf("create the claim again, with access mode ReadWriteOnce, or with a storage class of a driver for shared files: driver %s refuses %v",
			driver, claim.Spec.AccessModes)
	}
	switch a.Code {
	case storage.InvalidArgument, storage.OutOfRange, storage.Unimplemented, storage.AlreadyExists, storage.NotFound:
		if source := claim.Spec.DataSource; source != nil {
			return fmt.Sprintf("check %s %q that the claim is made from, and the parameters of storage class %q", source.Kind, source.Name, class)
		}
		return fmt.Sprintf("correct the request: create the claim again, with a storage class whose parameters driver %s accepts (not %q)",
			driver, class)
	case storage.ResourceExhausted:
		return "free capacity in the storage system of driver " + driver
	}
	if source := claim.Spec.DataSource; source != nil && a.Code == storage.Internal {
		return fmt.Sprintf("check that %s %q exists and is ready", source.Kind, source.Name)
	}
	return ""
}

// attachFails explains an attachment that the driver is assumed not to make, or not to end. It reports whether there is such an assumption.
func (x *explainer) attachFails(e *Explanation, pv *corev1.PersistentVolume, va *storagev1.VolumeAttachment, op storage.Op) bool {
	a, ok := x.Evidence.Attach(va.Spec.Attacher, backends.Handle(pv), va.Spec.NodeName, op)
	if !ok {
		return false
	}
	e.assume(a)
	e.Next = nil
	if a.Actor() != "" {
		e.todo("start the attacher of driver " + va.Spec.Attacher)
	} else if a.FullNode() {
		e.todo(fmt.Sprintf("delete the pod and create it again, for another node, or stop a pod on node %s that uses another volume of driver %s", va.Spec.NodeName,
			va.Spec.Attacher))
		e.Notes = append(e.Notes, a.Meaning(x.Now))
	} else if a.Code == storage.NotFound && op == storage.Attach {
		e.Notes = append(e.Notes, a.Meaning(x.Now))
		e.todo(x.lookFor(a, backends.Handle(pv), va))
	} else {
		x.explainError(e, a, va.Spec.Attacher)
		if op == storage.Detach {
			// ATT-177: without the finalizer the detach counts as done.
			e.todo(fmt.Sprintf("if that does not help, detach volume %s from node %s in the storage system, and then remove the finalizer: "+
				`kubectl patch volumeattachment %s --type=merge -p '{"metadata":{"finalizers":null}}'`, backends.Handle(pv), va.Spec.NodeName, va.Name))
		}
	}
	e.manual("each retry has the same result")
	return true
}

// lookFor says what to look for in the storage system that does not find the volume or the node of an attachment.
func (x *explainer) lookFor(a evidence.Assumption, handle string, va *storagev1.VolumeAttachment) string {
	const look, lost = "look in the storage system for ", ": if the volume was deleted there, its data is lost: restore a backup to a new claim"
	id := x.nodeID(va)
	switch volume, machine := strings.Contains(a.Message, handle), id != "" && strings.Contains(a.Message, id); {
	case volume && !machine:
		return look + "volume " + handle + lost
	case machine && !volume:
		return fmt.Sprintf("%smachine %s of node %s: if it was replaced, the node plugin has to register again, with the new ID: restart it", look, id, va.Spec.NodeName)
	}
	return fmt.Sprintf("%svolume %s and for the machine of node %s%s", look, handle, va.Spec.NodeName, lost)
}

// nodeID returns the ID that the node of an attachment has in the storage system; "" if it is unknown.
func (x *explainer) nodeID(va *storagev1.VolumeAttachment) string {
	if csiNode := x.csiNodes[va.Spec.NodeName]; csiNode != nil {
		for _, driver := range csiNode.Spec.Drivers {
			if driver.Name == va.Spec.Attacher {
				return driver.NodeID
			}
		}
	}
	return va.Annotations[objects.AnnNodeID]
}

// csiVolumes returns driver and handle of the volumes of a pod that have a CSI driver.
func (x *explainer) csiVolumes(pod *corev1.Pod) (all []corev1.CSIPersistentVolumeSource) {
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		claim := x.claims[api.Key(pod.Namespace, objects.ClaimOf(pod, volume))]
		if inline := volume.CSI; inline != nil {
			// MNT-303: the kubelet generates the handle.
			all = append(all, corev1.CSIPersistentVolumeSource{Driver: inline.Driver, VolumeHandle: objects.InlineHandle(pod.UID, volume.Name)})
		} else if claim != nil && x.volumes[claim.Spec.VolumeName] != nil {
			if csi := objects.CSIOf(x.volumes[claim.Spec.VolumeName]); csi != nil {
				all = append(all, *csi)
			}
		}
	}
	return all
}

// mountFails explains a pod whose volumes the driver is assumed not to mount. It reports whether there is such an assumption.
func (x *explainer) mountFails(e *Explanation, pod *corev1.Pod) bool {
	for _, csi := range x.csiVolumes(pod) {
		for _, op := range []storage.Op{storage.Stage, storage.Publish, storage.NodeExpand} {
			a, ok := x.Evidence.Call(csi.Driver, csi.VolumeHandle, pod.Spec.NodeName, op)
			if !ok {
				continue
			}
			e.assume(a)
			e.because(e.Rule, a.Evidence)
			if a.Message != "" {
				e.Why += ": " + a.Message
			}
			e.Next = nil
			if absent := a.Absent(); absent != "" {
				e.todo("create " + absent)
			} else {
				x.explainError(e, a, csi.Driver)
				e.todo("or delete the pod and create it again, for another node")
			}
			e.manual("each retry of the kubelet fails the same way")
			return true
		}
	}
	return false
}

// notRegistered explains a pod on a node where the driver of a volume is not registered. It reports whether that is so. rule is that of the wait,
// and message that of the last failure, "" if there is none.
func (x *explainer) notRegistered(e *Explanation, pod *corev1.Pod, rule, message string) bool {
	csiNode := x.csiNodes[pod.Spec.NodeName]
	if x.Evidence == nil || csiNode == nil {
		return false
	}
	for _, csi := range x.csiVolumes(pod) {
		if runsDriver(csiNode, csi.Driver) {
			continue
		}
		e.because(rule, fmt.Sprintf("driver %s is not registered on node %s (its CSINode does not list it)%s", csi.Driver,
			pod.Spec.NodeName, strings.TrimSuffix(": "+message, ": ")))
		e.Next = nil
		e.todo(fmt.Sprintf("start the node plugin of driver %s on node %s, or delete the pod and create it again, for a node that has it",
			csi.Driver, pod.Spec.NodeName))
		e.Assumes = append(e.Assumes, fmt.Sprintf("driver %s is not registered on node %s; assumed to continue", csi.Driver, pod.Spec.NodeName))
		e.manual("no volume of a driver is attached or mounted where it is not registered")
		return true
	}
	return false
}

// containersFail explains a pod whose containers do not start or crash, although its volumes are mounted, from its status. It reports whether
// that is so.
func (x *explainer) containersFail(e *Explanation, pod *corev1.Pod) bool {
	status := evidence.Waiting(pod)
	return status != nil && x.containersOf(e, pod, "container "+status.Name)
}

// containersOf is containersFail for a pod whose status need not say so yet: those of its image do not start. what names its container.
func (x *explainer) containersOf(e *Explanation, pod *corev1.Pod, what string) bool {
	for _, op := range []storage.Op{evidence.StartContainers, evidence.RunContainers} {
		a, ok := x.Evidence.Containers(pod, op)
		if !ok {
			continue
		}
		e.assume(a)
		// MNT-380: containers are started after the volumes are mounted.
		e.because("MNT-380", "its volumes are mounted, but "+strings.TrimSuffix(a.Evidence+": "+a.Message, ": "))
		e.Next = nil
		if strings.Contains(a.Message, "subPath") {
			// The message of the container leaves out the cause.
			e.todo(fmt.Sprintf("read the log of the kubelet of node %s: the subPath of %s must be a directory or a file of the volume, below it, that the kubelet can open",
				pod.Spec.NodeName, what))
		} else {
			e.todo(fmt.Sprintf("look at %s (kubectl describe pod, kubectl logs --previous): this is not about storage", what))
		}
		e.manual("the kubelet tries again, at most every 5m, with the same result")
		return true
	}
	return false
}

// neverStops explains a pod that its kubelet should have stopped long ago. It reports whether that is so.
func (x *explainer) neverStops(e *Explanation, pod *corev1.Pod) bool {
	a, ok := x.Evidence.Containers(pod, evidence.StopContainers)
	if !ok {
		return false
	}
	e.assume(a)
	e.because("MNT-387", "it is being deleted, and "+a.Evidence+", although the node is Ready")
	if failed := x.lastEvent(pod, reasoned("FailedKillPod")); failed != nil {
		e.Notes = append(e.Notes, fmt.Sprintf("last failure of the kubelet (%s): %s", stamp(timeOf(failed)), failed.Message))
	}
	e.Next = nil
	e.todo(fmt.Sprintf("look at kubelet and container runtime of node %s: a container does not stop, or a volume is not unmounted; restart them or "+
		"reboot the node", pod.Spec.NodeName))
	e.manual("only the kubelet can confirm that the containers have stopped")
	return true
}
