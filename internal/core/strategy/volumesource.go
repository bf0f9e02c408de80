package strategy

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

type volumeSource = corev1.PersistentVolumeSource

// sourceRow describes one kind of source of a PersistentVolume.
type sourceRow struct {
	name         string // the field, as errors about a second source spell it
	at           string // the field, as errors about its content spell it; empty means name
	mountOptions bool   // the annotation with mount options is understood (API-133)
	lax          bool   // may stand beside another source
	sourceAccess
}

// sourceAccess reports whether the source is set, and validates it.
type sourceAccess struct {
	in    func(s *volumeSource) bool
	check func(s *volumeSource, path *field.Path) field.ErrorList
}

func source[S any](get func(*volumeSource) *S, check func(*S, *field.Path) field.ErrorList) sourceAccess {
	return sourceAccess{
		in:    func(s *volumeSource) bool { return get(s) != nil },
		check: func(s *volumeSource, path *field.Path) field.ErrorList { return check(get(s), path) },
	}
}

// API-136: of two sources, the later one in this order is the error.
var sourceRows = []sourceRow{
	{name: "hostPath", sourceAccess: source(
		func(s *volumeSource) *corev1.HostPathVolumeSource { return s.HostPath }, validateHostPath)},
	{name: "gcePersistentDisk", at: "persistentDisk", mountOptions: true, sourceAccess: source(
		func(s *volumeSource) *corev1.GCEPersistentDiskVolumeSource { return s.GCEPersistentDisk }, validateGCEDisk)},
	{name: "awsElasticBlockStore", mountOptions: true, sourceAccess: source(
		func(s *volumeSource) *corev1.AWSElasticBlockStoreVolumeSource { return s.AWSElasticBlockStore }, validateEBSDisk)},
	{name: "glusterfs", mountOptions: true, sourceAccess: source(
		func(s *volumeSource) *corev1.GlusterfsPersistentVolumeSource { return s.Glusterfs }, validateGlusterfs)},
	{name: "flocker", sourceAccess: source(
		func(s *volumeSource) *corev1.FlockerVolumeSource { return s.Flocker }, validateFlocker)},
	{name: "nfs", mountOptions: true, sourceAccess: source(
		func(s *volumeSource) *corev1.NFSVolumeSource { return s.NFS }, validateNFS)},
	{name: "rbd", mountOptions: true, sourceAccess: source(
		func(s *volumeSource) *corev1.RBDPersistentVolumeSource { return s.RBD }, validateRBD)},
	{name: "quobyte", mountOptions: true, sourceAccess: source(
		func(s *volumeSource) *corev1.QuobyteVolumeSource { return s.Quobyte }, validateQuobyte)},
	{name: "cephFS", at: "cephfs", mountOptions: true, sourceAccess: source(
		func(s *volumeSource) *corev1.CephFSPersistentVolumeSource { return s.CephFS }, validateCephFS)},
	{name: "iscsi", mountOptions: true, sourceAccess: source(
		func(s *volumeSource) *corev1.ISCSIPersistentVolumeSource { return s.ISCSI }, validateISCSI)},
	{name: "cinder", mountOptions: true, sourceAccess: source(
		func(s *volumeSource) *corev1.CinderPersistentVolumeSource { return s.Cinder }, validateCinder)},
	{name: "fc", sourceAccess: source(
		func(s *volumeSource) *corev1.FCVolumeSource { return s.FC }, validateFC)},
	{name: "flexVolume", lax: true, sourceAccess: source(
		func(s *volumeSource) *corev1.FlexPersistentVolumeSource { return s.FlexVolume },
		func(s *corev1.FlexPersistentVolumeSource, path *field.Path) field.ErrorList {
			return validateFlexVolume(s.Driver, s.Options, path)
		})},
	{name: "azureFile", mountOptions: true, sourceAccess: source(
		func(s *volumeSource) *corev1.AzureFilePersistentVolumeSource { return s.AzureFile }, validateAzureFile)},
	{name: "vsphereVolume", mountOptions: true, sourceAccess: source(
		func(s *volumeSource) *corev1.VsphereVirtualDiskVolumeSource { return s.VsphereVolume }, validateVsphere)},
	{name: "photonPersistentDisk", mountOptions: true, sourceAccess: source(
		func(s *volumeSource) *corev1.PhotonPersistentDiskVolumeSource { return s.PhotonPersistentDisk }, validatePhoton)},
	{name: "portworxVolume", sourceAccess: source(
		func(s *volumeSource) *corev1.PortworxVolumeSource { return s.PortworxVolume }, validatePortworx)},
	{name: "azureDisk", mountOptions: true, sourceAccess: source(
		func(s *volumeSource) *corev1.AzureDiskVolumeSource { return s.AzureDisk }, validateAzureDisk)},
	{name: "scaleIO", sourceAccess: source(
		func(s *volumeSource) *corev1.ScaleIOPersistentVolumeSource { return s.ScaleIO }, validateScaleIO)},
	{name: "local", sourceAccess: source(
		func(s *volumeSource) *corev1.LocalVolumeSource { return s.Local }, validateLocal)},
	{name: "storageos", sourceAccess: source(
		func(s *volumeSource) *corev1.StorageOSPersistentVolumeSource { return s.StorageOS },
		func(s *corev1.StorageOSPersistentVolumeSource, path *field.Path) field.ErrorList {
			errs := validateStorageOS(s.VolumeName, s.VolumeNamespace, path)
			if s.SecretRef != nil {
				errs = append(errs, Required(path.Child("secretRef"), "name", s.SecretRef.Name, "namespace", s.SecretRef.Namespace)...)
			}
			return errs
		})},
	{name: "csi", sourceAccess: source(
		func(s *volumeSource) *corev1.CSIPersistentVolumeSource { return s.CSI }, validateCSI)},
}

// validateSources requires exactly one valid source (API-123). It returns the name of the first one. path is the path of the spec.
func validateSources(s *volumeSource, path *field.Path) (first string, errs field.ErrorList) {
	for i := range sourceRows {
		row := &sourceRows[i]
		if !row.in(s) {
			continue
		}
		// API-123: the first source is validated, every other is an error. API-136: except for flexVolume.
		if first != "" && !row.lax {
			errs = append(errs, field.Forbidden(path.Child(row.name), "may not specify more than 1 volume type"))
			continue
		}
		first = cmp.Or(first, row.name)
		errs = append(errs, row.check(s, path.Child(cmp.Or(row.at, row.name)))...)
	}
	if first == "" {
		errs = append(errs, field.Required(path, "must specify a volume type"))
	}
	return first, errs
}

// takesMountOptions reports whether the source supports mount options in an annotation (API-133).
func takesMountOptions(s *volumeSource) bool {
	for i := range sourceRows {
		if sourceRows[i].mountOptions && sourceRows[i].in(s) {
			return true
		}
	}
	return false
}

// defaultSource sets the defaults of a source (API-091). It replaces the source only if a default is missing.
func defaultSource(s *volumeSource) {
	s.HostPath = defaultHostPath(s.HostPath)
	s.AzureDisk = defaultAzureDisk(s.AzureDisk)
	if r := s.RBD; r != nil && (r.RBDPool == "" || r.RadosUser == "" || r.Keyring == "") {
		c := *r
		c.RBDPool, c.RadosUser, c.Keyring = cmp.Or(c.RBDPool, "rbd"), cmp.Or(c.RadosUser, "admin"), cmp.Or(c.Keyring, "/etc/ceph/keyring")
		s.RBD = &c
	}
	if r := s.ISCSI; r != nil && r.ISCSIInterface == "" {
		c := *r
		c.ISCSIInterface = "default"
		s.ISCSI = &c
	}
	if r := s.ScaleIO; r != nil && (r.StorageMode == "" || r.FSType == "") {
		c := *r
		c.StorageMode, c.FSType = cmp.Or(c.StorageMode, "ThinProvisioned"), cmp.Or(c.FSType, "xfs")
		s.ScaleIO = &c
	}
}

// defaultHostPath returns s with its defaults (API-091), or s itself if none is missing.
func defaultHostPath(s *corev1.HostPathVolumeSource) *corev1.HostPathVolumeSource {
	if s == nil || s.Type != nil {
		return s
	}
	c := *s
	c.Type = &hostPathUnset
	return &c
}

// hostPathUnset is shared by stored objects.
var hostPathUnset = corev1.HostPathUnset

// defaultAzureDisk returns s with its defaults (API-091), or s itself if none is missing.
func defaultAzureDisk(s *corev1.AzureDiskVolumeSource) *corev1.AzureDiskVolumeSource {
	if s == nil || s.CachingMode != nil && s.FSType != nil && s.ReadOnly != nil && s.Kind != nil {
		return s
	}
	c := *s
	c.CachingMode = cmp.Or(c.CachingMode, new(corev1.AzureDataDiskCachingReadWrite))
	c.FSType = cmp.Or(c.FSType, new("ext4"))
	c.ReadOnly = cmp.Or(c.ReadOnly, new(bool))
	c.Kind = cmp.Or(c.Kind, new(corev1.AzureSharedBlobDisk))
	return &c
}
