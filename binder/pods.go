package binder

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/store"
)

// claimKeysOf lists the claims that a pod refers to: by name in its volumes, and those of its generic ephemeral volumes.
func claimKeysOf(pod *corev1.Pod) []string {
	var keys []string
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		switch {
		case v.PersistentVolumeClaim != nil:
			keys = append(keys, store.Key(pod.Namespace, v.PersistentVolumeClaim.ClaimName))
		case v.Ephemeral != nil:
			keys = append(keys, store.Key(pod.Namespace, pod.Name+"-"+v.Name))
		}
	}
	return keys
}

// PodsUsing lists the pods that refer to the claim of that key and are not terminated, by name, as the informer has them.
func (c *Controller) PodsUsing(claimKey string) []*corev1.Pod {
	return slices.DeleteFunc(c.infPods.ByIndex(c.podsByClaim, claimKey), isTerminated)
}

// waitingPods names the pods that use the claim and have no node yet (PROV-012).
func (c *Controller) waitingPods(claim *corev1.PersistentVolumeClaim) []string {
	var names []string
	for _, pod := range c.PodsUsing(store.KeyOf(claim)) {
		// PROV-012: a pod that is on a node already needs no scheduler.
		if pod.Spec.NodeName == "" {
			names = append(names, pod.Name)
		}
	}
	return names
}

// waitingFor is the reason and the text of the event about a claim that waits for its first consumer (PROV-012).
func waitingFor(pods []string) (reason, text string) {
	// PROV-012: SIM: the names come sorted.
	switch len(pods) {
	case 0:
		return "WaitForFirstConsumer", "waiting for first consumer to be created before binding"
	case 1:
		return "WaitForPodScheduled", "waiting for pod " + pods[0] + " to be scheduled"
	}
	return "WaitForPodScheduled", "waiting for pods " + strings.Join(pods, ",") + " to be scheduled"
}

// isTerminated is RECL-066: a pod that has ended, or is being deleted and has no container left that runs.
func isTerminated(pod *corev1.Pod) bool {
	// RECL-066
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return true
	}
	if pod.DeletionTimestamp == nil {
		return false
	}
	for _, statuses := range [][]corev1.ContainerStatus{
		pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses,
	} {
		for i := range statuses {
			if statuses[i].State.Terminated == nil && statuses[i].State.Waiting == nil {
				return false
			}
		}
	}
	return true
}
