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

// ATT-145: waits for a VolumeAttachment start at 500 ms, grow by 5 % up to 7 s, and end after 2 minutes.
const (
	waitLimit     = 2 * time.Minute
	firstPoll     = 500 * time.Millisecond
	longestPoll   = 7 * time.Second
	pollGrowth    = 1.05
	unknownDriver = "unknown"

	maxPollStretch = 1
)

// attachWith attaches the volume with a plugin. The operation has to wait, with Process.Then, until that is done.
func (c *controller) attachWith(p *engine.Process, plugin objects.Plugin, spec objects.VolumeSpec, node string) error {
	if plugin.Name == objects.CSIPluginName {
		return c.attachCSI(p, spec, node)
	}
	// ATT-201: an in-tree plugin attaches by itself, without a VolumeAttachment.
	attacher, ok := plugin.Backend.(storage.Attacher)
	if !ok {
		return fmt.Errorf("plugin %s does not attach", plugin.Name)
	}
	req := storage.NodeRequest{ID: spec.ID(), Node: node, ReadOnly: spec.ReadOnly}
	if modes := spec.PV.Spec.AccessModes; len(modes) > 0 {
		req.Mode = modes[0]
	}
	return callBackend(p, plugin.Backend, storage.Attach, req.ID, node, func() error { _, err := attacher.Attach(backends.OwnNode(req)); return err })
}

// detachWith detaches the volume of that name with a plugin. The operation has to wait, with Process.Then, until that is done.
func (c *controller) detachWith(p *engine.Process, plugin objects.Plugin, name, node string) error {
	if plugin.Name == objects.CSIPluginName {
		return c.detachCSI(p, name, node)
	}
	attacher, ok := plugin.Backend.(storage.Attacher)
	if !ok {
		return fmt.Errorf("plugin %s does not detach", plugin.Name)
	}
	return callBackend(p, plugin.Backend, storage.Detach, name, node,
		func() error { return attacher.Detach(storage.NodeRequest{ID: name, Node: node}) })
}

// callBackend calls a backend about a volume on a node. The call takes the time that the backend returns for it.
func callBackend(p *engine.Process, b storage.Backend, op storage.Op, id, node string, fn func() error) error {
	call := api.Call{Target: b.Name(), Verb: string(op), Key: id, Node: node}
	return p.Backend(call, backends.Delay(b, op, id), func() error { return backends.Safely(b.Name(), op, fn) })
}

// attachCSI creates the VolumeAttachment unless it exists, and waits for the external-attacher (ATT-140). The controller creates and
// deletes VolumeAttachments and never updates them (ATT-146).
func (c *controller) attachCSI(p *engine.Process, spec objects.VolumeSpec, node string) error {
	source := spec.CSI()
	name := objects.AttachmentName(source.VolumeHandle, source.Driver, node)
	// ATT-140: an existing VolumeAttachment is used as it is, also one that is being deleted.
	if _, exists := c.infAttachments.Get(name); !exists {
		_, err := p.API().Attachments.Add(p, newAttachment(name, node, spec))
		// ATT-140: the cache may lag, so AlreadyExists is no error.
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("%s: attacher.Attach failed: %w", objects.CSIPluginName, err)
		}
	}
	c.waitFor(p, source.Driver, "attach", source.VolumeHandle, func() (bool, error) {
		va, ok := c.infAttachments.Get(name)
		if !ok {
			// ATT-141, ATT-147: the cache lags, or it is gone; it is not created again here.
			return false, nil
		}
		return isAttached(va)
	})
	return nil
}

// newAttachment returns a VolumeAttachment without status, which the API server would drop (ATT-160).
func newAttachment(name, node string, spec objects.VolumeSpec) *storagev1.VolumeAttachment {
	source := storagev1.VolumeAttachmentSource{PersistentVolumeName: &spec.PV.Name}
	if spec.InPod {
		// ATT-200: there is no PersistentVolume that it could name.
		source = storagev1.VolumeAttachmentSource{InlineVolumeSpec: &spec.PV.Spec}
	}
	return &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       storagev1.VolumeAttachmentSpec{Attacher: spec.CSI().Driver, NodeName: node, Source: source},
	}
}

// isAttached reports whether a VolumeAttachment is attached, and returns an error if attaching has failed (ATT-141). With false and nil the
// caller has to wait.
func isAttached(va *storagev1.VolumeAttachment) (bool, error) {
	switch {
	case va.DeletionTimestamp != nil:
		// ATT-141: a VolumeAttachment that is being deleted is an error, attached or not.
		return false, errors.New("volume attachment is being deleted")
	case va.Status.Attached:
		// ATT-141, ATT-182: status.attached counts more than an error.
		return true, nil
	case va.Status.AttachError != nil:
		// ATT-142: the error may be that of an earlier attempt.
		return false, errors.New(va.Status.AttachError.Message)
	}
	return false, nil
}

// detachCSI deletes the VolumeAttachment and waits until it is gone (ATT-143). name is driver^handle.
func (c *controller) detachCSI(p *engine.Process, name, node string) error {
	driver, handle, ok := objects.SplitCSIName(name)
	if !ok {
		// ATT-143: a malformed name fails at each attempt.
		return errors.New("volumeName missing expected data")
	}
	attachment := objects.AttachmentName(handle, driver, node)
	// ATT-132: only the VolumeAttachment with the computed name is deleted.
	_, err := p.API().Attachments.Delete(p, attachment, api.DeleteOptions{})
	switch {
	case err != nil && apierrors.IsNotFound(err):
		// ATT-143, ATT-144: a VolumeAttachment that is gone is detached.
		return nil
	case err != nil:
		// ATT-162: with the attacher's finalizer the deletion only begins.
		return fmt.Errorf("%s: detacher.Detach failed to delete VolumeAttachment [%s]: %w", objects.CSIPluginName, attachment, err)
	}
	// ATT-145: the message for a timeout has no driver name.
	c.waitFor(p, unknownDriver, "detach", handle, func() (bool, error) {
		va, ok := c.infAttachments.Get(attachment)
		switch {
		case !ok:
			return true, nil
		case va.Status.DetachError != nil:
			// ATT-143, ATT-144: the error may be that of an earlier attempt.
			return false, errors.New(va.Status.DetachError.Message)
		}
		// ATT-143: status.attached = false is not enough; the object must be gone.
		return false, nil
	})
	return nil
}

// waitFor lets the operation call done at growing intervals until it returns true or an error, for 2 minutes at most (ATT-145).
func (c *controller) waitFor(p *engine.Process, driver, verb, handle string, done func() (bool, error)) {
	w := &attachmentWait{deadline: p.Now().Add(waitLimit), delay: firstPoll, stretch: c.opts.PollStretch, driver: driver, verb: verb, handle: handle, done: done}
	// ATT-145: there is a wait before the first call.
	p.YieldUntil(w.next(p), w.look)
}

// attachmentWait is a wait of an operation for a VolumeAttachment.
type attachmentWait struct {
	deadline             time.Time
	delay                time.Duration
	stretch              float64
	last                 bool // the deadline comes before the next call
	driver, verb, handle string
	done                 func() (bool, error)
}

// next returns the time until the next call.
func (w *attachmentWait) next(p *engine.Process) time.Duration {
	// ATT-145: upstream lengthens each wait at random. SIM: by a fixed fraction, which does not accumulate.
	wait, left := w.delay+time.Duration(float64(w.delay)*w.stretch), w.deadline.Sub(p.Now())
	w.delay, w.last = min(time.Duration(float64(w.delay)*pollGrowth), longestPoll), wait >= left
	return min(wait, left)
}

// look is for YieldUntil.
func (w *attachmentWait) look(p *engine.Process) (again time.Duration, err error) {
	if w.last {
		return 0, fmt.Errorf("timed out waiting for external-attacher of %s CSI driver to %s volume %s", w.driver, w.verb, w.handle)
	}
	if ok, err := w.done(); ok || err != nil {
		return 0, err
	}
	return w.next(p), nil
}
