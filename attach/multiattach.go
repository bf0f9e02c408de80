package attach

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

// reportMultiAttach emits an Event for each pod whose volume is attached to another node (ATT-071).
func (c *controller) reportMultiAttach(p *engine.Process, at pair, v *desiredVolume, elsewhere []string) {
	// ATT-071: once while the volume is desired here; pods that come later get no Event.
	if v.multiAttachReported {
		return
	}
	v.multiAttachReported = true
	p.Decide("ATT-070", c.subject(v.spec, nil), "do not attach %s to node %s: it is attached to %v and allows one node only", at.volume,
		at.node, elsewhere)
	blocking := c.desired.podsOn(at.volume, elsewhere)
	for _, pod := range v.pods {
		c.events.Event(p, pod, corev1.EventTypeWarning, reasonFailed, multiAttachText(v.spec, pod.Namespace, blocking))
	}
}

// multiAttachText returns the message of the Event for a pod whose volume is attached to another node (ATT-072). blocking are the pods that
// use it there.
func multiAttachText(spec objects.VolumeSpec, namespace string, blocking []*corev1.Pod) string {
	return fmt.Sprintf("Multi-Attach error for volume %q %s", spec.Name(), blockedBy(namespace, blocking))
}

func blockedBy(namespace string, blocking []*corev1.Pod) string {
	// ATT-072: without known pods the message names neither a pod nor the node.
	if len(blocking) == 0 {
		return "Volume is already exclusively attached to one node and can't be attached to another"
	}
	var names []string
	others := 0
	for _, pod := range blocking {
		// ATT-072: pods of other namespaces are only counted.
		if pod.Namespace == namespace {
			names = append(names, pod.Name)
		} else {
			others++
		}
	}
	switch {
	case len(names) == 0:
		return fmt.Sprintf("Volume is already used by %d pod(s) in different namespaces", others)
	case others > 0:
		return fmt.Sprintf("Volume is already used by pod(s) %s and %d pod(s) in different namespaces", strings.Join(names, ", "), others)
	}
	return "Volume is already used by pod(s) " + strings.Join(names, ", ")
}
