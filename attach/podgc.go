package attach

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

// podGCPeriod is the time between passes (ATT-195).
const podGCPeriod = 20 * time.Second

// podGC is the part of the pod garbage collector that handles nodes out of service.
type podGC struct {
	infPods  *engine.Informer[*corev1.Pod]
	infNodes *engine.Informer[*corev1.Node]
	ticker   *engine.Ticker
}

// NewPodGC adds the part of the pod garbage collector that force-deletes terminating pods on nodes that are out of service: their kubelets
// never report that the containers stopped (ATT-195, ATT-196).
func NewPodGC(e *engine.Engine) (*engine.Actor, error) {
	return e.NewActor(actors.PodGC, func(a *engine.Actor) {
		s := e.Store()
		gc := &podGC{infPods: engine.NewInformer(a, s.Pods), infNodes: engine.NewInformer(a, s.Nodes)}
		gc.ticker = a.NewTicker(engine.TickerConfig{Name: "collect", Period: podGCPeriod, Pass: gc.collect})
		// ATT-196: passes are every 20 s; only those after one of these changes can find something.
		gc.infPods.Handle(engine.Handler[*corev1.Pod]{
			Add:    func(pod *corev1.Pod) { gc.wake(pod.DeletionTimestamp != nil) },
			Update: func(_, pod *corev1.Pod) { gc.wake(pod.DeletionTimestamp != nil) },
		})
		gc.infNodes.Handle(engine.Handler[*corev1.Node]{
			Add:    func(node *corev1.Node) { gc.wake(objects.OutOfService(node)) },
			Update: func(_, node *corev1.Node) { gc.wake(objects.OutOfService(node)) },
		})
	})
}

func (gc *podGC) wake(maybe bool) {
	if maybe {
		gc.ticker.ArmBackground()
	}
}

// collect is a pass: it ends the pods that are being deleted on nodes out of service.
func (gc *podGC) collect(p *engine.Process) {
	for pod := range gc.infPods.All() {
		node, ok := gc.infNodes.Get(pod.Spec.NodeName)
		// ATT-196: unlike for the attach/detach controller, the node must also not be ready.
		if pod.DeletionTimestamp == nil || !ok || objects.Healthy(node) || !objects.OutOfService(node) {
			continue
		}
		p.Decide("ATT-196", pod, "the pod is being deleted and its node %s is out of service: end it", node.Name)
		if err := gc.end(p, pod); err != nil {
			p.Decide("ATT-196", pod, "the pod could not be ended: %v", err)
			gc.ticker.ArmBackground()
		}
	}
}

// end sets the phase of a pod to Failed, unless it has ended, and deletes it without a grace period.
func (gc *podGC) end(p *engine.Process, pod *corev1.Pod) error {
	key := api.KeyOf(pod)
	if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
		patch := mergePatch("status", map[string]any{"phase": corev1.PodFailed})
		if _, err := p.API().Pods.Patch(p, key, patch, api.Status); err != nil {
			return err
		}
	}
	now := int64(0)
	_, err := p.API().Pods.Delete(p, key, api.DeleteOptions{GracePeriodSeconds: &now})
	return err
}
