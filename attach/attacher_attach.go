package attach

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/intree"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// attach attaches a volume with the driver and writes the result into the VolumeAttachment (ATT-172).
func (a *attacher) attach(p *engine.Process, va *storagev1.VolumeAttachment) error {
	// ATT-172, step 0: an attached VolumeAttachment needs nothing.
	if !a.takeForced(va.Name) && va.Status.Attached {
		return nil
	}
	va, metadata, err := a.publish(p, va)
	if err != nil {
		a.saveAttachError(p, va, err)
		return fmt.Errorf("failed to attach: %w", err)
	}
	// ATT-172, step 6: status.attached is set; after an error the driver is called again.
	if err := a.markAttached(p, va, metadata); err != nil {
		return fmt.Errorf("failed to mark as attached: %w", err)
	}
	return nil
}

// publish does steps 1 to 5 of ATT-172, up to the call of the driver. It returns the newest version of the VolumeAttachment, also with an
// error.
func (a *attacher) publish(p *engine.Process, va *storagev1.VolumeAttachment) (*storagev1.VolumeAttachment, map[string]string, error) {
	pv, err := a.volumeToAttach(p, va)
	if err != nil {
		return va, nil, err
	}
	req, err := a.publishRequest(pv, va)
	if err != nil {
		return va, nil, err
	}
	if !a.opts.Plain {
		// ATT-172, step 3: the secret is read before the node ID.
		if req.Secrets, err = publishSecrets(p, pv); err != nil {
			return va, nil, err
		}
	}
	if req.NodeID, err = a.nodeID(va, false); err != nil {
		return va, nil, err
	}
	// ATT-172, ATT-173, step 4: with the finalizer, a deletion first detaches. ATT-174: the write also queues the VolumeAttachment again.
	if va, err = a.prepare(p, va, req.NodeID); err != nil {
		return va, nil, fmt.Errorf("could not save VolumeAttachment: %w", err)
	}
	// ATT-172, step 5: the driver attaches.
	var metadata map[string]string
	err = a.calls.Call(p, storage.Attach, req.ID, req.Node, func() (err error) {
		metadata, err = a.backend.(storage.Attacher).Attach(backends.OwnNode(req))
		return err
	})
	return va, metadata, err
}

// volumeToAttach returns the PersistentVolume of a VolumeAttachment, after it has the finalizer. With Plain it may be nil.
func (a *attacher) volumeToAttach(p *engine.Process, va *storagev1.VolumeAttachment) (*corev1.PersistentVolume, error) {
	pv, err := a.volumeOf(va)
	switch {
	case a.opts.Plain:
		return pv, nil
	case err != nil:
		return nil, err
	case va.Spec.Source.InlineVolumeSpec != nil:
		// ATT-200: the spec is in the VolumeAttachment itself, so there is nothing to protect.
		return pv, nil
	case pv.DeletionTimestamp != nil:
		// ATT-172, step 1: a volume that is being deleted is not attached.
		return nil, fmt.Errorf("PersistentVolume %q is marked for deletion", pv.Name)
	}
	// ATT-172, step 2: the volume gets the finalizer.
	if err := a.addVolumeFinalizer(p, pv); err != nil {
		return nil, fmt.Errorf("could not add PersistentVolume finalizer: %w", err)
	}
	return pv, nil
}

// volumeOf returns the cached PersistentVolume of a VolumeAttachment.
func (a *attacher) volumeOf(va *storagev1.VolumeAttachment) (*corev1.PersistentVolume, error) {
	if spec := va.Spec.Source.InlineVolumeSpec; spec != nil {
		if spec.CSI == nil {
			return nil, errors.New("inline volume spec contains nil CSI source")
		}
		return &corev1.PersistentVolume{Spec: *spec}, nil
	}
	name := va.Spec.Source.PersistentVolumeName
	if name == nil {
		return nil, errors.New("neither InlineCSIVolumeSource nor PersistentVolumeName specified in VA source")
	}
	pv, ok := a.infVolumes.Get(*name)
	if !ok {
		return nil, fmt.Errorf("persistentvolume %q not found", *name)
	}
	// ATT-200: the attacher of the driver that replaced an in-tree plugin translates, too.
	pv, err := intree.Volume(pv)
	if err != nil {
		return nil, fmt.Errorf("failed to translate in tree pv to CSI: %w", err)
	}
	return pv, nil
}

// publishRequest returns the request to the driver (step 3 of ATT-172).
func (a *attacher) publishRequest(pv *corev1.PersistentVolume, va *storagev1.VolumeAttachment) (storage.NodeRequest, error) {
	if pv == nil || pv.Spec.CSI == nil {
		if a.opts.Plain {
			return storage.NodeRequest{ID: handleOf(pv, va), Node: va.Spec.NodeName}, nil
		}
		return storage.NodeRequest{}, errors.New("pv contained non-CSI source that was not migrated")
	}
	mode, err := objects.PublishMode(pv.Spec.AccessModes, a.opts.SingleNodeMultiWriter || backends.DistinguishesOnePod(a.backend))
	if err != nil && !a.opts.Plain {
		return storage.NodeRequest{}, err
	}
	req := storage.NodeRequest{
		ID:         pv.Spec.CSI.VolumeHandle,
		Node:       va.Spec.NodeName,
		Mode:       objects.ModeOfCSI(mode),
		VolumeMode: objects.VolumeModeOf(pv.Spec.VolumeMode),
		// ATT-180: only a driver with PUBLISH_READONLY gets read-only requests.
		ReadOnly: pv.Spec.CSI.ReadOnly && (a.opts.PublishReadOnly || backends.AttachesReadOnly(a.backend)),
		Context:  pv.Spec.CSI.VolumeAttributes,
	}
	// ATT-183: the request has the file system and the mount options of the volume.
	if req.VolumeMode != corev1.PersistentVolumeBlock {
		req.FSType, req.MountOptions = pv.Spec.CSI.FSType, pv.Spec.MountOptions
	}
	return req, nil
}

// publishSecrets returns the content of the Secret for attaching and detaching a CSI volume, nil if it names none.
func publishSecrets(p *engine.Process, pv *corev1.PersistentVolume) (map[string]string, error) {
	ref := pv.Spec.CSI.ControllerPublishSecretRef
	content, err := p.API().Secret(p, ref)
	if err != nil {
		return nil, fmt.Errorf("failed to load secret %q: %w", ref.Namespace+"/"+ref.Name, err)
	}
	return content, nil
}

// handleOf returns the handle of the volume of a VolumeAttachment, or the best known name.
func handleOf(pv *corev1.PersistentVolume, va *storagev1.VolumeAttachment) string {
	switch {
	case pv != nil:
		return backends.Handle(pv)
	case va.Spec.Source.PersistentVolumeName != nil:
		return *va.Spec.Source.PersistentVolumeName
	}
	return va.Name
}

// nodeID returns the name of the node at the driver, from the CSINode. For detaching, the VolumeAttachment has a copy.
func (a *attacher) nodeID(va *storagev1.VolumeAttachment, detaching bool) (string, error) {
	if a.opts.Plain {
		return "", nil
	}
	node, ok := a.infNodes.Get(va.Spec.NodeName)
	if ok {
		for _, driver := range node.Spec.Drivers {
			if driver.Name == a.driver {
				return driver.NodeID, nil
			}
		}
	}
	// ATT-175, step 2: the copy serves if the CSINode, or the driver on it, is gone.
	if id, saved := va.Annotations[objects.AnnNodeID]; saved && detaching {
		return id, nil
	}
	if !ok {
		return "", fmt.Errorf("csinode.storage.k8s.io %q not found", va.Spec.NodeName)
	}
	return "", fmt.Errorf("CSINode %s does not contain driver %s", va.Spec.NodeName, a.driver)
}

// prepare adds the finalizer and the node id to the VolumeAttachment where they are missing (step 4 of ATT-172).
func (a *attacher) prepare(p *engine.Process, va *storagev1.VolumeAttachment, nodeID string) (*storagev1.VolumeAttachment, error) {
	addsFinalizer := !slices.Contains(va.Finalizers, a.opts.Finalizer)
	addsID := nodeID != "" && va.Annotations[objects.AnnNodeID] != nodeID
	if !addsFinalizer && !addsID {
		return va, nil
	}
	newer, err := p.API().Attachments.PatchWith(p, va.Name, func(newest *storagev1.VolumeAttachment) error {
		if addsFinalizer {
			// ATT-182: the patch replaces the list by the cached one with the finalizer.
			newest.Finalizers = append(slices.Clone(va.Finalizers), a.opts.Finalizer)
		}
		if addsID {
			newest.Annotations = a.withID(newest.Annotations, nodeID)
		}
		return nil
	}, api.Main)
	if err != nil {
		return va, err
	}
	return newer, nil
}

// withID returns the annotations with the id of a node. VolumeAttachments of one node without others share them.
func (a *attacher) withID(annotations map[string]string, nodeID string) map[string]string {
	if len(annotations) > 0 {
		return objects.MergeStrings(annotations, map[string]string{objects.AnnNodeID: nodeID})
	}
	shared := a.ids[nodeID]
	if shared == nil {
		shared = map[string]string{objects.AnnNodeID: nodeID}
		if a.ids == nil {
			a.ids = map[string]map[string]string{}
		}
		a.ids[nodeID] = shared
	}
	return shared
}

// markAttached sets status.attached (step 6 of ATT-172).
func (a *attacher) markAttached(p *engine.Process, va *storagev1.VolumeAttachment, metadata map[string]string) error {
	_, err := p.API().Attachments.PatchWith(p, va.Name, func(newest *storagev1.VolumeAttachment) error {
		newest.Status.Attached = true
		if len(metadata) > 0 {
			newest.Status.AttachmentMetadata = objects.MergeStrings(newest.Status.AttachmentMetadata, metadata)
		}
		// ATT-182: an error that the cache does not have yet stays; readers ignore it (ATT-141).
		if va.Status.AttachError != nil {
			newest.Status.AttachError = nil
		}
		return nil
	}, api.Status)
	return err
}

// saveAttachError writes an error into the status of a VolumeAttachment.
func (a *attacher) saveAttachError(p *engine.Process, va *storagev1.VolumeAttachment, failure error) {
	var code *int32
	// ATT-172, ATT-175, ATT-192: only an attach error has the driver's code.
	if isStatus(failure) {
		code = new(int32(backends.CodeNumber(storage.CodeOf(failure))))
	}
	at := p.Now()
	a.saveError(p, va, func(status *storagev1.VolumeAttachmentStatus) {
		status.AttachError = withError(status.AttachError, at, failure)
		if code != nil {
			status.AttachError.ErrorCode = code
		}
	})
}

// saveDetachError writes an error into the status of a VolumeAttachment.
func (a *attacher) saveDetachError(p *engine.Process, va *storagev1.VolumeAttachment, failure error) {
	at := p.Now()
	a.saveError(p, va, func(status *storagev1.VolumeAttachmentStatus) {
		status.DetachError = withError(status.DetachError, at, failure)
	})
}

// withError returns the stored error with another time and message. A code that the patch does not name stays, as in any merge patch.
func withError(stored *storagev1.VolumeError, at time.Time, failure error) *storagev1.VolumeError {
	var e storagev1.VolumeError
	if stored != nil {
		e = *stored
	}
	// ATT-161: the API server rejects a message that is too long.
	e.Time, e.Message = metav1.NewTime(at), failure.Error()
	return &e
}

// saveError patches the status of a VolumeAttachment. A failure of the write is ignored (ATT-172).
func (a *attacher) saveError(p *engine.Process, va *storagev1.VolumeAttachment, set func(*storagev1.VolumeAttachmentStatus)) {
	_, err := p.API().Attachments.PatchWith(p, va.Name, func(newest *storagev1.VolumeAttachment) error {
		set(&newest.Status)
		return nil
	}, api.Status)
	if err != nil {
		p.Decide("ATT-172", va, "the error could not be saved: %v", err)
	}
}

// isStatus reports whether the driver returned the error with a code.
func isStatus(err error) bool {
	_, _, ok := backends.Status(err)
	return ok
}
