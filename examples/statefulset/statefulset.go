package main

import (
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// statefulSet builds the pods and claims that the StatefulSet controller would create. The caller creates and deletes them.
type statefulSet struct {
	namespace, name string                          // of the set
	pod             *corev1.Pod                     // template of the pods; its name does not matter
	claims          []*corev1.PersistentVolumeClaim // templates of the claims; each pod gets a volume with the name of each
}

// podAt returns the pod with that ordinal, name-ordinal. It has the labels of Kubernetes and mounts the claims of its ordinal.
func (s statefulSet) podAt(ordinal int) *corev1.Pod {
	pod := s.pod.DeepCopy()
	pod.Namespace, pod.Name = s.namespace, fmt.Sprintf("%s-%d", s.name, ordinal)
	metav1.SetMetaDataLabel(&pod.ObjectMeta, appsv1.StatefulSetPodNameLabel, pod.Name)
	metav1.SetMetaDataLabel(&pod.ObjectMeta, appsv1.PodIndexLabel, strconv.Itoa(ordinal))
	for _, template := range s.claims {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: template.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: s.claimName(template, ordinal)},
		}})
		for i := range pod.Spec.Containers {
			mountIn(&pod.Spec.Containers[i], template)
		}
	}
	return pod
}

// mountIn adds the volume of a claim to a container, as a device if its volume mode is Block.
func mountIn(c *corev1.Container, claim *corev1.PersistentVolumeClaim) {
	if mode := claim.Spec.VolumeMode; mode != nil && *mode == corev1.PersistentVolumeBlock {
		c.VolumeDevices = append(c.VolumeDevices, corev1.VolumeDevice{Name: claim.Name, DevicePath: "/dev/" + claim.Name})
		return
	}
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: claim.Name, MountPath: "/" + claim.Name})
}

// claimsAt returns the claims of that ordinal, template-name-ordinal, one for each template. They belong to the ordinal and not to the pod:
// they have no owner, so a pod that is created again finds them.
func (s statefulSet) claimsAt(ordinal int) []*corev1.PersistentVolumeClaim {
	var claims []*corev1.PersistentVolumeClaim
	for _, template := range s.claims {
		claim := template.DeepCopy()
		claim.Namespace, claim.Name = s.namespace, s.claimName(template, ordinal)
		claims = append(claims, claim)
	}
	return claims
}

func (s statefulSet) claimName(template *corev1.PersistentVolumeClaim, ordinal int) string {
	return fmt.Sprintf("%s-%s-%d", template.Name, s.name, ordinal)
}
