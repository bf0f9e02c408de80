package intree

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Volume returns the PersistentVolume as the CSI driver that replaced its in-tree plugin sees it (MIG-001). Any other volume is returned
// as it is. The argument stays unchanged.
func Volume(pv *corev1.PersistentVolume) (*corev1.PersistentVolume, error) {
	if pv.Spec.CSI != nil {
		return pv, nil
	}
	p := ofSource(&pv.Spec.PersistentVolumeSource)
	if p == nil {
		return pv, nil
	}
	translated := pv.DeepCopy()
	source, err := p.source(translated)
	if err != nil {
		return nil, err
	}
	source.Driver = p.driver
	p.translateTopology(translated)
	if p.name == "kubernetes.io/gce-pd" {
		translated.Spec.AccessModes = gceModes(translated.Spec.AccessModes)
	}
	translated.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{CSI: source}
	return translated, nil
}

// InPod returns a volume of a pod as a PersistentVolume of the CSI driver that replaced its in-tree plugin, nil for any other volume
// (MIG-002).
func InPod(volume *corev1.Volume, namespace string) (*corev1.PersistentVolume, error) {
	source, mode := inPod(volume, namespace)
	p := ofSource(&source)
	if p == nil {
		return nil, nil
	}
	file := corev1.PersistentVolumeFilesystem
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: volume.Name},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeSource: source, AccessModes: []corev1.PersistentVolumeAccessMode{mode}, VolumeMode: &file,
		},
	}
	csi, err := p.source(pv)
	if err != nil {
		return nil, err
	}
	csi.Driver = p.driver
	pv.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{CSI: csi}
	// MIG-002: the name tells disks apart, because it is part of the path where the volume is mounted.
	switch {
	case volume.GCEPersistentDisk != nil:
		pv.Name = p.driver + "-" + volume.GCEPersistentDisk.PDName
	case volume.AzureDisk != nil, volume.AzureFile != nil:
		pv.Name = csi.VolumeHandle
	default:
		pv.Name = p.driver + "-" + csi.VolumeHandle
	}
	return pv, nil
}

// inPod returns the source of a volume in a pod in the form that a PersistentVolume has, and the access mode that it stands for.
func inPod(volume *corev1.Volume, namespace string) (corev1.PersistentVolumeSource, corev1.PersistentVolumeAccessMode) {
	source, mode := corev1.PersistentVolumeSource{}, corev1.ReadWriteOnce
	readOnly := func(yes bool) {
		if yes {
			mode = corev1.ReadOnlyMany
		}
	}
	switch {
	case volume.AWSElasticBlockStore != nil:
		source.AWSElasticBlockStore = volume.AWSElasticBlockStore
	case volume.GCEPersistentDisk != nil:
		source.GCEPersistentDisk = volume.GCEPersistentDisk
		readOnly(volume.GCEPersistentDisk.ReadOnly)
	case volume.AzureDisk != nil:
		source.AzureDisk = volume.AzureDisk
	case volume.AzureFile != nil:
		if namespace == "" {
			namespace = metav1.NamespaceDefault
		}
		source.AzureFile = &corev1.AzureFilePersistentVolumeSource{SecretName: volume.AzureFile.SecretName,
			ShareName: volume.AzureFile.ShareName, ReadOnly: volume.AzureFile.ReadOnly, SecretNamespace: &namespace}
		mode = corev1.ReadWriteMany
	case volume.Cinder != nil:
		source.Cinder = &corev1.CinderPersistentVolumeSource{VolumeID: volume.Cinder.VolumeID, FSType: volume.Cinder.FSType,
			ReadOnly: volume.Cinder.ReadOnly}
	case volume.VsphereVolume != nil:
		// [SIM] MIG-002: the storage policy counts; upstream dereferences nil here.
		source.VsphereVolume = volume.VsphereVolume
	case volume.PortworxVolume != nil:
		source.PortworxVolume = volume.PortworxVolume
		readOnly(volume.PortworxVolume.ReadOnly)
	}
	return source, mode
}

func ofEBS(pv *corev1.PersistentVolume) (*corev1.CSIPersistentVolumeSource, error) {
	s := pv.Spec.AWSElasticBlockStore
	handle, err := ebsHandle(s.VolumeID)
	if err != nil {
		return nil, fmt.Errorf("failed to translate Kubernetes ID to EBS Volume ID %v", err)
	}
	return &corev1.CSIPersistentVolumeSource{VolumeHandle: handle, ReadOnly: s.ReadOnly, FSType: s.FSType,
		VolumeAttributes: map[string]string{"partition": strconv.Itoa(int(s.Partition))}}, nil
}

// ebsHandle returns the ID of a volume at AWS.
func ebsHandle(id string) (string, error) {
	if !strings.HasPrefix(id, "aws://") {
		return id, nil
	}
	// MIG-003: aws://zone/vol-… and aws:///vol-… name a volume, too.
	parsed, err := url.Parse(id)
	if err != nil {
		return "", fmt.Errorf("Invalid disk name (%s): %v", id, err)
	}
	handle := strings.Trim(parsed.Path, "/")
	if !strings.HasPrefix(handle, "vol-") || strings.Contains(handle, "/") {
		return "", fmt.Errorf("Invalid format for AWS volume (%s)", id)
	}
	return handle, nil
}

// unspecified stands for a part of a handle that only the driver can find out.
const unspecified = "UNSPECIFIED"

func ofGCE(pv *corev1.PersistentVolume) (*corev1.CSIPersistentVolumeSource, error) {
	s := pv.Spec.GCEPersistentDisk
	zones := pv.Labels[corev1.LabelFailureDomainBetaZone]
	if zones == "" {
		zones = pv.Labels[corev1.LabelTopologyZone]
	}
	where := "zones/" + unspecified
	switch list := strings.Split(zones, zoneSeparator); {
	case len(list) > 1:
		// MIG-004: several zones are a regional disk.
		region, err := gceRegion(list)
		if err != nil {
			return nil, fmt.Errorf("failed to get region from zones: %v", err)
		}
		where = "regions/" + region
	case zones != "":
		where = "zones/" + zones
	}
	partition := ""
	if s.Partition != 0 {
		partition = strconv.Itoa(int(s.Partition))
	}
	return &corev1.CSIPersistentVolumeSource{VolumeHandle: "projects/" + unspecified + "/" + where + "/disks/" + s.PDName,
		ReadOnly: s.ReadOnly, FSType: s.FSType, VolumeAttributes: map[string]string{"partition": partition}}, nil
}

// gceModes returns the access modes of a disk: the in-tree plugin never checked them.
func gceModes(modes []corev1.PersistentVolumeAccessMode) []corev1.PersistentVolumeAccessMode {
	if modes == nil {
		return nil
	}
	// MIG-004: only a disk that is for reading alone keeps its mode.
	for _, mode := range modes {
		if mode != corev1.ReadOnlyMany {
			return []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		}
	}
	return []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany}
}

func ofAzureDisk(pv *corev1.PersistentVolume) (*corev1.CSIPersistentVolumeSource, error) {
	s := pv.Spec.AzureDisk
	if s.Kind != nil && !strings.EqualFold(string(*s.Kind), string(corev1.AzureManagedDisk)) {
		// MIG-005: the driver has managed disks only.
		return nil, fmt.Errorf("kind(%v) is not supported in csi migration", *s.Kind)
	}
	csi := &corev1.CSIPersistentVolumeSource{VolumeHandle: s.DataDiskURI, ReadOnly: s.ReadOnly != nil && *s.ReadOnly,
		VolumeAttributes: map[string]string{"kind": string(corev1.AzureManagedDisk)}}
	if s.CachingMode != nil {
		csi.VolumeAttributes["cachingmode"] = string(*s.CachingMode)
	}
	if s.FSType != nil {
		csi.FSType, csi.VolumeAttributes["fstype"] = *s.FSType, *s.FSType
	}
	return csi, nil
}

// annResourceGroup is on a PersistentVolume; the value is the resource group of an Azure file share.
const annResourceGroup = "kubernetes.io/azure-file-resource-group"

func ofAzureFile(pv *corev1.PersistentVolume) (*corev1.CSIPersistentVolumeSource, error) {
	s, namespace := pv.Spec.AzureFile, ""
	switch {
	case s.SecretNamespace != nil:
		namespace = *s.SecretNamespace
	case pv.Spec.ClaimRef != nil:
		namespace = pv.Spec.ClaimRef.Namespace
	}
	if namespace == "" {
		// MIG-006: the Secret is in the namespace that the source names, or in that of the claim.
		return nil, errors.New("could not find a secret namespace in PersistentVolumeSource or ClaimRef")
	}
	// MIG-006: a handle has five parts: resource group, account, share, volume, namespace.
	handle := strings.Join([]string{pv.Annotations[annResourceGroup], azureAccount(s.SecretName), s.ShareName, pv.Name, namespace}, "#")
	return &corev1.CSIPersistentVolumeSource{VolumeHandle: handle, ReadOnly: s.ReadOnly,
		VolumeAttributes:   map[string]string{"sharename": s.ShareName},
		NodeStageSecretRef: &corev1.SecretReference{Name: s.SecretName, Namespace: namespace}}, nil
}

const azureSecretPrefix, azureSecretSuffix = "azure-storage-account-", "-secret"

// azureAccount returns the storage account that a Secret is named after, else the name of the Secret.
func azureAccount(secret string) string {
	if _, after, ok := strings.Cut(secret, azureSecretPrefix); ok {
		if end := strings.LastIndex(after, azureSecretSuffix); end > 0 {
			return after[:end]
		}
	}
	return secret
}

func ofCinder(pv *corev1.PersistentVolume) (*corev1.CSIPersistentVolumeSource, error) {
	s := pv.Spec.Cinder
	return &corev1.CSIPersistentVolumeSource{VolumeHandle: s.VolumeID, ReadOnly: s.ReadOnly, FSType: s.FSType,
		VolumeAttributes: map[string]string{}}, nil
}

func ofVsphere(pv *corev1.PersistentVolume) (*corev1.CSIPersistentVolumeSource, error) {
	s := pv.Spec.VsphereVolume
	csi := &corev1.CSIPersistentVolumeSource{VolumeHandle: s.VolumePath, FSType: s.FSType, VolumeAttributes: map[string]string{}}
	if s.StoragePolicyName != "" {
		csi.VolumeAttributes["storagepolicyname"] = s.StoragePolicyName
	}
	return csi, nil
}

const portworxSecretName, portworxSecretNamespace = "openstorage.io/auth-secret-name", "openstorage.io/auth-secret-namespace"

func ofPortworx(pv *corev1.PersistentVolume) (*corev1.CSIPersistentVolumeSource, error) {
	s := pv.Spec.PortworxVolume
	csi := &corev1.CSIPersistentVolumeSource{VolumeHandle: s.VolumeID, FSType: s.FSType, VolumeAttributes: map[string]string{}}
	name, named := pv.Annotations[portworxSecretName]
	if namespace, spaced := pv.Annotations[portworxSecretNamespace]; named && spaced {
		// MIG-007: one Secret serves all calls.
		secret := &corev1.SecretReference{Name: name, Namespace: namespace}
		csi.ControllerPublishSecretRef, csi.NodeStageSecretRef, csi.NodePublishSecretRef = secret, secret, secret
		csi.ControllerExpandSecretRef, csi.NodeExpandSecretRef = secret, secret
	}
	return csi, nil
}
