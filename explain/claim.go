package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/objects"
	"github.com/volsim/volsim/reclaim"
	"github.com/volsim/volsim/schedule"
	"github.com/volsim/volsim/store"
)

// claim explains a claim: what keeps it from being deleted, or what its controller finds.
func (x *explainer) claim(claim *corev1.PersistentVolumeClaim) Explanation {
	e := x.begin(claim, string(claim.Status.Phase))
	if claim.DeletionTimestamp != nil {
		x.terminatingClaim(&e, claim)
		return e
	}
	b := binder.Explain(claim, binder.World{
		Volumes:             x.Volumes,
		Classes:             x.Classes,
		Pods:                x.Pods,
		Backends:            x.Backends,
		DisableProvisioning: x.DisableProvisioning,
	})
	e.say(b.Rule, b.Text)
	e.Candidates = candidates(b.Refusals)
	switch b.Rule {
	case "BIND-054", "BIND-055", "BIND-059c", "BIND-059d", "BIND-060c":
		x.bySync(&e)
	case "BIND-056":
		x.waitingClaim(&e, claim)
	case "BIND-057":
		x.provisionedClaim(&e, claim)
	case "BIND-060d":
		if claim.Status.Phase == corev1.ClaimBound {
			e.settled()
		} else {
			x.bySync(&e)
		}
		x.addVolume(&e, claim.Spec.VolumeName)
	case "BIND-060a":
		// BIND-060a: nothing says which volume it was.
		e.next(Somebody, "has to create another claim; the volume it had still points at it, if there is one")
		e.never("a claim that is Lost stays so")
	default:
		e.next(Somebody, strings.TrimPrefix(b.Next, "somebody "))
		e.never("the PersistentVolume controller looks at it every 15 s and finds the same")
		x.addVolume(&e, claim.Spec.VolumeName)
	}
	return e
}

func candidates(refusals []binder.Refusal) []Candidate {
	var all []Candidate
	for _, r := range refusals {
		all = append(all, Candidate{Name: r.Volume, Rule: r.Rule, Want: r.Want, Got: r.Got})
	}
	return all
}

// bySync is for what the PersistentVolume controller does as soon as it looks.
func (x *explainer) bySync(e *Explanation) {
	e.next(binder.ActorName, "has to sync the claim")
	// BIND-032: an event may be under way; if not, the next resync finds it.
	e.at(x.Now, "BIND-032", fmt.Sprintf("the next sync of the claim comes within %v", binder.DefaultResyncPeriod))
}

// waitingClaim is a claim that waits for a pod to be scheduled (BIND-056).
func (x *explainer) waitingClaim(e *Explanation, claim *corev1.PersistentVolumeClaim) {
	var running []string
	for _, pod := range x.byClaim[store.KeyOf(claim)] {
		switch {
		case objects.Terminated(pod):
		case pod.Spec.NodeName != "":
			running = append(running, pod.Name)
		default:
			x.addPod(e, pod)
		}
	}
	switch {
	case len(e.Related) > 0:
		e.next(schedule.ActorName, "has to place a pod that uses it")
		e.follow()
	case len(running) > 0:
		// SCHED-020: nobody selects a node for the claims of a pod that came with one.
		e.say("SCHED-020", fmt.Sprintf("it waits for the scheduler, but pod %s, which uses it, has its node already", strings.Join(running, ", ")))
		e.next(Somebody, "has to delete the pod and create one without nodeName")
		e.never("the scheduler does not look at pods that have a node")
	case x.cycle(claim):
		// The pod that it waits for is what is being explained.
		e.next(schedule.ActorName, "has to place a pod that uses it")
		e.Changes = Change{When: Along, Text: "when the pod is placed"}
	default:
		e.next(Somebody, "has to create a pod that uses it, for the scheduler to place")
		e.never("no pod uses it")
	}
}

// cycle reports whether a pod that waits for a node with the claim is further up.
func (x *explainer) cycle(claim *corev1.PersistentVolumeClaim) bool {
	return slices.ContainsFunc(x.byClaim[store.KeyOf(claim)], func(pod *corev1.Pod) bool {
		return pod.Spec.NodeName == "" && x.seen[store.RefTo(pod)]
	})
}

// provisionedClaim is a claim that a provisioner is to make a volume for (BIND-057).
func (x *explainer) provisionedClaim(e *Explanation, claim *corev1.PersistentVolumeClaim) {
	class, ok := x.classes[objects.ClassOf(claim)]
	if !ok {
		e.never("its class is missing")
		return
	}
	driver := provisionerOf(class)
	if failed := x.lastEvent(claim, reasoned("ProvisioningFailed")); failed != nil {
		// XPROV-026
		e.Notes = append(e.Notes, fmt.Sprintf("last error of the provisioner (XPROV-026), at %s: %s", stamp(timeOf(failed)), failed.Message))
	}
	backend, known := x.backends().Get(driver)
	switch {
	case claim.Spec.Selector != nil && !strings.HasPrefix(driver, fake.InTreePrefix):
		// XPROV-031
		e.say("XPROV-031", fmt.Sprintf("no volume fits, and %s makes none for a claim with a selector", driver))
		e.next(Somebody, "has to create a volume that fits, or a claim without a selector")
		e.never("the provisioner refuses it each time")
	case known && !fake.Can(backend, fake.Create):
		e.next(Somebody, "has to create a volume that fits")
		e.never(driver + " cannot create volumes")
	case !known && x.drivers[driver] == nil:
		// PROV-032: the controller waits and cannot know whether anybody is there.
		e.next("provisioner of "+driver, "has to create a volume, if such a provisioner runs: there is no CSIDriver object of that name")
		e.at(x.Now, "PROV-032", "as soon as the provisioner answers; nobody else will act")
	default:
		e.next(reclaim.ProvisionerName(driver), "has to create a volume")
		e.at(x.Now, "XPROV-025", "as soon as the provisioner has created a volume; after an error it tries again")
	}
}

// provisionerOf is who makes the volumes of a class.
func provisionerOf(class *storagev1.StorageClass) string {
	if migrated, ok := binder.MigratedDriver(class.Provisioner); ok {
		// PROV-022
		return migrated
	}
	return class.Provisioner
}

// csiProvisioner is the CSI driver that makes a volume for the claim, if one is known to run.
func (x *explainer) csiProvisioner(claim *corev1.PersistentVolumeClaim) (string, bool) {
	class, ok := x.classes[objects.ClassOf(claim)]
	if !ok {
		return "", false
	}
	driver := provisionerOf(class)
	backend, known := x.backends().Driver(driver)
	return driver, known && fake.Can(backend, fake.Create) || !known && x.drivers[driver] != nil
}

// terminatingClaim says what keeps a claim that is being deleted, and what becomes of its volume.
func (x *explainer) terminatingClaim(e *Explanation, claim *corev1.PersistentVolumeClaim) {
	var users []*corev1.Pod
	for _, pod := range x.byClaim[store.KeyOf(claim)] {
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
		e.next(reclaim.PVCProtectionName, "has to take the finalizer off")
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
