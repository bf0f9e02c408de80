package attach

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

// The reasons of the controller's Events.
const (
	reasonFailed   = "FailedAttachVolume"
	reasonAttached = "SuccessfulAttachVolume"
)

// attachVolume is the operation that attaches a volume (ATT-100). pods are those that wanted it when the operation began: they are
// told, and nobody else (ATT-101).
func (c *controller) attachVolume(p *engine.Proc, at pair, spec objects.VolumeSpec, pods []*corev1.Pod) error {
	p.WorksOn(api.RefTo(spec.PV))
	// Whatever the end, the reconciler looks again.
	defer c.settled(at)
	plugin, _, ok := c.attachable(spec)
	if !ok {
		// ATT-100: the CSIDriver has changed its mind; nothing was tried.
		return c.attachFailed(p, at, spec, pods, "AttachVolume.FindAttachablePluginBySpec failed", nil)
	}
	devicePath, err := c.attachWith(p, plugin, spec, at.node)
	if err != nil {
		// ATT-100: who knows.
		c.actual.markUncertain(at, spec)
		return c.attachFailed(p, at, spec, pods, "AttachVolume.Attach failed", err)
	}
	c.actual.markAttached(at, spec, devicePath)
	for _, pod := range pods {
		// ATT-101
		c.events.Event(p, pod, corev1.EventTypeNormal, reasonAttached, attachText("AttachVolume.Attach succeeded", spec, nil))
	}
	return nil
}

// attachFailed tells the pods and makes the error of the operation.
func (c *controller) attachFailed(p *engine.Proc, at pair, spec objects.VolumeSpec, pods []*corev1.Pod, label string, err error) error {
	for _, pod := range pods {
		// ATT-101: at every failed attempt.
		c.events.Event(p, pod, corev1.EventTypeWarning, reasonFailed, attachText(label, spec, err))
	}
	return fmt.Errorf("%s for volume %q (UniqueName: %q) from node %q%s", label, spec.Name(), at.volume, at.node, suffix(err))
}

// attachText is the text of an Event about an attachment (ATT-101).
func attachText(label string, spec objects.VolumeSpec, err error) string {
	return fmt.Sprintf("%s for volume %q %s", label, spec.Name(), suffix(err))
}

func suffix(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// settled is called at the end of an operation on a volume, before its key is free.
func (c *controller) settled(at pair) {
	c.review(at)
	c.unverified()
	// ATT-213: what waited for the key can go on at the next tick.
	c.reconciler.Arm()
}

// startDetach starts the operation that detaches a volume. An error says that it did not start.
func (c *controller) startDetach(key engine.OperationKey, u undesired, verify bool) error {
	plugin, name, err := c.detachablePlugin(u)
	if err != nil {
		return err
	}
	return c.ops.Run(key, detachOperation, func(p *engine.Proc) error { return c.detachVolume(p, plugin, name, u, verify) })
}

// detachablePlugin finds the plugin that detaches a volume, and the volume's name there.
func (c *controller) detachablePlugin(u undesired) (objects.Plugin, string, error) {
	if u.spec.Known() {
		// ATT-106: whether it would be attached now does not matter.
		plugin, err := objects.PluginOf(c.cfg.Backends, u.spec)
		if err != nil {
			return plugin, "", fmt.Errorf("DetachVolume.findDetachablePluginBySpec failed for volume %q: %w", u.spec.Name(), err)
		}
		_, name, err := objects.SplitVolumeName(objects.UniqueVolumeName(plugin, u.spec))
		return plugin, name, err
	}
	// ATT-107: all that is known is the unique name.
	pluginName, name, err := objects.SplitVolumeName(u.at.volume)
	switch {
	case err != nil:
		return objects.Plugin{}, "", fmt.Errorf("DetachVolume.SplitUniqueName failed: %w", err)
	case pluginName == objects.CSIPluginName:
		return objects.Plugin{Name: pluginName}, name, nil
	}
	backend, err := c.cfg.Backends.ByName(pluginName)
	if err != nil {
		return objects.Plugin{}, "", fmt.Errorf("DetachVolume.FindAttachablePluginByName failed: %w", err)
	}
	return objects.Plugin{Name: pluginName, Backend: backend}, name, nil
}

// detachVolume is the operation that detaches a volume (ATT-102). No Event tells of it (ATT-101).
func (c *controller) detachVolume(p *engine.Proc, plugin objects.Plugin, name string, u undesired, verify bool) error {
	p.WorksOn(api.RefTo(u.spec.PV))
	defer c.settled(u.at)
	var err error
	if verify {
		err = c.verifySafe(p, u.at)
	}
	// ATT-102: the plugin is not asked if the check fails.
	if err == nil {
		err = c.detachWith(p, plugin, name, u.at.node)
	}
	if err != nil {
		// ATT-067, ATT-102, ATT-104: it does not return to the node's status by itself, even if nothing was tried.
		c.actual.markUncertain(u.at, u.spec)
		return fmt.Errorf("DetachVolume.Detach failed for volume %q (UniqueName: %q) on node %q: %w", u.spec.Name(), u.at.volume, u.at.node, err)
	}
	// ATT-067, ATT-102
	c.actual.markDetached(u.at)
	return nil
}

// verifySafe asks the API server, not the cache, whether the node uses the volume (ATT-103).
func (c *controller) verifySafe(p *engine.Proc, at pair) error {
	node, err := p.API().Nodes.Get(p, at.node)
	switch {
	case apierrors.IsNotFound(err):
		// ATT-103: a node that is gone uses nothing.
		return nil
	case err != nil:
		return fmt.Errorf("DetachVolume failed fetching node from API server: %w", err)
	case slices.Contains(node.Status.VolumesInUse, at.volume):
		return errors.New("DetachVolume failed: volume is still in use by node, according to Node status")
	}
	return nil
}
