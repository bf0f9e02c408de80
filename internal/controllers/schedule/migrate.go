package schedule

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/internal/core/intree"
)

// migratedDriver returns the CSI driver that replaced the in-tree plugin of a pod's inline volume, "" if there is none (SCHED-210).
func migratedDriver(v *corev1.Volume) string {
	plugin, _ := intree.PluginInPod(v)
	driver, _ := intree.Driver(plugin)
	return driver
}

// translates reports whether the scheduler translates volumes of an in-tree plugin. Others that were replaced it takes as they are.
func translates(plugin string) bool {
	// SCHED-063, SCHED-212: not those of Azure files and vSphere.
	switch plugin {
	case "kubernetes.io/aws-ebs", "kubernetes.io/gce-pd", "kubernetes.io/azure-disk", "kubernetes.io/cinder", "kubernetes.io/portworx-volume":
		return true
	}
	return false
}

// translatedFor returns a PersistentVolume as a node knows it: that of the CSI driver which replaced its plugin, if the CSINode says so.
func translatedFor(pv *corev1.PersistentVolume, node *storagev1.CSINode) (*corev1.PersistentVolume, error) {
	plugin, ok := intree.PluginOf(&pv.Spec.PersistentVolumeSource)
	if !ok || !translates(plugin) || node == nil || !slices.Contains(strings.Split(node.Annotations[migratedPlugins], ","), plugin) {
		return pv, nil
	}
	// SCHED-063: its affinity has the topology keys of the driver.
	return intree.Volume(pv)
}
