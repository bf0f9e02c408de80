package statefulset

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/controllers/workload"
)

// parse splits the name of a pod into that of its set and the ordinal, which is -1 if there is none (STS-001).
func parse(name string) (parent string, ordinal int) {
	i := strings.LastIndexByte(name, '-')
	if i < 0 || i == len(name)-1 || strings.Trim(name[i+1:], "0123456789") != "" {
		return "", -1
	}
	n, err := strconv.ParseInt(name[i+1:], 10, 32)
	if err != nil {
		return name[:i], -1
	}
	return name[:i], int(n)
}

func ordinalOf(pod *corev1.Pod) int {
	_, ordinal := parse(pod.Name)
	return ordinal
}

// start returns the first ordinal of a set (STS-002).
func start(set *appsv1.StatefulSet) int {
	if set.Spec.Ordinals != nil {
		return int(set.Spec.Ordinals.Start)
	}
	return 0
}

func replicas(set *appsv1.StatefulSet) int {
	if set.Spec.Replicas == nil {
		return 1
	}
	return int(*set.Spec.Replicas)
}

// inRange reports whether the set wants a pod with this ordinal.
func inRange(set *appsv1.StatefulSet, ordinal int) bool {
	return ordinal >= start(set) && ordinal < start(set)+replicas(set)
}

// claimName returns the name of the claim of a pod for a template (STS-003).
func claimName(set *appsv1.StatefulSet, template *corev1.PersistentVolumeClaim, ordinal int) string {
	return fmt.Sprintf("%s-%s-%d", template.Name, set.Name, ordinal)
}

// claimsOf returns the claims of a pod, as they are created, in the order of the templates (STS-003).
func claimsOf(set *appsv1.StatefulSet, ordinal int) []*corev1.PersistentVolumeClaim {
	var claims []*corev1.PersistentVolumeClaim
	for i := range set.Spec.VolumeClaimTemplates {
		claim := set.Spec.VolumeClaimTemplates[i].DeepCopy()
		claim.Name, claim.Namespace = claimName(set, claim, ordinal), set.Namespace
		if claim.Labels == nil {
			claim.Labels = map[string]string{}
		}
		// STS-003: the labels of the selector are added.
		maps.Copy(claim.Labels, set.Spec.Selector.MatchLabels)
		claims = append(claims, claim)
	}
	return claims
}

// newPod returns the pod of an ordinal at a revision (STS-004).
func (u *update) newPod(template *corev1.PodTemplateSpec, revision string, ordinal int) *corev1.Pod {
	pod := workload.FromTemplate(template, u.set, u.ref)
	pod.GenerateName = u.set.Name + "-"
	pod.Name = fmt.Sprintf("%s-%d", u.set.Name, ordinal)
	identify(u.set, pod, ordinal)
	// STS-004: host name and subdomain are set at creation only.
	pod.Spec.Hostname, pod.Spec.Subdomain = pod.Name, u.set.Spec.ServiceName
	mountClaims(u.set, pod, ordinal)
	pod.Labels[appsv1.StatefulSetRevisionLabel] = revision
	return pod
}

// identify sets the name and the labels of a pod.
func identify(set *appsv1.StatefulSet, pod *corev1.Pod, ordinal int) {
	pod.Name, pod.Namespace = fmt.Sprintf("%s-%d", set.Name, ordinal), set.Namespace
	pod.Labels = maps.Clone(pod.Labels)
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels[appsv1.StatefulSetPodNameLabel] = pod.Name
	pod.Labels[appsv1.PodIndexLabel] = strconv.Itoa(ordinal)
}

// identified reports whether a pod has the identity of a pod of the set.
func identified(set *appsv1.StatefulSet, pod *corev1.Pod) bool {
	parent, ordinal := parse(pod.Name)
	return ordinal >= 0 && parent == set.Name && pod.Name == fmt.Sprintf("%s-%d", set.Name, ordinal) && pod.Namespace == set.Namespace &&
		pod.Labels[appsv1.StatefulSetPodNameLabel] == pod.Name
}

// mountClaims makes the claims volumes of a pod, first, in place of volumes of the same names (STS-004).
func mountClaims(set *appsv1.StatefulSet, pod *corev1.Pod, ordinal int) {
	var volumes []corev1.Volume
	names := map[string]bool{}
	for i := range set.Spec.VolumeClaimTemplates {
		template := &set.Spec.VolumeClaimTemplates[i]
		names[template.Name] = true
		volumes = append(volumes, corev1.Volume{Name: template.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claimName(set, template, ordinal)},
		}})
	}
	for i := range pod.Spec.Volumes {
		if !names[pod.Spec.Volumes[i].Name] {
			volumes = append(volumes, pod.Spec.Volumes[i])
		}
	}
	pod.Spec.Volumes = volumes
}

// mountsClaims reports whether a pod has the claims of the set as volumes.
func mountsClaims(set *appsv1.StatefulSet, pod *corev1.Pod) bool {
	ordinal := ordinalOf(pod)
	for i := range set.Spec.VolumeClaimTemplates {
		template, found := &set.Spec.VolumeClaimTemplates[i], false
		for j := range pod.Spec.Volumes {
			if v := &pod.Spec.Volumes[j]; v.Name == template.Name {
				found = v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claimName(set, template, ordinal)
			}
		}
		if !found {
			return false
		}
	}
	return ordinal >= 0
}
