package intree

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Back returns a new volume of a CSI driver as one of the in-tree plugin that the driver replaced: the sidecar creates it like that for a
// class of the plugin (MIG-030). The argument stays unchanged.
func Back(pv *corev1.PersistentVolume) (*corev1.PersistentVolume, error) {
	p := ofDriver(pv.Spec.CSI.Driver)
	if p == nil {
		return pv, nil
	}
	translated := pv.DeepCopy()
	source, err := p.back(translated)
	if err != nil {
		return nil, err
	}
	if err := p.topologyBack(translated); err != nil {
		return nil, fmt.Errorf("failed to translate topology: %w", err)
	}
	translated.Spec.PersistentVolumeSource = source
	return translated, nil
}

// topologyBack makes affinity with the keys of the driver one with the labels of Kubernetes, and adds these labels (MIG-031).
func (p *plugin) topologyBack(pv *corev1.PersistentVolume) error {
	if p.zone == "" || p.name == "kubernetes.io/azure-disk" {
		return nil
	}
	zone, region := topologyLabels(pv)
	renameKey(pv, p.zone, zone)
	if p.region != "" {
		renameKey(pv, p.region, region)
		if regions := valuesOf(pv, region); len(regions) > 0 {
			addLabel(pv, region, regions[0])
		}
		if zones := valuesOf(pv, zone); len(zones) > 0 {
			addLabel(pv, zone, zones[0])
		}
		return nil
	}
	if p.regionOf != nil {
		if err := p.addRegions(pv, zone, region); err != nil {
			return err
		}
	}
	if zones := valuesOf(pv, zone); len(zones) > 0 {
		addLabel(pv, zone, strings.Join(zones, zoneSeparator))
	}
	return nil
}

// addRegions adds the region to each term that names none.
func (p *plugin) addRegions(pv *corev1.PersistentVolume, zone, region string) error {
	if pv.Spec.NodeAffinity == nil || pv.Spec.NodeAffinity.Required == nil {
		return nil
	}
	terms := pv.Spec.NodeAffinity.Required.NodeSelectorTerms
	for i := range terms {
		var zones []string
		named := false
		for _, r := range terms[i].MatchExpressions {
			named = named || r.Key == region
			if r.Key == zone {
				zones = append(zones, r.Values...)
			}
		}
		if named {
			continue
		}
		name, err := p.regionOf(zones)
		if err != nil {
			return err
		}
		terms[i].MatchExpressions = append(terms[i].MatchExpressions,
			corev1.NodeSelectorRequirement{Key: region, Operator: corev1.NodeSelectorOpIn, Values: []string{name}})
	}
	if regions := valuesOf(pv, region); len(regions) == 1 {
		addLabel(pv, region, regions[0])
	}
	return nil
}

func addLabel(pv *corev1.PersistentVolume, key, value string) {
	if _, set := pv.Labels[key]; !set {
		pv.Labels = withKey(pv.Labels, key, value)
	}
}

func withKey(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// partitionOf returns the partition that the attributes of a volume name, 0 for none.
func partitionOf(csi *corev1.CSIPersistentVolumeSource, empty bool) (int32, error) {
	text, ok := csi.VolumeAttributes["partition"]
	if !ok || empty && text == "" {
		return 0, nil
	}
	partition, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("failed to convert partition %v to integer: %v", text, err)
	}
	return int32(partition), nil
}

func toEBS(pv *corev1.PersistentVolume) (s corev1.PersistentVolumeSource, err error) {
	csi := pv.Spec.CSI
	s.AWSElasticBlockStore = &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: csi.VolumeHandle, FSType: csi.FSType, ReadOnly: csi.ReadOnly}
	s.AWSElasticBlockStore.Partition, err = partitionOf(csi, false)
	return s, err
}

func toGCE(pv *corev1.PersistentVolume) (s corev1.PersistentVolumeSource, err error) {
	csi := pv.Spec.CSI
	// MIG-030: projects/…/zones/…/disks/NAME.
	parts := strings.Split(csi.VolumeHandle, "/")
	if len(parts) < 6 {
		return s, fmt.Errorf("failed to get id components.Got: %v, wanted %v components or more. ", len(parts), 6)
	}
	s.GCEPersistentDisk = &corev1.GCEPersistentDiskVolumeSource{PDName: parts[5], FSType: csi.FSType, ReadOnly: csi.ReadOnly}
	s.GCEPersistentDisk.Partition, err = partitionOf(csi, true)
	return s, err
}

func toAzureDisk(pv *corev1.PersistentVolume) (s corev1.PersistentVolumeSource, err error) {
	csi := pv.Spec.CSI
	// MIG-030: the name of the disk is the last part of its URI.
	before := "/providers/Microsoft.Compute/disks/"
	if len(csi.VolumeHandle) > 4 && strings.EqualFold(csi.VolumeHandle[:4], "http") {
		before = "/vhds/"
	}
	at := strings.LastIndex(csi.VolumeHandle, before)
	if at < 0 || at+len(before) == len(csi.VolumeHandle) {
		return s, fmt.Errorf("could not get disk name from %s, correct format: .*%s(.+)", csi.VolumeHandle, before)
	}
	managed, fsType, readOnly := corev1.AzureManagedDisk, csi.FSType, csi.ReadOnly
	s.AzureDisk = &corev1.AzureDiskVolumeSource{DiskName: csi.VolumeHandle[at+len(before):], DataDiskURI: csi.VolumeHandle, Kind: &managed,
		FSType: &fsType, ReadOnly: &readOnly}
	for key, value := range csi.VolumeAttributes {
		switch lower := strings.ToLower(key); {
		case value == "":
		case lower == "cachingmode":
			mode := corev1.AzureDataDiskCachingMode(value)
			s.AzureDisk.CachingMode = &mode
		case lower == "fstype":
			fsType = value
		}
	}
	return s, nil
}

func toAzureFile(pv *corev1.PersistentVolume) (s corev1.PersistentVolumeSource, err error) {
	csi := pv.Spec.CSI
	file := &corev1.AzureFilePersistentVolumeSource{ReadOnly: csi.ReadOnly}
	for key, value := range csi.VolumeAttributes {
		switch strings.ToLower(key) {
		case "sharename":
			file.ShareName = value
		case "secretname":
			file.SecretName = value
		case "secretnamespace":
			file.SecretNamespace = &value
		}
	}
	if secret := csi.NodeStageSecretRef; secret != nil && secret.Name != "" {
		file.SecretName, file.SecretNamespace = secret.Name, &secret.Namespace
	}
	if file.ShareName == "" || file.SecretName == "" {
		parts := strings.Split(csi.VolumeHandle, "#")
		if len(parts) < 3 {
			return s, fmt.Errorf("error parsing volume id: %q, should at least contain two #", csi.VolumeHandle)
		}
		if file.ShareName == "" {
			file.ShareName = parts[2]
		}
		if file.SecretName == "" {
			file.SecretName = azureSecretPrefix + parts[1] + azureSecretSuffix
		}
		if parts[0] != "" {
			pv.Annotations = withKey(pv.Annotations, annResourceGroup, parts[0])
		}
	}
	if file.SecretNamespace == nil {
		file.SecretNamespace = new(string)
		*file.SecretNamespace = "default"
	}
	s.AzureFile = file
	return s, nil
}

func toCinder(pv *corev1.PersistentVolume) (s corev1.PersistentVolumeSource, err error) {
	csi := pv.Spec.CSI
	s.Cinder = &corev1.CinderPersistentVolumeSource{VolumeID: csi.VolumeHandle, FSType: csi.FSType, ReadOnly: csi.ReadOnly}
	return s, nil
}

func toVsphere(pv *corev1.PersistentVolume) (s corev1.PersistentVolumeSource, err error) {
	csi := pv.Spec.CSI
	// MIG-030: the driver says where the file of the disk is.
	s.VsphereVolume = &corev1.VsphereVirtualDiskVolumeSource{VolumePath: csi.VolumeAttributes["initialvolumefilepath"], FSType: csi.FSType}
	return s, nil
}

func toPortworx(pv *corev1.PersistentVolume) (s corev1.PersistentVolumeSource, err error) {
	csi := pv.Spec.CSI
	s.PortworxVolume = &corev1.PortworxVolumeSource{VolumeID: csi.VolumeHandle, FSType: csi.FSType, ReadOnly: csi.ReadOnly}
	return s, nil
}
