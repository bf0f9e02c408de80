package strategy

import (
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
)

// podQOS returns the quality-of-service class of a pod, which depends on requests and limits of cpu and memory (API-108). Guaranteed: every
// container limits both, and requests equal limits. BestEffort: no requests and limits. Burstable: all others. Requests and limits of the
// pod override those of its containers.
func podQOS(pod *corePod) corev1.PodQOSClass {
	if pod.Status.QOSClass != "" {
		return pod.Status.QOSClass
	}
	var sum qosSum
	if whole := pod.Spec.Resources; whole != nil {
		sum.add(whole)
		if len(whole.Limits) == 0 {
			sum.unlimited = false
		}
	} else {
		for i := range pod.Spec.Containers {
			sum.add(&pod.Spec.Containers[i].Resources)
		}
		for i := range pod.Spec.InitContainers {
			sum.add(&pod.Spec.InitContainers[i].Resources)
		}
	}
	return sum.class()
}

// qosSum is the sum of cpu and memory. An absent resource counts as zero.
type qosSum struct {
	requests, limits [2]apiresource.Quantity
	unlimited        bool // some container lacks a limit
}

var qosResources = [2]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

func (s *qosSum) add(r *corev1.ResourceRequirements) {
	for i, name := range qosResources {
		if request, ok := r.Requests[name]; ok && request.Sign() > 0 {
			s.requests[i].Add(request)
		}
		limit, ok := r.Limits[name]
		if !ok || limit.Sign() <= 0 {
			s.unlimited = true
			continue
		}
		s.limits[i].Add(limit)
	}
}

func (s *qosSum) class() corev1.PodQOSClass {
	class := corev1.PodQOSBestEffort
	equal := true
	for i := range qosResources {
		request, limit := s.requests[i].Sign() > 0, s.limits[i].Sign() > 0
		if request || limit {
			class = corev1.PodQOSBurstable
		}
		if request != limit || s.requests[i].Cmp(s.limits[i]) != 0 {
			equal = false
		}
	}
	if class == corev1.PodQOSBurstable && equal && !s.unlimited {
		class = corev1.PodQOSGuaranteed
	}
	return class
}
