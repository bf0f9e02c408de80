package differential

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/workload"
)

// PodStep selects pods when the step runs, because their names are generated: in the order of their keys the one with the number From, modulo
// their number, and those that follow it, Number in all.
type PodStep struct {
	Which        Which
	From, Number int
	// Bind gives the pods a node, and nothing else. The step stands for the scheduler.
	Bind bool
}

// Which selects pods by their state.
type Which string

// The selections.
const (
	Unready  Which = "unready"  // neither ready, ended, nor being deleted
	Living   Which = "living"   // neither ended nor being deleted
	Ended    Which = "ended"    // and not being deleted
	Deleting Which = "deleting" // being deleted
	Unbound  Which = "unbound"  // without a node, and not being deleted
)

func (w Which) matches(pod *corev1.Pod) bool {
	switch w {
	case Unready:
		return workload.Active(pod) && workload.Ready(pod) == nil
	case Living:
		return workload.Active(pod)
	case Ended:
		return workload.Ended(pod) && pod.DeletionTimestamp == nil
	case Deleting:
		return pod.DeletionTimestamp != nil
	case Unbound:
		return pod.DeletionTimestamp == nil && pod.Spec.NodeName == ""
	}
	return false
}

// nth, followed by a number, is the key of the object of the kind with that number in the order of keys, modulo how many there are.
const nth = "nth:"

func nthKey(n int) string { return fmt.Sprint(nth, n) }

// nth returns the key of an object, "default/none" if there is none.
func (p *runner) nth(kind api.Kind, number string) string {
	n, err := strconv.Atoi(number)
	if all := p.Objects(kind); err == nil && len(all) > 0 {
		return api.KeyOf(all[n%len(all)])
	}
	return "default/none"
}

// pods runs a step about pods: each gets the status of the step, and before it a node, or only that, or it is deleted.
func (p *runner) pods(step Step) error {
	var chosen []*corev1.Pod
	for _, obj := range p.Objects(api.Pod) {
		if pod, ok := obj.(*corev1.Pod); ok && step.Pods.Which.matches(pod) {
			chosen = append(chosen, pod)
		}
	}
	var first error
	for i := range min(step.Pods.Number, len(chosen)) {
		if err := p.pod(step, chosen[(step.Pods.From+i)%len(chosen)], i); err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (p *runner) pod(step Step, pod *corev1.Pod, i int) error {
	ref := api.RefTo(pod)
	if step.Patch == "" && !step.Pods.Bind {
		return p.Delete(ref, step.DeleteOptions())
	}
	if pod.Spec.NodeName == "" {
		node := cmp.Or(RequiredNode(pod), fmt.Sprintf("n%d", 1+i%3))
		if err := p.Bind(ref.Key, node); err != nil {
			return err
		}
	}
	if step.Pods.Bind {
		return nil
	}
	return p.Patch(ref, api.Status, step.Patch)
}

// RequiredNode returns the node that a pod requires by name, "" for none.
func RequiredNode(pod *corev1.Pod) string {
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			j := slices.IndexFunc(term.MatchFields, func(r corev1.NodeSelectorRequirement) bool { return r.Key == "metadata.name" })
			if j >= 0 && len(term.MatchFields[j].Values) == 1 {
				return term.MatchFields[j].Values[0]
			}
		}
	}
	return ""
}

// BindingTo returns a binding of the pod of that key.
func BindingTo(key, node string) *corev1.Binding {
	b := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node}}
	b.Namespace, b.Name, _ = strings.Cut(key, "/")
	return b
}
