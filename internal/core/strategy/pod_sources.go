package strategy

import (
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateEmptyDir validates an emptyDir (API-202).
func validateEmptyDir(s *corev1.EmptyDirVolumeSource, path *field.Path) field.ErrorList {
	// API-202: a negative size is forbidden rather than invalid.
	if limit := s.SizeLimit; limit != nil && isNegative(*limit) {
		return field.ErrorList{field.Forbidden(path.Child("sizeLimit"), "SizeLimit field must be a valid resource quantity")}
	}
	return nil
}

// validateInlineCSI validates an inline CSI volume (API-201).
func validateInlineCSI(s *corev1.CSIVolumeSource, path *field.Path) field.ErrorList {
	errs := validateDriverName(s.Driver, path, "driver")
	if s.NodePublishSecretRef == nil {
		return errs
	}
	// API-201: a reference to a secret needs a name; a malformed one is reported with the path of the source.
	if s.NodePublishSecretRef.Name == "" {
		return append(errs, field.Required(path.Child("nodePublishSecretRef", "name"), ""))
	}
	return append(errs, Subdomain(s.NodePublishSecretRef.Name, path, "name")...)
}

// validateEphemeral validates a generic ephemeral volume (API-199).
func validateEphemeral(s *corev1.EphemeralVolumeSource, path *field.Path) field.ErrorList {
	path = path.Child("volumeClaimTemplate")
	template := s.VolumeClaimTemplate
	// API-199: the template is required.
	if template == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	errs := TemplateMetadata(&template.ObjectMeta, path.Child("metadata"))
	return append(errs, validateClaimSpec(&template.Spec, path.Child("spec"))...)
}

// TemplateMetadata validates the metadata of a template, which may contain labels and annotations only (API-199).
func TemplateMetadata(meta *metav1.ObjectMeta, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if !AnnotationsValid(meta.Annotations) {
		errs = append(errs, ValidateAnnotations(meta.Annotations, path.Child("annotations"))...)
	}
	if !LabelsValid(meta.Labels) {
		errs = append(errs, ValidateLabels(meta.Labels, path.Child("labels"))...)
	}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"name", meta.Name != ""},
		{"generateName", meta.GenerateName != ""},
		{"namespace", meta.Namespace != ""},
		{"selfLink", meta.SelfLink != ""},
		{"uID", meta.UID != ""},
		{"resourceVersion", meta.ResourceVersion != ""},
		{"generation", meta.Generation != 0},
		{"creationTimestamp", meta.CreationTimestamp != metav1.Time{}},
		{"deletionTimestamp", meta.DeletionTimestamp != nil},
		{"deletionGracePeriodSeconds", meta.DeletionGracePeriodSeconds != nil},
		{"ownerReferences", meta.OwnerReferences != nil},
		{"finalizers", meta.Finalizers != nil},
		{"managedFields", meta.ManagedFields != nil},
	} {
		// API-199: the server sets all other metadata of the claim.
		if f.set {
			errs = append(errs, field.Forbidden(path.Child(f.name), "cannot be set"))
		}
	}
	return errs
}

func validatePodISCSI(s *corev1.ISCSIVolumeSource, path *field.Path) field.ErrorList {
	errs := Required(path, "targetPortal", s.TargetPortal)
	if s.IQN == "" {
		errs = append(errs, field.Required(path.Child("iqn"), ""))
	} else {
		errs = append(errs, validateISCSIName(s.IQN, path, "iqn")...)
	}
	errs = append(errs, within255(s.Lun, path, "lun")...)
	if (s.DiscoveryCHAPAuth || s.SessionCHAPAuth) && s.SecretRef == nil {
		errs = append(errs, field.Required(path.Child("secretRef"), ""))
	}
	if s.InitiatorName != nil {
		errs = append(errs, validateISCSIName(*s.InitiatorName, path, "initiatorname")...)
	}
	return errs
}

func validateLocalRef(ref *corev1.LocalObjectReference, path *field.Path) field.ErrorList {
	if ref == nil {
		return nil
	}
	return Required(path.Child("secretRef"), "name", ref.Name)
}

// validateClaimSource validates a reference to a claim (API-198).
func validateClaimSource(s *corev1.PersistentVolumeClaimVolumeSource, path *field.Path) field.ErrorList {
	// API-198: the name is required; the claim need not exist.
	return Required(path, "claimName", s.ClaimName)
}

func validateImage(s *corev1.ImageVolumeSource, path *field.Path) field.ErrorList {
	return append(Required(path, "reference", s.Reference), validatePullPolicy(s.PullPolicy, path, "pullPolicy")...)
}

func validateGitRepo(s *corev1.GitRepoVolumeSource, path *field.Path) field.ErrorList {
	return append(Required(path, "repository", s.Repository), validateRelativePath(s.Directory, path, "directory")...)
}

func validatePodGlusterfs(s *corev1.GlusterfsVolumeSource, path *field.Path) field.ErrorList {
	return Required(path, "endpoints", s.EndpointsName, "path", s.Path)
}

func validatePodRBD(s *corev1.RBDVolumeSource, path *field.Path) field.ErrorList {
	return append(requiredList(path, "monitors", s.CephMonitors), Required(path, "image", s.RBDImage)...)
}

func validatePodCephFS(s *corev1.CephFSVolumeSource, path *field.Path) field.ErrorList {
	return requiredList(path, "monitors", s.Monitors)
}

func validatePodCinder(s *corev1.CinderVolumeSource, path *field.Path) field.ErrorList {
	return append(Required(path, "volumeID", s.VolumeID), validateLocalRef(s.SecretRef, path)...)
}

func validatePodFlexVolume(s *corev1.FlexVolumeSource, path *field.Path) field.ErrorList {
	return validateFlexVolume(s.Driver, s.Options, path)
}

func validatePodAzureFile(s *corev1.AzureFileVolumeSource, path *field.Path) field.ErrorList {
	return Required(path, "secretName", s.SecretName, "shareName", s.ShareName)
}

func validatePodStorageOS(s *corev1.StorageOSVolumeSource, path *field.Path) field.ErrorList {
	errs := validateStorageOS(s.VolumeName, s.VolumeNamespace, path)
	return append(errs, validateLocalRef(s.SecretRef, path)...)
}

func validatePodScaleIO(s *corev1.ScaleIOVolumeSource, path *field.Path) field.ErrorList {
	return Required(path, "gateway", s.Gateway, "system", s.System, "volumeName", s.VolumeName)
}

// validateRelativePath requires a relative path without "..".
func validateRelativePath(file string, at *field.Path, child string) field.ErrorList {
	var errs field.ErrorList
	if path.IsAbs(file) {
		errs = append(errs, field.Invalid(at.Child(child), file, "must be a relative path"))
	}
	if climbs(file) {
		errs = append(errs, field.Invalid(at.Child(child), file, "must not contain '..'"))
	}
	return errs
}

// climbs reports whether a component of the path is "..".
func climbs(file string) bool {
	for part := range strings.SplitSeq(file, "/") {
		if part == ".." {
			return true
		}
	}
	return false
}

func requiredList(path *field.Path, child string, values []string) field.ErrorList {
	if len(values) == 0 {
		return field.ErrorList{field.Required(path.Child(child), "")}
	}
	return nil
}
