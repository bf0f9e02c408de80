package explain

import (
	"fmt"
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

// growth is a claim that asks for more than it has.
type growth struct {
	claim *corev1.PersistentVolumeClaim
	pv    *corev1.PersistentVolume
	// actor is who grows the volume outside of nodes, as an actor; "" if nobody does.
	actor string
	// inTree says that it is the expand controller; if not it is the resizer of a driver that canExpand, or leaves all to nodes.
	inTree, canExpand bool
	has, wants        resource.Quantity
}

// grownClaim is a bound claim that asks for more than it has; any other is left as it is.
func (x *explainer) grownClaim(e *Explanation, claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) {
	g := &growth{claim: claim, pv: pv, has: claim.Status.Capacity[corev1.ResourceStorage], wants: claim.Spec.Resources.Requests[corev1.ResourceStorage]}
	// EXP-012
	if g.wants.Cmp(g.has) <= 0 {
		return
	}
	x.findGrower(g)
	if g.actor == "" {
		// EXP-014
		e.say("EXP-014", g.text("nothing expands volume %s: neither an in-tree plugin nor a CSI driver that can", pv.Name))
		e.next(Somebody, "has to lower the request again, or move the data to a claim that is larger")
		e.never("Kubernetes waits for an external controller that is not there")
		return
	}
	if failed := x.lastEvent(claim, reasoned("VolumeResizeFailed")); failed != nil {
		e.Notes = append(e.Notes, fmt.Sprintf("last error, at %s: %s", stamp(timeOf(failed)), failed.Message))
	}
	switch objects.ResizeStatus(claim) {
	case corev1.PersistentVolumeClaimControllerResizeInfeasible:
		e.say("EXP-025", g.text("%s was told that this size cannot be had%s", g.actor, g.said(corev1.PersistentVolumeClaimControllerResizeError)))
		e.next(Somebody, fmt.Sprintf("has to lower the request to what the storage has, to more than %s", g.has.String()))
		// EXP-026
		e.Changes = Change{When: Never, Rule: "EXP-026", Text: "the storage is asked again every 5 min, and has no other answer until it has room"}
	case corev1.PersistentVolumeClaimNodeResizePending, corev1.PersistentVolumeClaimNodeResizeInProgress:
		x.grownOnNode(e, g)
	case corev1.PersistentVolumeClaimNodeResizeInfeasible:
		e.say("EXP-042", g.text("a node was told that this size cannot be had%s", g.said(corev1.PersistentVolumeClaimNodeResizeError)))
		e.next(g.actor, "hands it to the node again, through the storage")
		e.next(Somebody, fmt.Sprintf("can lower the request, to more than %s", g.has.String()))
		e.at(x.Now, "EXP-030", "at the next attempt")
	default:
		x.grownOutside(e, g)
	}
}

// text says what the claim has and wants, and why that is so.
func (g *growth) text(format string, args ...any) string {
	return fmt.Sprintf("it asks for %s and has %s: ", g.wants.String(), g.has.String()) + fmt.Sprintf(format, args...)
}

// said is the message of a condition of the claim, after a colon; "" without one.
func (g *growth) said(condition corev1.PersistentVolumeClaimConditionType) string {
	if message := conditionMessage(g.claim, condition); message != "" {
		return ": " + message
	}
	return ""
}

// conditionMessage is the message of a condition that holds, "" without one.
func conditionMessage(claim *corev1.PersistentVolumeClaim, condition corev1.PersistentVolumeClaimConditionType) string {
	for _, c := range claim.Status.Conditions {
		if c.Type == condition && c.Status == corev1.ConditionTrue {
			return c.Message
		}
	}
	return ""
}

// findGrower finds out who grows the volume.
func (x *explainer) findGrower(g *growth) {
	driver := ""
	if csi := g.pv.Spec.CSI; csi != nil {
		driver = csi.Driver
	} else if migrated := g.pv.Annotations[objects.AnnMigratedTo]; migrated != "" {
		// EXP-013
		driver = migrated
	}
	if driver == "" {
		// EXP-015
		plugin, _ := x.backends().ExpandableBySource(&g.pv.Spec.PersistentVolumeSource)
		if plugin != nil || g.pv.Spec.FlexVolume != nil {
			g.actor, g.inTree = actors.Expander, true
		}
		return
	}
	backend, known := x.backends().Driver(driver)
	if !known || backends.Can(backend, storage.Expand) || backends.Can(backend, storage.NodeExpand) {
		// EXP-020
		g.actor, g.canExpand = actors.Resizer(driver), !known || backends.Can(backend, storage.Expand)
	}
}

// step is what is done next outside of nodes (EXP-030).
func (g *growth) step() expand.Step {
	if g.inTree {
		return expand.InTreeSize(g.claim, g.pv)
	}
	return expand.ResizerSize(g.claim, g.pv, objects.HasCondition(g.claim, corev1.PersistentVolumeClaimControllerResizeError), g.canExpand)
}

// grownOutside is a claim whose volume has to grow before its node has something to do.
func (x *explainer) grownOutside(e *Explanation, g *growth) {
	step := g.step()
	if step.Stop {
		// EXP-030: a resizer that leaves no notes has done its part.
		x.grownOnNode(e, g)
		return
	}
	begun := objects.ResizeStatus(g.claim) == corev1.PersistentVolumeClaimControllerResizeInProgress
	failed := objects.HasCondition(g.claim, corev1.PersistentVolumeClaimControllerResizeError)
	rule := "EXP-021"
	if g.inTree {
		rule = "EXP-016"
	}
	switch {
	case x.refusedInUse(e, g):
	case failed:
		e.say("EXP-025", g.text("%s failed%s", g.actor, g.said(corev1.PersistentVolumeClaimControllerResizeError)))
		e.next(g.actor, fmt.Sprintf("tries again to expand volume %s to %s", g.pv.Name, step.Size.String()))
		e.at(x.Now, "EXP-020", "at the next attempt, at most 5 min after the last")
	case begun:
		e.say(rule, g.text("volume %s is being expanded to %s", g.pv.Name, step.Size.String()))
		e.next(g.actor, "has to expand volume "+g.pv.Name)
		e.at(x.Now, rule, "as soon as the storage has expanded it; after an error it tries again, at most 5 min apart")
	default:
		e.say(rule, g.text("volume %s has not begun to grow", g.pv.Name))
		e.next(g.actor, fmt.Sprintf("has to expand volume %s to %s", g.pv.Name, step.Size.String()))
		e.at(x.Now, rule, "as soon as it looks at the claim")
	}
}

// refusedInUse is a claim whose driver does not expand a volume that is used (EXP-025).
func (x *explainer) refusedInUse(e *Explanation, g *growth) bool {
	last := x.lastEvent(g.claim, reasoned("VolumeResizeFailed"))
	refused := strings.Contains(g.said(corev1.PersistentVolumeClaimControllerResizeError), "FailedPrecondition") ||
		last != nil && (strings.Contains(last.Message, "only supports offline expansion") || strings.Contains(last.Message, "FailedPrecondition"))
	if !refused {
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
	e.say("EXP-025", g.text("the driver does not expand volume %s while it is used, and pod %s uses it", g.pv.Name, strings.Join(names, ", ")))
	x.awaitEnd(e, users)
	return true
}

// grownOnNode is a claim whose volume has grown, and what is on it has to grow on a node (EXP-040).
func (x *explainer) grownOnNode(e *Explanation, g *growth) {
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
		x.grownUnderPod(e, g, placed)
	case len(waiting) > 0:
		e.say("EXP-023", g.text("volume %s has grown; what is on it grows on the node of a pod, and none is placed", g.pv.Name))
		for _, pod := range waiting[:min(len(waiting), manyNames)] {
			x.addPod(e, pod)
		}
		e.next("kubelet", "has to expand the file system when the pod is on its node")
		e.follow()
		if len(e.Related) == 0 {
			e.Changes = Change{When: Along, Text: "when the pod is on a node"}
		}
	default:
		e.say("EXP-023", g.text("volume %s has grown; what is on it grows on the node of a pod, and no pod uses it", g.pv.Name))
		e.next(Somebody, "has to start a pod that uses it")
		e.never("a file system grows where it is mounted")
	}
}

// grownUnderPod is such a claim with pods on nodes.
func (x *explainer) grownUnderPod(e *Explanation, g *growth, pods []*corev1.Pod) {
	pod := pods[0]
	for _, other := range pods {
		if x.alive(x.nodes[other.Spec.NodeName]) {
			pod = other
			break
		}
	}
	node := pod.Spec.NodeName
	said := g.said(corev1.PersistentVolumeClaimNodeResizeError)
	switch {
	case !x.alive(x.nodes[node]):
		e.say("EXP-040", g.text("volume %s has grown; what is on it has to grow on node %s, which is not ready", g.pv.Name, node))
		e.next(Somebody, fmt.Sprintf("has to bring node %s back, or move pod %s elsewhere", node, pod.Name))
		e.never("until the node is back")
	case strings.Contains(said, "FailedPrecondition") && running(pod):
		e.say("EXP-042", g.text("the driver does not expand what is on volume %s while pod %s uses it on node %s%s", g.pv.Name, pod.Name, node, said))
		e.next(Somebody, fmt.Sprintf("has to stop pod %s, and start it when the volume is unmounted", pod.Name))
		e.never("it is not tried again on this node as long as the volume is there")
	case said != "":
		e.say("EXP-042", g.text("node %s could not expand what is on volume %s%s", node, g.pv.Name, said))
		e.next(actors.Kubelet(node), "tries again")
		e.at(x.Now, "EXP-042", "at the next attempt, at most 2m2s after the last")
	case !running(pod):
		e.say("EXP-040", g.text("volume %s has grown; what is on it grows when pod %s has it on node %s", g.pv.Name, pod.Name, node))
		x.addPod(e, pod)
		e.next(actors.Kubelet(node), "expands it as it mounts it")
		e.follow()
		if len(e.Related) == 0 {
			e.Changes = Change{When: Along, Text: "when the pod has its volumes"}
		}
	default:
		e.say("EXP-040", g.text("volume %s has grown; what is on it has to grow on node %s, under pod %s", g.pv.Name, node, pod.Name))
		e.next(actors.Kubelet(node), "has to expand it")
		e.at(x.Now, "EXP-041", "when the kubelet notices, at the next look at the pod")
	}
}
