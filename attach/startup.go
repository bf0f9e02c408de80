package attach

import (
	"github.com/volsim/volsim/internal/core/objects"
)

// populateActual fills the actual world with what the API says (ATT-131, ATT-132). Everything else an earlier life knew is lost: how
// long it waited, what it had tried and how often, what it had told (ATT-134).
func (c *controller) populateActual() {
	for node := range c.infNodes.All() {
		// ATT-131: every node, managed or not. What the volumes are is not known yet, and the VolumeAttachments are not asked.
		for _, volume := range node.Status.VolumesAttached {
			at := pair{volume.Name, node.Name}
			c.actual.markAttached(at, objects.VolumeSpec{}, volume.DevicePath)
			c.review(at)
		}
		// ATT-131: this comes last, so that nothing is assumed to be mounted.
		c.actual.setInUse(node.Name, node.Status.VolumesInUse)
		c.manage(node)
	}
	for va := range c.infAttachments.All() {
		// ATT-132: neither the status of the VolumeAttachment matters, nor its name.
		name := va.Spec.Source.PersistentVolumeName
		if name == nil {
			continue
		}
		pv, ok := c.infVolumes.Get(*name)
		if !ok {
			// ATT-132: nobody will clean this one up.
			continue
		}
		spec := objects.VolumeSpec{PV: pv}
		_, volume, ok := c.attachable(spec)
		if !ok {
			continue
		}
		// ATT-132: a volume that the node does not report may be attached all the same, and mounted as well.
		if at := (pair{volume, va.Spec.NodeName}); c.actual.state(at) == detached {
			c.actual.markUncertain(at, spec)
			c.review(at)
		}
	}
}

// populateDesired fills the desired world from the pods, and tells the actual one what its volumes are (ATT-133).
func (c *controller) populateDesired() {
	for pod := range c.infPods.All() {
		c.podChanged(pod)
		// ATT-133: the volumes of terminated pods too; only those that are attached for sure.
		c.attachableVolumes(pod, func(at pair, spec objects.VolumeSpec) {
			if c.actual.state(at) != attached {
				return
			}
			if path, ok := c.devicePath(at); ok {
				c.actual.markAttached(at, spec, path)
				c.review(at)
			}
		})
	}
}

// devicePath is what the node's status has for the volume (ATT-006).
func (c *controller) devicePath(at pair) (string, bool) {
	node, ok := c.infNodes.Get(at.node)
	if !ok {
		return "", false
	}
	for _, volume := range node.Status.VolumesAttached {
		if volume.Name == at.volume {
			return volume.DevicePath, true
		}
	}
	return "", false
}
