package explain

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/match"
	"github.com/volsim/volsim/internal/core/objects"
)

// mayBeFree reports whether a volume that no claim can get now may become Available without user action.
func (ix *index) mayBeFree(pv *corev1.PersistentVolume) bool {
	ref := pv.Spec.ClaimRef
	switch {
	case pv.DeletionTimestamp != nil:
		return false
	case ref == nil:
		// BIND-062: the next sync makes it Available.
		return pv.Status.Phase != corev1.VolumeAvailable
	case ref.UID == "":
		// BIND-063: it is reserved for a claim.
		return false
	}
	recycled := pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle
	claim, ok := ix.claims[api.Key(ref.Namespace, ref.Name)]
	switch {
	case !ok || claim.UID != ref.UID:
		// BIND-064, RECL-003: its claim is gone, so a recycler frees it.
		return recycled
	case claim.Spec.VolumeName == pv.Name:
		return recycled && claim.DeletionTimestamp != nil
	}
	// BIND-068: the claim has another volume, so this one is released again.
	return claim.Spec.VolumeName != "" && pv.Status.Phase != corev1.VolumeReleased
}

// onceFree returns the volume as it will be when it is free.
func onceFree(pv *corev1.PersistentVolume) *corev1.PersistentVolume {
	free := *pv
	free.Status.Phase = corev1.VolumeAvailable
	if ref := pv.Spec.ClaimRef; ref != nil {
		// BIND-072: a reservation by the user stays.
		free.Spec.ClaimRef = nil
		if _, chosen := pv.Annotations[objects.AnnBoundByController]; !chosen {
			free.Spec.ClaimRef = &corev1.ObjectReference{Namespace: ref.Namespace, Name: ref.Name}
		}
	}
	return &free
}

// takes reports whether the PersistentVolume controller would give the claim that volume, if it were free.
func (x *explainer) takes(claim *corev1.PersistentVolumeClaim, free *corev1.PersistentVolume) bool {
	if claim.Spec.VolumeName != "" {
		// BIND-059: the claim names its volume.
		satisfied, _, _ := match.Named(claim, free)
		return free.Name == claim.Spec.VolumeName && (objects.IsMine(free, claim) || free.Spec.ClaimRef == nil && satisfied)
	}
	delayed, err := objects.IsDelayed(x.classes[objects.ClassOf(claim)])
	return err == nil && match.Best(claim, []*corev1.PersistentVolume{free}, match.Options{Delayed: delayed}).Volume != nil
}

// awaitFree changes the explanation of a claim that needs the user: a volume that fits may become free without user action.
func (x *explainer) awaitFree(e *Explanation, claim *corev1.PersistentVolumeClaim) {
	if _, bound := claim.Annotations[objects.AnnBindCompleted]; bound || e.Changes.When != Manual {
		return
	}
	if x.firstFree(e, func(free *corev1.PersistentVolume) bool { return x.takes(claim, free) }) {
		e.Next = append([]Step{{Actor: actors.PersistentVolume, Does: "binds the claim when that volume is free"}}, e.Next...)
	}
}

// untilFree explains what blocks a volume from becoming free: its claim that is being deleted, or the volume itself.
func (x *explainer) untilFree(pv *corev1.PersistentVolume) Explanation {
	if ref := pv.Spec.ClaimRef; ref != nil {
		claim, ok := x.claims[api.Key(ref.Namespace, ref.Name)]
		if ok && claim.UID == ref.UID && claim.Spec.VolumeName == pv.Name {
			return x.claim(claim)
		}
	}
	return x.volume(pv)
}

// firstFree makes e change when the first volume that fits becomes free. It reports whether there is one; if not, e stays as it is.
func (x *explainer) firstFree(e *Explanation, fits func(free *corev1.PersistentVolume) bool) bool {
	var first *Change
	var related Explanation
	var seen map[api.Ref]bool
	for _, pv := range x.freeing {
		if !fits(onceFree(pv)) {
			continue
		}
		// The trial explanation must not mark objects as explained.
		trial := &explainer{Snapshot: x.Snapshot, index: x.index, seen: maps.Clone(x.seen)}
		found := trial.untilFree(pv)
		if found.Changes.When != Automatic || first != nil && !found.Changes.At.Before(first.At) {
			continue
		}
		change := found.Changes
		change.Text = fmt.Sprintf("volume %s can become free: %s", pv.Name, change.Text)
		first, related, seen = &change, found, trial.seen
		if !first.At.After(x.Now) {
			break
		}
	}
	if first == nil {
		return false
	}
	e.Changes, x.seen = *first, seen
	for i := range e.Related {
		if e.Related[i].Object == related.Object {
			return true
		}
	}
	e.Related = append([]Explanation{related}, e.Related...)
	return true
}
