package strategy

import (
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Values in ascending order, as errors list them.
var (
	accessModes = []corev1.PersistentVolumeAccessMode{
		corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOnce, corev1.ReadWriteOncePod}
	reclaimPolicies = []corev1.PersistentVolumeReclaimPolicy{
		corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRecycle, corev1.PersistentVolumeReclaimRetain}
	volumeModes = []corev1.PersistentVolumeMode{corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem}
)

var (
	specRoot     = field.NewPath("spec")
	capacityPath = specRoot.Child("capacity")
	affinityPath = specRoot.Child("nodeAffinity")
)

// maxISCSIName is the maximum length of the name of a volume and its portal together, which form the name of an interface (API-137).
const maxISCSIName = 64

func validateVolume(volume *corePV) field.ErrorList {
	return append(validateVolumeKeeping(volume, false), validateMountOptions(volume)...)
}

// validateMountOptions validates the annotation for mount options.
func validateMountOptions(volume *corePV) field.ErrorList {
	// API-133: the annotation is forbidden for sources that ignore it.
	if _, ok := volume.Annotations[corev1.MountOptionAnnotation]; ok && !takesMountOptions(&volume.Spec.PersistentVolumeSource) {
		return field.ErrorList{field.Forbidden(MetaPath("annotations").Child(corev1.MountOptionAnnotation),
			"may not specify mount options for this volume type")}
	}
	return nil
}

// validateVolumeKeeping validates a volume without regard to its stored version. With anyValue, values in its affinity need not be label
// values. claimRef and mountOptions may be anything (API-132).
func validateVolumeKeeping(volume *corePV, anyValue bool) field.ErrorList {
	spec := &volume.Spec
	errs := validateAccessModes(spec.AccessModes, specRoot, "")
	errs = append(errs, validateCapacity(spec.Capacity)...)
	// API-122: the policy must be known; defaults have set an empty one.
	if spec.PersistentVolumeReclaimPolicy != "" {
		errs = append(errs, OneOf(spec.PersistentVolumeReclaimPolicy, specRoot, "persistentVolumeReclaimPolicy", reclaimPolicies)...)
	}
	errs = append(errs, validateVolumeAffinity(spec.NodeAffinity, anyValue, affinityPath)...)
	errs = append(errs, validateVolumeSource(spec, volume.Name, spec.NodeAffinity != nil, specRoot)...)
	// API-128: the name of the class must be valid; the class need not exist.
	if spec.StorageClassName != "" {
		errs = append(errs, Subdomain(spec.StorageClassName, specRoot, "storageClassName")...)
	}
	// API-129: the mode is Block or Filesystem.
	if spec.VolumeMode != nil {
		errs = append(errs, OneOf(*spec.VolumeMode, specRoot, "volumeMode", volumeModes)...)
	}
	if name := spec.VolumeAttributesClassName; name != nil {
		// API-130: only CSI volumes have an attributes class.
		if *name == "" {
			errs = append(errs, field.Required(specRoot.Child("volumeAttributesClassName"), "an empty string is disallowed"))
		} else {
			errs = append(errs, Subdomain(*name, specRoot, "volumeAttributesClassName")...)
		}
		if spec.CSI == nil {
			errs = append(errs, field.Required(specRoot.Child("csi"), "has to be specified when using volumeAttributesClassName"))
		}
	}
	return errs
}

// validateAccessModes validates the access modes of volumes (API-120) and claims (API-150). at is the path of the spec, none the detail of the error
// if there is no mode.
func validateAccessModes(modes []corev1.PersistentVolumeAccessMode, at *field.Path, none string) field.ErrorList {
	if len(modes) == 0 {
		return field.ErrorList{field.Required(at.Child("accessModes"), none)}
	}
	var errs field.ErrorList
	onePod, others := false, false
	for _, mode := range modes {
		unknown := OneOf(mode, at, "accessModes", accessModes)
		errs = append(errs, unknown...)
		onePod = onePod || mode == corev1.ReadWriteOncePod
		others = others || mode != corev1.ReadWriteOncePod && len(unknown) == 0
	}
	// API-120, API-150: ReadWriteOncePod excludes other modes.
	if onePod && others {
		errs = append(errs, field.Forbidden(at.Child("accessModes"), "may not use ReadWriteOncePod with other access modes"))
	}
	return errs
}

// validateCapacity validates the capacity of a volume: storage, above zero, and no other resource (API-121).
func validateCapacity(capacity corev1.ResourceList) field.ErrorList {
	var errs field.ErrorList
	if len(capacity) == 0 {
		errs = append(errs, field.Required(capacityPath, ""))
	}
	if _, ok := capacity[corev1.ResourceStorage]; !ok || len(capacity) > 1 {
		errs = append(errs, field.NotSupported(capacityPath, capacity, []corev1.ResourceName{corev1.ResourceStorage}))
	}
	// API-121: a negative capacity causes two errors.
	return append(errs, eachQuantity(capacity, capacityPath, notNegative, positive)...)
}

// validateVolumeSource validates the source of a volume and the fields that depend on it. name is the name of the volume, affine reports
// whether it has a node affinity, at is the path of the spec.
func validateVolumeSource(spec *corev1.PersistentVolumeSpec, name string, affine bool, at *field.Path) field.ErrorList {
	first, errs := validateSources(&spec.PersistentVolumeSource, at)
	switch first {
	case "local":
		// API-127: a local volume needs a node affinity.
		if !affine {
			errs = append(errs, field.Required(at.Child("nodeAffinity"), "Local volume requires node affinity"))
		}
	case "iscsi":
		// API-137: the names of volume and portal form the name of an interface.
		if s := spec.ISCSI; s.InitiatorName != nil && len(name)+len(":")+len(s.TargetPortal) > maxISCSIName {
			errs = append(errs, field.Invalid(at.Child("iscsi", "targetportal"), s.TargetPortal,
				"Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified."))
		}
	}
	// API-122: recycling would delete everything on the disk of the node.
	if spec.HostPath != nil && spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle &&
		path.Clean(spec.HostPath.Path) == "/" {
		errs = append(errs, field.Forbidden(at.Child("persistentVolumeReclaimPolicy"), "may not be 'recycle' for a hostPath mount of '/'"))
	}
	return errs
}

// volumeSpecShared is Of.SpecShared. A claimRef and mount options may be anything (API-132). The annotation that is validated with
// the spec (API-133) must be absent.
func volumeSpecShared(volume, old *corePV) bool {
	if _, ok := volume.Annotations[corev1.MountOptionAnnotation]; ok || volume.GenerateName != "" {
		return false
	}
	a, b := &volume.Spec, &old.Spec
	return a.PersistentVolumeSource == b.PersistentVolumeSource && SameMap(a.Capacity, b.Capacity) &&
		SameSlice(a.AccessModes, b.AccessModes) &&
		a.PersistentVolumeReclaimPolicy == b.PersistentVolumeReclaimPolicy && a.StorageClassName == b.StorageClassName &&
		a.VolumeMode == b.VolumeMode && a.NodeAffinity == b.NodeAffinity && a.VolumeAttributesClassName == b.VolumeAttributesClassName
}

// validateVolumeUpdate repeats the validation of a new volume in full, because old may have been stored unvalidated. Fields that are not
// named below may change (API-215).
func validateVolumeUpdate(volume, old *corePV) field.ErrorList {
	own := validateVolumeKeeping(volume, false)
	if len(own) > 0 && hasBadValue(old.Spec.NodeAffinity) {
		// API-125: stored values do not block other updates.
		own = validateVolumeKeeping(volume, true)
	}
	// Upstream validates twice, so each of these errors is two causes. The message has it once.
	errs := slices.Concat(own, validateMountOptions(volume), own)
	errs = append(errs, ValidateGenerateName(&volume.ObjectMeta)...)
	spec, was := &volume.Spec, &old.Spec
	// API-211, BIND-014: the source is immutable.
	if !sourceKept(&spec.PersistentVolumeSource, &was.PersistentVolumeSource) {
		errs = append(errs, field.Forbidden(specRoot.Child("persistentvolumesource"),
			"spec.persistentvolumesource is immutable after creation\n"+diff.Diff(internalForm{was.PersistentVolumeSource}, internalForm{spec.PersistentVolumeSource})))
	}
	// API-212: the mode is immutable; an update without a mode requests Filesystem (API-101).
	if !EqualPointers(spec.VolumeMode, was.VolumeMode) {
		errs = append(errs, field.Invalid(field.NewPath("volumeMode"), spec.VolumeMode, Immutable))
	}
	// API-213: an affinity may be added, and is immutable then.
	if was.NodeAffinity != nil && !affinityKept(spec.NodeAffinity, was.NodeAffinity) {
		errs = append(errs, field.Invalid(field.NewPath("nodeAffinity"), internalForm{spec.NodeAffinity},
			Immutable+", except for updating from beta label to GA"))
	}
	// API-214: the attributes class can be changed, but not removed.
	if was.VolumeAttributesClassName != nil && spec.VolumeAttributesClassName == nil {
		errs = append(errs, field.Forbidden(specRoot.Child("volumeAttributesClassName"), "update from non-nil value to nil is forbidden"))
	}
	return errs
}

// sourceKept reports whether the source is unchanged, except that a CSI volume may get a secret for expansion once (API-211).
func sourceKept(source, old *volumeSource) bool {
	if *source == *old {
		return true
	}
	if source.CSI != nil && old.CSI != nil && old.CSI.ControllerExpandSecretRef == nil && source.CSI.ControllerExpandSecretRef != nil {
		before, csi := *source, *source.CSI
		csi.ControllerExpandSecretRef = nil
		before.CSI = &csi
		source = &before
	}
	return equalSources(source, old)
}
