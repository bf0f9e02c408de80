package attach

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

// Reasons of Events.
const (
	reasonFailed   = "FailedAttachVolume"
	reasonAttached = "SuccessfulAttachVolume"
)

// attachVolume is the operation that attaches a volume (ATT-100). pods are those that wanted it when the operation began; only they get
// Events (ATT-101).
func (c *controller) attachVolume(p *engine.Process, at pair, spec objects.VolumeSpec, pods []*corev1.Pod) error {
	p.WorksOn(spec.PV)
	defer c.operationEnded(p, at)
	plugin, ok := c.attachable(spec)
	if !ok {
		// ATT-100: the CSIDriver no longer requires attaching; nothing was tried.
		return c.attachFailed(p, at, spec, pods, "AttachVolume.FindAttachablePluginBySpec failed", nil)
	}
	return p.Then(c.attachWith(p, plugin, spec, at.node), func(p *engine.Process, err error) error {
		return c.attached(p, at, spec, pods, err)
	})
}

// attached ends the operation after an attempt to attach the volume.
func (c *controller) attached(p *engine.Process, at pair, spec objects.VolumeSpec, pods []*corev1.Pod, err error) error {
	defer c.operationEnded(p, at)
	if err != nil {
		// ATT-100: after an error the volume may be attached.
		c.actual.markUncertain(at, spec)
		return c.attachFailed(p, at, spec, pods, "AttachVolume.Attach failed", err)
	}
	if c.log.operations.Enabled(0) {
		c.log.operations.Infof(0, "%s", message("AttachVolume.Attach succeeded", spec, at, "from"))
	}
	// ATT-006, ATT-201: no volume has a device path.
	c.actual.markAttached(at, spec, "")
	for _, pod := range pods {
		// ATT-101: each pod gets an Event.
		c.events.Event(p, pod, corev1.EventTypeNormal, reasonAttached, attachText("AttachVolume.Attach succeeded", spec, nil))
	}
	return nil
}

// attachFailed emits the Events of a failed attachment and returns the error of the operation.
func (c *controller) attachFailed(p *engine.Process, at pair, spec objects.VolumeSpec, pods []*corev1.Pod, label string, err error) error {
	for _, pod := range pods {
		// ATT-101: every failed attempt has an Event.
		c.events.Event(p, pod, corev1.EventTypeWarning, reasonFailed, attachText(label, spec, err))
	}
	return fmt.Errorf("%s for volume %q (UniqueName: %q) from node %q%s", label, spec.Name(), at.volume, at.node, suffix(err))
}

// attachText returns the message of an Event about an attachment (ATT-101).
func attachText(label string, spec objects.VolumeSpec, err error) string {
	return label + " for volume " + strconv.Quote(spec.Name()) + " " + suffix(err)
}

func suffix(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// operationEnded updates the worklist at the end of an operation on a volume, unless another step follows. The operation's key is still taken.
func (c *controller) operationEnded(p *engine.Process, at pair) {
	if p.Waiting() {
		return
	}
	c.updateWork(at)
	c.scheduleVerification()
	// ATT-213: operations that wait for the key can start at the next tick.
	c.reconciler.Arm()
}

// startDetach starts the operation that detaches a volume. After an error it has not started.
func (c *controller) startDetach(key engine.OperationKey, u undesired, verify bool) error {
	plugin, name, err := c.detachablePlugin(u)
	if err != nil {
		return err
	}
	return c.ops.Run(key, detachOperation, func(p *engine.Process) error { return c.detachVolume(p, plugin, name, u, verify) })
}

// detachablePlugin returns the plugin that detaches a volume, and the volume's name in that plugin.
func (c *controller) detachablePlugin(u undesired) (objects.Plugin, string, error) {
	if u.spec.Known() {
		// ATT-106: a volume is detached even if it would not need attaching now.
		plugin, err := objects.PluginOf(c.set, u.spec)
		if err != nil {
			return plugin, "", fmt.Errorf("DetachVolume.findDetachablePluginBySpec failed for volume %q: %w", u.spec.Name(), err)
		}
		_, name, err := objects.SplitVolumeName(objects.UniqueVolumeName(plugin, u.spec))
		return plugin, name, err
	}
	// ATT-107: without a spec, the unique name gives the plugin.
	pluginName, name, err := objects.SplitVolumeName(u.at.volume)
	switch {
	case err != nil:
		return objects.Plugin{}, "", fmt.Errorf("DetachVolume.SplitUniqueName failed: %w", err)
	case pluginName == objects.CSIPluginName:
		return objects.Plugin{Name: pluginName}, name, nil
	}
	backend, err := c.set.ByName(pluginName)
	if err != nil {
		return objects.Plugin{}, "", fmt.Errorf("DetachVolume.FindAttachablePluginByName failed: %w", err)
	}
	return objects.Plugin{Name: pluginName, Backend: backend}, name, nil
}

// detachVolume is the operation that detaches a volume (ATT-102). It has no Event (ATT-101).
func (c *controller) detachVolume(p *engine.Process, plugin objects.Plugin, name string, u undesired, verify bool) error {
	p.WorksOn(u.spec.PV)
	defer c.operationEnded(p, u.at)
	if verify {
		if err := c.verifySafe(p, u); err != nil {
			// ATT-102: the plugin is not called if the check fails.
			return c.detached(p, u, err)
		}
	}
	return p.Then(c.detachWith(p, plugin, name, u.at.node), func(p *engine.Process, err error) error { return c.detached(p, u, err) })
}

// detached ends the operation after an attempt to detach the volume.
func (c *controller) detached(p *engine.Process, u undesired, err error) error {
	defer c.operationEnded(p, u.at)
	if err != nil {
		// ATT-067, ATT-102, ATT-104: the volume does not return to the node's status, even if nothing was tried.
		c.actual.markUncertain(u.at, u.spec)
		return fmt.Errorf("DetachVolume.Detach failed for volume %q (UniqueName: %q) on node %q: %w", u.spec.Name(), u.at.volume, u.at.node, err)
	}
	// ATT-067, ATT-102: only success removes the volume from the actual state.
	if c.log.operations.Enabled(0) {
		c.log.operations.Infof(0, "%s", message("DetachVolume.Detach succeeded", u.spec, u.at, "on"))
	}
	c.actual.markDetached(u.at)
	return nil
}

// verifySafe returns an error if the node, read from the API server and not from the cache, uses the volume (ATT-103).
func (c *controller) verifySafe(p *engine.Process, u undesired) error {
	at := u.at
	node, err := p.API().Nodes.Get(p, at.node)
	switch {
	case err != nil && apierrors.IsNotFound(err):
		// ATT-103: a node without a Node object uses nothing.
		c.log.operations.Warning(message("Node not found on API server. DetachVolume will skip safe to detach check", u.spec, at, "on"))
		return nil
	case err != nil:
		return fmt.Errorf("DetachVolume failed fetching node from API server: %w", err)
	case slices.Contains(node.Status.VolumesInUse, at.volume):
		return errors.New("DetachVolume failed: volume is still in use by node, according to Node status")
	}
	if c.log.operations.Enabled(0) {
		c.log.operations.Infof(0, "%s", message("Verified volume is safe to detach", u.spec, at, "on"))
	}
	return nil
}
