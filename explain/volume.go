package explain

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/evidence"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/reclaim"
	"github.com/volsim/volsim/storage"
)

// volume explains a PersistentVolume.
func (x *explainer) volume(pv *corev1.PersistentVolume) Explanation {
	return x.withAssumptions(x.withRefusals(x.volumeState(pv), api.RefTo(pv)))
}

// volumeState explains a PersistentVolume: what blocks its deletion, and what its reclaim policy does.
func (x *explainer) volumeState(pv *corev1.PersistentVolume) Explanation {
	e := x.begin(pv, string(pv.Status.Phase))
	switch {
	case pv.DeletionTimestamp != nil && (!reclaimable(pv) || pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRetain):
		x.terminatingVolume(&e, pv)
	case reclaimable(pv):
		x.releasedVolume(&e, pv)
	case pv.Spec.ClaimRef == nil:
		x.freeVolume(&e, pv)
	default:
		x.claimedVolume(&e, pv)
	}
	if foreign, _ := foreignFinalizers(pv); pv.DeletionTimestamp != nil && e.Rule != "BIND-016" {
		e.alsoBlockedBy(foreign)
	}
	x.addAttachments(&e, x.byVolume[pv.Name])
	return e
}

// reclaimable reports whether the claim of a volume is gone, so that its reclaim policy decides.
func reclaimable(pv *corev1.PersistentVolume) bool {
	return pv.Status.Phase == corev1.VolumeReleased || pv.Status.Phase == corev1.VolumeFailed
}

// addAttachments adds those attachments as related objects that are not explained yet.
func (x *explainer) addAttachments(e *Explanation, vas []*storagev1.VolumeAttachment) {
	for _, va := range vas {
		if !x.seen[api.RefTo(va)] {
			e.Related = append(e.Related, x.attachment(va))
		}
	}
}

// attachedToUsers reports whether pods keep the volume attached where it is (ATT-025).
func (x *explainer) attachedToUsers(pv *corev1.PersistentVolume) bool {
	return slices.ContainsFunc(x.byVolume[pv.Name], func(va *storagev1.VolumeAttachment) bool {
		return va.DeletionTimestamp == nil && len(x.wantedBy(pv, va.Spec.NodeName)) > 0
	})
}

func (x *explainer) freeVolume(e *Explanation, pv *corev1.PersistentVolume) {
	if pv.Status.Phase != corev1.VolumeAvailable {
		// BIND-010, BIND-062: the next sync makes it Available.
		e.because("BIND-062", "it has no claimRef, so it becomes Available")
		e.next(actors.PersistentVolume, "syncs the volume")
		e.automatic(x.Now, "BIND-032", fmt.Sprintf("with the next sync of the volume, within %v", binder.DefaultResyncPeriod))
		return
	}
	e.because("BIND-062", "it is free")
	e.settled()
	e.Notes = append(e.Notes, "deleting it keeps its data: only a Released volume is deleted with its data (RECL-046)")
}

// claimedVolume explains a volume that points at a claim and is not released.
func (x *explainer) claimedVolume(e *Explanation, pv *corev1.PersistentVolume) {
	ref := pv.Spec.ClaimRef
	key := api.Key(ref.Namespace, ref.Name)
	claim, ok := x.claims[key]
	switch {
	case ref.UID == "":
		// BIND-063: reserved for a claim by name.
		e.because("BIND-063", fmt.Sprintf("it is reserved for claim %s", key))
		if !ok {
			e.todo(fmt.Sprintf("create claim %s, or remove the claimRef of the volume", key))
			e.manual("the claim does not exist")
			return
		}
		x.awaitClaim(e, key)
	case !ok || claim.UID != ref.UID:
		// BIND-064: its claim is gone.
		e.because("BIND-064", fmt.Sprintf("its claim %s is gone", key))
		e.next(actors.PersistentVolume, "sets its phase to Released")
		e.automatic(x.Now, "BIND-032", fmt.Sprintf("with the next sync of the volume, within %v", binder.DefaultResyncPeriod))
		e.Notes = append(e.Notes, "then: "+x.fate(pv))
	case claim.Spec.VolumeName == pv.Name:
		// BIND-066: volume and claim point at each other.
		e.because("BIND-066", fmt.Sprintf("it is bound to claim %s", key))
		e.settled()
		if pv.Status.Phase != corev1.VolumeBound {
			e.next(actors.PersistentVolume, "sets its phase to Bound")
			e.automatic(x.Now, "BIND-032", fmt.Sprintf("with the next sync of the volume, within %v", binder.DefaultResyncPeriod))
		}
		x.usersOf(e, key)
		e.Notes = append(e.Notes, "when the claim is deleted: "+x.fate(pv))
	case claim.Spec.VolumeName == "":
		if objects.VolumeModeOf(claim.Spec.VolumeMode) != objects.VolumeModeOf(pv.Spec.VolumeMode) {
			e.because("BIND-065a", fmt.Sprintf("its claim %s has another volumeMode: %s, not %s", key, objects.VolumeModeOf(claim.Spec.VolumeMode),
				objects.VolumeModeOf(pv.Spec.VolumeMode)))
			e.todo("create another claim or another volume")
			e.manual("volumeMode cannot be changed")
			return
		}
		e.because("BIND-065b", fmt.Sprintf("its claim %s is not bound yet", key))
		x.awaitClaim(e, key)
	default:
		rule := "BIND-068"
		text := fmt.Sprintf("claim %s has volume %q instead, so this one becomes free again", key, claim.Spec.VolumeName)
		if _, provisioned := pv.Annotations[objects.AnnProvisionedBy]; provisioned &&
			pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete {
			rule, text = "BIND-067", fmt.Sprintf("claim %s has volume %q instead, so this one is deleted", key, claim.Spec.VolumeName)
		}
		e.because(rule, text)
		e.next(actors.PersistentVolume, "syncs the volume")
		e.automatic(x.Now, "BIND-032", fmt.Sprintf("with the next sync of the volume, within %v", binder.DefaultResyncPeriod))
	}
}

// awaitClaim explains a volume that is bound together with its claim.
func (x *explainer) awaitClaim(e *Explanation, key string) {
	x.addClaim(e, key)
	e.follow()
	if e.Changes.When == Manual {
		e.todo(fmt.Sprintf("repair claim %s, or remove the claimRef of the volume", key))
	}
}

// usersOf adds a note with the pods that use the claim of a volume.
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

// foreignFinalizers returns the finalizers of a volume that no component of Kubernetes and of CSI removes, and those of its external attacher.
func foreignFinalizers(pv *corev1.PersistentVolume) (foreign, attachers []string) {
	attachers = slices.DeleteFunc(slices.Clone(pv.Finalizers),
		func(f string) bool { return !strings.HasPrefix(f, objects.AttacherFinalizerPrefix) })
	return without(pv, append(slices.Clone(attachers), objects.VolumeProtectionFinalizer, objects.InTreeFinalizer, objects.ExternalFinalizer)...), attachers
}

// terminatingVolume explains a volume that is being deleted, and whose storage is not: it is not Released, or its reclaim policy is Retain.
func (x *explainer) terminatingVolume(e *Explanation, pv *corev1.PersistentVolume) {
	foreign, attachers := foreignFinalizers(pv)
	protected := slices.Contains(pv.Finalizers, objects.VolumeProtectionFinalizer)
	deletion := slices.Contains(pv.Finalizers, objects.InTreeFinalizer) || slices.Contains(pv.Finalizers, objects.ExternalFinalizer)
	switch {
	case protected && pv.Status.Phase == corev1.VolumeBound:
		x.deletedWhileBound(e, pv)
	case deletion && pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete:
		e.because("RECL-046", "it is being deleted but is not Released, so no component deletes its storage and removes its finalizer")
		e.todo("set its reclaim policy to Retain to delete it without its data, or remove the finalizer")
		e.manual("only the storage of a Released volume is deleted")
	case len(attachers) > 0 && len(x.byVolume[pv.Name]) > 0:
		x.blockedByAttacher(e, pv, attachers[0])
	case len(foreign) > 0:
		// PROT-011, RECL-045, ATT-178: the controllers remove theirs, and these stay.
		x.blockedByFinalizers(e, foreign)
	case protected:
		e.because("PROT-011", "it is being deleted and is not Bound")
		e.next(actors.PVProtection, "removes its finalizer")
		e.automatic(x.Now, "PROT-011", "with the next sync of that controller")
	case deletion:
		// RECL-045: with Retain, the finalizer is removed and the data stays.
		e.because("RECL-045", "it is being deleted, and its reclaim policy keeps the data")
		e.automatic(x.Now, "XPROV-051", "when its finalizer is removed")
	case len(attachers) > 0:
		x.blockedByAttacher(e, pv, attachers[0])
	default:
		e.because("BIND-016", "it is being deleted, and nothing blocks that")
		e.automatic(x.Now, "BIND-016", "the next write removes it")
	}
}

// deletedWhileBound explains a volume that is being deleted and is bound to a claim. Its deletion cannot be taken back (API-040).
func (x *explainer) deletedWhileBound(e *Explanation, pv *corev1.PersistentVolume) {
	claim := "its claim"
	if ref := pv.Spec.ClaimRef; ref != nil {
		claim = "claim " + api.Key(ref.Namespace, ref.Name)
		x.usersOf(e, api.Key(ref.Namespace, ref.Name))
	}
	e.because("PROT-011", fmt.Sprintf("it is being deleted, but it is bound to %s", claim))
	if pv.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRetain {
		// RECL-043: the data goes as soon as the claim is gone.
		e.todo("first set its reclaim policy to Retain, which keeps its data")
	}
	e.todo(fmt.Sprintf("copy its data to another claim, or delete %s and create both again, the volume with the same source and the claim with "+
		"its volumeName: nothing undoes a deletion", claim))
	e.manual("pods can use a Bound volume, and its claim keeps it (RECL-044)")
	e.Notes = append(e.Notes, "when the claim is deleted: "+x.fate(pv))
}

// blockedByAttacher explains a volume with the finalizer of its external attacher (ATT-178).
func (x *explainer) blockedByAttacher(e *Explanation, pv *corev1.PersistentVolume, finalizer string) {
	if vas := x.byVolume[pv.Name]; len(vas) > 0 {
		e.because("ATT-178", fmt.Sprintf("it is being deleted, but VolumeAttachment %s still attaches it to node %s", vas[0].Name, vas[0].Spec.NodeName))
		e.next(actors.Attacher(vas[0].Spec.Attacher), "removes its finalizer after the detach")
		x.addAttachments(e, vas)
		e.follow()
		if e.Changes.When == Manual && x.attachedToUsers(pv) {
			e.todo("delete the pods that use it")
			e.manual("it stays attached until its pods are deleted")
		}
		return
	}
	e.because("ATT-178", "it is being deleted and is no longer attached")
	e.next(finalizer, "removes its finalizer")
	e.automatic(x.Now, "ATT-178", "with the next sync of the external attacher")
}

// releasedVolume explains a volume whose claim is gone: what its reclaim policy does.
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
		e.because("RECL-002",
			fmt.Sprintf("%s is gone, and the reclaim policy is Retain: the volume stays with its data, and no claim can use it", claim))
		e.todo("remove its claimRef to use it again, or delete it")
		e.manual("no component touches a Released volume with reclaim policy Retain")
	case corev1.PersistentVolumeReclaimRecycle:
		x.recycledVolume(e, pv, claim)
	case corev1.PersistentVolumeReclaimDelete:
		x.deletedVolume(e, pv, claim)
	default:
		e.because("RECL-005", fmt.Sprintf("%s is gone, and the reclaim policy %q is unknown", claim, policy))
		e.todo("set its reclaim policy to Retain, Delete or Recycle")
		e.manual("no component changes the reclaim policy")
	}
	if pv.Status.Message != "" {
		e.Notes = append(e.Notes, "last failure: "+pv.Status.Message)
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
			e.because("RECL-063", fmt.Sprintf("%s is gone, but pod %s still uses the volume, so it is not recycled", claim, users[0].Name))
			x.awaitEnd(e, users)
			return
		}
	}
	if _, err := x.backends().RecyclableBySource(&pv.Spec.PersistentVolumeSource); err != nil {
		e.because("RECL-064", fmt.Sprintf("%s is gone, and no plugin can recycle the volume", claim))
		e.todo("change its reclaim policy, or delete it")
		e.manual("only NFS and hostPath volumes can be recycled")
		return
	}
	e.because("RECL-003", fmt.Sprintf("%s is gone, and the reclaim policy is Recycle: its data is removed", claim))
	if a := x.Evidence.Recycles(pv); x.Evidence != nil {
		e.assume(a)
		if a.Failing() {
			e.because("RECL-065", fmt.Sprintf("%s is gone, and %s", claim, a.Evidence))
			e.todo("make the recycler pod run, or set the reclaim policy to Retain, and remove its claimRef once the data is gone")
			e.manual("each retry, with every resync, fails the same way")
			return
		}
	}
	e.next(actors.PersistentVolume, "runs a recycler pod")
	e.automatic(x.Now, "RECL-065", "when the recycler pod has finished; failures are retried with every resync")
}

func (x *explainer) deletedVolume(e *Explanation, pv *corev1.PersistentVolume, claim string) {
	plugin, rule, err := reclaim.FindDeleter(x.backends(), pv)
	switch {
	case err != nil:
		e.because("RECL-020", fmt.Sprintf("%s is gone, and no plugin can delete the storage: %v", claim, err))
		e.todo("delete the storage, then the volume")
		e.manual("each retry fails the same way")
	case plugin != nil:
		e.because("RECL-004",
			fmt.Sprintf("%s is gone, and the reclaim policy is Delete: %s deletes the storage (%s)", claim, plugin.Name(), rule))
		e.next(actors.PersistentVolume, "deletes the storage, then the volume")
		e.automatic(x.Now, "RECL-037", "retried with every resync")
	default:
		x.deletedOutside(e, pv, claim)
	}
}

// deletedOutside explains a volume that an external provisioner deletes (XPROV-052).
func (x *explainer) deletedOutside(e *Explanation, pv *corev1.PersistentVolume, claim string) {
	driver := driverOf(pv)
	if failed := x.lastEvent(pv, reasoned("VolumeFailedDelete")); failed != nil {
		e.Notes = append(e.Notes, fmt.Sprintf("last failure of the provisioner (%s): %s", stamp(timeOf(failed)), failed.Message))
	}
	backend, known := x.backends().Get(driver)
	vas := x.byVolume[pv.Name]
	switch {
	case pv.Status.Phase == corev1.VolumeFailed:
		e.because("XPROV-052", "it is Failed, and an external provisioner deletes only Released volumes")
		e.todo("delete the storage, then the volume")
		e.manual("the provisioner skips Failed volumes")
	case pv.DeletionTimestamp != nil && !slices.Contains(pv.Finalizers, objects.ExternalFinalizer):
		x.terminatingVolume(e, pv)
	case known && !backends.Can(backend, storage.Delete):
		e.because("XPROV-052", fmt.Sprintf("%s is gone, and %s cannot delete volumes", claim, driver))
		e.todo("delete the storage, then the volume")
		e.manual("no other component deletes it")
	case len(vas) > 0 && (!known || backends.Can(backend, storage.Attach)):
		e.because("XPROV-054", fmt.Sprintf("%s is gone, but the volume is still attached to node %s (VolumeAttachment %s); it is deleted after the detach", claim,
			vas[0].Spec.NodeName, vas[0].Name))
		e.next(actors.AttachDetach, "detaches it from node "+vas[0].Spec.NodeName)
		x.addAttachments(e, vas)
		e.follow()
	default:
		e.because("XPROV-052",
			fmt.Sprintf("%s is gone, and the reclaim policy is Delete: %s deletes the storage (%s)", claim, driver, "RECL-021"))
		if a, ok := x.Evidence.Call(driver, backends.Handle(pv), "", storage.Delete); ok {
			e.assume(a)
			e.because("XPROV-053", fmt.Sprintf("%s is gone, and %s: %s", claim, a.Evidence, a.Message))
			e.manual("each retry of the provisioner fails the same way")
			if a.Behaviour == evidence.Silent && !a.Requested {
				e.because("XPROV-053", fmt.Sprintf("%s is gone, and %s", claim, a.Evidence))
				e.todo("check that the provisioner of driver " + driver + " runs: " + x.readLog(storage.Delete, driver, ""))
				e.manual("a provisioner that works tries again within 5m")
				return
			}
			x.explainError(e, a, driver)
			return
		}
		if a, ok := x.Evidence.Controller(actors.Provisioner(driver)); ok && !a.Requested {
			e.assume(a)
			e.because("XPROV-052", fmt.Sprintf("%s is gone, and %s", claim, a.Evidence))
			e.todo(fmt.Sprintf("start driver %s and its provisioner again", driver))
			e.todo(fmt.Sprintf("or delete the storage yourself (%s), then remove the finalizers of the volume", backends.Handle(pv)))
			e.manual("no other component deletes the storage")
			return
		}
		e.next(actors.Provisioner(driver), "deletes the storage, then the volume")
		e.automatic(x.Now, "XPROV-053", "when the provisioner has deleted it; failures are retried")
	}
}

// driverOf returns the external provisioner of the volume (XPROV-050).
func driverOf(pv *corev1.PersistentVolume) string {
	switch {
	case pv.Annotations[objects.AnnMigratedTo] != "":
		return pv.Annotations[objects.AnnMigratedTo]
	case pv.Annotations[objects.AnnProvisionedBy] != "":
		return pv.Annotations[objects.AnnProvisionedBy]
	case pv.Spec.CSI != nil:
		return pv.Spec.CSI.Driver
	}
	return "no provisioner"
}
