package attach

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/klog"
)

// populate is a pass of the populator: it removes volumes from the desired state that no pod wants any more, and in each third pass adds
// missing ones (ATT-032 to ATT-035). Passes that would change nothing are skipped.
func (c *controller) populate(p *engine.Process) {
	removed := c.removeGonePods(p)
	attachable := c.removeUnattachable(p)
	// ATT-035: every third pass reads all pods, the first included.
	if c.relist && p.Now().Sub(c.started)%relistPeriod == 0 {
		c.addActivePods()
		c.relist = false
	}
	if removed || attachable || c.relist {
		c.populator.ArmBackground()
	}
}

// removeGonePods removes pods that are gone or terminated. It reports whether there was one.
func (c *controller) removeGonePods(p *engine.Process) bool {
	// ATT-033: a pass removes one volume of each pod only. SIM: the first by node and volume.
	victims := map[types.UID]struct{}{}
	removed := false
	for _, at := range c.desired.all() {
		v, _ := c.desired.get(at)
		for _, pod := range v.pods {
			if _, done := victims[pod.UID]; done {
				continue
			}
			victims[pod.UID] = struct{}{}
			known, ok := c.infPods.Get(api.KeyOf(pod))
			// ATT-002, ATT-032: a pod with the same name and another uid is another pod.
			if ok && known.UID == pod.UID && Wants(known) {
				continue
			}
			c.log.populator.Info(1, "Removing pod from dsw because it does not exist in pod informer", klog.String("podName", api.KeyOf(pod)),
				klog.String("podUID", pod.UID))
			p.Decide("ATT-032", pod, "the pod is gone or terminated: volume %s is no longer desired on node %s", at.volume, at.node)
			c.desired.remove(at, pod.UID)
			c.updateWork(at)
			removed = true
		}
	}
	return removed
}

// removeUnattachable removes volumes whose driver no longer requires attaching. It reports whether there was one.
func (c *controller) removeUnattachable(p *engine.Process) bool {
	removed := false
	for _, at := range c.desired.all() {
		v, _ := c.desired.get(at)
		if _, ok := c.attachable(v.spec); ok {
			continue
		}
		// ATT-034: the reconciler then detaches it like any other volume.
		for _, pod := range v.pods {
			p.Decide("ATT-034", pod, "volume %s needs no attaching any more: it is no longer desired on node %s", at.volume, at.node)
			c.desired.remove(at, pod.UID)
		}
		c.updateWork(at)
		removed = true
	}
	return removed
}

// addActivePods adds the volumes of all pods that are not terminated (ATT-035).
func (c *controller) addActivePods() {
	for _, pod := range c.infPods.List() {
		// ATT-035: this adds volumes that could not be resolved when the event of the pod came.
		if Wants(pod) {
			c.addVolumes(pod)
		}
	}
}
