package explain

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/reclaim"
	"github.com/volsim/volsim/storage"
)

// volume explains a PersistentVolume: what keeps it, and what its reclaim policy will do.
func (x *explainer) volume(pv *corev1.PersistentVolume) Explanation {
	e := x.begin(pv, string(pv.Status.Phase))
	switch {
	case pv.Status.Phase == corev1.VolumeReleased || pv.Status.Phase == corev1.VolumeFailed:
		x.releasedVolume(&e, pv)
	case pv.DeletionTimestamp != nil:
		x.terminatingVolume(&e, pv)
	case pv.Spec.ClaimRef == nil:
		x.freeVolume(&e, pv)
	default:
		x.claimedVolume(&e, pv)
	}
	for _, va := range x.byVolume[pv.Name] {
		if !x.seen[api.RefTo(va)] {
			e.Related = append(e.Related, x.attachment(va))
		}
	}
	return e
}

func (x *explainer) freeVolume(e *Explanation, pv *corev1.PersistentVolume) {
	if pv.Status.Phase != corev1.VolumeAvailable {
		// BIND-010, BIND-062
		e.say("BIND-062", "it has no claimRef, and will be Available")
		e.next(actors.PersistentVolume, "has to sync the volume")
		e.at(x.Now, "BIND-032", fmt.Sprintf("the next sync of the volume comes within %v", binder.DefaultResyncPeriod))
		return
	}
	e.say("BIND-062", "no claim has it")
	e.settled()
	e.Notes = append(e.Notes, "deleting it leaves the storage behind it as it is: only a Released volume is deleted with its data (RECL-046)")
}

// claimedVolume is one that points at a claim and is not released.
func (x *explainer) claimedVolume(e *Explanation, pv *corev1.PersistentVolume) {
	ref := pv.Spec.ClaimRef
	key := api.Key(ref.Namespace, ref.Name)
	claim, ok := x.claims[key]
	switch {
	case ref.UID == "":
		// BIND-063
		e.say("BIND-063", fmt.Sprintf("it is reserved for claim %s", key))
		if !ok {
			e.next(Somebody, "has to create that claim, or to clear the claimRef of the volume")
			e.never("the claim does not exist")
			return
		}
		x.awaitClaim(e, key)
	case !ok || claim.UID != ref.UID:
		// BIND-064
		e.say("BIND-064", fmt.Sprintf("claim %s, which it belonged to, is gone", key))
		e.next(actors.PersistentVolume, "has to make it Released")
		e.at(x.Now, "BIND-032", fmt.Sprintf("the next sync of the volume comes within %v", binder.DefaultResyncPeriod))
		e.Notes = append(e.Notes, "then "+x.fate(pv))
	case claim.Spec.VolumeName == pv.Name:
		// BIND-066
		e.say("BIND-066", fmt.Sprintf("it and claim %s point at each other", key))
		e.settled()
		if pv.Status.Phase != corev1.VolumeBound {
			e.next(actors.PersistentVolume, "has to make it Bound")
			e.at(x.Now, "BIND-032", fmt.Sprintf("the next sync of the volume comes within %v", binder.DefaultResyncPeriod))
		}
		x.usersOf(e, key)
		e.Notes = append(e.Notes, "when the claim is deleted: "+x.fate(pv))
	case claim.Spec.VolumeName == "":
		if objects.VolumeModeOf(claim.Spec.VolumeMode) != objects.VolumeModeOf(pv.Spec.VolumeMode) {
			e.say("BIND-065a", fmt.Sprintf("claim %s, which it points at, has another volumeMode", key))
			e.next(Somebody, "has to create another claim or another volume")
			e.never("neither mode can be changed")
			return
		}
		e.say("BIND-065b", fmt.Sprintf("claim %s, which it points at, is not bound yet", key))
		x.awaitClaim(e, key)
	default:
		rule := "BIND-068"
		text := fmt.Sprintf("claim %s has volume %q instead, and this one will be free again", key, claim.Spec.VolumeName)
		if _, provisioned := pv.Annotations[objects.AnnProvisionedBy]; provisioned && pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete {
			rule, text = "BIND-067", fmt.Sprintf("claim %s has volume %q instead, and this one will be deleted", key, claim.Spec.VolumeName)
		}
		e.say(rule, text)
		e.next(actors.PersistentVolume, "has to sync the volume")
		e.at(x.Now, "BIND-032", fmt.Sprintf("the next sync of the volume comes within %v", binder.DefaultResyncPeriod))
	}
}

// awaitClaim is for a volume that is bound when its claim is.
func (x *explainer) awaitClaim(e *Explanation, key string) {
	x.addClaim(e, key)
	e.follow()
	if e.Changes.When == Never {
		e.next(Somebody, fmt.Sprintf("has to see to claim %s, or to clear the claimRef of the volume", key))
	}
}

// usersOf notes which pods use the claim of a volume.
func (x *explainer) usersOf(e *Explanation, claim string) {
	var users []string
	for _, pod := range x.byClaim[claim] {
		if !objects.Terminated(pod) {
			where := "no node yet"
			if pod.Spec.NodeName != "" {
				where = "node " + pod.Spec.NodeName
			}
			users = append(users, fmt.Sprintf("%s (%s)", api.KeyOf(pod), where))
		}
	}
	if len(users) == 0 {
		e.Notes = append(e.Notes, "no pod uses it")
		return
	}
	e.Notes = append(e.Notes, "used by pod "+strings.Join(users, ", "))
}

// terminatingVolume is one that is being deleted while it is not released.
func (x *explainer) terminatingVolume(e *Explanation, pv *corev1.PersistentVolume) {
	attachers := slices.DeleteFunc(slices.Clone(pv.Finalizers), func(f string) bool { return !strings.HasPrefix(f, objects.AttacherFinalizerPrefix) })
	others := without(pv, append(attachers, objects.VolumeProtectionFinalizer, objects.InTreeFinalizer, objects.ExternalFinalizer)...)
	protected := slices.Contains(pv.Finalizers, objects.VolumeProtectionFinalizer)
	deletion := slices.Contains(pv.Finalizers, objects.InTreeFinalizer) || slices.Contains(pv.Finalizers, objects.ExternalFinalizer)
	switch {
	case protected && pv.Status.Phase == corev1.VolumeBound:
		claim := "its claim"
		if ref := pv.Spec.ClaimRef; ref != nil {
			claim = "claim " + api.Key(ref.Namespace, ref.Name)
			x.usersOf(e, api.Key(ref.Namespace, ref.Name))
		}
		e.say("PROT-011", fmt.Sprintf("it is being deleted, and %s, which is bound to it, keeps it", claim))
		e.next(Somebody, "has to delete "+claim)
		e.never("a volume stays as long as it is Bound, and its claim with it (RECL-044)")
		e.Notes = append(e.Notes, "when the claim is deleted: "+x.fate(pv))
	case protected:
		e.say("PROT-011", "it is being deleted, and is not Bound")
		e.next(actors.PVProtection, "has to take the finalizer off")
		e.at(x.Now, "PROT-011", "as soon as the controller looks at it")
	case deletion && pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete:
		e.say("RECL-046", "it is being deleted, but it is not Released: nobody deletes the storage behind it, and its finalizer stays")
		e.next(Somebody, "has to change its policy to Retain to let it go without its data, or take the finalizer off")
		e.never("only a Released volume is deleted")
	case deletion:
		// RECL-045
		e.say("RECL-045", "it is being deleted, and its policy lets it go without its data")
		e.at(x.Now, "XPROV-051", "as soon as the finalizer is taken off")
	case len(attachers) > 0:
		x.keptByAttacher(e, pv, attachers[0])
	case len(others) > 0:
		x.keptBy(e, others)
	default:
		e.say("BIND-016", "it is being deleted, and nothing keeps it")
		e.at(x.Now, "BIND-016", "it is gone with the next write")
	}
}

// keptByAttacher is a volume that its external attacher holds (ATT-178).
func (x *explainer) keptByAttacher(e *Explanation, pv *corev1.PersistentVolume, finalizer string) {
	if vas := x.byVolume[pv.Name]; len(vas) > 0 {
		e.say("ATT-178", fmt.Sprintf("it is being deleted, and is still attached to node %s", vas[0].Spec.NodeName))
		e.next(actors.AttachDetach, "has to detach it")
		e.never("it stays attached until its pods are gone")
		return
	}
	e.say("ATT-178", "it is being deleted, and is not attached any more")
	e.next(finalizer, "has to take its finalizer off")
	e.at(x.Now, "ATT-178", "as soon as the external attacher looks at it")
}

// releasedVolume is one whose claim is gone, with what its policy does.
func (x *explainer) releasedVolume(e *Explanation, pv *corev1.PersistentVolume) {
	claim := "the claim"
	if ref := pv.Spec.ClaimRef; ref != nil {
		claim = "claim " + api.Key(ref.Namespace, ref.Name)
	}
	if pv.Spec.ClaimRef == nil {
		x.freeVolume(e, pv)
		return
	}
	switch policy := pv.Spec.PersistentVolumeReclaimPolicy; policy {
	case corev1.PersistentVolumeReclaimRetain:
		e.say("RECL-002", fmt.Sprintf("%s is gone, and the policy is Retain: it stays with its data, and no claim gets it", claim))
		e.next(Somebody, "has to clear its claimRef to have it used again, or to delete it")
		e.never("nothing is done to a volume with the policy Retain")
	case corev1.PersistentVolumeReclaimRecycle:
		x.recycledVolume(e, pv, claim)
	case corev1.PersistentVolumeReclaimDelete:
		x.deletedVolume(e, pv, claim)
	default:
		e.say("RECL-005", fmt.Sprintf("%s is gone, and the policy %q is unknown", claim, policy))
		e.next(Somebody, "has to set its policy to Retain, Delete or Recycle")
		e.never("the policy does not change by itself")
	}
	if pv.Status.Message != "" {
		e.Notes = append(e.Notes, "last error: "+pv.Status.Message)
	}
}

func (x *explainer) recycledVolume(e *Explanation, pv *corev1.PersistentVolume, claim string) {
	key := api.Key(pv.Spec.ClaimRef.Namespace, pv.Spec.ClaimRef.Name)
	if _, again := x.claims[key]; !again {
		var users []*corev1.Pod
		for _, pod := range x.byClaim[key] {
			if !objects.Terminated(pod) {
				users = append(users, pod)
			}
		}
		if len(users) > 0 {
			e.say("RECL-063", fmt.Sprintf("%s is gone, but pod %s still uses the volume: it is not recycled", claim, users[0].Name))
			x.awaitEnd(e, users)
			return
		}
	}
	if _, err := x.backends().RecyclableBySource(&pv.Spec.PersistentVolumeSource); err != nil {
		e.say("RECL-064", fmt.Sprintf("%s is gone, and no plugin can recycle the volume", claim))
		e.next(Somebody, "has to change its policy, or to delete it")
		e.never("only NFS and hostPath volumes are recycled")
		return
	}
	e.say("RECL-003", fmt.Sprintf("%s is gone, and the policy is Recycle: its data is to be removed", claim))
	e.next(actors.PersistentVolume, "has to run a recycler pod")
	e.at(x.Now, "RECL-065", "when the recycler pod has ended; it is tried again at every resync")
}

func (x *explainer) deletedVolume(e *Explanation, pv *corev1.PersistentVolume, claim string) {
	plugin, rule, err := reclaim.FindDeleter(x.backends(), pv)
	switch {
	case err != nil:
		e.say("RECL-020", fmt.Sprintf("%s is gone, and nobody can delete the storage: %v", claim, err))
		e.next(Somebody, "has to delete the storage, and then the volume")
		e.never("without a plugin each attempt ends like this")
	case plugin != nil:
		e.say("RECL-004", fmt.Sprintf("%s is gone, and the policy is Delete: %s deletes the storage (%s)", claim, plugin.Name(), rule))
		e.next(actors.PersistentVolume, "has to delete the storage, then the volume")
		e.at(x.Now, "RECL-037", "at the next attempt, at a resync")
	default:
		x.deletedOutside(e, pv, claim)
	}
}

// deletedOutside is a volume that an external provisioner deletes (XPROV-052).
func (x *explainer) deletedOutside(e *Explanation, pv *corev1.PersistentVolume, claim string) {
	driver := driverOf(pv)
	if failed := x.lastEvent(pv, reasoned("VolumeFailedDelete")); failed != nil {
		e.Notes = append(e.Notes, fmt.Sprintf("last error of the provisioner, at %s: %s", stamp(timeOf(failed)), failed.Message))
	}
	backend, known := x.backends().Get(driver)
	vas := x.byVolume[pv.Name]
	switch {
	case pv.Status.Phase == corev1.VolumeFailed:
		e.say("XPROV-052", "it is Failed, and an external provisioner deletes Released volumes only")
		e.next(Somebody, "has to delete the storage, and then the volume")
		e.never("a Failed volume is not looked at again")
	case pv.DeletionTimestamp != nil && !slices.Contains(pv.Finalizers, objects.ExternalFinalizer):
		x.terminatingVolume(e, pv)
	case known && !backends.Can(backend, storage.Delete):
		e.say("XPROV-052", fmt.Sprintf("%s is gone, and %s cannot delete volumes", claim, driver))
		e.next(Somebody, "has to delete the storage, and then the volume")
		e.never("nobody else deletes it")
	case len(vas) > 0 && (!known || backends.Can(backend, storage.Attach)):
		e.say("XPROV-054", fmt.Sprintf("%s is gone, and the volume is still attached to node %s: it is not deleted before it is detached", claim, vas[0].Spec.NodeName))
		e.next(actors.AttachDetach, "has to detach it from node "+vas[0].Spec.NodeName)
		for _, va := range vas {
			if !x.seen[api.RefTo(va)] {
				e.Related = append(e.Related, x.attachment(va))
			}
		}
		e.follow()
	default:
		e.say("XPROV-052", fmt.Sprintf("%s is gone, and the policy is Delete: %s deletes the storage (%s)", claim, driver, "RECL-021"))
		e.next(actors.Provisioner(driver), "has to delete the storage, then the volume")
		e.at(x.Now, "XPROV-053", "as soon as the provisioner has deleted it; after an error it tries again")
	}
}

// driverOf is the external provisioner in charge of the volume (XPROV-050).
func driverOf(pv *corev1.PersistentVolume) string {
	switch {
	case pv.Annotations[objects.AnnMigratedTo] != "":
		return pv.Annotations[objects.AnnMigratedTo]
	case pv.Annotations[objects.AnnProvisionedBy] != "":
		return pv.Annotations[objects.AnnProvisionedBy]
	case pv.Spec.CSI != nil:
		return pv.Spec.CSI.Driver
	}
	return "nobody"
}
