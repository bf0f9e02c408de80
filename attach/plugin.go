package attach

import (
	"errors"
	"fmt"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// ATT-145
const (
	waitLimit     = 2 * time.Minute
	firstPoll     = 500 * time.Millisecond
	longestPoll   = 7 * time.Second
	pollGrowth    = 1.05
	unknownDriver = "unknown"

	maxPollStretch = 1
)

// attachWith has a plugin attach the volume and returns the device path.
func (c *controller) attachWith(p *engine.Proc, plugin objects.Plugin, spec objects.VolumeSpec, node string) (string, error) {
	if plugin.Name == objects.CSIPluginName {
		// ATT-006: no path is known for a CSI volume.
		return "", c.attachCSI(p, spec, node)
	}
	// ATT-201: an in-tree plugin does it itself, without a VolumeAttachment.
	attacher, ok := plugin.Backend.(storage.Attacher)
	if !ok {
		return "", fmt.Errorf("plugin %s does not attach", plugin.Name)
	}
	req := storage.AttachRequest{ID: spec.ID(), Node: node, ReadOnly: spec.ReadOnly}
	if modes := spec.PV.Spec.AccessModes; len(modes) > 0 {
		req.Mode = modes[0]
	}
	return "", ask(p, plugin.Backend, storage.Attach, req.ID, node, func() error { _, err := attacher.Attach(req); return err })
}

// detachWith has a plugin detach the volume of that name.
func (c *controller) detachWith(p *engine.Proc, plugin objects.Plugin, name, node string) error {
	if plugin.Name == objects.CSIPluginName {
		return c.detachCSI(p, name, node)
	}
	attacher, ok := plugin.Backend.(storage.Attacher)
	if !ok {
		return fmt.Errorf("plugin %s does not detach", plugin.Name)
	}
	return ask(p, plugin.Backend, storage.Detach, name, node, func() error { return attacher.Detach(storage.DetachRequest{ID: name, Node: node}) })
}

// ask makes a call to a backend about a volume on a node, which takes as long as the backend says.
func ask(p *engine.Proc, b storage.Backend, op storage.Op, id, node string, fn func() error) error {
	call := api.Call{Target: b.Name(), Verb: string(op), Key: id, Node: node}
	return p.Backend(call, backends.Delay(b, op, id), func() error { return backends.Safely(b.Name(), op, fn) })
}

// attachCSI sees to it that there is a VolumeAttachment, and waits for the external attacher (ATT-140). Of VolumeAttachments the
// controller only ever creates and deletes (ATT-146).
func (c *controller) attachCSI(p *engine.Proc, spec objects.VolumeSpec, node string) error {
	source := spec.CSI()
	name := objects.AttachmentName(source.VolumeHandle, source.Driver, node)
	// ATT-140: one that is there is taken as it is, even on its way out.
	if _, exists := c.infAttachments.Get(name); !exists {
		_, err := p.API().Attachments.Create(p, newAttachment(name, source.Driver, node, spec.PV.Name))
		// ATT-140: the cache may not have it yet.
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("%s: attacher.Attach failed: %w", objects.CSIPluginName, err)
		}
	}
	return c.waitFor(p, source.Driver, "attach", source.VolumeHandle, func() (bool, error) {
		va, ok := c.infAttachments.Get(name)
		if !ok {
			// ATT-141, ATT-147: not arrived yet, or gone: it is not made again here.
			return false, nil
		}
		return Attached(va)
	})
}

// newAttachment is a VolumeAttachment as it is sent: without a status, which the server would drop (ATT-160).
func newAttachment(name, driver, node, pv string) *storagev1.VolumeAttachment {
	return &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: storagev1.VolumeAttachmentSpec{
			Attacher: driver,
			NodeName: node,
			Source:   storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv},
		},
	}
}

// Attached says what a VolumeAttachment means to someone who waits for it to be attached: done, failed, or neither (ATT-141).
func Attached(va *storagev1.VolumeAttachment) (bool, error) {
	switch {
	case va.DeletionTimestamp != nil:
		// ATT-141
		return false, errors.New("volume attachment is being deleted")
	case va.Status.Attached:
		// ATT-141, ATT-182: an error beside it is an old one.
		return true, nil
	case va.Status.AttachError != nil:
		// ATT-142: even if it is of an earlier attempt.
		return false, errors.New(va.Status.AttachError.Message)
	}
	return false, nil
}

// detachCSI deletes the VolumeAttachment and waits until it is gone (ATT-143). name is driver^handle.
func (c *controller) detachCSI(p *engine.Proc, name, node string) error {
	driver, handle, ok := objects.SplitCSIName(name)
	if !ok {
		// ATT-143: at every attempt.
		return errors.New("volumeName missing expected data")
	}
	attachment := objects.AttachmentName(handle, driver, node)
	// ATT-132: no other VolumeAttachment is looked for.
	_, err := p.API().Attachments.Delete(p, attachment, api.DeleteOptions{})
	switch {
	case apierrors.IsNotFound(err):
		// ATT-143, ATT-144: often this is how the end is noticed.
		return nil
	case err != nil:
		// ATT-162: with the attacher's finalizer it is only marked.
		return fmt.Errorf("%s: detacher.Detach failed to delete VolumeAttachment [%s]: %w", objects.CSIPluginName, attachment, err)
	}
	// ATT-145: the driver is not known here.
	return c.waitFor(p, unknownDriver, "detach", handle, func() (bool, error) {
		va, ok := c.infAttachments.Get(attachment)
		switch {
		case !ok:
			return true, nil
		case va.Status.DetachError != nil:
			// ATT-143, ATT-144: even if it is of an earlier attempt.
			return false, errors.New(va.Status.DetachError.Message)
		}
		// ATT-143: that it says it is not attached is not enough.
		return false, nil
	})
}

// waitFor looks at intervals that grow until done says so, or two minutes are over (ATT-145).
func (c *controller) waitFor(p *engine.Proc, driver, verb, handle string, done func() (bool, error)) error {
	deadline := p.Now().Add(waitLimit)
	for delay := firstPoll; ; delay = min(time.Duration(float64(delay)*pollGrowth), longestPoll) {
		// ATT-145: SIM: the jitter is fixed; it does not add up.
		wait := delay + time.Duration(float64(delay)*c.cfg.PollStretch)
		if left := deadline.Sub(p.Now()); wait >= left {
			p.Sleep(left)
			return fmt.Errorf("timed out waiting for external-attacher of %s CSI driver to %s volume %s", driver, verb, handle)
		}
		// ATT-145: never at once.
		p.Sleep(wait)
		if ok, err := done(); ok || err != nil {
			return err
		}
	}
}
