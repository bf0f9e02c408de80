package attach

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// FinalizerOf is what the external attacher of a driver holds PersistentVolumes and VolumeAttachments by (ATT-004).
func FinalizerOf(driver string) string {
	name := make([]byte, 0, len(driver)+1)
	for i := range len(driver) {
		// ATT-004: what is no letter, digit or dash becomes a dash,
		if c := driver[i]; c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			name = append(name, c)
		} else if c < 0x80 || c >= 0xC0 { // one for each character
			name = append(name, '-')
		}
	}
	// and the last character is none.
	if n := len(name); n > 0 && name[n-1] == '-' {
		name = append(name, 'X')
	}
	return "external-attacher/" + string(name)
}

// holdVolume puts the finalizer on a PersistentVolume that lacks it.
func (a *attacher) holdVolume(p *engine.Proc, pv *corev1.PersistentVolume) error {
	if hasFinalizer(pv.Finalizers, a.cfg.Finalizer) {
		return nil
	}
	// ATT-172: step 2 appends to whatever the server has.
	return a.patchFinalizers(p, pv.Name, func(stored []string) ([]string, error) {
		if hasFinalizer(stored, a.cfg.Finalizer) {
			return stored, nil
		}
		return append(slices.Clone(stored), a.cfg.Finalizer), nil
	})
}

// syncVolume lets a PersistentVolume go that is being deleted and attached nowhere (ATT-178).
func (a *attacher) syncVolume(p *engine.Proc, name string) (known bool, err error) {
	pv, ok := a.infVolumes.Get(name)
	if !ok {
		return false, nil
	}
	at := slices.Index(pv.Finalizers, a.cfg.Finalizer)
	// ATT-178: a volume that stays keeps the finalizer after its last detachment.
	if pv.DeletionTimestamp == nil || at < 0 {
		return true, nil
	}
	for va := range a.infAttachments.All() {
		// ATT-178: of whatever driver.
		if source := va.Spec.Source.PersistentVolumeName; source != nil && *source == name {
			return true, nil
		}
	}
	err = a.patchFinalizers(p, name, func(stored []string) ([]string, error) {
		// ATT-178: at the place where the cache has it, or not at all.
		if at >= len(stored) || stored[at] != a.cfg.Finalizer {
			return nil, fmt.Errorf("the finalizer of PersistentVolume %q is not where it was", name)
		}
		return slices.Delete(slices.Clone(stored), at, at+1), nil
	})
	if err != nil {
		a.resync.Arm()
	}
	return true, err
}

// patchFinalizers does what a JSON patch of the finalizers does: the server applies it to what it has, however often that changes
// under its hands.
func (a *attacher) patchFinalizers(p *engine.Proc, name string, change func([]string) ([]string, error)) error {
	_, err := p.API().Volumes.PatchNewest(p, name, func(newest *corev1.PersistentVolume) ([]byte, error) {
		finalizers, err := change(newest.Finalizers)
		if err != nil {
			return nil, err
		}
		return mergePatch("metadata", map[string]any{"finalizers": finalizers}), nil
	}, api.Main)
	return err
}
