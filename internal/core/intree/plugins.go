package intree

import (
	corev1 "k8s.io/api/core/v1"
)

// plugin is an in-tree plugin and the driver that replaced it (PROV-051).
type plugin struct {
	name, driver string
	// zone is the topology key of the driver for zones, region the one for regions; "" for a key that is not translated.
	zone, region string
	// has reports whether a PersistentVolume is one of the plugin. In a pod the source has the same kind, see inPod.
	has func(*corev1.PersistentVolumeSource) bool
	// source returns the source for the driver.
	source func(pv *corev1.PersistentVolume) (*corev1.CSIPersistentVolumeSource, error)
	// parameter returns the names that a parameter of a class gets, by its name in lower case; "" is the name that it has. Nil for a
	// plugin whose classes stay as they are.
	parameter func(name string) []string
	// back returns the in-tree source of a new volume, and may add to its annotations.
	back func(*corev1.PersistentVolume) (corev1.PersistentVolumeSource, error)
	// regionOf returns the region of zones; nil for a plugin whose volumes do not name regions.
	regionOf func(zones []string) (string, error)
}

// plugins lists the plugins by name.
var plugins = []plugin{
	{
		name: "kubernetes.io/aws-ebs", driver: "ebs.csi.aws.com", zone: "topology.ebs.csi.aws.com/zone",
		has:    func(s *corev1.PersistentVolumeSource) bool { return s.AWSElasticBlockStore != nil },
		source: ofEBS, parameter: fsTypeParameter, back: toEBS, regionOf: awsRegion,
	},
	{
		name: "kubernetes.io/azure-disk", driver: "disk.csi.azure.com", zone: "topology.disk.csi.azure.com/zone",
		has:    func(s *corev1.PersistentVolumeSource) bool { return s.AzureDisk != nil },
		source: ofAzureDisk, parameter: sameParameter, back: toAzureDisk,
	},
	{
		name: "kubernetes.io/azure-file", driver: "file.csi.azure.com",
		has:    func(s *corev1.PersistentVolumeSource) bool { return s.AzureFile != nil },
		source: ofAzureFile, back: toAzureFile,
	},
	{
		name: "kubernetes.io/cinder", driver: "cinder.csi.openstack.org", zone: "topology.cinder.csi.openstack.org/zone",
		has:    func(s *corev1.PersistentVolumeSource) bool { return s.Cinder != nil },
		source: ofCinder, parameter: fsTypeParameter, back: toCinder,
	},
	{
		name: "kubernetes.io/gce-pd", driver: "pd.csi.storage.gke.io", zone: "topology.gke.io/zone",
		has:    func(s *corev1.PersistentVolumeSource) bool { return s.GCEPersistentDisk != nil },
		source: ofGCE, parameter: fsTypeParameter, back: toGCE, regionOf: gceRegion,
	},
	{
		name: "kubernetes.io/portworx-volume", driver: "pxd.portworx.com",
		has:    func(s *corev1.PersistentVolumeSource) bool { return s.PortworxVolume != nil },
		source: ofPortworx, parameter: portworxParameter, back: toPortworx,
	},
	{
		name: "kubernetes.io/vsphere-volume", driver: "csi.vsphere.vmware.com", zone: "topology.csi.vmware.com/zone",
		region: "topology.csi.vmware.com/region",
		has:    func(s *corev1.PersistentVolumeSource) bool { return s.VsphereVolume != nil },
		source: ofVsphere, parameter: vsphereParameter, back: toVsphere,
	},
}

// Driver returns the CSI driver that replaced the in-tree plugin of that name. ok is false for a plugin that was not replaced and for any
// other name.
func Driver(name string) (driver string, ok bool) {
	for i := range plugins {
		if plugins[i].name == name {
			return plugins[i].driver, true
		}
	}
	return "", false
}

// Plugin returns the in-tree plugin that the CSI driver replaced.
func Plugin(driver string) (name string, ok bool) {
	if p := ofDriver(driver); p != nil {
		return p.name, true
	}
	return "", false
}

// Names lists the plugins that were replaced, in order.
func Names() []string {
	var names []string
	for i := range plugins {
		names = append(names, plugins[i].name)
	}
	return names
}

// PluginOf returns the in-tree plugin of the source of a PersistentVolume, if it was replaced.
func PluginOf(source *corev1.PersistentVolumeSource) (name string, ok bool) {
	if p := ofSource(source); p != nil {
		return p.name, true
	}
	return "", false
}

// PluginInPod returns the in-tree plugin of a volume in a pod, if it was replaced.
func PluginInPod(volume *corev1.Volume) (name string, ok bool) {
	source, _ := inPod(volume, "")
	return PluginOf(&source)
}

func ofSource(source *corev1.PersistentVolumeSource) *plugin {
	for i := range plugins {
		if plugins[i].has(source) {
			return &plugins[i]
		}
	}
	return nil
}

func ofDriver(driver string) *plugin {
	for i := range plugins {
		if plugins[i].driver == driver {
			return &plugins[i]
		}
	}
	return nil
}
