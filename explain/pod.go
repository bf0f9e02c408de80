package explain

import (
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/schedule"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/match"
	"github.com/volsim/volsim/internal/core/objects"
)

// attachmentLimit is the status reason of a pod that its kubelet rejected because a volume could not be attached (MNT-383).
const attachmentLimit = "VolumeAttachmentLimitExceeded"

// pod explains a pod.
func (x *explainer) pod(pod *corev1.Pod) Explanation {
	e := x.podState(pod)
	x.noteCondition(&e, pod, "MNT-346")
	return x.withAssumptions(x.withRefusals(e, api.RefTo(pod)))
}

// podState explains a pod: why it has no node, or which volume it waits for.
func (x *explainer) podState(pod *corev1.Pod) Explanation {
	e := x.begin(pod, string(pod.Status.Phase))
	switch {
	case x.nodeGone(pod) && (pod.DeletionTimestamp == nil || len(pod.Finalizers) == 0 || !objects.Terminated(pod)):
		// NODE-074: pods are deleted in any phase.
		e.because("NODE-074", fmt.Sprintf("its node %s does not exist, so the pod garbage collector deletes it", pod.Spec.NodeName))
		e.next(actors.PodGC, "deletes it")
		// NODE-072, NODE-073: a pass that misses the node begins the wait.
		e.automatic(x.Now, "NODE-072", fmt.Sprintf("%v after a pass of PodGC first missed the node, unless node %s exists by then; a pass comes every %v",
			missingNodeWait, pod.Spec.NodeName, podGCPeriod))
		e.keptAfterwards(pod)
	case pod.DeletionTimestamp != nil:
		x.terminatingPod(&e, pod)
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		x.endedPod(&e, pod)
	case pod.Spec.NodeName == "":
		x.unscheduledPod(&e, pod)
	default:
		x.scheduledPod(&e, pod)
		x.evictedFor(&e, pod)
	}
	return e
}

// keptAfterwards says that finalizers keep a pod after it is deleted, unless a controller of Kubernetes removes them (JOB-001, GC-020).
func (x *Explanation) keptAfterwards(pod *corev1.Pod) {
	if kept := without(pod, append([]string{batchv1.JobTrackingFinalizer}, collected...)...); len(kept) > 0 {
		x.todo(fmt.Sprintf("check the component that set finalizer %s, or remove the finalizer: it keeps the pod even after that", strings.Join(kept, ", ")))
	}
}

// missingNodeWait is how long PodGC waits for a node that is missing (NODE-072).
const missingNodeWait = 40 * time.Second

// nodeGone reports whether the pod is on a node that does not exist. A dump without nodes does not tell.
func (x *explainer) nodeGone(pod *corev1.Pod) bool {
	return pod.Spec.NodeName != "" && x.nodes[pod.Spec.NodeName] == nil && (x.Evidence == nil || len(x.nodes) > 0)
}

// unscheduledPod explains a pod without a node.
func (x *explainer) unscheduledPod(e *Explanation, pod *corev1.Pod) {
	if len(pod.Spec.SchedulingGates) > 0 {
		e.because("SCHED-020", fmt.Sprintf("scheduling gate %q blocks scheduling", pod.Spec.SchedulingGates[0].Name))
		e.todo("check the component that set the gate, or remove the gate")
		e.manual("the scheduler skips pods with gates")
		return
	}
	if name := pod.Spec.SchedulerName; name != "" && name != corev1.DefaultSchedulerName {
		e.Notes = append(e.Notes, fmt.Sprintf("it asks for scheduler %q; this explanation is about the default scheduler", name))
	}
	d := x.evaluator().Decide(pod)
	switch {
	case (d.Rule == "" || d.Rule == "SCHED-022") && x.Evidence.Lacks("nodes"):
		why := "the dump has no nodes, so it does not show where the pod fits"
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Message != "" {
				why = "the scheduler has found no node, and the dump has none that would show more: " + c.Message
			}
		}
		rule := d.Rule
		if rule == "" {
			rule = "SCHED-024" // the assumed nodes do not tell
		}
		e.because(rule, why)
		x.addKind(e, "nodes")
		x.addClaims(e, pod)
	case d.Rule == "SCHED-022":
		e.because(d.Rule, d.Message)
		e.todo("add a node")
		e.manual("the cluster has no nodes")
	case d.Rule != "":
		e.because(d.Rule, d.Message)
		x.addClaims(e, pod)
		x.afterClaims(e)
	case d.Fits() && pod.Spec.SchedulerName != "" && pod.Spec.SchedulerName != corev1.DefaultSchedulerName:
		e.because("SCHED-020", fmt.Sprintf("a node fits, but only scheduler %q may place it, which is not simulated", pod.Spec.SchedulerName))
		e.Candidates = x.nodeCandidates(pod, d)
		e.todo(fmt.Sprintf("check that scheduler %q runs, and what it logs", pod.Spec.SchedulerName))
		e.manual("the default scheduler leaves it alone")
	case d.Fits():
		x.placeable(e, pod, d)
	default:
		e.because("SCHED-024", fmt.Sprintf("no node fits (%d checked)", len(d.Nodes)))
		e.Candidates = x.nodeCandidates(pod, d)
		x.unplaceable(e, pod, d)
	}
}

// addClaims adds the claims of a pod as related objects. A bound claim does not block the pod, even if it waits for an expansion: that
// becomes a note.
func (x *explainer) addClaims(e *Explanation, pod *corev1.Pod) {
	for _, key := range objects.ClaimsOf(pod) {
		claim, ok := x.claims[key]
		if !ok || x.seen[api.RefTo(claim)] {
			continue
		}
		about := x.claim(claim)
		_, bound := claim.Annotations[objects.AnnBindCompleted]
		if bound && claim.Status.Phase == corev1.ClaimBound && claim.DeletionTimestamp == nil && isGrowth(&about) {
			e.Notes = append(e.Notes, about.Object+": "+withRule(about.Why, about.Rule))
			continue
		}
		e.Related = append(e.Related, about)
	}
}

// isGrowth reports whether a claim waits for its volume to be expanded or modified.
func isGrowth(claim *Explanation) bool {
	return strings.HasPrefix(claim.Rule, "EXP-") || strings.HasPrefix(claim.Rule, "VAC-")
}

// afterClaims explains a pod that cannot be placed because of its claims.
func (x *explainer) afterClaims(e *Explanation) {
	for i := range e.Related {
		r := &e.Related[i]
		if e.Rule == "SCHED-045" && r.Rule != "GC-011" {
			break // what that claim waits for does not matter
		}
		if r.Changes.When != Settled {
			e.next(actors.Scheduler, fmt.Sprintf("retries when %s changes (SCHED-260)", r.Object))
			e.follow()
			return
		}
	}
	switch e.Rule {
	case "SCHED-041":
		// SCHED-278: a new claim makes the scheduler retry.
		e.todo("create the claim; then the scheduler retries")
		e.manual("no component creates a claim that a pod names")
	case "SCHED-042":
		e.next("ephemeral-volume-controller", "creates the claim")
		e.automatic(x.Now, "EPH-005", "when the claim exists")
	case "SCHED-045":
		e.todo("delete the claim with that name, so that the pod's own claim can be created")
		e.manual("the existing claim does not go away")
	default:
		e.todo("repair the claims of the pod or their class")
		e.manual("the scheduler retries after changes and every 5m (SCHED-253), with the same result")
	}
}

// placeable explains a pod that fits on a node: the scheduler is about to place it, or its claims are being bound.
func (x *explainer) placeable(e *Explanation, pod *corev1.Pod, d schedule.Decision) {
	e.Candidates = x.nodeCandidates(pod, d)
	var binding []string
	for _, key := range objects.ClaimsOf(pod) {
		if claim, ok := x.claims[key]; ok && claim.Annotations[objects.AnnSelectedNode] != "" &&
			claim.Annotations[objects.AnnBindCompleted] == "" {
			binding = append(binding, key)
			x.addClaim(e, key)
		}
	}
	failedBy, failure, failed := bindFailure(pod)
	if len(binding) == 0 {
		e.because("SCHED-026", "a node fits")
		if failed {
			e.because(failedBy, "a node fits, but the last attempt to bind the pod to a node failed: "+failure)
		}
		e.next(actors.Scheduler, "places it")
		e.automatic(x.Now, "SCHED-252", "when its turn comes in the scheduling queue")
		return
	}
	if failed {
		e.Notes = append(e.Notes, "last failure of the scheduler: "+withRule(failure, failedBy))
	}
	// SCHED-163, SCHED-167: the scheduler waits until the claims are bound.
	e.because("SCHED-163", fmt.Sprintf("its node is chosen, but claim %s is not bound yet", strings.Join(binding, ", ")))
	e.next(actors.Scheduler, fmt.Sprintf("waits for the claim, at most %v per attempt (SCHED-167)", schedule.DefaultBindTimeout))
	e.follow()
}

func (x *explainer) nodeCandidates(pod *corev1.Pod, d schedule.Decision) []Candidate {
	if x.brief {
		return nil
	}
	all := make([]Candidate, 0, len(d.Nodes))
	for _, n := range d.Nodes {
		c := Candidate{Name: n.Node, Rule: n.Rule}
		c.Got, c.Needed = x.nodeReason(pod, n)
		if n.Rule != "" {
			c.Also = x.furtherReasons(pod, n)
		}
		if n.Rule == "SCHED-102" {
			c.Candidates = x.volumesFor(n.Claim, n.Node)
		}
		all = append(all, c)
	}
	return all
}

// furtherReasons returns why else the scheduler rejects a node: the filters after the first that rejects it.
func (x *explainer) furtherReasons(pod *corev1.Pod, first schedule.NodeResult) []Candidate {
	var also []Candidate
	for _, n := range x.scheduler.Refusals(pod, first.Node) {
		if n.Plugin == first.Plugin || n.Plugin == "TaintToleration" && len(untolerated(pod, x.nodes[n.Node])) == 0 {
			continue
		}
		c := Candidate{Rule: n.Rule}
		c.Got, c.Needed = x.nodeReason(pod, n)
		also = append(also, c)
	}
	return also
}

// volumesFor says why no volume of the claim's class fits on a node (MATCH-022).
func (x *explainer) volumesFor(key, name string) []Candidate {
	claim, ok := x.claims[key]
	node := x.nodes[name]
	if !ok || node == nil {
		return nil
	}
	opts := match.Options{Node: node, Explain: true}
	return x.candidates(claim, match.Best(claim, x.byClass[objects.ClassOf(claim)], opts).Rejections, opts)
}

// unplaceable explains what makes a node fit for a pod that fits on none.
func (x *explainer) unplaceable(e *Explanation, pod *corev1.Pod, d schedule.Decision) {
	if x.evicts(e, pod) {
		x.addClaims(e, pod)
		return
	}
	rules, freed, changed := map[string]bool{}, "free up", ""
	for _, n := range d.Nodes {
		rules[n.Rule] = true
		if n.Plugin == "NodeUnschedulable" {
			freed = "uncordon, free up"
		}
		if n.Plugin == "NodeAffinity" {
			changed = ", change the node selector or the node affinity of the pod"
		}
	}
	var leaving []*corev1.Pod
	for _, n := range d.Nodes {
		// SCHED-267, SCHED-274: a pod that goes away can make room.
		if n.Rule == "SCHED-184" || n.Rule == "SCHED-216" || n.Rule == "SCHED-183" || n.Rule == "SCHED-316" || n.Plugin == "NodeResourcesFit" {
			leaving = append(leaving, x.leavingFrom(n.Node, n.Claim)...)
		}
	}
	switch {
	case rules["SCHED-070"]:
		x.pinned(e, pod)
	case rules["SCHED-184"]:
		x.usedByOne(e, pod, d)
	case rules["SCHED-102"]:
		e.todo("create a volume that a node can reach, or delete a Released volume and create it again")
	case rules["SCHED-110"] && (x.apart(e, pod) || x.withItsNode(e, pod)):
	case rules["SCHED-110"] || rules["SCHED-202"]:
		e.todo(freed + " or add a node that can reach the volume" + changed + ", or restore the data to a volume elsewhere")
	case rules["SCHED-103"]:
		x.outsideOfClass(e, pod, freed)
	case rules["SCHED-112"]:
		e.todo("free capacity in the storage of a node, add a node whose storage has room, or create the claim again with a smaller request")
	default:
		e.todo(freed + " or add a node, or change what the pod requires")
	}
	if e.Changes.When == "" {
		e.manual("the scheduler retries after changes and every 5m (SCHED-253), with the same result")
	}
	if len(leaving) > 0 {
		for _, other := range leaving {
			x.addPod(e, other)
		}
		e.follow()
	}
	x.addClaims(e, pod)
	if e.Changes.When == Manual && rules["SCHED-102"] {
		x.awaitLocal(e, d)
	}
}

// awaitLocal changes the explanation of a pod whose claim finds no volume on any node: one may become free without user action.
func (x *explainer) awaitLocal(e *Explanation, d schedule.Decision) {
	found := x.firstFree(e, func(free *corev1.PersistentVolume) bool {
		for _, n := range d.Nodes {
			claim, ok := x.claims[n.Claim]
			if ok && n.Rule == "SCHED-102" &&
				match.Best(claim, []*corev1.PersistentVolume{free}, match.Options{Node: x.nodes[n.Node]}).Volume != nil {
				return true
			}
		}
		return false
	})
	if found {
		e.Next = append([]Step{{Actor: actors.Scheduler, Does: "places the pod when that volume is free"}}, e.Next...)
	}
}

// pinned explains a pod with a claim that is being provisioned for one node (SCHED-070, SCHED-071). It changes with that claim.
func (x *explainer) pinned(e *Explanation, pod *corev1.Pod) {
	x.addClaims(e, pod)
	for _, key := range objects.ClaimsOf(pod) {
		claim, ok := x.claims[key]
		if !ok {
			continue
		}
		selected := claim.Annotations[objects.AnnSelectedNode]
		if selected == "" || claim.Annotations[objects.AnnBindCompleted] != "" {
			continue
		}
		e.next(actors.Scheduler, "places it once the claim has another node or a volume")
		e.follow()
		switch {
		case x.nodes[selected] == nil:
			e.because("SCHED-071", fmt.Sprintf("claim %s is being provisioned for node %q, which does not exist", key, selected))
		case e.Changes.When == Automatic:
			e.Notes = append(e.Notes, fmt.Sprintf("if node %s does not take the pod, and the volume can be reached from there only, uncordon or free that node", selected))
		default:
			e.todo("end what keeps the claim from its volume, or let the scheduler choose another node: " + unselect(claim))
		}
		return
	}
}

// leavingFrom returns the pods that are being deleted: those on a node, or, with a claim, those that use it on any node.
func (x *explainer) leavingFrom(node, claim string) []*corev1.Pod {
	var found []*corev1.Pod
	for _, pod := range x.leaving {
		if claim == "" && pod.Spec.NodeName == node || claim != "" && isOneOf(claim, objects.ClaimsOf(pod)) {
			found = append(found, pod)
		}
	}
	return found
}

// terminatingPod explains who stops a pod that is being deleted.
func (x *explainer) terminatingPod(e *Explanation, pod *corev1.Pod) {
	node := x.nodes[pod.Spec.NodeName]
	switch {
	case len(pod.Finalizers) > 0 && objects.Terminated(pod):
		x.blockedByFinalizers(e, pod.Finalizers)
	case pod.Spec.NodeName == "":
		e.because("BIND-016", "it is being deleted and has no node")
		e.automatic(x.Now, "BIND-016", "the next write removes it")
	case objects.OutOfService(node) && !objects.Healthy(node):
		// ATT-196: PodGC deletes pods on nodes that are out of service.
		e.because("ATT-196", fmt.Sprintf("it is being deleted, and its node %s is out of service", node.Name))
		e.next(actors.PodGC, "deletes it")
		e.keptAfterwards(pod)
		e.automatic(x.Now, "ATT-196", fmt.Sprintf("with the next run of PodGC, within %v", podGCPeriod))
	case !x.alive(node):
		// ATT-195: only the kubelet can confirm that the pod stopped.
		silent := fmt.Sprintf("the kubelet of node %s does not respond", pod.Spec.NodeName)
		if reported := reportedNotReady(node); reported != "" {
			silent = fmt.Sprintf("node %s is not ready (%s)", pod.Spec.NodeName, reported)
			e.todo("repair node " + pod.Spec.NodeName + ": its kubelet reports why it is not ready")
		}
		e.because("ATT-195", fmt.Sprintf("it is being deleted, but %s, so nothing confirms that it stopped", silent))
		off := fmt.Sprintf("if the machine is off, taint node %s with %s", pod.Spec.NodeName, corev1.TaintNodeOutOfService)
		if len(pod.Finalizers) == 0 {
			off += ", or delete the pod by force"
		}
		e.todo(off)
		e.keptAfterwards(pod)
		e.manual("nothing happens until the node is back; the 6 minutes until a forced detach start after that")
	case x.neverStops(e, pod):
	default:
		e.because("MNT-387",
			fmt.Sprintf("it is being deleted: the kubelet of node %s stops its containers, then unmounts its volumes", node.Name))
		e.next(actors.Kubelet(node.Name), "stops it")
		// DeletionTimestamp is the end of the grace period.
		e.automatic(later(x.Now, pod.DeletionTimestamp.Time), "MNT-387",
			"when its containers have stopped (at the latest when its grace period ends) and its volumes are unmounted")
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
