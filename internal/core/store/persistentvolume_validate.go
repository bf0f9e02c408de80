package store

import (
	"path"

	corev1 "k8s.io/api/core/v1"
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

// maxISCSIName bounds the name of a volume and its portal together, where they make up the name of an interface (API-137).
const maxISCSIName = 64

func validateVolume(volume *corePV) field.ErrorList { return validateVolumeKeeping(volume, false) }

// validateVolumeKeeping validates a volume on its own; with anyValue, values in its affinity need not be label values.
// API-132: claimRef and mountOptions may be anything.
func validateVolumeKeeping(volume *corePV, anyValue bool) field.ErrorList {
	spec := &volume.Spec
	errs := validateAccessModes(spec.AccessModes, specRoot)
	errs = append(errs, validateCapacity(spec.Capacity)...)
	// API-122: an empty policy has been defaulted.
	if spec.PersistentVolumeReclaimPolicy != "" {
		errs = append(errs, oneOf(spec.PersistentVolumeReclaimPolicy, specRoot, "persistentVolumeReclaimPolicy", reclaimPolicies)...)
	}
	errs = append(errs, validateVolumeAffinity(spec.NodeAffinity, anyValue, affinityPath)...)
	errs = append(errs, validateVolumeSource(spec, volume.Name, spec.NodeAffinity != nil, specRoot)...)
	// API-128: whether the class exists does not matter.
	if spec.StorageClassName != "" {
		errs = append(errs, subdomain(spec.StorageClassName, specRoot, "storageClassName")...)
	}
	// API-129: there are two modes.
	if spec.VolumeMode != nil {
		errs = append(errs, oneOf(*spec.VolumeMode, specRoot, "volumeMode", volumeModes)...)
	}
	if name := spec.VolumeAttributesClassName; name != nil {
		// API-130: only CSI volumes have attributes to modify.
		if *name == "" {
			errs = append(errs, field.Required(specRoot.Child("volumeAttributesClassName"), "an empty string is disallowed"))
		} else {
			errs = append(errs, subdomain(*name, specRoot, "volumeAttributesClassName")...)
		}
		if spec.CSI == nil {
			errs = append(errs, field.Required(specRoot.Child("csi"), "has to be specified when using volumeAttributesClassName"))
		}
	}
	// API-133: the annotation is refused where nobody would heed it.
	if _, ok := volume.Annotations[corev1.MountOptionAnnotation]; ok && !takesMountOptions(&spec.PersistentVolumeSource) {
		errs = append(errs, field.Forbidden(metaPath("annotations").Child(corev1.MountOptionAnnotation),
			"may not specify mount options for this volume type"))
	}
	return errs
}

// validateAccessModes is the same for volumes (API-120) and claims (API-150). at is the path of the spec.
func validateAccessModes(modes []corev1.PersistentVolumeAccessMode, at *field.Path) field.ErrorList {
	if len(modes) == 0 {
		return field.ErrorList{field.Required(at.Child("accessModes"), "at least 1 access mode is required")}
	}
	var errs field.ErrorList
	onePod, others := false, false
	for _, mode := range modes {
		unknown := oneOf(mode, at, "accessModes", accessModes)
		errs = append(errs, unknown...)
		onePod = onePod || mode == corev1.ReadWriteOncePod
		others = others || mode != corev1.ReadWriteOncePod && len(unknown) == 0
	}
	// API-120, API-150: one pod alone, or any number of them.
	if onePod && others {
		errs = append(errs, field.Forbidden(at.Child("accessModes"), "may not use ReadWriteOncePod with other access modes"))
	}
	return errs
}

// validateCapacity is API-121: storage, more than none, and nothing else.
func validateCapacity(capacity corev1.ResourceList) field.ErrorList {
	var errs field.ErrorList
	if len(capacity) == 0 {
		errs = append(errs, field.Required(capacityPath, ""))
	}
	if _, ok := capacity[corev1.ResourceStorage]; !ok || len(capacity) > 1 {
		errs = append(errs, field.NotSupported(capacityPath, capacity, []corev1.ResourceName{corev1.ResourceStorage}))
	}
	// API-121: a negative capacity is wrong twice.
	return append(errs, eachQuantity(capacity, capacityPath, notNegative, positive)...)
}

// validateVolumeSource checks the source of a volume and what other fields have to do with it. name is that of the volume, affine
// says whether it has a node affinity, at is the path of the spec.
func validateVolumeSource(spec *corev1.PersistentVolumeSpec, name string, affine bool, at *field.Path) field.ErrorList {
	first, errs := validateSources(&spec.PersistentVolumeSource, at)
	switch first {
	case "local":
		// API-127: a local volume is somewhere.
		if !affine {
			errs = append(errs, field.Required(at.Child("nodeAffinity"), "Local volume requires node affinity"))
		}
	case "iscsi":
		// API-137: volume and portal name the interface of an initiator.
		if s := spec.ISCSI; s.InitiatorName != nil && len(name)+len(":")+len(s.TargetPortal) > maxISCSIName {
			errs = append(errs, field.Invalid(at.Child("iscsi", "targetportal"), s.TargetPortal,
				"Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified."))
		}
	}
	// API-122: recycling would empty the node's disk.
	if spec.HostPath != nil && spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle && path.Clean(spec.HostPath.Path) == "/" {
		errs = append(errs, field.Forbidden(at.Child("persistentVolumeReclaimPolicy"), "may not be 'recycle' for a hostPath mount of '/'"))
	}
	return errs
}

// validateVolumeUpdate repeats the validation of a new volume in full: parts shared with old are not taken on trust, since old
// may have been stored unvalidated. What is not named below may change (API-215).
func validateVolumeUpdate(volume, old *corePV) field.ErrorList {
	errs := validateVolume(volume)
	if len(errs) > 0 && hasBadValue(old.Spec.NodeAffinity) {
		// API-125: values that have been stored do not block other updates.
		errs = validateVolumeKeeping(volume, true)
	}
	errs = append(errs, validateGenerateName(&volume.ObjectMeta)...)
	spec, was := &volume.Spec, &old.Spec
	// API-211, BIND-014: what the volume is stays.
	if !sourceKept(&spec.PersistentVolumeSource, &was.PersistentVolumeSource) {
		errs = append(errs, field.Forbidden(specRoot.Child("persistentvolumesource"), "spec.persistentvolumesource is immutable after creation"))
	}
	// API-212: an update without a mode asks for Filesystem (API-101).
	if !equalPointers(spec.VolumeMode, was.VolumeMode) {
		errs = append(errs, field.Invalid(field.NewPath("volumeMode"), spec.VolumeMode, immutable))
	}
	// API-213: an affinity may be added once.
	if was.NodeAffinity != nil && !affinityKept(spec.NodeAffinity, was.NodeAffinity) {
		errs = append(errs, field.Invalid(field.NewPath("nodeAffinity"), spec.NodeAffinity, immutable+", except for updating from beta label to GA"))
	}
	// API-214: attributes can be changed but not given up.
	if was.VolumeAttributesClassName != nil && spec.VolumeAttributesClassName == nil {
		errs = append(errs, field.Forbidden(specRoot.Child("volumeAttributesClassName"), "update from non-nil value to nil is forbidden"))
	}
	return errs
}

// sourceKept reports whether the source is what it was; a CSI volume may get the secret of its expansion once (API-211).
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
