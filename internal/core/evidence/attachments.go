package evidence

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/storage"
)

// readAttachments reads attach and detach errors, and attachments that get no answer.
func (r *reader) readAttachments() {
	answered := map[string]time.Time{} // when the newest attachment of an attacher was made that is attached
	for _, va := range r.attachments {
		if va.Status.Attached && va.CreationTimestamp.After(answered[va.Spec.Attacher]) {
			answered[va.Spec.Attacher] = va.CreationTimestamp.Time
		}
	}
	for _, va := range r.attachments {
		pv := r.attachedVolume(va)
		if pv == nil || pv.Spec.CSI == nil {
			continue
		}
		op, failed, verb, begun := storage.Attach, va.Status.AttachError, "attach", va.CreationTimestamp.Time
		switch {
		case va.DeletionTimestamp != nil:
			op, failed, verb, begun = storage.Detach, va.Status.DetachError, "detach", va.DeletionTimestamp.Time
			if len(va.Finalizers) == 0 {
				continue
			}
		case va.Status.Attached:
			continue
		}
		a := Assumption{Subject: "driver/" + va.Spec.Attacher, Object: "pv/" + pv.Name, Operation: op, Node: va.Spec.NodeName,
			Since: begun, key: pv.Spec.CSI.VolumeHandle}
		if failed != nil {
			r.attachFailed(a, verb, failed, va)
			continue
		}
		csiNode := r.csiNodes[va.Spec.NodeName]
		if begun.IsZero() || r.now.Sub(begun) <= Patience || csiNode == nil || !listed(csiNode, va.Spec.Attacher) {
			continue
		}
		what := fmt.Sprintf("to %s volume %s at node %s", verb, pv.Name, va.Spec.NodeName)
		if answered[va.Spec.Attacher].After(begun) {
			a.Behaviour, a.Code, a.Message = Silent, storage.DeadlineExceeded, "context deadline exceeded"
			a.Evidence = fmt.Sprintf("driver %s has not answered the request %s since %s", va.Spec.Attacher, what, clock(begun, r.now))
			r.found = append(r.found, a)
			continue
		}
		a.Behaviour, a.actor, a.key, a.Node, a.Object = Absent, actors.Attacher(va.Spec.Attacher), "", "", ""
		a.Evidence = fmt.Sprintf("the attacher of driver %s has not answered the request %s since %s", va.Spec.Attacher, what, clock(begun, r.now))
		r.add(a)
	}
}

// attachFailed reads the error of an attachment. An error of the attacher itself is no evidence: the simulated one finds the same.
func (r *reader) attachFailed(a Assumption, verb string, failed *storagev1.VolumeError, va *storagev1.VolumeAttachment) {
	code, desc, ok := errorOf(failed.Message)
	if !ok || code == storage.FailedPrecondition && a.Operation == storage.Attach && r.attachedElsewhere(va) {
		return
	}
	a.Behaviour, a.Code, a.Message, a.Last = Refuses, code, desc, failed.Time.Time
	if a.Since.IsZero() {
		a.Since = failed.Time.Time
	}
	a.Evidence = fmt.Sprintf("driver %s has refused to %s %s at node %s, last at %s, with %s", va.Spec.Attacher, verb,
		strings.Replace(a.Object, "pv/", "volume ", 1), a.Node, clock(failed.Time.Time, r.now), code)
	r.found = append(r.found, a)
}

// attachedElsewhere reports whether the volume is attached to another node. Then the refusal ends with the detach.
func (r *reader) attachedElsewhere(va *storagev1.VolumeAttachment) bool {
	return slices.ContainsFunc(r.attachments, func(other *storagev1.VolumeAttachment) bool {
		return other.Name != va.Name && other.Status.Attached && other.Spec.Source.PersistentVolumeName != nil &&
			*other.Spec.Source.PersistentVolumeName == *va.Spec.Source.PersistentVolumeName
	})
}

func (r *reader) attachedVolume(va *storagev1.VolumeAttachment) *corev1.PersistentVolume {
	if va.Spec.Source.PersistentVolumeName == nil {
		return nil
	}
	return r.volumes[*va.Spec.Source.PersistentVolumeName]
}

func listed(csiNode *storagev1.CSINode, driver string) bool {
	return slices.ContainsFunc(csiNode.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == driver })
}
