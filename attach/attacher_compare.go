package attach

import (
	"slices"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/storage"
)

// compare queues the VolumeAttachments whose status differs from what the driver reports (ATT-181). It does not change the status.
func (a *attacher) compare(p *engine.Process) {
	lister, ok := a.backend.(storage.PublishedLister)
	if !ok {
		return
	}
	var published map[string][]string
	err := backends.Safely(a.driver, "Published", func() (err error) { published, err = lister.Published(); return err })
	if storage.CodeOf(err) == storage.Unimplemented {
		return // ATT-181: a driver that does not list its volumes is not asked again.
	}
	a.reconciler.ArmBackground()
	if err != nil {
		return // ATT-181: the next comparison retries.
	}
	for _, va := range a.infAttachments.List() {
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
		// ATT-181: the VolumeAttachment is synced once, whatever its status.
		p.Decide("ATT-181", va, "status.attached is %v, but the driver reports the opposite", va.Status.Attached)
		a.forced[va.Name] = true
		a.attachments.Add(va.Name)
	}
}

// takeForced reports whether compare has queued the VolumeAttachment, and clears that.
func (a *attacher) takeForced(name string) bool {
	forced := a.forced[name]
	delete(a.forced, name)
	return forced
}
