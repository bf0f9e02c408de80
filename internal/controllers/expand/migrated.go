package expand

import corev1 "k8s.io/api/core/v1"

// Migration returns the CSI driver that took over from an in-tree plugin; ok is false if none did.
type Migration func(plugin string) (driver string, ok bool)

// migratable lists the in-tree plugins that the source of a volume identifies.
var migratable = []struct {
	plugin string
	has    func(*corev1.PersistentVolumeSource) bool
}{
	{"kubernetes.io/aws-ebs", func(s *corev1.PersistentVolumeSource) bool { return s.AWSElasticBlockStore != nil }},
	{"kubernetes.io/gce-pd", func(s *corev1.PersistentVolumeSource) bool { return s.GCEPersistentDisk != nil }},
	{"kubernetes.io/azure-disk", func(s *corev1.PersistentVolumeSource) bool { return s.AzureDisk != nil }},
	{"kubernetes.io/azure-file", func(s *corev1.PersistentVolumeSource) bool { return s.AzureFile != nil }},
	{"kubernetes.io/cinder", func(s *corev1.PersistentVolumeSource) bool { return s.Cinder != nil }},
	{"kubernetes.io/vsphere-volume", func(s *corev1.PersistentVolumeSource) bool { return s.VsphereVolume != nil }},
	{"kubernetes.io/portworx-volume", func(s *corev1.PersistentVolumeSource) bool { return s.PortworxVolume != nil }},
}

// ofSource returns the in-tree plugin of a source, and the CSI driver that took over from it.
func (m Migration) ofSource(source *corev1.PersistentVolumeSource) (plugin, driver string, ok bool) {
	if m == nil {
		return "", "", false
	}
	for _, each := range migratable {
		if each.has(source) {
			driver, ok = m(each.plugin)
			return each.plugin, driver, ok
		}
	}
	return "", "", false
}

// tookOver reports whether the CSI driver took over from an in-tree plugin.
func (m Migration) tookOver(driver string) bool {
	if m == nil {
		return false
	}
	for _, each := range migratable {
		if successor, ok := m(each.plugin); ok && successor == driver {
			return true
		}
	}
	return false
}
