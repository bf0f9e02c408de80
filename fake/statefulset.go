package fake

import (
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StatefulSet writes the pods and claims that the controller of a StatefulSet would write. It is no controller: whoever holds it
// creates and deletes the objects, in the order and at the moment that make the story.
type StatefulSet struct {
	// Name is that of the set, "name" in namespace default, or "namespace/name".
	Name string
	// Pod is what all pods are copied from; its name does not matter.
	Pod *corev1.Pod
	// Claims are the templates of the claims. A pod gets a volume of the name of each.
	Claims []*corev1.PersistentVolumeClaim
}

// PodAt is the pod of that ordinal, name-ordinal. It has the labels by which Kubernetes finds it, and mounts the claims of its ordinal.
func (s StatefulSet) PodAt(ordinal int) *corev1.Pod {
	key := split(s.Name)
	pod := &corev1.Pod{}
	if s.Pod != nil {
		pod = s.Pod.DeepCopy()
	}
	pod.Namespace, pod.Name = key.Namespace, fmt.Sprintf("%s-%d", key.Name, ordinal)
	metav1.SetMetaDataLabel(&pod.ObjectMeta, appsv1.StatefulSetPodNameLabel, pod.Name)
	metav1.SetMetaDataLabel(&pod.ObjectMeta, appsv1.PodIndexLabel, strconv.Itoa(ordinal))
	for _, template := range s.Claims {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: template.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: s.claimName(template, ordinal)},
		}})
		for i := range pod.Spec.Containers {
			mountIn(&pod.Spec.Containers[i], template)
		}
	}
	return pod
}

// mountIn gives a container the volume of a claim, as a device if the claim is for one.
func mountIn(c *corev1.Container, claim *corev1.PersistentVolumeClaim) {
	if mode := claim.Spec.VolumeMode; mode != nil && *mode == corev1.PersistentVolumeBlock {
		c.VolumeDevices = append(c.VolumeDevices, corev1.VolumeDevice{Name: claim.Name, DevicePath: "/dev/" + claim.Name})
		return
	}
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: claim.Name, MountPath: "/" + claim.Name})
}

// ClaimsAt are the claims of that ordinal, template-name-ordinal, one for each template. A pod that comes back finds them again: they are
// made for the ordinal, not for the pod, and have no owner.
func (s StatefulSet) ClaimsAt(ordinal int) []*corev1.PersistentVolumeClaim {
	var claims []*corev1.PersistentVolumeClaim
	for _, template := range s.Claims {
		claim := template.DeepCopy()
		claim.Namespace, claim.Name = split(s.Name).Namespace, s.claimName(template, ordinal)
		claims = append(claims, claim)
	}
	return claims
}

func (s StatefulSet) claimName(template *corev1.PersistentVolumeClaim, ordinal int) string {
	return fmt.Sprintf("%s-%s-%d", template.Name, split(s.Name).Name, ordinal)
}
