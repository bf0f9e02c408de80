package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/match"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/snapshots"
	"github.com/volsim/volsim/reclaim"
)

// claim explains a claim.
func (x *explainer) claim(claim *corev1.PersistentVolumeClaim) Explanation {
	e := x.claimState(claim)
	x.noteCondition(&e, claim, "HEALTH-004")
	pv := api.Ref{Kind: api.PersistentVolume, Key: x.searches[claim].volume}
	e = x.withRefusals(e, api.RefTo(claim), pv)
	if claim.Status.Phase == corev1.ClaimPending && claim.DeletionTimestamp == nil {
		// BIND-057: whatever provisions a volume, the controller asks for it and binds it.
		return x.withAssumptions(e, actors.PersistentVolume)
	}
	return x.withAssumptions(e)
}

// claimState explains a claim: what blocks its deletion, or what the next sync of its controller decides.
func (x *explainer) claimState(claim *corev1.PersistentVolumeClaim) Explanation {
	e := x.begin(claim, string(claim.Status.Phase))
	if claim.DeletionTimestamp != nil {
		x.terminatingClaim(&e, claim)
		return e
	}
	if owner, gone := x.ownerGone(claim); gone {
		e.because("GC-011", fmt.Sprintf("its owner, an earlier pod %s, is gone", owner))
		e.next(actors.GarbageCollector, "deletes the claim")
		e.automatic(x.Now, "GC-011", "when the garbage collector has asked for the owner")
		x.addVolume(&e, claim.Spec.VolumeName)
		return e
	}
	s, rejected := x.search(claim)
	e.because(s.rule, s.text)
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
		// BIND-060a: the claim no longer names the volume it had.
		e.todo("create another claim; find the old volume by its claimRef, which still points at this claim")
		e.manual("a Lost claim stays Lost")
	default:
		e.todo(s.todo)
		e.manual(fmt.Sprintf("the PersistentVolume controller syncs it every %v with the same result", binder.DefaultResyncPeriod))
		x.addVolume(&e, claim.Spec.VolumeName)
	}
	x.awaitFree(&e, claim)
	return e
}

// ownerGone returns the name of the pod to which the claim of an ephemeral volume belongs, if that pod is gone (GC-011), and another one has its name.
func (x *explainer) ownerGone(claim *corev1.PersistentVolumeClaim) (name string, gone bool) {
	owner := metav1.GetControllerOf(claim)
	if owner == nil || owner.Kind != "Pod" || len(claim.OwnerReferences) > 1 {
		return "", false
	}
	for _, pod := range x.Pods {
		if pod.Namespace == claim.Namespace && pod.Name == owner.Name {
			return owner.Name, pod.UID != owner.UID
		}
	}
	return "", false
}

// search returns the next sync of a claim, and the volumes that it rejects. It remembers both.
func (x *explainer) search(claim *corev1.PersistentVolumeClaim) (claimSync, []Candidate) {
	found, ok := x.searches[claim]
	if !ok {
		found.claimSync = x.syncOf(claim)
		if !x.brief {
			delayed, _ := objects.IsDelayed(x.classes[objects.ClassOf(claim)])
			found.candidates = x.volumeCandidates(claim, found.rejections, delayed)
		}
		found.rejections = nil
		x.searches[claim] = found
	}
	return found.claimSync, found.candidates
}

// boundClaim explains a claim that has its volume. It may still wait for the volume to be expanded or modified.
func (x *explainer) boundClaim(e *Explanation, claim *corev1.PersistentVolumeClaim) {
	e.settled()
	pv, ok := x.volumes[claim.Spec.VolumeName]
	if !ok {
		return
	}
	modified := *e
	x.modifiedClaim(&modified, claim, pv)
	x.expandedClaim(e, claim, pv)
	switch {
	case modified.Changes.When == Settled:
	case e.Changes.When == Settled:
		*e = modified
	default:
		// It waits for both: the expansion decides, and the modification is a note.
		e.Notes = append(e.Notes, withRule(modified.Why, modified.Rule))
		e.Next = append(e.Next, modified.Next...)
		if c := modified.Changes; c.When == Automatic && (e.Changes.When != Automatic || c.At.Before(e.Changes.At)) {
			e.Changes = c
		}
	}
}

// volumeCandidates returns the volumes that a claim does not get. Claims with one demand share the slice.
func (x *explainer) volumeCandidates(claim *corev1.PersistentVolumeClaim, rejections []match.Rejection, delayed bool) []Candidate {
	opts := match.Options{Delayed: delayed}
	key := x.demandOf(claim, delayed)
	if key == (demand{}) || len(rejections) == 0 || claim.Spec.VolumeName != "" {
		return x.candidates(claim, rejections, opts)
	}
	shared, known := x.shared[key]
	if !known {
		shared = x.candidates(claim, rejections, opts)
		x.shared[key] = shared
	}
	return shared
}

// candidates returns rejected volumes with every reason.
func (x *explainer) candidates(claim *corev1.PersistentVolumeClaim, rejections []match.Rejection, opts match.Options) []Candidate {
	if len(rejections) == 0 {
		return nil
	}
	all := make([]Candidate, 0, len(rejections))
	for _, r := range rejections {
		c := Candidate{Name: r.Volume, Rule: r.Rule, Got: r.Got, Needed: r.Needed}
		if pv := x.volumes[r.Volume]; pv != nil && claim.Spec.VolumeName == "" {
			for _, other := range match.Failures(claim, pv, opts) {
				switch {
				case other.Rule == r.Rule:
				case other.Rule == "MATCH-016": // about the class of the claim, not about the volume
				case other.Rule == "MATCH-017" && r.Rule == "MATCH-010" && pv.Status.Phase == corev1.VolumeBound: // follows from the reservation
				default:
					c.Also = append(c.Also, Candidate{Rule: other.Rule, Got: other.Got, Needed: other.Needed})
				}
			}
		}
		all = append(all, c)
	}
	return all
}

// bySync explains a claim that the next sync of the PersistentVolume controller changes.
func (x *explainer) bySync(e *Explanation) {
	e.next(actors.PersistentVolume, "syncs the claim")
	// BIND-032: if no watch event is on its way, the next resync finds the claim.
	e.automatic(x.Now, "BIND-032", fmt.Sprintf("with the next sync of the claim, within %v", binder.DefaultResyncPeriod))
}

// waitingClaim explains a claim that waits for a pod to be scheduled (BIND-056).
func (x *explainer) waitingClaim(e *Explanation, claim *corev1.PersistentVolumeClaim) {
	var running []string
	node, more := "", 0
	for _, pod := range x.byClaim[api.KeyOf(claim)] {
		switch {
		case objects.Terminated(pod):
		case pod.Spec.NodeName != "":
			running, node = append(running, pod.Name), pod.Spec.NodeName
		case len(e.Related) < manyNames:
			x.addPod(e, pod)
		case !x.seen[api.RefTo(pod)]:
			more++
		}
	}
	if more > 0 {
		e.Notes = append(e.Notes, fmt.Sprintf("%d more unscheduled pods use it", more))
	}
	switch {
	case len(e.Related) > 0:
		e.next(actors.Scheduler, "places a pod that uses the claim")
		e.follow()
	case x.cycle(claim):
		// The pod that it waits for is explained above.
		e.next(actors.Scheduler, "places a pod that uses the claim")
		e.Changes = Change{When: Follows, Text: "when the pod is placed"}
	case len(running) > 0:
		// SCHED-020: the scheduler skips pods that were created with a node, and no other component selects a node for their claims.
		e.because("SCHED-020",
			fmt.Sprintf("it waits for the scheduler, which skips pod %s because its nodeName is set", strings.Join(running, ", ")))
		e.todo("delete the pod, and create it again without nodeName")
		e.todo(fmt.Sprintf("or choose the node yourself, as the scheduler would: kubectl annotate pvc %s %s=%s -n %s", claim.Name, objects.AnnSelectedNode, node,
			claim.Namespace))
		e.manual("the scheduler skips pods with a nodeName")
	default:
		e.todo("create a pod that uses it, without nodeName")
		e.manual("no pod uses it")
	}
}

// cycle reports whether an unscheduled pod that uses the claim is explained already.
func (x *explainer) cycle(claim *corev1.PersistentVolumeClaim) bool {
	return slices.ContainsFunc(x.byClaim[api.KeyOf(claim)], func(pod *corev1.Pod) bool {
		return pod.Spec.NodeName == "" && x.seen[api.RefTo(pod)]
	})
}

// terminatingClaim explains what blocks the deletion of a claim, and what happens to its volume afterwards.
func (x *explainer) terminatingClaim(e *Explanation, claim *corev1.PersistentVolumeClaim) {
	var users []*corev1.Pod
	for _, pod := range x.byClaim[api.KeyOf(claim)] {
		// PROT-026: a pod that uses the claim blocks its deletion.
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
		e.because("PROT-026", fmt.Sprintf("it is being deleted, but pod %s still uses it", strings.Join(names, ", ")))
		x.awaitEnd(e, users)
	case len(others) == 1 && others[0] == snapshots.ClaimFinalizer:
		x.keptBySnapshot(e, claim)
	case len(others) > 0:
		// PROT-023: the controller removes its own, and these stay.
		x.blockedByFinalizers(e, others)
	case protected:
		// PROT-023: without users, the finalizer is removed.
		e.because("PROT-023", "it is being deleted, and no pod uses it")
		e.next(actors.PVCProtection, "removes its finalizer")
		e.automatic(x.Now, "PROT-023", "with the next sync of that controller")
	default:
		e.because("BIND-016", "it is being deleted, and nothing blocks that")
		e.automatic(x.Now, "BIND-016", "the next write removes it")
	}
	if protected && len(users) > 0 {
		e.alsoBlockedBy(others)
	}
	if pv, ok := x.volumes[claim.Spec.VolumeName]; ok && claim.Spec.VolumeName != "" {
		e.Notes = append(e.Notes, fmt.Sprintf("when it is gone, volume %s becomes Released: %s", pv.Name, x.fate(pv)))
	}
}

// awaitEnd explains an object that waits until pods are gone. Pods that are not being deleted need the user.
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
		e.todo("delete pod " + strings.Join(staying, ", "))
		e.manual("pod " + strings.Join(staying, ", ") + " is not being deleted; completed pods count too, until they are deleted")
		return
	}
	e.next("kubelet", "stops the pod")
	e.follow()
}

// fate says what happens to a volume when its claim is gone.
func (x *explainer) fate(pv *corev1.PersistentVolume) string {
	switch pv.Spec.PersistentVolumeReclaimPolicy {
	case corev1.PersistentVolumeReclaimDelete:
		// RECL-004: Delete removes volume and data.
		return "its reclaim policy is Delete, so it is deleted with its data (RECL-004)"
	case corev1.PersistentVolumeReclaimRecycle:
		// RECL-003: Recycle removes the data.
		return "its reclaim policy is Recycle, so its data is removed and it becomes Available (RECL-003)"
	case corev1.PersistentVolumeReclaimRetain:
		// RECL-002: Retain keeps both.
		return "its reclaim policy is Retain, so it stays with its data (RECL-002)"
	}
	// RECL-005: any other policy is an error.
	return fmt.Sprintf("its reclaim policy %q is unknown, so it becomes Failed (RECL-005)", pv.Spec.PersistentVolumeReclaimPolicy)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
