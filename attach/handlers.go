package attach

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

// AnnManaged marks a node whose volumes this controller attaches; the value does not matter (ATT-021).
const AnnManaged = "volumes.kubernetes.io/controller-managed-attach-detach"

// handleEvents says what the controller does when something changes (ATT-027). Handlers of one kind see the changes in order; between
// kinds there is none (ATT-210), and each may lag (ATT-211).
func (c *controller) handleEvents() {
	c.infNodes.Handle(engine.Handler[*corev1.Node]{
		Add:    c.nodeAdded,
		Update: func(_, node *corev1.Node) { c.nodeChanged(node) },
		Delete: c.nodeDeleted,
	})
	c.infPods.Handle(engine.Handler[*corev1.Pod]{
		Add:    c.podChanged,
		Update: func(_, pod *corev1.Pod) { c.podChanged(pod) },
		Delete: c.podDeleted,
	})
	// ATT-027: the deletion of a claim is nothing to the controller.
	c.infClaims.Handle(engine.Handler[*corev1.PersistentVolumeClaim]{
		Add:    c.claimChanged,
		Update: func(_, claim *corev1.PersistentVolumeClaim) { c.claimChanged(claim) },
	})
	// ATT-027: the rest is only read. What changes there matters to passes that come anyway upstream, and so must come here.
	c.infVolumes.Handle(engine.Handler[*corev1.PersistentVolume]{
		Add:    func(*corev1.PersistentVolume) { c.unsettle() },
		Update: func(_, _ *corev1.PersistentVolume) { c.unsettle() },
		Delete: func(*corev1.PersistentVolume) { c.unsettle() },
	})
	c.infDrivers.Handle(engine.Handler[*storagev1.CSIDriver]{
		Add:    c.driverChanged,
		Update: func(_, driver *storagev1.CSIDriver) { c.driverChanged(driver) },
		Delete: c.driverChanged,
	})
	c.infAttachments.Handle(engine.Handler[*storagev1.VolumeAttachment]{
		Add:    c.attachmentChanged,
		Update: func(_, va *storagev1.VolumeAttachment) { c.attachmentChanged(va) },
		Delete: c.attachmentChanged,
	})
}

func (c *controller) driverChanged(*storagev1.CSIDriver) {
	c.unsettle()
	c.unverified()
}

func (c *controller) attachmentChanged(va *storagev1.VolumeAttachment) {
	// What is attached, and stays, passes every verification.
	if va.DeletionTimestamp != nil || !va.Status.Attached {
		c.unverified()
	}
}

// unsettle has the populator look again, when it is its time.
func (c *controller) unsettle() {
	c.unlisted = true
	c.populator.Arm()
}

func (c *controller) nodeAdded(node *corev1.Node) {
	c.nodeChanged(node)
	// ATT-115: a node that was created again has lost its list.
	c.actual.soil(node.Name)
	c.stir()
}

func (c *controller) nodeChanged(node *corev1.Node) {
	c.manage(node)
	// ATT-043
	c.actual.setInUse(node.Name, node.Status.VolumesInUse)
	c.stir()
}

// manage takes a node that has the annotation under management.
func (c *controller) manage(node *corev1.Node) {
	// ATT-021: by its key alone; a node that has lost it stays.
	if _, ok := node.Annotations[AnnManaged]; ok && !c.desired.manages(node.Name) {
		c.desired.addNode(node.Name)
		c.unsettle()
	}
}

func (c *controller) nodeDeleted(node *corev1.Node) {
	// ATT-022: one that has volumes is kept.
	c.desired.deleteNode(node.Name)
	// ATT-022, ATT-043: what it said last stays.
	c.actual.setInUse(node.Name, node.Status.VolumesInUse)
	c.stir()
}

func (c *controller) podChanged(pod *corev1.Pod) {
	c.unsettle()
	switch Action(pod) {
	case AddVolumes:
		c.addVolumes(pod)
	case RemoveVolumes:
		c.removeVolumes(pod)
	}
}

func (c *controller) podDeleted(pod *corev1.Pod) {
	c.unsettle()
	// ATT-027: whatever it was.
	if pod.Spec.NodeName != "" {
		c.removeVolumes(pod)
	}
}

// PodAction is what a pod means for the volumes of its node.
type PodAction int

// The actions.
const (
	IgnorePod PodAction = iota
	AddVolumes
	RemoveVolumes
)

// Action says whether a pod wants its volumes attached (ATT-025). Whether its node is managed is another question.
func Action(pod *corev1.Pod) PodAction {
	switch {
	case pod.Spec.NodeName == "":
		// ATT-025: nowhere to attach to.
		return IgnorePod
	case objects.Terminated(pod):
		// ATT-025, ATT-026, ATT-195: a pod that is complete, or is being deleted and runs nothing. Nothing can change that.
		return RemoveVolumes
	}
	return AddVolumes
}

// addVolumes adds the volumes of a pod to what is desired.
func (c *controller) addVolumes(pod *corev1.Pod) {
	// ATT-025: a pod on a node that is not managed is ignored, until ATT-035 looks again.
	if !c.desired.manages(pod.Spec.NodeName) {
		return
	}
	c.attachableVolumes(pod, func(at pair, spec objects.VolumeSpec) {
		if c.desired.add(at, pod, spec) {
			c.review(at)
		}
	})
}

// removeVolumes takes the volumes of a pod out of what is desired.
func (c *controller) removeVolumes(pod *corev1.Pod) {
	if !c.desired.manages(pod.Spec.NodeName) {
		return
	}
	// ATT-028: a volume that cannot be resolved any more stays, until the populator finds that the pod is gone.
	c.attachableVolumes(pod, func(at pair, _ objects.VolumeSpec) {
		if c.desired.remove(at, pod.UID) {
			c.review(at)
		}
	})
}

func (c *controller) claimChanged(claim *corev1.PersistentVolumeClaim) {
	c.unsettle()
	// ATT-031: a turn before it is bound would do nothing, and that it is bound will come by here.
	if isBound(claim) {
		c.claimQueue.Add(c.infClaims.KeyOf(claim))
	}
}

func isBound(claim *corev1.PersistentVolumeClaim) bool {
	return claim.Status.Phase == corev1.ClaimBound && claim.Spec.VolumeName != ""
}

// processClaim looks at the pods of a claim that may have been bound (ATT-031).
func (c *controller) processClaim(_ *engine.Proc, key string) error {
	claim, ok := c.infClaims.Get(key)
	// ATT-031: before it is bound there is nothing to attach.
	if !ok || !isBound(claim) {
		return nil
	}
	for _, pod := range c.infPods.ByIndex(c.podsByClaim, key) {
		// ATT-031: all volumes of the pod, and no second try for those that cannot be resolved.
		if Action(pod) == AddVolumes {
			c.addVolumes(pod)
		}
	}
	return nil
}
