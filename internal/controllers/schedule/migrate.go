package schedule

import corev1 "k8s.io/api/core/v1"

// migratedDriver returns the CSI driver that replaces the in-tree plugin of a pod's inline volume, "" if there is none (SCHED-210).
func migratedDriver(v *corev1.Volume) string {
	switch {
	case v.AWSElasticBlockStore != nil:
		return "ebs.csi.aws.com"
	case v.GCEPersistentDisk != nil:
		return "pd.csi.storage.gke.io"
	case v.Cinder != nil:
		return "cinder.csi.openstack.org"
	case v.AzureDisk != nil:
		return "disk.csi.azure.com"
	case v.AzureFile != nil:
		return "file.csi.azure.com"
	case v.VsphereVolume != nil:
		return "csi.vsphere.vmware.com"
	case v.PortworxVolume != nil:
		return "pxd.portworx.com"
	}
	return ""
}
