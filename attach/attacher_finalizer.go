package attach

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

// addVolumeFinalizer adds the finalizer to a PersistentVolume without it.
func (a *attacher) addVolumeFinalizer(p *engine.Process, pv *corev1.PersistentVolume) error {
	if slices.Contains(pv.Finalizers, a.opts.Finalizer) {
		return nil
	}
	// ATT-172, step 2: the finalizer is appended to the stored list.
	return a.patchFinalizers(p, pv.Name, func(stored []string) ([]string, error) {
		finalizers, _ := objects.WithFinalizer(stored, a.opts.Finalizer)
		return finalizers, nil
	})
}

// syncVolume removes the finalizer of a PersistentVolume that is being deleted and has no VolumeAttachment (ATT-178).
func (a *attacher) syncVolume(p *engine.Process, name string) error {
	pv, ok := a.infVolumes.Get(name)
	if !ok {
		return engine.Gone
	}
	at := slices.Index(pv.Finalizers, a.opts.Finalizer)
	// ATT-178: a volume that is not being deleted keeps the finalizer.
	if pv.DeletionTimestamp == nil || at < 0 {
		return nil
	}
	for _, va := range a.infAttachments.List() {
		// ATT-178: VolumeAttachments of all drivers count.
		if source := va.Spec.Source.PersistentVolumeName; source != nil && *source == name {
			return nil
		}
	}
	err := a.patchFinalizers(p, name, func(stored []string) ([]string, error) {
		// ATT-178: it is removed at the index that it has in the cache; the patch fails if another one is there.
		if at >= len(stored) || stored[at] != a.opts.Finalizer {
			return nil, fmt.Errorf("the finalizer of PersistentVolume %q is not where it was", name)
		}
		return slices.Delete(slices.Clone(stored), at, at+1), nil
	})
	if err != nil {
		a.resync.ArmBackground()
	}
	return err
}

// patchFinalizers changes the finalizers as a JSON patch does: on the stored object, and again if a write comes in between.
func (a *attacher) patchFinalizers(p *engine.Process, name string, change func([]string) ([]string, error)) error {
	_, err := p.API().Volumes.PatchWith(p, name, func(newest *corev1.PersistentVolume) (err error) {
		newest.Finalizers, err = change(newest.Finalizers)
		return err
	}, api.Main)
	return err
}
