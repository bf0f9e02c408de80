package explain

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/controllers/tainteviction"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/objects"
)

// runningPod explains a pod whose containers have started: it is well, it is not ready, or its node is down.
func (x *explainer) runningPod(e *Explanation, pod *corev1.Pod, node *corev1.Node) {
	e.because("MNT-380", fmt.Sprintf("it runs on node %s", pod.Spec.NodeName))
	unready := conditionOf(pod.Status.Conditions, corev1.PodReady)
	switch {
	case node != nil && !objects.Healthy(node):
		x.onDeadNode(e, pod, node)
	case unready != nil && unready.Status != corev1.ConditionTrue && pod.Status.Phase == corev1.PodRunning:
		x.unreadyPod(e, pod, unready)
	default:
		e.settled()
	}
	if x.alive(node) {
		return
	}
	if node == nil || objects.Healthy(node) {
		e.Notes = append(e.Notes, fmt.Sprintf("node %s is not ready, so its containers may have stopped", pod.Spec.NodeName))
	}
}

func conditionOf(all []corev1.PodCondition, of corev1.PodConditionType) *corev1.PodCondition {
	for i := range all {
		if all[i].Type == of {
			return &all[i]
		}
	}
	return nil
}

// unreadyPod explains a pod that runs and is not ready.
func (x *explainer) unreadyPod(e *Explanation, pod *corev1.Pod, unready *corev1.PodCondition) {
	rule := "MNT-380"
	if unready.Reason == "ReadinessGatesNotReady" {
		rule = "MNT-389"
	}
	why := fmt.Sprintf("it runs on node %s, but is not ready", pod.Spec.NodeName)
	if since := unready.LastTransitionTime; !since.IsZero() {
		why += " since " + stamp(since.Time)
	}
	if unready.Message != "" {
		why += ": " + unready.Message
	}
	e.because(rule, why)
	if rule == "MNT-389" {
		e.todo("check the component that sets the condition of the readiness gate")
		e.manual("the pod is ready when the condition is True")
		return
	}
	if x.Evidence == nil {
		e.next(actors.Kubelet(pod.Spec.NodeName), "marks it as ready when its containers are")
		e.automatic(x.Now, rule, "with the next pass of the kubelet")
		return
	}
	e.todo("look at the readiness probes of its containers (kubectl describe pod, kubectl logs): this is not about storage")
	e.manual("the kubelet marks it as ready when the probes of its containers succeed")
}

// onDeadNode explains a pod on a node that is not ready: when it is evicted, if it is.
func (x *explainer) onDeadNode(e *Explanation, pod *corev1.Pod, node *corev1.Node) {
	since, kind := "", corev1.TaintNodeNotReady
	for _, c := range node.Status.Conditions {
		if c.Type != corev1.NodeReady {
			continue
		}
		if !c.LastTransitionTime.IsZero() {
			since = " since " + stamp(c.LastTransitionTime.Time)
		}
		if c.Status == corev1.ConditionUnknown {
			kind = corev1.TaintNodeUnreachable
		}
	}
	// NODE-035: pods of a node that is not ready are not ready, whether their containers run or not.
	e.because("NODE-035", fmt.Sprintf("node %s is NotReady%s, so it is not ready, and its containers may have stopped", node.Name, since))
	back := fmt.Sprintf("bring node %s back", node.Name)
	taints := tainteviction.NoExecute(node.Spec.Taints)
	tainted := len(taints) > 0
	if !tainted {
		if !x.anyHealthyNode() {
			// NODE-043: if no node is ready, the taints are removed.
			e.todo(back)
			e.manual("no node is ready, and then no pod is evicted (NODE-043)")
			return
		}
		taints = []corev1.Taint{{Key: kind, Effect: corev1.TaintEffectNoExecute, TimeAdded: &metav1.Time{Time: x.Now}}}
	}
	stays := tainteviction.Evict(pod.Spec.Tolerations, taints)
	if stays == tainteviction.Forever {
		e.todo(back + ", or delete the pod")
		e.manual("the pod tolerates the taints of its node without a limit (NODE-062), so it is not evicted")
		return
	}
	// NODE-063: the time counts from the taint.
	at, rule := x.Now, "NODE-063"
	if begun := tainteviction.Begun(pod, taints); begun.Add(stays).After(at) {
		at = begun.Add(stays)
	}
	text := fmt.Sprintf("%s deletes it, %v after the NoExecute taint of the node", actors.TaintEviction, stays)
	if !tainted {
		text += ", which " + actors.NodeLifecycle + " adds next (NODE-037)"
	}
	e.next(actors.TaintEviction, fmt.Sprintf("evicts it at %s", stamp(at)))
	e.todo(back + "; it stops the eviction")
	e.automatic(at, rule, text)
	e.Notes = append(e.Notes, "once deleted it stays Terminating until the node is back or it is deleted by force (ATT-195)")
}

// anyHealthyNode reports whether a node is ready.
func (x *explainer) anyHealthyNode() bool {
	for _, node := range x.nodes {
		if objects.Healthy(node) {
			return true
		}
	}
	return false
}

// endedPod explains a pod that has succeeded or failed. One without a controller that failed waits for the user.
func (x *explainer) endedPod(e *Explanation, pod *corev1.Pod) {
	if _, rejected := strings.CutPrefix(pod.Status.Message, "Pod was rejected: "); rejected {
		x.rejectedPod(e, pod)
	} else {
		e.because("RECL-066", "its containers have terminated")
	}
	if text := joined(pod.Status.Reason, pod.Status.Message); text != "" {
		e.Notes = append(e.Notes, text)
	}
	e.settled()
	if pod.Status.Phase == corev1.PodFailed && metav1.GetControllerOfNoCopy(pod) == nil {
		e.todo("delete it, and create it again if it is still needed")
		e.manual("no controller creates a pod again that is not its own")
	}
	if claims := objects.ClaimsOf(pod); len(claims) > 0 {
		e.Notes = append(e.Notes, "its claims cannot be deleted before it is deleted (PROT-026)")
	}
}

// rejectedPod explains a pod that its node did not run.
func (x *explainer) rejectedPod(e *Explanation, pod *corev1.Pod) {
	rule, node := "MNT-403", x.nodes[pod.Spec.NodeName]
	switch reason := pod.Status.Reason; {
	case reason == attachmentLimit:
		rule = "MNT-383"
	case reason == "NodeAffinity" && node != nil && !objects.SelectsNode(pod, node):
		e.todo(fmt.Sprintf("label node %s (it has %s, the pod needs %s), or let the scheduler choose a node", node.Name, describeNamed(node, selectionKeys(pod)), describeSelection(pod)))
	case reason == "NodePorts":
		e.todo("stop what uses the host port on the node, or let the scheduler choose a node")
	case strings.HasPrefix(reason, "OutOf"):
		e.todo("free up resources of the node, or let the scheduler choose a node")
	case reason == "TaintToleration":
		e.todo("remove the NoExecute taint from the node, or let the pod tolerate it")
	case reason == "SysctlForbidden":
		e.todo("leave the sysctl out, or allow it in the configuration of the kubelet")
	}
	e.because(rule, fmt.Sprintf("the kubelet of node %s rejected it, and a rejected pod is not retried", pod.Spec.NodeName))
}

// joined joins two words or sentences with a blank, if both are there.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " " + b
}
