package podgc

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/parallel"
	"github.com/volsim/volsim/internal/core/podpatch"
)

// Period is the time from the end of a pass to the next (ATT-195).
const Period = 20 * time.Second

// Config configures the controller. The zero value has the defaults of kube-controller-manager.
type Config struct {
	// TerminatedThreshold is --terminated-pod-gc-threshold. Zero is TerminatedThreshold, negative is no limit.
	TerminatedThreshold int
}

// controller is one life of the pod garbage collector.
type controller struct {
	threshold  int
	pods       engine.Informer[*corev1.Pod]
	nodes      engine.Informer[*corev1.Node]
	ticker     *engine.Ticker
	quarantine quarantine
	// finished is the number of finished pods in the cache.
	finished int
}

// New adds the controller.
func New(e *engine.Engine, cfg Config) (*engine.Actor, error) {
	if cfg.TerminatedThreshold == 0 {
		cfg.TerminatedThreshold = TerminatedThreshold
	}
	return e.NewActor(actors.PodGC, func(a *engine.Actor) {
		s := e.Store()
		c := &controller{threshold: cfg.TerminatedThreshold, pods: engine.NewInformer(a, s.Pods), nodes: engine.NewInformer(a, s.Nodes)}
		c.ticker = a.NewTicker(engine.TickerConfig{Name: "collect", Period: Period, Pass: c.collect})
		engine.Handle(c.nodes, c, &nodeHandlers)
		engine.Handle(c.pods, c, &podHandlers)
		// ATT-195: the first pass is at once.
		c.wake()
	})
}

var (
	nodeHandlers = engine.Handlers[*controller, *corev1.Node]{
		Add:    (*controller).nodeChanged,
		Update: func(c *controller, _, node *corev1.Node) { c.nodeChanged(node) },
		Delete: func(c *controller, _ *corev1.Node) { c.wake() },
	}
	podHandlers = engine.Handlers[*controller, *corev1.Pod]{
		Add:    func(c *controller, pod *corev1.Pod) { c.podChanged(nil, pod) },
		Update: (*controller).podChanged,
		Delete: func(c *controller, pod *corev1.Pod) { c.podChanged(pod, nil) },
	}
)

// wake requests a pass. Passes are every 20 s; only those after some changes can find something (ATT-195).
func (c *controller) wake() { c.ticker.ArmBackground() }

func (c *controller) nodeChanged(node *corev1.Node) {
	if objects.OutOfService(node) {
		c.wake()
	}
}

func (c *controller) podChanged(old, pod *corev1.Pod) {
	if old != nil && terminated(old) {
		c.finished--
	}
	if pod == nil {
		return
	}
	if terminated(pod) {
		c.finished++
	}
	node, ok := c.nodes.Get(pod.Spec.NodeName)
	switch {
	case c.threshold >= 0 && c.finished > c.threshold,
		// A pod without a node, or on one that does not exist or is out of service.
		!ok && (pod.DeletionTimestamp != nil || pod.Spec.NodeName != ""),
		pod.DeletionTimestamp != nil && objects.OutOfService(node):
		c.wake()
	}
}

// collect is a pass (NODE-070).
func (c *controller) collect(p *engine.Process) {
	pods := c.pods.List()
	if c.threshold >= 0 {
		c.end(p, "NODE-071", "the cluster has too many finished pods, and this one is among the first to go", Terminated(pods, c.threshold))
	}
	c.end(p, "ATT-196", "the pod is being deleted and its node is out of service", OutOfService(pods, func(name string) *corev1.Node {
		node, _ := c.nodes.Get(name)
		return node
	}))
	c.collectOrphans(p, pods)
	for _, pod := range Unscheduled(pods) {
		c.forceDelete(p, "NODE-075", "the pod is being deleted and has no node", pod, nil)
	}
	if next, ok := c.quarantine.next(); ok {
		c.ticker.ArmBackgroundAt(next.Add(-1))
	}
}

// end force-deletes pods, all at the same time, and returns when that is done.
func (c *controller) end(p *engine.Process, rule, why string, pods []*corev1.Pod) {
	parallel.Do(p, "force delete", len(pods), len(pods), func(p *engine.Process, i int) { c.forceDelete(p, rule, why, pods[i], nil) })
}

// collectOrphans deletes the pods on nodes that have been missing for the time of their quarantine (NODE-072, NODE-073).
func (c *controller) collectOrphans(p *engine.Process, pods []*corev1.Pod) {
	now := p.Now()
	candidates := c.quarantine.over(now)
	for _, pod := range pods {
		if _, ok := c.nodes.Get(pod.Spec.NodeName); !ok && pod.Spec.NodeName != "" {
			c.quarantine.add(pod.Spec.NodeName, now)
		}
	}
	gone := map[string]bool{}
	for _, name := range candidates {
		if _, ok := c.nodes.Get(name); ok {
			continue
		}
		// NODE-073: the API server decides whether the node exists.
		if _, err := p.API().Nodes.Get(p, name); apierrors.IsNotFound(err) {
			gone[name] = true
		}
	}
	if len(gone) == 0 {
		return
	}
	for _, pod := range pods {
		if gone[pod.Spec.NodeName] {
			c.forceDelete(p, "NODE-074", "its node "+pod.Spec.NodeName+" no longer exists", pod, &corev1.PodCondition{
				Type: corev1.DisruptionTarget, ObservedGeneration: pod.Generation, Status: corev1.ConditionTrue,
				Reason: "DeletionByPodGC", Message: "PodGC: node no longer exists",
			})
		}
	}
}

// forceDelete sets the phase of a pod to Failed, unless it has finished, and deletes it without a grace period (NODE-076).
func (c *controller) forceDelete(p *engine.Process, rule, why string, pod *corev1.Pod, condition *corev1.PodCondition) {
	p.Decide(rule, pod, "%s: it is deleted by force", why)
	err := forceDelete(p, pod, condition)
	if err != nil && !apierrors.IsNotFound(err) {
		p.Decide(rule, pod, "the pod could not be deleted: %v", err)
		c.wake()
	}
}

func forceDelete(p *engine.Process, pod *corev1.Pod, condition *corev1.PodCondition) error {
	if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
		if err := podpatch.Apply(p, pod, podpatch.Change{Phase: corev1.PodFailed, Condition: condition}); err != nil {
			return err
		}
	}
	now := int64(0)
	_, err := p.API().Pods.Delete(p, api.KeyOf(pod), api.DeleteOptions{GracePeriodSeconds: &now})
	return err
}
