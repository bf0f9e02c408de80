package differential

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/objects"
)

func (g *schedulingGenerator) pod(key string) *corev1.Pod {
	namespace, name := objects.SplitKey(key)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + namespace + "-" + name)}}
	pod.Spec.SchedulerName = corev1.DefaultSchedulerName
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	if g.chance(6) || g.about == "crowd" && g.chance(2) {
		pod.Spec.Containers[0].Resources.Requests = amounts("cpu", pick(g.generator, "500m", "1", "3", "5"))
	}
	for range pick(g.generator, 0, 1, 1, 1, 1, 1, 2, 2, 3) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, g.podVolume(namespace))
	}
	for i := range pod.Spec.Volumes {
		if pod.Spec.Volumes[i].Ephemeral == nil {
			pod.Spec.Volumes[i].Name = fmt.Sprintf("v%d", i)
		}
	}
	if g.crowded {
		g.sociable(pod)
	}
	if g.ports && g.chance(2) {
		g.useHostPort(pod)
	}
	return pod
}

// useHostPort makes a pod need a port of its node.
func (g *schedulingGenerator) useHostPort(pod *corev1.Pod) {
	port := corev1.ContainerPort{ContainerPort: 80, HostPort: pick(g.generator, int32(80), 80, 80, 81, 0), Protocol: pick(g.generator, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP),
		HostIP: pick(g.generator, "", "", "0.0.0.0", "10.0.0.1", "10.0.0.2")}
	if !g.chance(5) {
		pod.Spec.Containers[0].Ports = []corev1.ContainerPort{port}
		return
	}
	c := corev1.Container{Name: "i", Image: "i", Ports: []corev1.ContainerPort{port}}
	if g.chance(2) {
		c.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	}
	pod.Spec.InitContainers = []corev1.Container{c}
}

func (g *schedulingGenerator) podVolume(namespace string) corev1.Volume {
	var v corev1.Volume
	claim := func() *corev1.PersistentVolumeClaimVolumeSource {
		names := []string{"c1", "c2", "c3"}
		if namespace == "other" {
			names = []string{"c1"}
		}
		if g.chance(30) {
			names = []string{"nosuch", "p-own"}
		}
		return &corev1.PersistentVolumeClaimVolumeSource{ClaimName: pick(g.generator, names...), ReadOnly: g.chance(8)}
	}
	if g.about == "disks" && !g.chance(5) {
		g.disk(&v)
		return v
	}
	if g.about == "crowd" && !g.chance(5) {
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
		return v
	}
	switch g.IntN(14) {
	case 0:
		v.Name = "own"
		v.Ephemeral = &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: amounts("storage", "1Gi")}}}}
	case 1:
		v.CSI = &corev1.CSIVolumeSource{Driver: pick(g.generator, firstDriver, secondDriver)}
	case 2:
		g.disk(&v)
	case 3:
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	default:
		v.PersistentVolumeClaim = claim()
	}
	return v
}

// disk returns an inline volume that names a disk.
func (g *schedulingGenerator) disk(v *corev1.Volume) {
	id, ro, sort := pick(g.generator, "disk1", "disk1", "disk2"), g.chance(2), g.IntN(4)
	if g.about == "disks" {
		sort = g.sort
	}
	switch sort {
	case 0:
		v.GCEPersistentDisk = &corev1.GCEPersistentDiskVolumeSource{PDName: id, ReadOnly: ro}
	case 1:
		v.AWSElasticBlockStore = &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: id, ReadOnly: ro}
	case 2:
		v.ISCSI = &corev1.ISCSIVolumeSource{TargetPortal: "10.0.0.1", IQN: "iqn.2000-01.com.example:" + id, ReadOnly: ro}
	case 3:
		v.RBD = &corev1.RBDVolumeSource{CephMonitors: pick(g.generator, []string{"m1"}, []string{"m1", "m2"}, []string{"m3"}), RBDImage: id,
			RBDPool: pick(g.generator, "rbd", "rbd", "q"), ReadOnly: ro}
	}
}

// placed returns a pod on a node. Priorities are distinct, or those of a crowd the times of start, so that the victim of a preemption is
// determined.
func (g *schedulingGenerator) placed(name string, n int32) *corev1.Pod {
	pod := g.pod(pick(g.generator, "default", "default", "default", "other") + "/" + name)
	pod.Spec.NodeName = pick(g.generator, "n1", "n2", "n3", "n3", "n4")
	pod.Spec.Priority = new(pick(g.generator, int32(-10), -10, 0, 100) + n)
	if g.about == "crowd" {
		pod.Spec.NodeName = pick(g.generator, "n1", "n2", "n3")
		pod.Spec.Priority = new(pick(g.generator, int32(-10), -10, 0, 100))
		pod.Status.StartTime = new(metav1.NewTime(Epoch.Add(-time.Duration(10*g.IntN(100)+int(n)%10) * time.Second)))
	}
	pod.Status.Phase = pick(g.generator, corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodPending, corev1.PodSucceeded,
		corev1.PodFailed)
	if g.chance(12) {
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = new(metav1.NewTime(Epoch)), new(int64(30))
	}
	return pod
}

// waiting returns a pod without a node.
func (g *schedulingGenerator) waiting(name string, priority int32) *corev1.Pod {
	pod := g.pod("default/" + name)
	for len(pod.Spec.Volumes) == 0 {
		pod = g.pod("default/" + name)
	}
	pod.Spec.Priority = new(priority)
	pod.Status.Phase = corev1.PodPending
	g.used = append(g.used, objects.ClaimsOf(pod)...)
	if g.chance(20) {
		pod.Spec.PreemptionPolicy = new(corev1.PreemptNever)
	}
	if g.chance(12) {
		pod.Spec.Tolerations = []corev1.Toleration{pick(g.generator, corev1.Toleration{Operator: corev1.TolerationOpExists},
			corev1.Toleration{Key: "only", Value: "some"})}
	}
	if g.chance(12) {
		pod.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "a"}
	}
	return pod
}

func (g *schedulingGenerator) attachment(name string) *storagev1.VolumeAttachment {
	a := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}}
	a.Spec.Attacher, a.Spec.NodeName = pick(g.generator, firstDriver, firstDriver, secondDriver, "pd.csi.storage.gke.io"),
		pick(g.generator, "n1", "n2", "n3")
	a.Spec.Source.PersistentVolumeName = new(pick(g.generator, "pv1", "pv2", "pv3", "pv4", "pv5", "pv9"))
	a.Status.Attached = g.chance(2)
	return a
}

// known returns the key of a claim in namespace default, often one that a waiting pod uses.
func (g *schedulingGenerator) known() string {
	if len(g.used) > 0 && g.chance(2) {
		return pick(g.generator, g.used...)
	}
	return pick(g.generator, slices.Concat([]string{"default/c1"}, g.claims)...)
}
