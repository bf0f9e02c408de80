package attach

import (
	"slices"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/storage"
)

// compare has VolumeAttachments worked on whose status is not what the driver says (ATT-181). The status itself is left alone.
func (a *attacher) compare(p *engine.Proc) {
	a.reconciler.Arm()
	lister, ok := a.backend.(storage.PublishedLister)
	if !ok {
		return
	}
	var published map[string][]string
	err := backends.Safely(a.driver, "Published", func() (err error) { published, err = lister.Published(); return err })
	if err != nil {
		return // ATT-181: the next time, then.
	}
	for va := range a.infAttachments.All() {
		if va.Spec.Attacher != a.driver {
			continue
		}
		pv, err := a.volumeOf(va)
		if err != nil || pv.Spec.CSI == nil {
			continue
		}
		if slices.Contains(published[pv.Spec.CSI.VolumeHandle], va.Spec.NodeName) == va.Status.Attached {
			continue
		}
		// ATT-181: once.
		p.Decide("ATT-181", va, "the driver does not agree with status.attached = %v", va.Status.Attached)
		a.forced[va.Name] = true
		a.attachments.add(va.Name)
	}
}

// takeForced reports whether the VolumeAttachment is to be worked on regardless of its status, this once.
func (a *attacher) takeForced(name string) bool {
	forced := a.forced[name]
	delete(a.forced, name)
	return forced
}
