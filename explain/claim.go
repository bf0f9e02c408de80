package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/match"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/reclaim"
)

// claim explains a claim: what keeps it from being deleted, or what its controller finds.
func (x *explainer) claim(claim *corev1.PersistentVolumeClaim) Explanation {
	e := x.begin(claim, string(claim.Status.Phase))
	if claim.DeletionTimestamp != nil {
		x.terminatingClaim(&e, claim)
		return e
	}
	s, rejected := x.search(claim)
	e.say(s.rule, s.text)
	e.Candidates = rejected
	switch s.rule {
	case "BIND-054", "BIND-055", "BIND-059c", "BIND-059d", "BIND-060c":
		x.bySync(&e)
	case "BIND-056":
		x.waitingClaim(&e, claim)
	case "BIND-057":
		x.provisionedClaim(&e, claim)
	case "BIND-060d":
		if claim.Status.Phase == corev1.ClaimBound {
			x.boundClaim(&e, claim)
		} else {
			x.bySync(&e)
		}
		x.addVolume(&e, claim.Spec.VolumeName)
	case "BIND-060a":
		// BIND-060a: nothing says which volume it was.
		e.next(Somebody, "has to create another claim; the volume it had still points at it, if there is one")
		e.never("a claim that is Lost stays so")
	default:
		e.next(Somebody, "has to "+s.todo)
		e.never("the PersistentVolume controller looks at it every 15 s and finds the same")
		x.addVolume(&e, claim.Spec.VolumeName)
	}
	x.awaitFree(&e, claim)
	return e
}

// search returns the next sync of a claim, and the volumes that it rejects.
func (x *explainer) search(claim *corev1.PersistentVolumeClaim) (claimSync, []Candidate) {
	found, ok := x.searches[claim]
	if !ok {
		found.claimSync = x.syncOf(claim)
		if !x.brief {
			found.candidates = candidates(found.rejections)
		}
		found.rejections = nil
		x.searches[claim] = found
	}
	return found.claimSync, found.candidates
}

// boundClaim is a claim that has its volume: it may still wait for the volume to grow, or to be given other attributes.
func (x *explainer) boundClaim(e *Explanation, claim *corev1.PersistentVolumeClaim) {
	e.settled()
	pv, ok := x.volumes[claim.Spec.VolumeName]
	if !ok {
		return
	}
	modified := *e
	x.modifiedClaim(&modified, claim, pv)
	x.grownClaim(e, claim, pv)
	switch {
	case modified.Changes.When == Settled:
	case e.Changes.When == Settled:
		*e = modified
	default:
		// The growth is told first, the other thing it waits for beside it.
		e.Notes = append(e.Notes, withRule(modified.Because.Text, modified.Because.Rule))
		e.Next = append(e.Next, modified.Next...)
		if c := modified.Changes; c.When == ByItself && (e.Changes.When != ByItself || c.At.Before(e.Changes.At)) {
			e.Changes = c
		}
	}
}

func candidates(rejections []match.Rejection) []Candidate {
	if len(rejections) == 0 {
		return nil
	}
	all := make([]Candidate, 0, len(rejections))
	for _, r := range rejections {
		all = append(all, Candidate{Name: r.Volume, Rule: r.Rule, Got: r.Got, Needed: r.Needed})
	}
	return all
}

// bySync is for what the PersistentVolume controller does as soon as it looks.
func (x *explainer) bySync(e *Explanation) {
	e.next(actors.PersistentVolume, "has to sync the claim")
	// BIND-032: an event may be under way; if not, the next resync finds it.
	e.at(x.Now, "BIND-032", fmt.Sprintf("the next sync of the claim comes within %v", binder.DefaultResyncPeriod))
}

// waitingClaim is a claim that waits for a pod to be scheduled (BIND-056).
func (x *explainer) waitingClaim(e *Explanation, claim *corev1.PersistentVolumeClaim) {
	var running []string
	more := 0
	for _, pod := range x.byClaim[api.KeyOf(claim)] {
		switch {
		case objects.Terminated(pod):
		case pod.Spec.NodeName != "":
			running = append(running, pod.Name)
		case len(e.Related) < manyNames:
			x.addPod(e, pod)
		case !x.seen[api.RefTo(pod)]:
			more++
		}
	}
	if more > 0 {
		e.Notes = append(e.Notes, fmt.Sprintf("%d more pods without a node use it", more))
	}
	switch {
	case len(e.Related) > 0:
		e.next(actors.Scheduler, "has to place a pod that uses it")
		e.follow()
	case len(running) > 0:
		// SCHED-020: nobody selects a node for the claims of a pod that came with one.
		e.say("SCHED-020", fmt.Sprintf("it waits for the scheduler, but pod %s, which uses it, has its node already", strings.Join(running, ", ")))
		e.next(Somebody, "has to delete the pod and create one without nodeName")
		e.never("the scheduler does not look at pods that have a node")
	case x.cycle(claim):
		// The pod that it waits for is what is being explained.
		e.next(actors.Scheduler, "has to place a pod that uses it")
		e.Changes = Change{When: Along, Text: "when the pod is placed"}
	default:
		e.next(Somebody, "has to create a pod that uses it, for the scheduler to place")
		e.never("no pod uses it")
	}
}

// cycle reports whether a pod that waits for a node with the claim is further up.
func (x *explainer) cycle(claim *corev1.PersistentVolumeClaim) bool {
	return slices.ContainsFunc(x.byClaim[api.KeyOf(claim)], func(pod *corev1.Pod) bool {
		return pod.Spec.NodeName == "" && x.seen[api.RefTo(pod)]
	})
}

// terminatingClaim says what keeps a claim that is being deleted, and what becomes of its volume.
func (x *explainer) terminatingClaim(e *Explanation, claim *corev1.PersistentVolumeClaim) {
	var users []*corev1.Pod
	for _, pod := range x.byClaim[api.KeyOf(claim)] {
		// PROT-026
		if reclaim.UsesClaim(pod, claim) {
			users = append(users, pod)
		}
	}
	others := without(claim, objects.ClaimProtectionFinalizer)
	protected := slices.Contains(claim.Finalizers, objects.ClaimProtectionFinalizer)
	switch {
	case protected && len(users) > 0:
		var names []string
		for _, pod := range users {
			names = append(names, pod.Name)
		}
		e.say("PROT-026", fmt.Sprintf("it is being deleted, and pod %s, which uses it, keeps it", strings.Join(names, ", ")))
		x.awaitEnd(e, users)
	case protected:
		// PROT-023
		e.say("PROT-023", "it is being deleted, and no pod uses it")
		e.next(actors.PVCProtection, "has to take the finalizer off")
		e.at(x.Now, "PROT-023", "as soon as the controller looks at it")
	case len(others) > 0:
		x.keptBy(e, others)
	default:
		e.say("BIND-016", "it is being deleted, and nothing keeps it")
		e.at(x.Now, "BIND-016", "it is gone with the next write")
	}
	if protected && len(others) > 0 {
		e.Notes = append(e.Notes, "finalizer "+strings.Join(others, ", ")+" keeps it, too")
	}
	if pv, ok := x.volumes[claim.Spec.VolumeName]; ok && claim.Spec.VolumeName != "" {
		e.Notes = append(e.Notes, fmt.Sprintf("when it is gone, volume %s is Released: %s", pv.Name, x.fate(pv)))
	}
}

// awaitEnd has an object wait for pods to be gone. Only those that are being deleted go by themselves.
func (x *explainer) awaitEnd(e *Explanation, pods []*corev1.Pod) {
	var staying []string
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil {
			staying = append(staying, pod.Name)
			continue
		}
		x.addPod(e, pod)
	}
	if len(staying) > 0 {
		e.next(Somebody, "has to delete pod "+strings.Join(staying, ", "))
		e.never("pod " + strings.Join(staying, ", ") + " is not being deleted; one that is finished counts until its object is gone")
		return
	}
	e.next("kubelet", "has to end the pod")
	e.follow()
}

// fate says what becomes of a volume once its claim is gone.
func (x *explainer) fate(pv *corev1.PersistentVolume) string {
	switch pv.Spec.PersistentVolumeReclaimPolicy {
	case corev1.PersistentVolumeReclaimDelete:
		// RECL-004
		return "its policy is Delete, so it is deleted with its data (RECL-004)"
	case corev1.PersistentVolumeReclaimRecycle:
		// RECL-003
		return "its policy is Recycle, so its data is removed and it becomes Available (RECL-003)"
	case corev1.PersistentVolumeReclaimRetain:
		// RECL-002
		return "its policy is Retain, so it stays with its data (RECL-002)"
	}
	// RECL-005
	return fmt.Sprintf("its policy %q is unknown, so it becomes Failed (RECL-005)", pv.Spec.PersistentVolumeReclaimPolicy)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
