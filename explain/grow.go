package explain

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/expand"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// growth is a claim that requests more storage than it has.
type growth struct {
	claim *corev1.PersistentVolumeClaim
	pv    *corev1.PersistentVolume
	// actor is the component that expands the volume in the storage system; "" if there is none.
	actor string
	// inTree marks the expand controller; otherwise actor is a resizer. Without canExpand, only the node expands.
	inTree, canExpand bool
	has, wants        resource.Quantity
}

// expandedClaim explains a bound claim that requests more storage than it has. It leaves e unchanged for other claims.
func (x *explainer) expandedClaim(e *Explanation, claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) {
	g := &growth{claim: claim, pv: pv, has: claim.Status.Capacity[corev1.ResourceStorage],
		wants: claim.Spec.Resources.Requests[corev1.ResourceStorage]}
	// EXP-012: the claim has what it requests.
	if g.wants.Cmp(g.has) <= 0 {
		return
	}
	x.findExpander(g)
	if g.actor == "" {
		// EXP-014: without an expander, the controller waits for an external one.
		e.because("EXP-014", g.text("no plugin or CSI driver can expand volume %s", pv.Name))
		e.todo("lower the request again, or move the data to a larger claim")
		e.manual("Kubernetes waits for an external controller that does not exist")
		return
	}
	if failed := x.lastEvent(claim, reasoned("VolumeResizeFailed")); failed != nil {
		e.Notes = append(e.Notes, fmt.Sprintf("last failure (%s): %s", stamp(timeOf(failed)), failed.Message))
	}
	switch objects.ResizeStatus(claim) {
	case corev1.PersistentVolumeClaimControllerResizeInfeasible:
		e.because("EXP-025",
			g.text("%s reports that the storage cannot provide this size%s", g.actor, g.failure(corev1.PersistentVolumeClaimControllerResizeError)))
		limit := ""
		if driver, ok := actors.DriverOf(g.actor); ok && x.Evidence.SizeLimit(driver) != "" {
			limit = x.Evidence.SizeLimit(driver) + " and "
		}
		e.todo(fmt.Sprintf("lower the request to a size that the storage can provide, %sabove %s", limit, g.has.String()))
		// EXP-026: an infeasible size is retried slowly.
		e.Changes = Change{When: Manual, Rule: "EXP-026", Text: "each retry, 5m apart, fails the same way until the storage has room"}
	case corev1.PersistentVolumeClaimNodeResizePending, corev1.PersistentVolumeClaimNodeResizeInProgress:
		x.expandedOnNode(e, g)
	case corev1.PersistentVolumeClaimNodeResizeInfeasible:
		e.because("EXP-042", g.text("a node reports that this size is not possible%s", g.failure(corev1.PersistentVolumeClaimNodeResizeError)))
		e.next(g.actor, "expands the volume again, then the node retries")
		e.todo(fmt.Sprintf("or lower the request, above %s", g.has.String()))
		e.automatic(x.Now, "EXP-030", "with the next retry")
	default:
		x.expandedInStorage(e, g)
	}
}

// text starts with what the claim requests and has.
func (g *growth) text(format string, args ...any) string {
	return fmt.Sprintf("it requests %s and has %s: ", g.wants.String(), g.has.String()) + fmt.Sprintf(format, args...)
}

// failure returns the message of a condition of the claim after a colon; "" without one.
func (g *growth) failure(condition corev1.PersistentVolumeClaimConditionType) string {
	if message := conditionMessage(g.claim, condition); message != "" {
		return ": " + message
	}
	return ""
}

// conditionMessage returns the message of a condition with status True; "" without one.
func conditionMessage(claim *corev1.PersistentVolumeClaim, condition corev1.PersistentVolumeClaimConditionType) string {
	for _, c := range claim.Status.Conditions {
		if c.Type == condition && c.Status == corev1.ConditionTrue {
			return c.Message
		}
	}
	return ""
}

// findExpander sets the component that expands the volume.
func (x *explainer) findExpander(g *growth) {
	driver := ""
	if csi := objects.CSIOf(g.pv); csi != nil {
		driver = csi.Driver
	} else if migrated := g.pv.Annotations[objects.AnnMigratedTo]; migrated != "" {
		// EXP-013: a CSI driver replaced the plugin.
		driver = migrated
	}
	if driver == "" {
		// EXP-015: an in-tree plugin that can expand, or FlexVolume.
		plugin, _ := x.backends().ExpandableBySource(&g.pv.Spec.PersistentVolumeSource)
		if plugin != nil || g.pv.Spec.FlexVolume != nil {
			g.actor, g.inTree = actors.Expander, true
		}
		return
	}
	backend, known := x.backends().Driver(driver)
	if !known || backends.Can(backend, storage.Expand) || backends.Can(backend, storage.NodeExpand) {
		// EXP-020: the resizer of the driver.
		g.actor, g.canExpand = actors.Resizer(driver), !known || backends.Can(backend, storage.Expand)
	}
}

// step returns the next expansion in the storage system (EXP-030).
func (g *growth) step() expand.Step {
	if g.inTree {
		return expand.InTreeSize(g.claim, g.pv)
	}
	return expand.ResizerSize(g.claim, g.pv, objects.HasCondition(g.claim, corev1.PersistentVolumeClaimControllerResizeError), g.canExpand)
}

// expandedInStorage explains a claim whose volume is expanded in the storage system first.
func (x *explainer) expandedInStorage(e *Explanation, g *growth) {
	step := g.step()
	if step.Stop {
		// EXP-030: a resizer that records no progress has finished its step.
		x.expandedOnNode(e, g)
		return
	}
	begun := objects.ResizeStatus(g.claim) == corev1.PersistentVolumeClaimControllerResizeInProgress
	failed := objects.HasCondition(g.claim, corev1.PersistentVolumeClaimControllerResizeError)
	rule := "EXP-021"
	if g.inTree {
		rule = "EXP-016"
	}
	switch {
	case x.rejectedInUse(e, g):
	case x.resizerSilent(e, g):
	case failed:
		e.because("EXP-025", g.text("%s failed%s", g.actor, g.failure(corev1.PersistentVolumeClaimControllerResizeError)))
		e.next(g.actor, fmt.Sprintf("retries the expansion of volume %s to %s", g.pv.Name, step.Size.String()))
		e.automatic(x.Now, "EXP-020", "retried within 5m")
		if driver, ok := actors.DriverOf(g.actor); ok {
			if a, known := x.Evidence.Call(driver, backends.Handle(g.pv), "", storage.Expand); known {
				x.explainError(e, a, driver)
			}
		}
	case begun:
		e.because(rule, g.text("volume %s is being expanded to %s", g.pv.Name, step.Size.String()))
		e.next(g.actor, "expands volume "+g.pv.Name)
		e.automatic(x.Now, rule, "when the storage has expanded it; failures are retried within 5m")
	default:
		e.because(rule, g.text("the expansion of volume %s has not started", g.pv.Name))
		e.next(g.actor, fmt.Sprintf("expands volume %s to %s", g.pv.Name, step.Size.String()))
		e.automatic(x.Now, rule, "with its next sync of the claim")
	}
}

// resizerSilent explains a claim whose resizer does not answer. It reports whether that is so.
func (x *explainer) resizerSilent(e *Explanation, g *growth) bool {
	a, ok := x.Evidence.Controller(g.actor)
	driver, isDriver := actors.DriverOf(g.actor)
	if !ok || a.Requested || !isDriver {
		return false
	}
	e.assume(a)
	e.because("EXP-021", g.text("the expansion of volume %s has not started, and %s", g.pv.Name, a.Evidence))
	e.todo(fmt.Sprintf("check that the resizer of driver %s runs: %s", driver, x.readLog(storage.Expand, driver, "")))
	e.manual("no other component expands the volume")
	return true
}

// rejectedInUse explains a claim whose driver does not expand a volume in use (EXP-025). It reports false for other claims.
func (x *explainer) rejectedInUse(e *Explanation, g *growth) bool {
	last := x.lastEvent(g.claim, reasoned("VolumeResizeFailed"))
	if !saysInUse(conditionMessage(g.claim, corev1.PersistentVolumeClaimControllerResizeError)) && (last == nil || !saysInUse(last.Message)) {
		return false
	}
	var users []*corev1.Pod
	var names []string
	for _, pod := range x.byClaim[api.KeyOf(g.claim)] {
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			users, names = append(users, pod), append(names, pod.Name)
		}
	}
	if len(users) == 0 {
		return false
	}
	e.because("EXP-025",
		g.text("the driver does not expand volume %s while it is in use, and pod %s uses it", g.pv.Name, strings.Join(names, ", ")))
	x.awaitEnd(e, users)
	return true
}

// expandedOnNode explains a claim whose volume is expanded, and whose file system still has to be expanded on a node (EXP-040).
func (x *explainer) expandedOnNode(e *Explanation, g *growth) {
	var placed, waiting []*corev1.Pod
	for _, pod := range x.byClaim[api.KeyOf(g.claim)] {
		switch {
		case objects.Terminated(pod) || pod.DeletionTimestamp != nil:
		case pod.Spec.NodeName == "":
			waiting = append(waiting, pod)
		default:
			placed = append(placed, pod)
		}
	}
	switch {
	case len(placed) > 0:
		x.expandedUnderPod(e, g, placed)
	case len(waiting) > 0:
		e.because("EXP-023", g.text("volume %s is expanded; its file system is expanded on the node of a pod, and no pod has a node", g.pv.Name))
		for _, pod := range waiting[:min(len(waiting), manyNames)] {
			x.addPod(e, pod)
		}
		e.next("kubelet", "expands the file system when a pod has a node")
		e.follow()
		if len(e.Related) == 0 {
			e.Changes = Change{When: Follows, Text: "when the pod has a node"}
		}
	default:
		e.because("EXP-023",
			g.text("volume %s is expanded; its file system is expanded on the node of a pod, and no pod uses the claim", g.pv.Name))
		e.todo("start a pod that uses the claim")
		e.manual("a file system is expanded where it is mounted")
	}
}

// expandedUnderPod explains such a claim with pods on nodes.
func (x *explainer) expandedUnderPod(e *Explanation, g *growth, pods []*corev1.Pod) {
	pod := pods[0]
	for _, other := range pods {
		if x.alive(x.nodes[other.Spec.NodeName]) {
			pod = other
			break
		}
	}
	node := pod.Spec.NodeName
	message, failure := conditionMessage(g.claim, corev1.PersistentVolumeClaimNodeResizeError),
		g.failure(corev1.PersistentVolumeClaimNodeResizeError)
	switch {
	case !x.alive(x.nodes[node]):
		e.because("EXP-040", g.text("volume %s is expanded; its file system is expanded on node %s, which is not ready", g.pv.Name, node))
		e.todo(fmt.Sprintf("bring node %s back, or move pod %s to another node", node, pod.Name))
		e.manual("nothing happens before the node comes back")
	case saysInUse(message) && running(pod):
		e.because("EXP-042",
			g.text("the driver does not expand the file system of volume %s while pod %s uses it on node %s%s", g.pv.Name, pod.Name, node, failure))
		e.todo(fmt.Sprintf("stop pod %s, and start it again when the volume is unmounted", pod.Name))
		e.manual("the kubelet does not retry while the volume is mounted on this node")
	case x.refusedOnNode(e, g, node):
	case failure != "":
		e.because("EXP-042", g.text("node %s could not expand the file system of volume %s%s", node, g.pv.Name, failure))
		e.next(actors.Kubelet(node), "retries")
		e.automatic(x.Now, "EXP-042", "retried within 2m2s")
	case !running(pod):
		e.because("EXP-040",
			g.text("volume %s is expanded; its file system is expanded when pod %s mounts it on node %s", g.pv.Name, pod.Name, node))
		x.addPod(e, pod)
		e.next(actors.Kubelet(node), "expands the file system when it mounts the volume")
		e.follow()
		if len(e.Related) == 0 {
			e.Changes = Change{When: Follows, Text: "when the volumes of the pod are mounted"}
		}
	case x.unregistered(g.pv, node):
		e.because("EXP-040", g.text("volume %s is expanded; its file system is not, because driver %s is not registered on node %s (its CSINode does not list it)",
			g.pv.Name, objects.CSIOf(g.pv).Driver, node))
		e.todo(fmt.Sprintf("start the node plugin of driver %s on node %s", objects.CSIOf(g.pv).Driver, node))
		e.Assumes = append(e.Assumes, fmt.Sprintf("driver %s is not registered on node %s; assumed to continue", objects.CSIOf(g.pv).Driver, node))
		e.manual("the kubelet expands no volume of a driver that is not registered")
	case mountsReadOnly(pod, g):
		e.because("MNT-395", g.text("volume %s is expanded; its file system is not, because pod %s uses it read-only on node %s", g.pv.Name, pod.Name, node))
		e.todo("start a pod that can write to the claim: one whose volume does not have readOnly: true")
		e.manual("the kubelet does not expand a file system that is used read-only")
	default:
		e.because("EXP-040", g.text("volume %s is expanded; its file system is being expanded on node %s for pod %s", g.pv.Name, node, pod.Name))
		e.next(actors.Kubelet(node), "expands the file system")
		e.automatic(x.Now, "EXP-041", "with the next sync of the pod")
	}
}

// mountsReadOnly reports whether a pod uses the volume of a claim read-only.
func mountsReadOnly(pod *corev1.Pod, g *growth) bool {
	if csi := objects.CSIOf(g.pv); csi != nil && csi.ReadOnly {
		return true
	}
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == g.claim.Name && v.PersistentVolumeClaim.ReadOnly
	})
}

// unregistered reports whether the CSINode of a node in a dump does not list the driver of a volume.
func (x *explainer) unregistered(pv *corev1.PersistentVolume, node string) bool {
	csi, csiNode := objects.CSIOf(pv), x.csiNodes[node]
	return x.Evidence != nil && csi != nil && csiNode != nil && !runsDriver(csiNode, csi.Driver)
}

// refusedOnNode explains a claim whose file system the driver is assumed not to expand on a node. It reports whether there is such an
// assumption.
func (x *explainer) refusedOnNode(e *Explanation, g *growth, node string) bool {
	csi := objects.CSIOf(g.pv)
	if csi == nil {
		return false
	}
	a, known := x.Evidence.Call(csi.Driver, csi.VolumeHandle, node, storage.NodeExpand)
	if !known {
		return false
	}
	e.assume(a)
	e.because("EXP-042", g.text("%s: %s", a.Evidence, a.Message))
	x.explainError(e, a, csi.Driver)
	e.manual("each retry of the kubelet fails the same way")
	return true
}
