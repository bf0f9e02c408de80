package store

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// goodPod is a pod as an author writes it: one container, a claim, a generic ephemeral volume, a directory and a secret.
func goodPod() *corePod {
	return &corePod{
		ObjectMeta: metav1.ObjectMeta{Name: "db-0", Namespace: "default"},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "db", Image: "example.com/db:1",
				VolumeMounts: []corev1.VolumeMount{
					{Name: "data", MountPath: "/data"}, {Name: "scratch", MountPath: "/scratch"},
					{Name: "dir", MountPath: "/dir", SubPath: "a/b"}, {Name: "key", MountPath: "/key", ReadOnly: true},
				},
			}},
			Volumes: []corev1.Volume{
				{Name: "data", VolumeSource: claimSource("data")},
				{Name: "scratch", VolumeSource: ephemeralSource()},
				{Name: "dir"},
				{Name: "key", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "key"}}},
			},
		},
	}
}

func claimSource(name string) corev1.VolumeSource {
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
}

func ephemeralSource() corev1.VolumeSource {
	return corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: amounts("storage", "1Gi")},
		},
	}}}
}

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

// amounts makes a list of resources out of pairs of a name and an amount.
func amounts(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = apiresource.MustParse(pairs[i+1])
	}
	return list
}

func schedulingGates(names ...string) []corev1.PodSchedulingGate {
	var all []corev1.PodSchedulingGate
	for _, name := range names {
		all = append(all, corev1.PodSchedulingGate{Name: name})
	}
	return all
}

func goodNode() *coreNode {
	return &coreNode{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{corev1.LabelTopologyZone: "z1", "disk": "fast"}},
		Status: corev1.NodeStatus{
			Capacity: amounts("cpu", "4", "memory", "8Gi", "pods", "110", "example.com/gpu", "2"),
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.NewTime(noon),
			}},
		},
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
