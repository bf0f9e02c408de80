package strategy

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// VolumeAttachment is the strategy for VolumeAttachments.
var VolumeAttachment = Of[*volumeAttachment]{
	Shallow: func(attachment *volumeAttachment) *volumeAttachment {
		c := *attachment
		return &c
	},
	Defaults: defaultAttachment,
	PrepareCreate: func(attachment *volumeAttachment, _ metav1.Time) {
		// API-107: a new attachment has an empty status.
		attachment.Status = storagev1.VolumeAttachmentStatus{}
	},
	PrepareUpdate: func(attachment, old *volumeAttachment) {
		// API-232: an update of the main resource keeps the status, and the spec is immutable, so only metadata can change.
		attachment.Status = old.Status
	},
	PrepareStatus:  prepareAttachmentStatus,
	ValidateCreate: validateAttachment,
	ValidateUpdate: validateAttachmentUpdate,
	ValidateStatus: validateAttachmentUpdate,
	Equal: func(a, b *volumeAttachment) bool {
		return sameAttachmentSpec(&a.Spec, &b.Spec) && sameAttachmentStatus(&a.Status, &b.Status)
	},
}

// defaultAttachment sets the defaults of the source of an inline volume (API-099). Its other fields have none.
func defaultAttachment(attachment *volumeAttachment) {
	if inline := attachment.Spec.Source.InlineVolumeSpec; inline != nil {
		source, capacity := inline.PersistentVolumeSource, roundToMilli(inline.Capacity)
		defaultSource(&source)
		if source != inline.PersistentVolumeSource || !SameMap(capacity, inline.Capacity) {
			c := *inline
			c.PersistentVolumeSource, c.Capacity = source, capacity
			attachment.Spec.Source.InlineVolumeSpec = &c
		}
	}
	attachment.Status.AttachError = wholeErrorTime(attachment.Status.AttachError)
	attachment.Status.DetachError = wholeErrorTime(attachment.Status.DetachError)
}

// wholeErrorTime returns the error with a time in whole seconds (API-006).
func wholeErrorTime(e *storagev1.VolumeError) *storagev1.VolumeError {
	if e == nil || e.Time.Nanosecond() == 0 {
		return e
	}
	c := *e
	c.Time = *WholeSecond(&e.Time)
	return &c
}

func prepareAttachmentStatus(attachment, old *volumeAttachment, _ metav1.Time) {
	// API-243: unlike for other kinds, an update of the status keeps metadata, too.
	attachment.Spec = old.Spec
	metav1.ResetObjectMetaForStatus(&attachment.ObjectMeta, &old.ObjectMeta)
}

const (
	maxAttachmentMetadata = 256 << 10
	maxVolumeErrorMessage = 1024
)

func validateAttachment(attachment *volumeAttachment) field.ErrorList {
	spec := &attachment.Spec
	// API-170: the attacher is the name of a CSI driver.
	errs := validateDriverName(spec.Attacher, specRoot, "attacher")
	errs = append(errs, validateAttachmentSource(&spec.Source, attachmentSourcePath)...)
	// API-173: the node is required, but need not exist.
	errs = append(errs, Subdomain(spec.NodeName, specRoot, "nodeName")...)
	return append(errs, validateAttachmentStatus(&attachment.Status)...)
}

var attachmentSourcePath = specRoot.Child("source")

// validateAttachmentSource validates the source: a PersistentVolume or an inline volume (API-171).
func validateAttachmentSource(source *storagev1.VolumeAttachmentSource, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	name, inline := source.PersistentVolumeName, source.InlineVolumeSpec
	switch {
	case name == nil && inline == nil:
		errs = append(errs, field.Required(path, "must specify exactly one of inlineVolumeSpec and persistentVolumeName"))
	case name != nil && inline != nil:
		errs = append(errs, field.Forbidden(path, "must specify exactly one of inlineVolumeSpec and persistentVolumeName"))
	case inline != nil:
		errs = append(errs, validateInlineSpec(inline, path.Child("inlineVolumeSpec"))...)
	case *name == "":
		errs = append(errs, field.Required(path.Child("persistentVolumeName"), "must specify non empty persistentVolumeName"))
	}
	// API-171: an empty name is both missing and malformed.
	if name != nil {
		errs = append(errs, Subdomain(*name, path, "persistentVolumeName")...)
	}
	return errs
}

// validateInlineSpec validates an inline volume (API-172): a CSI source, without the fields that binding and provisioning use. Its
// attributes class is not validated.
func validateInlineSpec(spec *corev1.PersistentVolumeSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	forbid := func(given bool, child, detail string) {
		if given {
			errs = append(errs, field.Forbidden(path.Child(child), detail))
		}
	}
	const never = "may not be specified in the context of inline volumes"
	// API-172: these fields are for PersistentVolume objects only.
	forbid(spec.ClaimRef != nil, "claimRef", never)
	forbid(len(spec.Capacity) != 0, "capacity", never)
	forbid(spec.NodeAffinity != nil, "nodeAffinity", never)
	forbid(spec.StorageClassName != "", "storageClassName", never)
	// API-172: these fields have one value, or none.
	forbid(spec.PersistentVolumeReclaimPolicy != "" && spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRetain,
		"persistentVolumeReclaimPolicy", "may only be Retain in the context of inline volumes")
	forbid(spec.VolumeMode != nil && *spec.VolumeMode != corev1.PersistentVolumeFilesystem,
		"volumeMode", "may not specify volumeMode other than Filesystem in the context of inline volumes")
	if spec.CSI == nil {
		errs = append(errs, field.Required(path.Child("csi"), "has to be specified in the context of inline volumes"))
	}
	errs = append(errs, validateAccessModes(spec.AccessModes, path, "")...)
	return append(errs, validateVolumeSource(spec, "", false, path)...)
}

// validateAttachmentStatus validates a status (API-174).
func validateAttachmentStatus(status *storagev1.VolumeAttachmentStatus) field.ErrorList {
	var errs field.ErrorList
	size := 0
	for key, value := range status.AttachmentMetadata {
		size += len(key) + len(value)
	}
	if size > maxAttachmentMetadata {
		errs = append(errs, field.TooLong(statusPath.Child("attachmentMetadata"), "", maxAttachmentMetadata))
	}
	errs = append(errs, validateVolumeError(status.AttachError, "attachError")...)
	return append(errs, validateVolumeError(status.DetachError, "detachError")...)
}

func validateVolumeError(e *storagev1.VolumeError, child string) field.ErrorList {
	var errs field.ErrorList
	if e == nil {
		return nil
	}
	// API-174: the length of an error message is limited.
	if len(e.Message) > maxVolumeErrorMessage {
		errs = append(errs, field.TooLong(statusPath.Child(child, "message"), "", maxVolumeErrorMessage))
	}
	if e.ErrorCode != nil && *e.ErrorCode < 0 {
		errs = append(errs, field.Invalid(statusPath.Child(child, "errorCode"), *e.ErrorCode, validation.InclusiveRangeError(0, math.MaxInt32)))
	}
	return errs
}

func validateAttachmentUpdate(attachment, old *volumeAttachment) field.ErrorList {
	errs := append(ValidateGenerateName(&attachment.ObjectMeta), validateAttachment(attachment)...)
	// API-232: the spec is immutable.
	if spec, was := &attachment.Spec, &old.Spec; !sameAttachmentSpec(spec, was) && !SemanticEqual(spec, was) {
		errs = append(errs, field.Invalid(specRoot, internalForm{*spec}, Immutable))
	}
	return errs
}

func sameAttachmentSpec(a, b *storagev1.VolumeAttachmentSpec) bool {
	return a.Attacher == b.Attacher && a.NodeName == b.NodeName &&
		EqualPointers(a.Source.PersistentVolumeName, b.Source.PersistentVolumeName) &&
		(a.Source.InlineVolumeSpec == b.Source.InlineVolumeSpec || storedEqual(a.Source.InlineVolumeSpec, b.Source.InlineVolumeSpec))
}

func sameAttachmentStatus(a, b *storagev1.VolumeAttachmentStatus) bool {
	return a.Attached == b.Attached && equalMaps(a.AttachmentMetadata, b.AttachmentMetadata) &&
		sameVolumeError(a.AttachError, b.AttachError) && sameVolumeError(a.DetachError, b.DetachError)
}

func sameVolumeError(a, b *storagev1.VolumeError) bool {
	if a == b {
		return true
	}
	return a != nil && b != nil && a.Message == b.Message && sameSecond(&a.Time, &b.Time) && EqualPointers(a.ErrorCode, b.ErrorCode)
}
