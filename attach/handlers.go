package attach

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/klog"
	"github.com/volsim/volsim/internal/core/objects"
)

// The handlers of changes (ATT-027).
var (
	nodeHandlers = engine.Handlers[*controller, *corev1.Node]{
		Add:    (*controller).nodeAdded,
		Update: func(c *controller, _, node *corev1.Node) { c.nodeChanged(node) },
		Delete: (*controller).nodeDeleted,
	}
	podHandlers = engine.Handlers[*controller, *corev1.Pod]{
		Add:    (*controller).podChanged,
		Update: func(c *controller, _, pod *corev1.Pod) { c.podChanged(pod) },
		Delete: (*controller).podDeleted,
	}
	// ATT-027: the controller ignores the deletion of a claim.
	claimHandlers = engine.Handlers[*controller, *corev1.PersistentVolumeClaim]{
		Add:    (*controller).claimChanged,
		Update: func(c *controller, _, claim *corev1.PersistentVolumeClaim) { c.claimChanged(claim) },
	}
	// ATT-027: upstream has no handlers for these, because its passes read them anyway. Here a change arms a pass that would be skipped.
	volumeHandlers = engine.Handlers[*controller, *corev1.PersistentVolume]{
		Add:    func(c *controller, _ *corev1.PersistentVolume) { c.scheduleRelist() },
		Update: func(c *controller, _, _ *corev1.PersistentVolume) { c.scheduleRelist() },
		Delete: func(c *controller, _ *corev1.PersistentVolume) { c.scheduleRelist() },
	}
	driverHandlers = engine.Handlers[*controller, *storagev1.CSIDriver]{
		Add:    (*controller).driverChanged,
		Update: func(c *controller, _, driver *storagev1.CSIDriver) { c.driverChanged(driver) },
		Delete: (*controller).driverChanged,
	}
	attachmentHandlers = engine.Handlers[*controller, *storagev1.VolumeAttachment]{
		Add:    (*controller).attachmentChanged,
		Update: func(c *controller, _, va *storagev1.VolumeAttachment) { c.attachmentChanged(va) },
		Delete: (*controller).attachmentChanged,
	}
)

// handleEvents registers the handlers of changes (ATT-027). The handler of a kind receives changes in order; there is no order between
// kinds (ATT-210), and each may lag (ATT-211).
func (c *controller) handleEvents() {
	engine.Handle(c.infNodes, c, &nodeHandlers)
	engine.Handle(c.infPods, c, &podHandlers)
	engine.Handle(c.infClaims, c, &claimHandlers)
	engine.Handle(c.infVolumes, c, &volumeHandlers)
	engine.Handle(c.infDrivers, c, &driverHandlers)
	engine.Handle(c.infAttachments, c, &attachmentHandlers)
}

func (c *controller) driverChanged(*storagev1.CSIDriver) {
	c.scheduleRelist()
	c.scheduleVerification()
}

func (c *controller) attachmentChanged(va *storagev1.VolumeAttachment) {
	// A VolumeAttachment that is attached and stays passes every verification.
	if va.DeletionTimestamp != nil || !va.Status.Attached {
		c.scheduleVerification()
	}
}

// scheduleRelist makes the populator read all pods again at its next due pass.
func (c *controller) scheduleRelist() {
	c.relist = true
	c.populator.ArmBackground()
}

func (c *controller) nodeAdded(node *corev1.Node) {
	c.nodeChanged(node)
	// ATT-115: a node that was created again has no volumesAttached.
	c.actual.markDirty(node.Name)
	c.wake()
}

func (c *controller) nodeChanged(node *corev1.Node) {
	c.manage(node)
	c.log.controller.Info(4, "processVolumesInUse for node", nodeName(node.Name))
	// ATT-043: volumesInUse decides what counts as mounted.
	c.actual.setInUse(node.Name, node.Status.VolumesInUse)
	c.wake()
}

// manage starts to manage a node that has the annotation.
func (c *controller) manage(node *corev1.Node) {
	// ATT-021: the key alone counts; a node that loses the annotation stays managed.
	if _, ok := node.Annotations[objects.AnnManagedAttach]; ok && !c.desired.manages(node.Name) {
		c.desired.addNode(node.Name)
		c.scheduleRelist()
	}
}

func (c *controller) nodeDeleted(node *corev1.Node) {
	// ATT-022: a node with desired volumes stays managed.
	c.desired.deleteNode(node.Name)
	c.log.controller.Info(4, "processVolumesInUse for node", nodeName(node.Name))
	// ATT-022, ATT-043: the last report of a deleted node stays.
	c.actual.setInUse(node.Name, node.Status.VolumesInUse)
	c.wake()
}

func (c *controller) podChanged(pod *corev1.Pod) {
	c.scheduleRelist()
	switch actionFor(pod) {
	case addsVolumes:
		c.addVolumes(pod)
	case removesVolumes:
		c.removeVolumes(pod)
	}
}

func (c *controller) podDeleted(pod *corev1.Pod) {
	c.scheduleRelist()
	// ATT-027: the deletion of a pod removes its volumes in any phase.
	if pod.Spec.NodeName != "" {
		c.removeVolumes(pod)
	}
}

// podAction is the effect of a pod on the desired volumes of its node.
type podAction int

// The effects: none, its volumes are added, its volumes are removed.
const (
	ignoresPod podAction = iota
	addsVolumes
	removesVolumes
)

// Wants reports whether a pod wants its volumes attached to its node (ATT-025), whether or not the node is managed.
func Wants(pod *corev1.Pod) bool { return actionFor(pod) == addsVolumes }

// actionFor returns the effect of a pod (ATT-025).
func actionFor(pod *corev1.Pod) podAction {
	switch {
	case pod.Spec.NodeName == "":
		// ATT-025: a pod without a node is ignored.
		return ignoresPod
	case objects.Terminated(pod):
		// ATT-025, ATT-026, ATT-195: a pod that is complete, or is being deleted and runs no container, never needs its volumes again.
		return removesVolumes
	}
	return addsVolumes
}

// addVolumes adds the volumes of a pod to the desired state.
func (c *controller) addVolumes(pod *corev1.Pod) {
	// ATT-025: a pod on a node that is not managed is ignored until the populator relists (ATT-035).
	if !c.desired.manages(pod.Spec.NodeName) {
		return
	}
	c.attachableVolumes(pod, func(at pair, v *desiredVolume, spec objects.VolumeSpec) {
		if c.desired.addTo(v, at, pod, spec) {
			c.updateWork(at)
		}
	})
}

// removeVolumes removes the volumes of a pod from the desired state.
func (c *controller) removeVolumes(pod *corev1.Pod) {
	if !c.desired.manages(pod.Spec.NodeName) || c.desired.pods[pod.UID] == 0 && !c.actor.Engine().Observed() {
		return // a pod that ended is deleted later
	}
	// ATT-028: a volume that cannot be resolved any more stays, until the populator finds that the pod is gone.
	c.attachableVolumes(pod, func(at pair, v *desiredVolume, _ objects.VolumeSpec) {
		if v != nil && c.desired.remove(at, pod.UID) {
			c.updateWork(at)
		}
	})
}

func (c *controller) claimChanged(claim *corev1.PersistentVolumeClaim) {
	c.scheduleRelist()
	// ATT-031: before the claim is bound a sync would do nothing; the update that binds it is handled here too.
	if isBound(claim) {
		c.claimQueue.Add(c.infClaims.KeyOf(claim))
	}
}

func isBound(claim *corev1.PersistentVolumeClaim) bool {
	return claim.Status.Phase == corev1.ClaimBound && claim.Spec.VolumeName != ""
}

// processClaim adds the volumes of the pods of a claim that may have become bound (ATT-031).
func (c *controller) processClaim(_ *engine.Process, key string) error {
	c.log.controller.Info(5, "syncPVCByKey", klog.String("pvcKey", key))
	claim, ok := c.infClaims.Get(key)
	if !ok {
		_, name := objects.SplitKey(key)
		c.log.controller.Info(4, "Error getting pvc from informer", klog.String("pvcKey", key),
			klog.String("err", `persistentvolumeclaim "`+name+`" not found`))
	}
	// ATT-031: a claim that is not bound has no volume to attach.
	if !ok || !isBound(claim) {
		return nil
	}
	for _, pod := range c.infPods.ByIndex(c.actor.Engine().Store().PodsByClaim, key) {
		// ATT-031: all volumes of the pod are added; one that cannot be resolved is not retried.
		if Wants(pod) {
			c.addVolumes(pod)
		}
	}
	return nil
}
