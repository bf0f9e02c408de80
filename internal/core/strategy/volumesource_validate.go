package strategy

import (
	"net"
	"path"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/core/objects"
)

// Each function validates one kind of source, with the path of the source. Pods use them for sources that they have in the same form.

var hostPathTypes = []corev1.HostPathType{
	corev1.HostPathUnset, corev1.HostPathBlockDev, corev1.HostPathCharDev, corev1.HostPathDirectory, corev1.HostPathDirectoryOrCreate,
	corev1.HostPathFile, corev1.HostPathFileOrCreate, corev1.HostPathSocket,
}

// validateHostPath validates one kind of source (API-134).
func validateHostPath(s *corev1.HostPathVolumeSource, path *field.Path) field.ErrorList {
	errs := validatePath(s.Path, path)
	if s.Path != "" && s.Type != nil {
		errs = append(errs, OneOf(*s.Type, path, "type", hostPathTypes)...)
	}
	return errs
}

// validatePath requires a path without ".." (API-127, API-134).
func validatePath(dir string, at *field.Path) field.ErrorList {
	if dir == "" {
		return field.ErrorList{field.Required(at.Child("path"), "")}
	}
	if climbs(dir) {
		return field.ErrorList{field.Invalid(at.Child("path"), dir, "must not contain '..'")}
	}
	return nil
}

// validateNFS validates one kind of source (API-135): an empty path is both missing and not absolute.
func validateNFS(s *corev1.NFSVolumeSource, at *field.Path) field.ErrorList {
	errs := Required(at, "server", s.Server, "path", s.Path)
	if !path.IsAbs(s.Path) {
		errs = append(errs, field.Invalid(at.Child("path"), s.Path, "must be an absolute path"))
	}
	return errs
}

// validateDisk validates one kind of source (API-139): the name of the disk is required.
func validateDisk(idField, id string, partition int32, path *field.Path) field.ErrorList {
	errs := Required(path, idField, id)
	if partition < 0 || partition > 255 {
		errs = append(errs, field.Invalid(path.Child("partition"), partition, validation.InclusiveRangeError(1, 255))) // 0 is no partition
	}
	return errs
}

func validateGCEDisk(s *corev1.GCEPersistentDiskVolumeSource, path *field.Path) field.ErrorList {
	return validateDisk("pdName", s.PDName, s.Partition, path)
}

func validateEBSDisk(s *corev1.AWSElasticBlockStoreVolumeSource, path *field.Path) field.ErrorList {
	return validateDisk("volumeID", s.VolumeID, s.Partition, path)
}

// validateGlusterfs validates one kind of source (API-140).
func validateGlusterfs(s *corev1.GlusterfsPersistentVolumeSource, path *field.Path) field.ErrorList {
	errs := Required(path, "endpoints", s.EndpointsName, "path", s.Path)
	if s.EndpointsNamespace != nil {
		errs = append(errs, DNSLabel(*s.EndpointsNamespace, path, "endpointsNamespace")...)
	}
	return errs
}

// validateRBD validates one kind of source (API-140).
func validateRBD(s *corev1.RBDPersistentVolumeSource, path *field.Path) field.ErrorList {
	return append(requiredList(path, "monitors", s.CephMonitors), Required(path, "image", s.RBDImage)...)
}

// validateCephFS validates one kind of source (API-140).
func validateCephFS(s *corev1.CephFSPersistentVolumeSource, path *field.Path) field.ErrorList {
	return requiredList(path, "monitors", s.Monitors)
}

// validateCinder validates one kind of source (API-140).
func validateCinder(s *corev1.CinderPersistentVolumeSource, path *field.Path) field.ErrorList {
	errs := Required(path, "volumeID", s.VolumeID)
	if s.SecretRef != nil {
		errs = append(errs, Required(path.Child("secretRef"), "name", s.SecretRef.Name, "namespace", s.SecretRef.Namespace)...)
	}
	return errs
}

// validateAzureFile validates one kind of source (API-140).
func validateAzureFile(s *corev1.AzureFilePersistentVolumeSource, path *field.Path) field.ErrorList {
	errs := Required(path, "secretName", s.SecretName, "shareName", s.ShareName)
	if s.SecretNamespace != nil {
		errs = append(errs, Required(path, "secretNamespace", *s.SecretNamespace)...)
	}
	return errs
}

// validateVsphere validates one kind of source (API-140).
func validateVsphere(s *corev1.VsphereVirtualDiskVolumeSource, path *field.Path) field.ErrorList {
	return Required(path, "volumePath", s.VolumePath)
}

// validatePhoton validates one kind of source (API-140).
func validatePhoton(s *corev1.PhotonPersistentDiskVolumeSource, path *field.Path) field.ErrorList {
	return Required(path, "pdID", s.PdID)
}

// validatePortworx validates one kind of source (API-140).
func validatePortworx(s *corev1.PortworxVolumeSource, path *field.Path) field.ErrorList {
	return Required(path, "volumeID", s.VolumeID)
}

// validateScaleIO validates one kind of source (API-140).
func validateScaleIO(s *corev1.ScaleIOPersistentVolumeSource, path *field.Path) field.ErrorList {
	return Required(path, "gateway", s.Gateway, "system", s.System, "volumeName", s.VolumeName)
}

// validateLocal validates one kind of source (API-127): the path; validateVolumeSource requires the node affinity.
func validateLocal(s *corev1.LocalVolumeSource, path *field.Path) field.ErrorList {
	return validatePath(s.Path, path)
}

// validateFlocker validates one kind of source (API-140): exactly one of the two names of a dataset.
func validateFlocker(s *corev1.FlockerVolumeSource, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case s.DatasetName == "" && s.DatasetUUID == "":
		errs = append(errs, field.Required(path, "one of datasetName and datasetUUID is required"))
	case s.DatasetName != "" && s.DatasetUUID != "":
		errs = append(errs, field.Invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously"))
	}
	if strings.Contains(s.DatasetName, "/") {
		errs = append(errs, field.Invalid(path.Child("datasetName"), s.DatasetName, "must not contain '/'"))
	}
	return errs
}

const quobyteRegistry = "must be a host:port pair or multiple pairs separated by commas"

// validateQuobyte validates one kind of source (API-140).
func validateQuobyte(s *corev1.QuobyteVolumeSource, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case s.Registry == "":
		errs = append(errs, field.Required(path.Child("registry"), quobyteRegistry))
	case len(s.Tenant) > 64:
		errs = append(errs, field.Required(path.Child("tenant"), "must be a UUID and may not exceed a length of 64 characters"))
	default:
		for pair := range strings.SplitSeq(s.Registry, ",") {
			if _, _, err := net.SplitHostPort(pair); err != nil {
				errs = append(errs, field.Invalid(path.Child("registry"), s.Registry, quobyteRegistry))
			}
		}
	}
	return append(errs, Required(path, "volume", s.Volume)...)
}

// The formats of names of iSCSI nodes, by their first three letters.
var iscsiNames = map[string]*regexp.Regexp{
	"iqn": regexp.MustCompile(`iqn\.\d{4}-\d{2}\.[[:alnum:].-]+:[^,;*&$|\s]+$`),
	"eui": regexp.MustCompile(`^eui.[[:alnum:]]{16}$`),
	"naa": regexp.MustCompile(`^naa.[[:alnum:]]{32}$`),
}

const iscsiBegins = " starting with iqn, eui, or naa"

func validateISCSIName(name string, path *field.Path, child string) field.ErrorList {
	form, known := iscsiNames[name[:min(3, len(name))]]
	switch {
	case !known:
		return field.ErrorList{field.Invalid(path.Child(child), name, "must be valid format"+iscsiBegins)}
	case !form.MatchString(name):
		return field.ErrorList{field.Invalid(path.Child(child), name, "must be valid format")}
	}
	return nil
}

// validateISCSI validates one kind of source (API-137): as for the source in a pod; a secret needs a name.
func validateISCSI(s *corev1.ISCSIPersistentVolumeSource, path *field.Path) field.ErrorList {
	plain := corev1.ISCSIVolumeSource{TargetPortal: s.TargetPortal, IQN: s.IQN, Lun: s.Lun, InitiatorName: s.InitiatorName,
		DiscoveryCHAPAuth: s.DiscoveryCHAPAuth, SessionCHAPAuth: s.SessionCHAPAuth}
	var errs field.ErrorList
	if s.SecretRef != nil {
		plain.SecretRef = &corev1.LocalObjectReference{Name: s.SecretRef.Name}
		errs = Required(path.Child("secretRef"), "name", s.SecretRef.Name)
	}
	errs = append(validatePodISCSI(&plain, path), errs...)
	for _, err := range errs {
		err.Detail = strings.TrimSuffix(err.Detail, iscsiBegins) // API-137: the message has less than that about a pod
	}
	return errs
}

// validateFC validates one kind of source (API-138).
func validateFC(s *corev1.FCVolumeSource, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case len(s.TargetWWNs) == 0 && len(s.WWIDs) == 0:
		errs = append(errs, field.Required(path.Child("targetWWNs"), "must specify either targetWWNs or wwids, but not both"))
	case len(s.TargetWWNs) != 0 && len(s.WWIDs) != 0:
		errs = append(errs, field.Invalid(path.Child("targetWWNs"), s.TargetWWNs, "targetWWNs and wwids can not be specified simultaneously"))
	}
	switch {
	case len(s.TargetWWNs) == 0:
	case s.Lun == nil:
		errs = append(errs, field.Required(path.Child("lun"), "lun is required if targetWWNs is specified"))
	default:
		errs = append(errs, within255(*s.Lun, path, "lun")...)
	}
	return errs
}

// validateFlexVolume validates one kind of source (API-140): keys of options must not use a domain of Kubernetes.
func validateFlexVolume(driver string, options map[string]string, path *field.Path) field.ErrorList {
	errs := Required(path, "driver", driver)
	for _, key := range objects.SortedKeys(options) {
		owner, _, _ := strings.Cut(key, "/")
		domain := "." + strings.ToLower(owner)
		if strings.HasSuffix(domain, ".kubernetes.io") || strings.HasSuffix(domain, ".k8s.io") {
			errs = append(errs, field.Invalid(path.Child("options").Key(key), key, "kubernetes.io and k8s.io namespaces are reserved"))
		}
	}
	return errs
}

var (
	azureCachingModes = []corev1.AzureDataDiskCachingMode{
		corev1.AzureDataDiskCachingNone, corev1.AzureDataDiskCachingReadOnly, corev1.AzureDataDiskCachingReadWrite}
	azureDiskKinds = []corev1.AzureDataDiskKind{corev1.AzureDedicatedBlobDisk, corev1.AzureManagedDisk, corev1.AzureSharedBlobDisk}
)

// validateAzureDisk validates one kind of source (API-140): the format of the URI depends on the kind of disk.
func validateAzureDisk(s *corev1.AzureDiskVolumeSource, path *field.Path) field.ErrorList {
	errs := Required(path, "diskName", s.DiskName, "diskURI", s.DataDiskURI)
	if s.CachingMode != nil {
		errs = append(errs, OneOf(*s.CachingMode, path, "cachingMode", azureCachingModes)...)
	}
	if s.Kind == nil {
		return errs
	}
	errs = append(errs, OneOf(*s.Kind, path, "kind", azureDiskKinds)...)
	start, form := "https://", "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
	if *s.Kind == corev1.AzureManagedDisk {
		start, form = "/subscriptions/", "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
	}
	if !strings.HasPrefix(s.DataDiskURI, start) {
		errs = append(errs, field.NotSupported(path.Child("diskURI"), s.DataDiskURI, []string{form}))
	}
	return errs
}

// validateStorageOS validates one kind of source (API-140): a StorageOS volume has a name and may have a namespace.
func validateStorageOS(name, namespace string, path *field.Path) field.ErrorList {
	errs := Required(path, "volumeName", name)
	if name != "" {
		errs = append(errs, DNSLabel(name, path, "volumeName")...)
	}
	if namespace != "" {
		errs = append(errs, DNSLabel(namespace, path, "volumeNamespace")...)
	}
	return errs
}

// validateCSI validates one kind of source (API-131): four of the five references to secrets are validated, not that for node staging.
func validateCSI(s *corev1.CSIPersistentVolumeSource, path *field.Path) field.ErrorList {
	errs := validateDriverName(s.Driver, path, "driver")
	errs = append(errs, Required(path, "volumeHandle", s.VolumeHandle)...)
	errs = append(errs, validateSecretRef(s.ControllerPublishSecretRef, path, "controllerPublishSecretRef")...)
	errs = append(errs, validateSecretRef(s.ControllerExpandSecretRef, path, "controllerExpandSecretRef")...)
	errs = append(errs, validateSecretRef(s.NodePublishSecretRef, path, "nodePublishSecretRef")...)
	return append(errs, validateSecretRef(s.NodeExpandSecretRef, path, "nodeExpandSecretRef")...)
}

func validateSecretRef(ref *corev1.SecretReference, path *field.Path, child string) field.ErrorList {
	if ref == nil || IsSubdomain(ref.Name) && IsDNSLabel(ref.Namespace) {
		return nil
	}
	path = path.Child(child)
	errs := Required(path, "name", ref.Name, "namespace", ref.Namespace)
	if ref.Name != "" {
		errs = append(errs, Subdomain(ref.Name, path, "name")...)
	}
	if ref.Namespace != "" {
		errs = append(errs, DNSLabel(ref.Namespace, path, "namespace")...)
	}
	return errs
}
