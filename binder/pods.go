package binder

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
)

// PodsUsing lists the pods that refer to the claim of that key and are not terminated, by name, as the informer has them.
func (c *controller) PodsUsing(claimKey string) []*corev1.Pod {
	return slices.DeleteFunc(c.infPods.ByIndex(c.store.PodsByClaim, claimKey), objects.Terminated)
}

// waitingPods names the pods that use the claim and have no node yet (PROV-012).
func (c *controller) waitingPods(claim *corev1.PersistentVolumeClaim) []string {
	var names []string
	for _, pod := range c.PodsUsing(api.KeyOf(claim)) {
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
