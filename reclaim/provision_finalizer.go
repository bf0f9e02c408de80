package reclaim

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

// syncFinalizer adds or removes the external finalizer as the reclaim policy requires, and returns the volume after that (XPROV-051).
func (c *provisioner) syncFinalizer(p *engine.Process, pv *corev1.PersistentVolume) (*corev1.PersistentVolume, error) {
	has := slices.Contains(pv.Finalizers, objects.ExternalFinalizer)
	policy := pv.Spec.PersistentVolumeReclaimPolicy
	var edit func(finalizers []string, finalizer string) ([]string, bool)
	switch {
	// XPROV-051: without the feature, or with a policy that keeps the asset, a volume in any phase loses the finalizer.
	case has && (c.cfg.NoFinalizer || policy == corev1.PersistentVolumeReclaimRetain || policy == corev1.PersistentVolumeReclaimRecycle):
		edit = objects.WithoutFinalizer
	// XPROV-051: with policy Delete the asset must be deleted before the volume. Only a bound volume gets the finalizer.
	case !has && !c.cfg.NoFinalizer && policy == corev1.PersistentVolumeReclaimDelete &&
		pv.DeletionTimestamp == nil && pv.Status.Phase == corev1.VolumeBound:
		edit = objects.WithFinalizer
	default:
		return pv, nil
	}
	p.Decide("XPROV-051", pv, "has external finalizer: %v; reclaim policy: %s", has, policy)
	patched, err := patchFinalizer(p, pv, edit)
	if err != nil {
		return nil, fmt.Errorf("failed to modify finalizers of volume %s: %w", pv.Name, err)
	}
	return patched, nil
}

// patchFinalizer adds or removes the external finalizer as a strategic merge patch does: computed from pv, applied to the stored volume,
// without conflicts (XPROV-051).
func patchFinalizer(p *engine.Process, pv *corev1.PersistentVolume,
	edit func(finalizers []string, finalizer string) ([]string, bool)) (*corev1.PersistentVolume, error) {
	wanted, _ := edit(pv.Finalizers, objects.ExternalFinalizer)
	return p.API().Volumes.PatchWith(p, pv.Name, func(newest *corev1.PersistentVolume) error {
		newest.Finalizers = mergeFinalizers(newest.Finalizers, wanted)
		return nil
	}, api.Main)
}

// sameOthers reports whether two lists have the same finalizers, but for the external one.
func sameOthers(a, b []string) bool {
	within := func(a, b []string) bool {
		return !slices.ContainsFunc(a, func(name string) bool { return name != objects.ExternalFinalizer && !slices.Contains(b, name) })
	}
	return len(b) > 0 && within(a, b) && within(b, a)
}

// mergeFinalizers returns the stored finalizers, with the external one if it is wanted and without it otherwise. They have the order of
// wanted. Each of the others comes before the first of these that is stored behind it (XPROV-051).
func mergeFinalizers(stored, wanted []string) []string {
	if sameOthers(stored, wanted) {
		return slices.Clip(wanted)
	}
	known := slices.DeleteFunc(slices.Clone(wanted),
		func(name string) bool { return name != objects.ExternalFinalizer && !slices.Contains(stored, name) })
	others := slices.DeleteFunc(slices.Clone(stored),
		func(name string) bool { return name == objects.ExternalFinalizer || slices.Contains(wanted, name) })
	var merged []string
	for _, name := range known {
		// XPROV-051: a finalizer that is not stored yet comes last.
		for at := slices.Index(stored, name); len(others) > 0 && slices.Index(stored, others[0]) < at; others = others[1:] {
			merged = append(merged, others[0])
		}
		merged = append(merged, name)
	}
	return append(merged, others...)
}
