package strategy

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/core/strategy/sample"
)

// inline is an attachment of a volume that is no object: a good one, and then changed.
func inline(change func(*corev1.PersistentVolumeSpec)) func(*volumeAttachment) {
	return func(a *volumeAttachment) {
		spec := corev1.PersistentVolumeSpec{
			AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeSource: sample.Volume().Spec.PersistentVolumeSource,
		}
		change(&spec)
		a.Spec.Source = storagev1.VolumeAttachmentSource{InlineVolumeSpec: &spec}
	}
}

const inlinePath = "spec.source.inlineVolumeSpec"

var attachmentRows = []row[*volumeAttachment]{
	{"API-170", "no attacher", func(a *volumeAttachment) { a.Spec.Attacher = "" }, "spec.attacher R"},
	{"API-170", "long attacher", func(a *volumeAttachment) { a.Spec.Attacher = strings.Repeat("a", 64) }, "spec.attacher L"},
	{"API-170", "bad attacher", func(a *volumeAttachment) { a.Spec.Attacher = "a/b" }, "spec.attacher I"},
	{"API-170", "an attacher in capitals is fine", func(a *volumeAttachment) { a.Spec.Attacher = "CSI" }, ""},
	{"API-171", "no source", func(a *volumeAttachment) { a.Spec.Source.PersistentVolumeName = nil }, "spec.source R"},
	{"API-171", "two sources, one malformed", func(a *volumeAttachment) {
		inline(func(*corev1.PersistentVolumeSpec) {})(a)
		a.Spec.Source.PersistentVolumeName = new("A")
	}, "spec.source F; spec.source.persistentVolumeName I"},
	{"API-171", "empty name", func(a *volumeAttachment) { a.Spec.Source.PersistentVolumeName = new("") },
		"spec.source.persistentVolumeName I; spec.source.persistentVolumeName R"},
	{"API-172", "good", inline(func(*corev1.PersistentVolumeSpec) {}), ""},
	{"API-172", "what belongs to an object", inline(func(s *corev1.PersistentVolumeSpec) {
		s.ClaimRef, s.Capacity, s.NodeAffinity, s.StorageClassName = &corev1.ObjectReference{}, sample.StorageList("-1"),
			&corev1.VolumeNodeAffinity{}, "Fast"
	}), inlinePath + ".capacity F; " + inlinePath + ".claimRef F; " + inlinePath + ".nodeAffinity F; " + inlinePath + ".storageClassName F"},
	{"API-172", "policy and mode", inline(func(s *corev1.PersistentVolumeSpec) {
		s.PersistentVolumeReclaimPolicy, s.VolumeMode = corev1.PersistentVolumeReclaimDelete, new(corev1.PersistentVolumeBlock)
	}), inlinePath + ".persistentVolumeReclaimPolicy F; " + inlinePath + ".volumeMode F"},
	{"API-172", "the policy and mode there are", inline(func(s *corev1.PersistentVolumeSpec) {
		s.PersistentVolumeReclaimPolicy, s.VolumeMode = corev1.PersistentVolumeReclaimRetain, new(corev1.PersistentVolumeFilesystem)
	}), ""},
	{"API-172", "not CSI", inline(func(s *corev1.PersistentVolumeSpec) {
		s.PersistentVolumeSource = volumeSource{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/"}}
	}), inlinePath + ".csi R"},
	{"API-172", "nothing", inline(func(s *corev1.PersistentVolumeSpec) { *s = corev1.PersistentVolumeSpec{} }),
		inlinePath + " R; " + inlinePath + ".accessModes R; " + inlinePath + ".csi R"},
	{"API-172", "local, which affinity cannot help", inline(func(s *corev1.PersistentVolumeSpec) {
		s.PersistentVolumeSource = volumeSource{Local: &corev1.LocalVolumeSource{Path: "/a"}}
	}), inlinePath + ".csi R; " + inlinePath + ".nodeAffinity R"},
	{"API-172", "the class of attributes is not looked at",
		inline(func(s *corev1.PersistentVolumeSpec) { s.VolumeAttributesClassName = new("") }), ""},
	{"API-173", "no node", func(a *volumeAttachment) { a.Spec.NodeName = "" }, "spec.nodeName I"},
	{"API-173", "bad node", func(a *volumeAttachment) { a.Spec.NodeName = "Node" }, "spec.nodeName I"},
	{"API-170", "good", func(*volumeAttachment) {}, ""},
}

func TestAttachmentCreate(t *testing.T) {
	checkCreates(t, VolumeAttachment, sample.Attachment, attachmentRows)

	// API-107: nothing is attached yet.
	attachment := sample.Attachment()
	attachment.Status.Attached = true
	VolumeAttachment.PrepareCreate(attachment, sample.StoredNoon)
	if !cmp.Equal(attachment.Status, storagev1.VolumeAttachmentStatus{}) {
		t.Errorf("API-107: status = %v, want none", attachment.Status)
	}
}

func TestAttachmentDefaults(t *testing.T) {
	attachment := sample.Attachment()
	inline(func(s *corev1.PersistentVolumeSpec) {
		s.PersistentVolumeSource = volumeSource{ISCSI: &corev1.ISCSIPersistentVolumeSource{}}
		s.Capacity = sample.StorageList("1u")
	})(attachment)
	attachment.Status.DetachError = &storagev1.VolumeError{Time: metav1.Time{Time: sample.Noon}}
	sent := attachment.DeepCopy()
	shared := VolumeAttachment.Shallow(attachment)
	defaultAttachment(shared)
	want := sent.DeepCopy()
	want.Spec.Source.InlineVolumeSpec.ISCSI.ISCSIInterface = "default"    // API-099, API-091: and no mode, no policy
	want.Spec.Source.InlineVolumeSpec.Capacity = sample.StorageList("1m") // API-082
	want.Status.DetachError.Time.Time = sample.Noon.Truncate(time.Second) // API-006
	if diff := cmp.Diff(want, shared); diff != "" {
		t.Errorf("API-099: defaults: -want +got\n%s", diff)
	}
	if diff := cmp.Diff(sent, attachment); diff != "" {
		t.Errorf("API-099: the request was written to:\n%s", diff)
	}
}

var attachmentChanges = []change[*volumeAttachment]{
	{rule: "API-232", name: "another node", after: func(a *volumeAttachment) { a.Spec.NodeName = "node-2" }, want: "spec I"},
	{rule: "API-232", name: "another volume", after: func(a *volumeAttachment) { a.Spec.Source.PersistentVolumeName = new("other") },
		want: "spec I"},
	{rule: "API-232", name: "the same in another notation",
		before: inline(func(s *corev1.PersistentVolumeSpec) { s.Capacity = sample.StorageList("1Gi") }),
		after:  func(a *volumeAttachment) { a.Spec.Source.InlineVolumeSpec.Capacity = sample.StorageList("1073741824") },
		want:   inlinePath + ".capacity F"},
	{rule: "API-232", name: "labels", after: func(a *volumeAttachment) { a.Labels = map[string]string{"a": "b"} }},
	{rule: "API-232", name: "the status of the request means nothing", after: func(a *volumeAttachment) {
		a.Status.AttachError = &storagev1.VolumeError{Message: strings.Repeat("x", 1025)}
	}},
	{rule: "API-174", name: "a status stored unvalidated is validated", before: func(a *volumeAttachment) {
		a.Status.AttachError = &storagev1.VolumeError{ErrorCode: new(int32(-1))}
	}, after: func(*volumeAttachment) {}, want: "status.attachError.errorCode I"},
}

var attachmentStatusChanges = []change[*volumeAttachment]{
	{rule: "API-174", name: "much metadata", after: func(a *volumeAttachment) {
		a.Status.AttachmentMetadata = map[string]string{"k": strings.Repeat("x", 256<<10)}
	}, want: "status.attachmentMetadata L"},
	{rule: "API-174", name: "long message", after: func(a *volumeAttachment) {
		a.Status.AttachError = &storagev1.VolumeError{Message: strings.Repeat("x", 1025)}
		a.Status.DetachError = &storagev1.VolumeError{Message: strings.Repeat("x", 1024)}
	}, want: "status.attachError.message L"},
	{rule: "API-174", name: "negative code", after: func(a *volumeAttachment) {
		a.Status.DetachError = &storagev1.VolumeError{ErrorCode: new(int32(-1))}
	}, want: "status.detachError.errorCode I"},
	{rule: "API-174", name: "code", after: func(a *volumeAttachment) {
		a.Status.AttachError = &storagev1.VolumeError{ErrorCode: new(int32(8))}
	}},
	{rule: "API-243", name: "the spec of the request means nothing", after: func(a *volumeAttachment) { a.Spec.NodeName = "" }},
}

func TestAttachmentUpdate(t *testing.T) {
	checkUpdates(t, VolumeAttachment, sample.Attachment, attachmentChanges, false)
	checkUpdates(t, VolumeAttachment, sample.Attachment, attachmentStatusChanges, true)

	// API-243: metadata cannot be written through the status.
	old, obj := sample.Attachment(), sample.Attachment()
	old.Finalizers = []string{"external-attacher/csi"}
	old.Labels = map[string]string{"a": "b"}
	obj.Annotations = map[string]string{"c": "d"}
	obj.Status.Attached = true
	VolumeAttachment.PrepareStatus(obj, old, sample.StoredNoon)
	want := old.DeepCopy()
	want.Status.Attached = true
	if diff := cmp.Diff(want, obj); diff != "" {
		t.Errorf("API-243: -want +got\n%s", diff)
	}
}
