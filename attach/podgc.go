package attach

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
)

// podGCPeriod is that of ATT-195.
const podGCPeriod = 20 * time.Second

// podGC is one life of the pod garbage collector, as far as nodes out of service are concerned.
type podGC struct {
	infPods  *engine.Informer[*corev1.Pod]
	infNodes *engine.Informer[*corev1.Node]
	loop     *engine.Loop
}

// NewPodGC adds the part of the pod garbage collector that makes an end of pods on nodes that are out of service: pods whose kubelet
// will never say that their containers have stopped (ATT-195, ATT-196).
func NewPodGC(e *engine.Engine) (*engine.Actor, error) {
	return e.NewActor(actors.PodGC, func(a *engine.Actor) {
		s := e.Store()
		gc := &podGC{infPods: engine.NewInformer(a, s.Pods), infNodes: engine.NewInformer(a, s.Nodes)}
		gc.loop = a.NewLoop("collect", podGCPeriod, gc.collect)
		// ATT-196: the collector looks every 20 s, whatever happens; it can find something only after one of these.
		gc.infPods.Handle(engine.Handler[*corev1.Pod]{
			Add:    func(pod *corev1.Pod) { gc.stir(pod.DeletionTimestamp != nil) },
			Update: func(_, pod *corev1.Pod) { gc.stir(pod.DeletionTimestamp != nil) },
		})
		gc.infNodes.Handle(engine.Handler[*corev1.Node]{
			Add:    func(node *corev1.Node) { gc.stir(OutOfService(node)) },
			Update: func(_, node *corev1.Node) { gc.stir(OutOfService(node)) },
		})
	})
}

func (gc *podGC) stir(maybe bool) {
	if maybe {
		gc.loop.Arm()
	}
}

// collect is one pass.
func (gc *podGC) collect(p *engine.Proc) {
	for pod := range gc.infPods.All() {
		node, ok := gc.infNodes.Get(pod.Spec.NodeName)
		// ATT-196: the node must not be ready either, unlike for the attach/detach controller.
		if pod.DeletionTimestamp == nil || !ok || Healthy(node) || !OutOfService(node) {
			continue
		}
		p.Decide("ATT-196", pod, "the pod is being deleted and its node %s is out of service: end it", node.Name)
		if err := gc.end(p, pod); err != nil {
			p.Decide("ATT-196", pod, "the pod could not be ended: %v", err)
			gc.loop.Arm()
		}
	}
}

// end marks a pod as failed, unless it is finished, and deletes it without grace.
func (gc *podGC) end(p *engine.Proc, pod *corev1.Pod) error {
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
