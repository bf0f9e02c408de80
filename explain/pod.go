package explain

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/schedule"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/match"
	"github.com/volsim/volsim/internal/core/objects"
)

// attachmentLimit is the reason of a pod whose node could not attach its volumes (MNT-383).
const attachmentLimit = "VolumeAttachmentLimitExceeded"

// pod explains a pod: why it has no node, or which of its volumes it waits for.
func (x *explainer) pod(pod *corev1.Pod) Explanation {
	e := x.begin(pod, string(pod.Status.Phase))
	switch {
	case pod.DeletionTimestamp != nil:
		x.terminatingPod(&e, pod)
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		e.say("RECL-066", "its containers have ended")
		if pod.Status.Reason == attachmentLimit {
			e.say("MNT-383", fmt.Sprintf("the kubelet of node %s rejected it, and it is not tried again", pod.Spec.NodeName))
		}
		if pod.Status.Message != "" {
			e.Notes = append(e.Notes, strings.TrimSpace(pod.Status.Reason+" "+pod.Status.Message))
		}
		e.settled()
		if claims := objects.ClaimsOf(pod); len(claims) > 0 {
			e.Notes = append(e.Notes, "as long as its object is there, its claims cannot be deleted (PROT-026)")
		}
	case pod.Spec.NodeName == "":
		x.unscheduledPod(&e, pod)
	default:
		x.scheduledPod(&e, pod)
	}
	return e
}

// unscheduledPod is one without a node.
func (x *explainer) unscheduledPod(e *Explanation, pod *corev1.Pod) {
	if len(pod.Spec.SchedulingGates) > 0 {
		e.say("SCHED-020", fmt.Sprintf("scheduling gate %q holds it back", pod.Spec.SchedulingGates[0].Name))
		e.next(Somebody, "has to take the gate off: whoever put it there")
		e.never("the scheduler does not look at a pod with gates")
		return
	}
	if name := pod.Spec.SchedulerName; name != "" && name != corev1.DefaultSchedulerName {
		e.Notes = append(e.Notes, fmt.Sprintf("it asks for scheduler %q; this is what the default scheduler would find", name))
	}
	if x.scheduler == nil {
		x.scheduler = schedule.NewEvaluator(x.Snapshot)
	}
	d := x.scheduler.Decide(pod)
	switch {
	case d.Rule == "SCHED-022":
		e.say(d.Rule, d.Message)
		e.next(Somebody, "has to add a node")
		e.never("there are no nodes")
	case d.Rule != "":
		e.say(d.Rule, d.Message)
		x.addClaims(e, pod)
		x.afterClaims(e)
	case d.Fits():
		x.placeable(e, pod, d)
	default:
		e.say("SCHED-024", fmt.Sprintf("none of %d nodes will do", len(d.Nodes)))
		e.Candidates = x.nodeCandidates(pod, d)
		x.unplaceable(e, pod, d)
	}
}

// addClaims relates the claims of a pod. One that has its volume is not in the way of the pod, even if it waits for something itself,
// such as more room: that is noted.
func (x *explainer) addClaims(e *Explanation, pod *corev1.Pod) {
	for _, key := range objects.ClaimsOf(pod) {
		claim, ok := x.claims[key]
		if !ok || x.seen[api.RefTo(claim)] {
			continue
		}
		about := x.claim(claim)
		_, bound := claim.Annotations[objects.AnnBindCompleted]
		if bound && claim.Status.Phase == corev1.ClaimBound && claim.DeletionTimestamp == nil && isGrowth(&about) {
			e.Notes = append(e.Notes, about.Object+": "+withRule(about.Because.Text, about.Because.Rule))
			continue
		}
		e.Related = append(e.Related, about)
	}
}

// isGrowth reports whether a claim waits for its volume to grow, or to be given other attributes.
func isGrowth(claim *Explanation) bool {
	return strings.HasPrefix(claim.Because.Rule, "EXP-") || strings.HasPrefix(claim.Because.Rule, "VAC-")
}

// afterClaims is for a pod that can only be placed when its claims are in order.
func (x *explainer) afterClaims(e *Explanation) {
	for i := range e.Related {
		if r := &e.Related[i]; r.Changes.When != Settled {
			e.next(actors.Scheduler, fmt.Sprintf("tries again when %s has changed (SCHED-260)", r.Object))
			e.follow()
			return
		}
	}
	switch e.Because.Rule {
	case "SCHED-041":
		// SCHED-278
		e.next(Somebody, "has to create the claim; then the scheduler tries again")
		e.never("nothing makes a claim that a pod names")
	case "SCHED-042":
		e.next("ephemeral-volume-controller", "has to create the claim")
		e.at(x.Now, "EPH-005", "as soon as the claim is there")
	case "SCHED-045":
		e.next(Somebody, "has to delete the claim that is in the way, so that the pod's own can be created")
		e.never("a claim of that name stays what it is")
	default:
		e.next(Somebody, "has to repair the claims of the pod or their class")
		e.never("the scheduler tries again when something changes, and every 5 min (SCHED-253), with the same outcome")
	}
}

// placeable is a pod that fits on a node: it is about to be placed, or its claims are being bound.
func (x *explainer) placeable(e *Explanation, pod *corev1.Pod, d schedule.Decision) {
	e.Candidates = x.nodeCandidates(pod, d)
	var binding []string
	for _, key := range objects.ClaimsOf(pod) {
		if claim, ok := x.claims[key]; ok && claim.Annotations[objects.AnnSelectedNode] != "" && claim.Annotations[objects.AnnBindCompleted] == "" {
			binding = append(binding, key)
			x.addClaim(e, key)
		}
	}
	failedBy, failure, failed := bindFailure(pod)
	if len(binding) == 0 {
		e.say("SCHED-026", "there is a node for it")
		if failed {
			e.say(failedBy, "there is a node for it, but the scheduler could not bind it to one: "+failure)
		}
		e.next(actors.Scheduler, "has to try it")
		e.at(x.Now, "SCHED-252", "as soon as the scheduler comes to it")
		return
	}
	if failed {
		e.Notes = append(e.Notes, "last attempt of the scheduler: "+withRule(failure, failedBy))
	}
	// SCHED-163, SCHED-167
	e.say("SCHED-163", fmt.Sprintf("its node is chosen, and claim %s is not bound yet", strings.Join(binding, ", ")))
	e.next(actors.Scheduler, fmt.Sprintf("waits for the claim, for at most %v at a time (SCHED-167)", schedule.DefaultBindTimeout))
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
		if n.Rule == "SCHED-102" {
			c.Candidates = x.volumesFor(n.Claim, n.Node)
		}
		all = append(all, c)
	}
	return all
}

// volumesFor says why none of the volumes of a claim's class will do on a node (MATCH-022).
func (x *explainer) volumesFor(key, name string) []Candidate {
	claim, ok := x.claims[key]
	node := x.nodes[name]
	if !ok || node == nil {
		return nil
	}
	return candidates(match.Best(claim, x.byClass[objects.ClassOf(claim)], match.Options{Node: node, Explain: true}).Rejections)
}

// unplaceable says what has to happen for a pod that no node will do for.
func (x *explainer) unplaceable(e *Explanation, pod *corev1.Pod, d schedule.Decision) {
	rules := map[string]bool{}
	for _, n := range d.Nodes {
		rules[n.Rule] = true
	}
	var leaving []*corev1.Pod
	for _, n := range d.Nodes {
		// SCHED-267, SCHED-274: the end of a pod can make room.
		if n.Rule == "SCHED-184" || n.Rule == "SCHED-216" || n.Rule == "SCHED-183" || n.Plugin == "NodeResourcesFit" {
			leaving = append(leaving, x.leavingFrom(n.Node, n.Claim)...)
		}
	}
	switch {
	case rules["SCHED-070"]:
		x.pinned(e, pod)
	case rules["SCHED-184"]:
		e.next(Somebody, "has to delete the pod that has the claim")
	case rules["SCHED-102"]:
		e.next(Somebody, "has to create a volume that a node reaches; or delete the one of a claim that is gone and make it again")
	case rules["SCHED-110"] || rules["SCHED-202"]:
		e.next(Somebody, "has to make a node in the reach of the volume fit for the pod, or restore the data on a volume elsewhere")
	default:
		e.next(Somebody, "has to make room on a node, add one, or change what the pod asks for")
	}
	if e.Changes.When == "" {
		e.never("the scheduler tries again when something changes, and every 5 min (SCHED-253), with the same outcome")
	}
	if len(leaving) > 0 {
		for _, other := range leaving {
			x.addPod(e, other)
		}
		e.follow()
	}
	x.addClaims(e, pod)
	if e.Changes.When == Never && rules["SCHED-102"] {
		x.awaitLocal(e, d)
	}
}

// awaitLocal is for a pod whose claim finds no volume on any node: one may become free by itself.
func (x *explainer) awaitLocal(e *Explanation, d schedule.Decision) {
	found := x.firstFree(e, func(free *corev1.PersistentVolume) bool {
		for _, n := range d.Nodes {
			claim, ok := x.claims[n.Claim]
			if ok && n.Rule == "SCHED-102" && match.Best(claim, []*corev1.PersistentVolume{free}, match.Options{Node: x.nodes[n.Node]}).Volume != nil {
				return true
			}
		}
		return false
	})
	if found {
		e.Next = append([]Step{{Actor: actors.Scheduler, Does: "places it when that volume is free"}}, e.Next...)
	}
}

// pinned is a pod whose claim was given to a provisioner for one node (SCHED-070, SCHED-071).
func (x *explainer) pinned(e *Explanation, pod *corev1.Pod) {
	for _, key := range objects.ClaimsOf(pod) {
		claim, ok := x.claims[key]
		if !ok {
			continue
		}
		selected := claim.Annotations[objects.AnnSelectedNode]
		if selected == "" || claim.Annotations[objects.AnnBindCompleted] != "" {
			continue
		}
		if x.nodes[selected] == nil {
			e.say("SCHED-071", fmt.Sprintf("claim %s is to be provisioned for node %q, which does not exist", key, selected))
			if driver, ok := x.csiProvisioner(claim); ok {
				// XPROV-031, XPROV-026: for a node that is gone the sidecar asks for another one.
				e.next(actors.Provisioner(driver), fmt.Sprintf("has to take the annotation %s off claim %s", objects.AnnSelectedNode, key))
				e.at(x.Now, "XPROV-026", "as soon as the provisioner looks at the claim")
				return
			}
			e.next(Somebody, fmt.Sprintf("has to remove the annotation %s of claim %s", objects.AnnSelectedNode, key))
			return
		}
		e.next(Somebody, fmt.Sprintf("has to make node %q fit for the pod, or remove the annotation %s of claim %s", selected, objects.AnnSelectedNode, key))
	}
}

// leavingFrom are the pods that are going from a node by themselves, or that use the claim, wherever they are.
func (x *explainer) leavingFrom(node, claim string) []*corev1.Pod {
	var found []*corev1.Pod
	for _, pod := range x.leaving {
		if claim == "" && pod.Spec.NodeName == node || claim != "" && isOneOf(claim, objects.ClaimsOf(pod)) {
			found = append(found, pod)
		}
	}
	return found
}

// terminatingPod says who ends a pod that is being deleted.
func (x *explainer) terminatingPod(e *Explanation, pod *corev1.Pod) {
	node := x.nodes[pod.Spec.NodeName]
	switch {
	case len(pod.Finalizers) > 0 && objects.Terminated(pod):
		x.keptBy(e, pod.Finalizers)
	case pod.Spec.NodeName == "":
		e.say("BIND-016", "it is being deleted, and has no node")
		e.at(x.Now, "BIND-016", "it is gone with the next write")
	case objects.OutOfService(node) && !objects.Healthy(node):
		// ATT-196
		e.say("ATT-196", fmt.Sprintf("it is being deleted, and node %s is out of service", node.Name))
		e.next(actors.PodGC, "has to end it")
		e.at(x.Now, "ATT-196", fmt.Sprintf("within %v", podGCPeriod))
	case !x.alive(node):
		// ATT-195
		e.say("ATT-195", fmt.Sprintf("it is being deleted, and the kubelet of node %s, which would have to end it, is not heard of", pod.Spec.NodeName))
		e.next(Somebody, fmt.Sprintf("has to taint node %s with %s, if the machine is off, or delete the pod by force", pod.Spec.NodeName, corev1.TaintNodeOutOfService))
		e.never("until the node is back, not even the 6 minutes to a forced detach begin")
	default:
		e.say("MNT-387", fmt.Sprintf("it is being deleted; the kubelet of node %s stops its containers, then unmounts its volumes", node.Name))
		e.next("kubelet/"+node.Name, "has to end it")
		// DeletionTimestamp is when the grace period is over.
		e.at(later(x.Now, pod.DeletionTimestamp.Time), "MNT-387", "when its containers have stopped, at the end of its grace period at the latest, and its volumes are unmounted")
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
