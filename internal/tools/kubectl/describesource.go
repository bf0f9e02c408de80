package kubectl

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/objects"
)

// sourceText is how kubectl describes a volume source: what it is, and its properties, a name and a value in turns.
type sourceText struct {
	what       string
	properties []any
	more       func(d *description) // writes what else there is; nil for nothing
}

func source(what string, properties ...any) sourceText {
	return sourceText{what: what, properties: properties}
}

// source writes the lines of a volume source.
func (d *description) source(s sourceText) {
	if s.what == "" {
		d.printf("  <unknown>\n")
		return
	}
	d.printf("    Type:\t%s\n", s.what)
	for i := 0; i < len(s.properties); i += 2 {
		colon := ":"
		if s.properties[i] == "ISCSIInterface" {
			colon = "" // as kubectl prints it
		}
		d.printf("    %s%s\t%v\n", s.properties[i], colon, s.properties[i+1])
	}
	if s.more != nil {
		s.more(d)
	}
}

// volumeSource describes the source of a PersistentVolume.
func volumeSource(s *corev1.PersistentVolumeSource) sourceText {
	switch {
	case s.Local != nil:
		return source("LocalVolume (a persistent volume backed by local storage on a node)", "Path", s.Local.Path)
	case s.CSI != nil:
		text := source(csiText, "Driver", s.CSI.Driver, "FSType", s.CSI.FSType, "VolumeHandle", s.CSI.VolumeHandle, "ReadOnly", s.CSI.ReadOnly)
		text.more = func(d *description) { d.attributes(s.CSI.VolumeAttributes) }
		return text
	case s.ISCSI != nil:
		return iscsi(corev1.ISCSIVolumeSource{TargetPortal: s.ISCSI.TargetPortal, IQN: s.ISCSI.IQN, Lun: s.ISCSI.Lun, ISCSIInterface: s.ISCSI.ISCSIInterface,
			FSType: s.ISCSI.FSType, ReadOnly: s.ISCSI.ReadOnly, Portals: s.ISCSI.Portals, DiscoveryCHAPAuth: s.ISCSI.DiscoveryCHAPAuth,
			SessionCHAPAuth: s.ISCSI.SessionCHAPAuth, InitiatorName: s.ISCSI.InitiatorName}, secret(s.ISCSI.SecretRef))
	case s.Glusterfs != nil:
		return source(glusterText, "EndpointsName", s.Glusterfs.EndpointsName, "EndpointsNamespace", deref(s.Glusterfs.EndpointsNamespace, "<unset>"),
			"Path", s.Glusterfs.Path, "ReadOnly", s.Glusterfs.ReadOnly)
	case s.RBD != nil:
		return rbd(corev1.RBDVolumeSource{CephMonitors: s.RBD.CephMonitors, RBDImage: s.RBD.RBDImage, FSType: s.RBD.FSType, RBDPool: s.RBD.RBDPool,
			RadosUser: s.RBD.RadosUser, Keyring: s.RBD.Keyring, ReadOnly: s.RBD.ReadOnly}, secret(s.RBD.SecretRef))
	case s.Cinder != nil:
		return source(cinderText, "VolumeID", s.Cinder.VolumeID, "FSType", s.Cinder.FSType, "ReadOnly", s.Cinder.ReadOnly, "SecretRef", secret(s.Cinder.SecretRef))
	case s.ScaleIO != nil:
		v, ref := s.ScaleIO, deref(s.ScaleIO.SecretRef, corev1.SecretReference{})
		return source(scaleIOText, "Gateway", v.Gateway, "System", v.System, "Protection Domain", v.ProtectionDomain, "Storage Pool", v.StoragePool,
			"Storage Mode", v.StorageMode, "VolumeName", v.VolumeName, "SecretName", ref.Name, "SecretNamespace", ref.Namespace, "FSType", v.FSType,
			"ReadOnly", v.ReadOnly)
	case s.CephFS != nil:
		v := s.CephFS
		return source(cephText, "Monitors", v.Monitors, "Path", v.Path, "User", v.User, "SecretFile", v.SecretFile, "SecretRef", secret(v.SecretRef),
			"ReadOnly", v.ReadOnly)
	case s.StorageOS != nil:
		v := s.StorageOS
		return source(storageOSText, "VolumeName", v.VolumeName, "VolumeNamespace", v.VolumeNamespace, "FSType", v.FSType, "ReadOnly", v.ReadOnly)
	case s.AzureFile != nil:
		v := s.AzureFile
		return source(azureFileText, "SecretName", v.SecretName, "SecretNamespace", deref(v.SecretNamespace, ""), "ShareName", v.ShareName, "ReadOnly", v.ReadOnly)
	case s.FlexVolume != nil:
		v := s.FlexVolume
		return source(flexText, "Driver", v.Driver, "FSType", v.FSType, "SecretRef", secret(v.SecretRef), "ReadOnly", v.ReadOnly, "Options", v.Options)
	}
	return commonSource(s)
}

// podSource describes the source of a volume of a pod.
func podSource(s *corev1.VolumeSource) sourceText {
	switch {
	case s.EmptyDir != nil:
		limit := "<unset>"
		if s.EmptyDir.SizeLimit != nil && s.EmptyDir.SizeLimit.Sign() > 0 {
			limit = s.EmptyDir.SizeLimit.String()
		}
		return source("EmptyDir (a temporary directory that shares a pod's lifetime)", "Medium", s.EmptyDir.Medium, "SizeLimit", limit)
	case s.GitRepo != nil:
		return source("GitRepo (a volume that is pulled from git when the pod is created)", "Repository", s.GitRepo.Repository, "Revision", s.GitRepo.Revision)
	case s.Secret != nil:
		return source("Secret (a volume populated by a Secret)", "SecretName", s.Secret.SecretName, "Optional", deref(s.Secret.Optional, false))
	case s.ConfigMap != nil:
		return source("ConfigMap (a volume populated by a ConfigMap)", "Name", s.ConfigMap.Name, "Optional", deref(s.ConfigMap.Optional, false))
	case s.PersistentVolumeClaim != nil:
		return source("PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)", "ClaimName", s.PersistentVolumeClaim.ClaimName,
			"ReadOnly", s.PersistentVolumeClaim.ReadOnly)
	case s.Ephemeral != nil:
		text := source("EphemeralVolume (an inline specification for a volume that gets created and deleted with the pod)")
		text.more = func(d *description) { d.template(s.Ephemeral.VolumeClaimTemplate) }
		return text
	case s.DownwardAPI != nil:
		text := source("DownwardAPI (a volume populated by information about the pod)")
		text.more = func(d *description) { d.downward(s.DownwardAPI.Items) }
		return text
	case s.Projected != nil:
		return source("Projected (a volume that contains injected data from multiple sources)", projected(s.Projected.Sources)...)
	case s.CSI != nil:
		text := source(csiText, "Driver", s.CSI.Driver, "FSType", deref(s.CSI.FSType, ""), "ReadOnly", deref(s.CSI.ReadOnly, false))
		text.more = func(d *description) { d.attributes(s.CSI.VolumeAttributes) }
		return text
	case s.Image != nil:
		return source("Image (a container image or OCI artifact)", "Reference", s.Image.Reference, "PullPolicy", s.Image.PullPolicy)
	case s.ISCSI != nil:
		return iscsi(*s.ISCSI, localSecret(s.ISCSI.SecretRef))
	case s.Glusterfs != nil:
		return source(glusterText, "EndpointsName", s.Glusterfs.EndpointsName, "Path", s.Glusterfs.Path, "ReadOnly", s.Glusterfs.ReadOnly)
	case s.RBD != nil:
		return rbd(*s.RBD, localSecret(s.RBD.SecretRef))
	case s.Cinder != nil:
		v := s.Cinder
		return source(cinderText, "VolumeID", v.VolumeID, "FSType", v.FSType, "ReadOnly", v.ReadOnly, "SecretRef", localSecret(v.SecretRef))
	case s.ScaleIO != nil:
		v := s.ScaleIO
		return source(scaleIOText, "Gateway", v.Gateway, "System", v.System, "Protection Domain", v.ProtectionDomain, "Storage Pool", v.StoragePool,
			"Storage Mode", v.StorageMode, "VolumeName", v.VolumeName, "FSType", v.FSType, "ReadOnly", v.ReadOnly)
	case s.CephFS != nil:
		v := s.CephFS
		return source(cephText, "Monitors", v.Monitors, "Path", v.Path, "User", v.User, "SecretFile", v.SecretFile, "SecretRef", localSecret(v.SecretRef),
			"ReadOnly", v.ReadOnly)
	case s.StorageOS != nil:
		v := s.StorageOS
		return source(storageOSText, "VolumeName", v.VolumeName, "VolumeNamespace", v.VolumeNamespace, "FSType", v.FSType, "ReadOnly", v.ReadOnly)
	case s.AzureFile != nil:
		return source(azureFileText, "SecretName", s.AzureFile.SecretName, "ShareName", s.AzureFile.ShareName, "ReadOnly", s.AzureFile.ReadOnly)
	case s.FlexVolume != nil:
		v := s.FlexVolume
		return source(flexText, "Driver", v.Driver, "FSType", v.FSType, "SecretRef", localSecret(v.SecretRef), "ReadOnly", v.ReadOnly, "Options", v.Options)
	}
	return commonSource(&corev1.PersistentVolumeSource{HostPath: s.HostPath, GCEPersistentDisk: s.GCEPersistentDisk, NFS: s.NFS, FC: s.FC,
		AWSElasticBlockStore: s.AWSElasticBlockStore, Quobyte: s.Quobyte, VsphereVolume: s.VsphereVolume, AzureDisk: s.AzureDisk,
		PhotonPersistentDisk: s.PhotonPersistentDisk, PortworxVolume: s.PortworxVolume, Flocker: s.Flocker})
}

// Types of sources that pods and PersistentVolumes describe in different ways.
const (
	azureFileText = "AzureFile (an Azure File Service mount on the host and bind mount to the pod)"
	cephText      = "CephFS (a CephFS mount on the host that shares a pod's lifetime)"
	cinderText    = "Cinder (a Persistent Disk resource in OpenStack)"
	csiText       = "CSI (a Container Storage Interface (CSI) volume source)"
	flexText      = "FlexVolume (a generic volume resource that is provisioned/attached using an exec based plugin)"
	glusterText   = "Glusterfs (a Glusterfs mount on the host that shares a pod's lifetime)"
	scaleIOText   = "ScaleIO (a persistent volume backed by a block device in ScaleIO)"
	storageOSText = "StorageOS (a StorageOS Persistent Disk resource)"
)

// commonSource describes the sources that are the same in pods and in PersistentVolumes.
func commonSource(s *corev1.PersistentVolumeSource) sourceText {
	switch {
	case s.HostPath != nil:
		kind := "<none>"
		if s.HostPath.Type != nil {
			kind = string(*s.HostPath.Type)
		}
		return source("HostPath (bare host directory volume)", "Path", s.HostPath.Path, "HostPathType", kind)
	case s.GCEPersistentDisk != nil:
		v := s.GCEPersistentDisk
		return source("GCEPersistentDisk (a Persistent Disk resource in Google Compute Engine)", "PDName", v.PDName, "FSType", v.FSType,
			"Partition", v.Partition, "ReadOnly", v.ReadOnly)
	case s.AWSElasticBlockStore != nil:
		v := s.AWSElasticBlockStore
		return source("AWSElasticBlockStore (a Persistent Disk resource in AWS)", "VolumeID", v.VolumeID, "FSType", v.FSType, "Partition", v.Partition,
			"ReadOnly", v.ReadOnly)
	case s.NFS != nil:
		return source("NFS (an NFS mount that lasts the lifetime of a pod)", "Server", s.NFS.Server, "Path", s.NFS.Path, "ReadOnly", s.NFS.ReadOnly)
	case s.Quobyte != nil:
		return source("Quobyte (a Quobyte mount on the host that shares a pod's lifetime)", "Registry", s.Quobyte.Registry, "Volume", s.Quobyte.Volume,
			"ReadOnly", s.Quobyte.ReadOnly)
	case s.VsphereVolume != nil:
		v := s.VsphereVolume
		return source("vSphereVolume (a Persistent Disk resource in vSphere)", "VolumePath", v.VolumePath, "FSType", v.FSType,
			"StoragePolicyName", v.StoragePolicyName)
	case s.AzureDisk != nil:
		v := s.AzureDisk
		return source("AzureDisk (an Azure Data Disk mount on the host and bind mount to the pod)", "DiskName", v.DiskName, "DiskURI", v.DataDiskURI,
			"Kind", deref(v.Kind, ""), "FSType", deref(v.FSType, ""), "CachingMode", deref(v.CachingMode, ""), "ReadOnly", deref(v.ReadOnly, false))
	case s.PhotonPersistentDisk != nil:
		v := s.PhotonPersistentDisk
		return source("PhotonPersistentDisk (a Persistent Disk resource in photon platform)", "PdID", v.PdID, "FSType", v.FSType)
	case s.PortworxVolume != nil:
		return source("PortworxVolume (a Portworx Volume resource)", "VolumeID", s.PortworxVolume.VolumeID)
	case s.FC != nil:
		lun := "<none>"
		if s.FC.Lun != nil {
			lun = fmt.Sprint(*s.FC.Lun)
		}
		return source("FC (a Fibre Channel disk)", "TargetWWNs", strings.Join(s.FC.TargetWWNs, ", "), "LUN", lun, "FSType", s.FC.FSType,
			"ReadOnly", s.FC.ReadOnly)
	case s.Flocker != nil:
		return source("Flocker (a Flocker volume mounted by the Flocker agent)", "DatasetName", s.Flocker.DatasetName, "DatasetUUID", s.Flocker.DatasetUUID)
	}
	return sourceText{}
}

func iscsi(v corev1.ISCSIVolumeSource, secret string) sourceText {
	return source("ISCSI (an ISCSI Disk resource that is attached to a kubelet's host machine and then exposed to the pod)",
		"TargetPortal", v.TargetPortal, "IQN", v.IQN, "Lun", v.Lun, "ISCSIInterface", v.ISCSIInterface, "FSType", v.FSType, "ReadOnly", v.ReadOnly,
		"Portals", v.Portals, "DiscoveryCHAPAuth", v.DiscoveryCHAPAuth, "SessionCHAPAuth", v.SessionCHAPAuth, "SecretRef", secret,
		"InitiatorName", deref(v.InitiatorName, "<none>"))
}

func rbd(v corev1.RBDVolumeSource, secret string) sourceText {
	return source("RBD (a Rados Block Device mount on the host that shares a pod's lifetime)", "CephMonitors", v.CephMonitors, "RBDImage", v.RBDImage,
		"FSType", v.FSType, "RBDPool", v.RBDPool, "RadosUser", v.RadosUser, "Keyring", v.Keyring, "SecretRef", secret, "ReadOnly", v.ReadOnly)
}

// secret writes a reference as kubectl does, which prints the struct.
func secret(ref *corev1.SecretReference) string {
	if ref == nil {
		return "nil"
	}
	return fmt.Sprintf("&SecretReference{Name:%s,Namespace:%s,}", ref.Name, ref.Namespace)
}

// localSecret writes a reference within the namespace.
func localSecret(ref *corev1.LocalObjectReference) string {
	if ref == nil {
		return "nil"
	}
	return fmt.Sprintf("&LocalObjectReference{Name:%s,}", ref.Name)
}

// attributes writes the attributes of a CSI volume, each with the indentation that kubectl gives it.
func (d *description) attributes(m map[string]string) {
	const longest = 140
	if len(m) == 0 {
		d.printf("    VolumeAttributes:\t<none>\n")
		return
	}
	texts := pairs(m, "=")
	for i := range texts {
		texts[i] = shortened(texts[i], longest)
	}
	d.printf("    VolumeAttributes:\t    %s\n", strings.Join(texts, "\n        \t    "))
}

// template writes the template of the claim of an ephemeral volume. kubectl indents each part of a line.
func (d *description) template(t *corev1.PersistentVolumeClaimTemplate) {
	if t == nil {
		return
	}
	pvc := &corev1.PersistentVolumeClaim{ObjectMeta: t.ObjectMeta, Spec: t.Spec}
	d.printf("    StorageClass:\t%s\n    Volume:\t%s\n", objects.ClassOf(pvc), pvc.Spec.VolumeName)
	d.printf("    Labels:\t    %s\n", orNone(strings.Join(pairs(t.Labels, "="), "\n        \t    ")))
	d.printf("    Annotations:\t    %s\n", orNone(strings.Join(pairs(t.Annotations, ": "), "\n    \t    ")))
	d.claimSpec("    ", pvc)
}

// downward writes what files of the downward API contain.
func (d *description) downward(items []corev1.DownwardAPIVolumeFile) {
	d.printf("    Items:\n")
	for _, item := range items {
		if item.FieldRef != nil {
			d.printf("      %s -> %s\n", item.FieldRef.FieldPath, item.Path)
		}
		if item.ResourceFieldRef != nil {
			d.printf("      %s -> %s\n", item.ResourceFieldRef.Resource, item.Path)
		}
	}
}

// projected returns the properties of the sources of a projected volume.
func projected(sources []corev1.VolumeProjection) []any {
	var properties []any
	for _, s := range sources {
		switch {
		case s.Secret != nil:
			properties = append(properties, "SecretName", s.Secret.Name, "Optional", deref(s.Secret.Optional, false))
		case s.DownwardAPI != nil:
			properties = append(properties, "DownwardAPI", true)
		case s.ConfigMap != nil:
			properties = append(properties, "ConfigMapName", s.ConfigMap.Name, "Optional", deref(s.ConfigMap.Optional, false))
		case s.ServiceAccountToken != nil:
			properties = append(properties, "TokenExpirationSeconds", deref(s.ServiceAccountToken.ExpirationSeconds, 0))
		}
	}
	return properties
}
