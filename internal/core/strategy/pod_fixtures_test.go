package strategy

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// withVolume replaces the source of the volume that the pod has mounted as a directory.
func withVolume(source corev1.VolumeSource) func(*corePod) {
	return func(pod *corePod) { pod.Spec.Volumes[2].VolumeSource = source }
}

// withMount replaces the mount of that volume.
func withMount(mount corev1.VolumeMount) func(*corePod) {
	return func(pod *corePod) { pod.Spec.Containers[0].VolumeMounts[2] = mount }
}

// withTemplate changes the template of the ephemeral volume.
func withTemplate(mutate func(*corev1.PersistentVolumeClaimTemplate)) func(*corePod) {
	return func(pod *corePod) { mutate(pod.Spec.Volumes[1].Ephemeral.VolumeClaimTemplate) }
}

// withDevices makes devices of volumes of the pod, which is not mounted anywhere then.
func withDevices(devices ...corev1.VolumeDevice) func(*corePod) {
	return func(pod *corePod) {
		pod.Spec.Containers[0].VolumeMounts = nil
		pod.Spec.Containers[0].VolumeDevices = devices
	}
}

func withResources(limits, requests corev1.ResourceList) func(*corePod) {
	return func(pod *corePod) {
		pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: limits, Requests: requests}
	}
}

func goodDriver() *csiDriver {
	return &csiDriver{ObjectMeta: metav1.ObjectMeta{Name: "csi.example.com"}, Spec: storagev1.CSIDriverSpec{
		TokenRequests: []storagev1.TokenRequest{{Audience: "a", ExpirationSeconds: new(int64(600))}, {}},
	}}
}

func goodCSINode() *csiNode {
	return &csiNode{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
		{Name: "csi.example.com", NodeID: "i-1", TopologyKeys: []string{"example.com/zone"},
			Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(16))}},
		{Name: "CSI.Other.example.com", NodeID: "i-1"},
	}}}
}

func goodCapacity() *csiStorageCapacity {
	return &csiStorageCapacity{
		ObjectMeta: metav1.ObjectMeta{Name: "csisc-1", Namespace: "default"}, StorageClassName: "fast",
		NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{"example.com/zone": "z1"}},
		Capacity:     new(apiresource.MustParse("10Gi")),
	}
}
