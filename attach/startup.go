package attach

import (
	"fmt"

	"github.com/volsim/volsim/internal/core/klog"
	"github.com/volsim/volsim/internal/core/objects"
)

// populateActual fills the actual state from the API (ATT-131, ATT-132). A crash loses the rest: how long volumes have been undesired,
// backoffs, and which Events were emitted (ATT-134).
func (c *controller) populateActual() {
	c.log.controller.Info(5, "Populating ActualStateOfworld")
	for _, node := range c.infNodes.List() {
		// ATT-131: volumesAttached of each node counts, managed or not, without a check of the VolumeAttachments. The specs are not known yet.
		for _, volume := range node.Status.VolumesAttached {
			at := pair{volume.Name, node.Name}
			c.actual.markAttached(at, objects.VolumeSpec{}, volume.DevicePath)
			c.updateWork(at)
		}
		// ATT-131: volumesInUse comes last, so that no volume is assumed to be mounted.
		c.actual.setInUse(node.Name, node.Status.VolumesInUse)
		c.manage(node)
	}
	for _, va := range c.infAttachments.List() {
		// ATT-132: neither status nor name of the VolumeAttachment count.
		name := va.Spec.Source.PersistentVolumeName
		if name == nil {
			c.log.controller.Info(0, "Skipping the va as its pvName is nil", nodeName(va.Spec.NodeName), klog.String("vaName", va.Name))
			continue
		}
		pv, ok := c.infVolumes.Get(*name)
		if !ok {
			// ATT-132: a VolumeAttachment whose volume is gone is ignored, and stays.
			c.log.controller.Error(fmt.Errorf("persistentvolume %q not found", *name), "Unable to lookup pv object", klog.String("PV", *name))
			continue
		}
		// ATT-200: the name is that of the translated volume.
		spec := objects.SpecOf(pv)
		plugin, ok := c.attachable(spec)
		if !ok {
			continue
		}
		// ATT-132: a volume that volumesAttached lacks may still be attached, and mounted.
		unique, _ := nameAmong(c.desired.nodes[va.Spec.NodeName], plugin, spec)
		if at := (pair{unique, va.Spec.NodeName}); c.actual.state(at) == detached {
			c.log.controller.Info(1, "Marking volume attachment as uncertain as volume is not attached", nodeName(at.node), volumeName(at),
				klog.String("attachState", "Detached"))
			c.actual.markUncertain(at, spec)
			c.updateWork(at)
		}
	}
}

// populateDesired fills the desired state from the pods, and adds the specs of their volumes to the actual state (ATT-133).
func (c *controller) populateDesired() {
	c.log.controller.Info(5, "Populating DesiredStateOfworld")
	for _, pod := range c.infPods.List() {
		c.podChanged(pod)
		// ATT-133: volumes of terminated pods get a spec too; uncertain attachments do not.
		c.attachableVolumes(pod, func(at pair, _ *desiredVolume, spec objects.VolumeSpec) {
			if c.actual.state(at) != attached {
				return
			}
			if path, ok := c.devicePath(at); ok {
				c.actual.markAttached(at, spec, path)
				c.updateWork(at)
			}
		})
	}
}

// devicePath returns the device path of the volume in the node's status (ATT-006).
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
