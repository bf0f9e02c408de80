// Package claimsync decides what the next sync of a claim in the PersistentVolume controller does. It reads the volumes and classes that a
// View gives it, and changes nothing. The controller (package binder) carries the decision out; package explain puts it into words.
//
// Rules: BIND-051 to BIND-060, and PROV-020 to PROV-025.
package claimsync

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/internal/core/match"
	"github.com/volsim/volsim/internal/core/objects"
)

// View gives access to the volumes and classes that a decision depends on: the cache of the controller, or a snapshot.
type View interface {
	// Volume returns the volume of a name.
	Volume(name string) (*corev1.PersistentVolume, bool)
	// Class returns the storage class of a name.
	Class(name string) (*storagev1.StorageClass, bool)
	// Classes returns all storage classes.
	Classes() []*storagev1.StorageClass
	// Match picks the volume for a claim that names none, as match.Best does. pv is nil if none fits; rule decided.
	Match(claim *corev1.PersistentVolumeClaim, delayed bool) (pv *corev1.PersistentVolume, rule string, err error)
}

// Decision is the next sync of a claim.
type Decision struct {
	// Rule decided: BIND-052 to BIND-060e.
	Rule string
	// Volume is the volume that the claim gets, has or names. It is nil if there is none.
	Volume *corev1.PersistentVolume
	// MatchRule says why Volume was picked (BIND-054): MATCH-015 or MATCH-020.
	MatchRule string
	// Mismatch ends the VolumeMismatch Event, and Rejection says the same in our terms, if the volume that the claim names does not fit
	// (BIND-059b).
	Mismatch  string
	Rejection match.Rejection
	// Class is the default class that the claim gets (BIND-055).
	Class *storagev1.StorageClass
	// Err fails the sync (BIND-052, BIND-053).
	Err error
}

// Decide decides about one claim. Its phase, finalizers and deletionTimestamp do not count: a claim that is being deleted is still bound
// and provisioned for (BIND-051).
func Decide(claim *corev1.PersistentVolumeClaim, v View) Decision {
	// BIND-051: the annotation, not the phase, says whether the claim was ever bound.
	_, completed := claim.Annotations[objects.AnnBindCompleted]
	switch {
	case completed:
		return bound(claim, v)
	case claim.Spec.VolumeName != "":
		return reserving(claim, v)
	}
	return unbound(claim, v)
}

// unbound decides about a claim that names no volume.
func unbound(claim *corev1.PersistentVolumeClaim, v View) Decision {
	name := objects.ClassOf(claim)
	delayed, err := isDelayed(name, v)
	if err != nil {
		// BIND-052: a class without a binding mode fails the sync.
		return Decision{Rule: "BIND-052", Err: err}
	}
	// PROV-011: for a delayed claim, only a volume that points at it matches.
	pv, rule, err := v.Match(claim, delayed)
	if err != nil {
		// BIND-053: so does a malformed selector.
		return Decision{Rule: "BIND-053", Err: err}
	}
	if pv != nil {
		// BIND-054: a volume that fits is bound.
		return Decision{Rule: "BIND-054", Volume: pv, MatchRule: rule}
	}
	// BIND-055, PROV-001: no volume fits, and a claim without a class gets the default class, if there is one.
	if !objects.HasClass(claim) {
		if class := objects.DefaultClass(v.Classes()); class != nil {
			return Decision{Rule: "BIND-055", Class: class}
		}
	}
	_, nodeSelected := claim.Annotations[objects.AnnSelectedNode]
	switch {
	case delayed && !nodeSelected:
		// BIND-056: the scheduler has to place a pod first.
		return Decision{Rule: "BIND-056"}
	case name != "":
		// BIND-057: a volume is provisioned.
		return Decision{Rule: "BIND-057"}
	}
	// BIND-058: without a class, the claim waits for a volume that fits.
	return Decision{Rule: "BIND-058"}
}

// reserving decides about a claim that names its volume but was never bound. Binding mode and selector do not count.
func reserving(claim *corev1.PersistentVolumeClaim, v View) Decision {
	pv, ok := v.Volume(claim.Spec.VolumeName)
	switch {
	case !ok:
		// BIND-059a: the volume may still come.
		return Decision{Rule: "BIND-059a"}
	case pv.Spec.ClaimRef == nil:
		satisfies, why, rejection := match.Named(claim, pv)
		if satisfies {
			// BIND-059c: it is free and fits.
			return Decision{Rule: "BIND-059c", Volume: pv}
		}
		// BIND-059b: it is free but does not fit.
		return Decision{Rule: "BIND-059b", Volume: pv, Mismatch: why, Rejection: rejection}
	case objects.IsMine(pv, claim):
		// BIND-059d: both name each other; that is enough, whatever sizes and modes say.
		return Decision{Rule: "BIND-059d", Volume: pv}
	}
	if _, byController := claim.Annotations[objects.AnnBoundByController]; byController {
		// BIND-059f: a controller chose a volume that another claim has; the sync fails.
		return Decision{Rule: "BIND-059f", Volume: pv}
	}
	// BIND-059e: the user chose it and may wait for it.
	return Decision{Rule: "BIND-059e", Volume: pv}
}

// bound decides about a claim that was bound once.
func bound(claim *corev1.PersistentVolumeClaim, v View) Decision {
	if claim.Spec.VolumeName == "" {
		// BIND-060a: it no longer names its volume.
		return Decision{Rule: "BIND-060a"}
	}
	pv, ok := v.Volume(claim.Spec.VolumeName)
	switch {
	case !ok:
		// BIND-060b: its volume is gone.
		return Decision{Rule: "BIND-060b"}
	case pv.Spec.ClaimRef == nil:
		// BIND-060c: the volume lost its claimRef, or was created again; it is bound again unchecked.
		return Decision{Rule: "BIND-060c", Volume: pv}
	case pv.Spec.ClaimRef.UID == claim.UID:
		// BIND-060d: both point at each other, or a bind is half done. RECL-044: also while the volume is being deleted.
		return Decision{Rule: "BIND-060d", Volume: pv}
	}
	// BIND-060e: it belongs to another claim. An empty uid differs, too.
	return Decision{Rule: "BIND-060e", Volume: pv}
}

// isDelayed reports whether the class of that name has volumeBindingMode WaitForFirstConsumer.
func isDelayed(name string, v View) (bool, error) {
	if name == "" {
		return false, nil
	}
	class, ok := v.Class(name)
	if !ok {
		// PROV-010: a class that does not exist delays nothing.
		return false, nil
	}
	return objects.IsDelayed(class)
}
