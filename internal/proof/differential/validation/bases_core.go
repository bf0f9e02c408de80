package validation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
)

func nodes() []api.Object {
	return []api.Object{&corev1.Node{ObjectMeta: meta("", "n1"),
		Spec: corev1.NodeSpec{PodCIDRs: []string{"10.0.0.0/24"}, PodCIDR: "10.0.0.0/24", ProviderID: "p",
			Taints: []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{Capacity: corev1.ResourceList{"cpu": amount("1"), "pods": amount("110")},
			Addresses:       []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "a"}},
			VolumesAttached: []corev1.AttachedVolume{{Name: "v", DevicePath: "d"}}, VolumesInUse: []corev1.UniqueVolumeName{"v"}},
	}}
}

func pods() []api.Object {
	return []api.Object{podWith(usualVolumes()...), gated(), podWith(everyVolume()...), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default"},
		Spec:       corev1.PodSpec{ServiceAccountName: "x", Containers: []corev1.Container{{Name: "db", Image: "db"}}},
	}}
}

// gated returns a pod with a scheduling gate.
func gated() *corev1.Pod {
	pod := podWith(usualVolumes()...)
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "a"}, {Name: "b"}}
	pod.Spec.ActiveDeadlineSeconds = new(int64(30))
	return pod
}

// podWith returns a pod that mounts all the volumes; the first of three in several ways.
func podWith(volumes ...corev1.Volume) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: meta("default", "p"), Spec: corev1.PodSpec{
		ServiceAccountName: "default", NodeSelector: map[string]string{"disk": "fast"}, Volumes: volumes,
		Tolerations: []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}},
		Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: nodeSelector(),
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1,
				Preference: nodeSelector().NodeSelectorTerms[0]}},
		}},
		InitContainers: []corev1.Container{{Name: "init", Image: "init", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}},
		Containers: []corev1.Container{
			{Name: "db", Image: "db:1", Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 80, HostPort: 80}},
				Env: []corev1.EnvVar{{Name: "A", Value: "b"}},
				Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": amount("1"), "example.com/gpu": amount("1")},
					Requests: corev1.ResourceList{"cpu": amount("500m")}}},
			{Name: "side", Image: "side"},
		},
	}}
	for i, v := range volumes {
		mount := corev1.VolumeMount{Name: v.Name, MountPath: "/" + v.Name}
		switch i {
		case 1:
			mount.SubPath = "a"
		case 2:
			mount.ReadOnly, mount.RecursiveReadOnly = true, new(corev1.RecursiveReadOnlyEnabled)
		}
		pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts, mount)
	}
	pod.Spec.Containers[1].VolumeDevices = []corev1.VolumeDevice{{Name: volumes[0].Name, DevicePath: "/dev/x"}}
	return pod
}

func named(name string, source corev1.VolumeSource) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: source}
}

func usualVolumes() []corev1.Volume {
	template := &corev1.PersistentVolumeClaimTemplate{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}},
		Spec: claims()[0].(*corev1.PersistentVolumeClaim).Spec}
	return []corev1.Volume{
		named("data", corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}),
		named("scratch", corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: template}}),
		{Name: "dir"},
	}
}

// everyVolume returns one volume of each source, the first a claim.
func everyVolume() []corev1.Volume {
	secret := &corev1.LocalObjectReference{Name: "s"}
	items := []corev1.KeyToPath{{Key: "a", Path: "b"}}
	field := []corev1.DownwardAPIVolumeFile{
		{Path: "p", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}},
		{Path: "r", ResourceFieldRef: &corev1.ResourceFieldSelector{ContainerName: "db", Resource: "limits.cpu", Divisor: amount("1m")}},
	}
	all := usualVolumes()[:1]
	for i, source := range []corev1.VolumeSource{
		{HostPath: &corev1.HostPathVolumeSource{Path: "/a"}}, {GitRepo: &corev1.GitRepoVolumeSource{Repository: "r"}},
		{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: "p"}},
		{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "v"}},
		{Secret: &corev1.SecretVolumeSource{SecretName: "s", Items: items}},
		{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/p"}},
		{ISCSI: &corev1.ISCSIVolumeSource{TargetPortal: "t", IQN: "iqn.2001-04.com.example:a", InitiatorName: new("iqn.2001-04.com.example:a")}},
		{Glusterfs: &corev1.GlusterfsVolumeSource{EndpointsName: "e", Path: "p"}}, {Flocker: &corev1.FlockerVolumeSource{DatasetName: "d"}},
		{RBD: &corev1.RBDVolumeSource{CephMonitors: []string{"m"}, RBDImage: "i"}},
		{Cinder: &corev1.CinderVolumeSource{VolumeID: "v", SecretRef: secret}},
		{CephFS: &corev1.CephFSVolumeSource{Monitors: []string{"m"}}}, {Quobyte: &corev1.QuobyteVolumeSource{Registry: "h:1", Volume: "v"}},
		{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: field}}, {FC: &corev1.FCVolumeSource{TargetWWNs: []string{"w"}, Lun: new(int32(1))}},
		{FlexVolume: &corev1.FlexVolumeSource{Driver: "d", Options: map[string]string{"a": "b"}}},
		{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}}},
		{AzureFile: &corev1.AzureFileVolumeSource{SecretName: "s", ShareName: "s"}},
		{VsphereVolume: &corev1.VsphereVirtualDiskVolumeSource{VolumePath: "v"}},
		{PhotonPersistentDisk: &corev1.PhotonPersistentDiskVolumeSource{PdID: "p"}},
		{PortworxVolume: &corev1.PortworxVolumeSource{VolumeID: "v"}},
		{AzureDisk: &corev1.AzureDiskVolumeSource{DiskName: "d", DataDiskURI: "https://x"}},
		{StorageOS: &corev1.StorageOSVolumeSource{VolumeName: "v", SecretRef: secret.DeepCopy()}},
		{ScaleIO: &corev1.ScaleIOVolumeSource{Gateway: "g", System: "s", VolumeName: "v"}},
		{CSI: &corev1.CSIVolumeSource{Driver: "csi.example.com", NodePublishSecretRef: secret.DeepCopy()}},
		{Image: &corev1.ImageVolumeSource{Reference: "r"}},
		{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{Secret: &corev1.SecretProjection{LocalObjectReference: *secret, Items: items}},
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: *secret, Items: []corev1.KeyToPath{{Key: "a", Path: "x"}}}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{Path: "p",
				FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['a']"}}}}},
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "t"}},
		}}},
	} {
		all = append(all, named(fmt.Sprintf("v%d", i), source))
	}
	return all
}
