package tainteviction

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/podpatch"
	"github.com/volsim/volsim/internal/core/store"
)

const (
	deleteTries = 5                     // NODE-066: so many tries to delete a pod
	deletePause = 10 * time.Millisecond // NODE-066: between two tries
)

// controller is one life of the taint eviction controller.
type controller struct {
	events     *engine.Recorder
	nodes      engine.Informer[*corev1.Node]
	pods       engine.Informer[*corev1.Pod]
	podsByNode store.Index[*corev1.Pod]
	nodeQueue  *engine.Queue
	podQueue   *engine.Queue
	// tainted are the NoExecute taints of nodes that have some, as the controller has last worked on them (NODE-061).
	tainted map[string][]corev1.Taint
	timers  timers
	// continues: the time that a taint is tolerated counts from the taint, not from when the controller sees it.
	continues bool
	start     time.Time
}

// New adds the controller. With continues it goes on as one that has run all the time, also before its start.
func New(e *engine.Engine, continues bool) (*engine.Actor, error) {
	s := e.Store()
	return e.NewActor(actors.TaintEviction, func(a *engine.Actor) {
		c := &controller{
			events: a.NewRecorder(actors.TaintEviction), podsByNode: s.PodsByNode, continues: continues, start: e.Now(),
			nodes: engine.NewInformer(a, s.Nodes), pods: engine.NewInformer(a, s.Pods),
		}
		c.timers = timers{actor: a, fire: c.evict}
		c.nodeQueue = a.NewQueue(engine.QueueConfig{Name: "noexec_taint_node", Kind: api.Node,
			Of: c, Work: engine.Work[*controller]((*controller).syncNode)})
		c.podQueue = a.NewQueue(engine.QueueConfig{Name: "noexec_taint_pod",
			Of: c, Work: engine.Work[*controller]((*controller).syncPod)})
		engine.Handle(c.nodes, c, &nodeHandlers)
		engine.Handle(c.pods, c, &podHandlers)
	})
}

var (
	nodeHandlers = engine.Handlers[*controller, *corev1.Node]{
		Add:    func(c *controller, node *corev1.Node) { c.nodeChanged(nil, node) },
		Update: (*controller).nodeChanged,
		Delete: func(c *controller, node *corev1.Node) { c.nodeQueue.Add(node.Name) },
	}
	podHandlers = engine.Handlers[*controller, *corev1.Pod]{
		Add:    func(c *controller, pod *corev1.Pod) { c.podChanged(nil, pod) },
		Update: (*controller).podChanged,
		Delete: (*controller).enqueue,
	}
)

// nodeChanged queues a node whose NoExecute taints have changed (NODE-060).
func (c *controller) nodeChanged(old, node *corev1.Node) {
	if old != nil && shareTaints(old.Spec.Taints, node.Spec.Taints) {
		return
	}
	taints := NoExecute(node.Spec.Taints)
	// A node that is created again may end the deletions of its pods.
	if old == nil && len(taints) == 0 && len(c.timers.byPod) == 0 ||
		old != nil && equality.Semantic.DeepEqual(NoExecute(old.Spec.Taints), taints) {
		return
	}
	c.nodeQueue.Add(node.Name)
}

// shareTaints reports whether two lists have the same memory, or none, as after a write of the status.
func shareTaints(a, b []corev1.Taint) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// podChanged queues a pod whose node or tolerations have changed (NODE-060).
func (c *controller) podChanged(old, pod *corev1.Pod) {
	if old != nil && old.Spec.NodeName == pod.Spec.NodeName && sameTolerations(old.Spec.Tolerations, pod.Spec.Tolerations) {
		return
	}
	c.enqueue(pod)
}

func sameTolerations(a, b []corev1.Toleration) bool {
	return slices.EqualFunc(a, b, func(a, b corev1.Toleration) bool {
		x, y := a.TolerationSeconds, b.TolerationSeconds
		return a.MatchToleration(&b) && (x == y || x != nil && y != nil && *x == *y)
	})
}

// enqueue queues a pod, unless its node has no taints and no deletion of it waits: then there is nothing to do.
func (c *controller) enqueue(pod *corev1.Pod) {
	if key := c.pods.KeyOf(pod); c.timers.byPod[key] != nil || len(c.tainted[pod.Spec.NodeName]) > 0 {
		c.podQueue.Add(key + "@" + pod.Spec.NodeName)
	}
}

// syncNode works on the pods of a node whose taints have changed.
func (c *controller) syncNode(p *engine.Process, name string) error {
	node, ok := c.nodes.Get(name)
	if !ok {
		// NODE-061: deletions of the pods of a node that is gone go on.
		delete(c.tainted, name)
		return nil
	}
	taints := NoExecute(node.Spec.Taints)
	if len(taints) == 0 {
		delete(c.tainted, name)
	} else {
		if c.tainted == nil {
			c.tainted = map[string][]corev1.Taint{}
		}
		c.tainted[name] = taints
	}
	for _, pod := range c.pods.ByIndex(c.podsByNode, name) {
		c.decide(p, pod, taints)
	}
	return nil
}

// syncPod works on a pod whose node or tolerations have changed.
func (c *controller) syncPod(p *engine.Process, item string) error {
	key, node, _ := strings.Cut(item, "@")
	pod, ok := c.pods.Get(key)
	if !ok {
		// NODE-065: a pod that is gone is not deleted.
		c.cancel(p, key)
		return nil
	}
	// NODE-060: the pod may have got another node meanwhile; that change is queued by itself.
	if taints := c.tainted[node]; node != "" && pod.Spec.NodeName == node && len(taints) > 0 {
		c.decide(p, pod, taints)
	}
	return nil
}

// decide sets or cancels the deletion of a pod on a node with these NoExecute taints (NODE-062 to NODE-065).
func (c *controller) decide(p *engine.Process, pod *corev1.Pod, taints []corev1.Taint) {
	key, stays := api.KeyOf(pod), Evict(pod.Spec.Tolerations, taints)
	switch {
	case stays == Forever:
		c.cancel(p, key)
	case stays == 0 && !tolerated(pod, taints):
		// NODE-063: a pod that does not tolerate a taint goes at once.
		p.Decide("NODE-063", pod, "it does not tolerate the NoExecute taints of its node: it is deleted at once")
		c.cancel(p, key)
		c.timers.add(key, 0)
	case c.timers.waits(key):
		// NODE-064: a deletion that waits keeps its time, whatever the tolerations are now.
	default:
		if c.timers.byPod[key] == nil {
			p.Decide("NODE-063", pod, "it tolerates the NoExecute taints of its node for %v", stays)
		}
		c.timers.add(key, stays-c.waited(p, pod, taints))
	}
}

// waited returns how long a pod has waited for its eviction before the controller started.
func (c *controller) waited(p *engine.Process, pod *corev1.Pod, taints []corev1.Taint) time.Duration {
	begun := Begun(pod, taints)
	if !c.continues || begun.IsZero() || begun.After(c.start) {
		return 0
	}
	return p.Now().Sub(begun)
}

// tolerated reports whether every taint has a toleration, with or without a limit in time.
func tolerated(pod *corev1.Pod, taints []corev1.Taint) bool {
	unlimited := slices.Clone(pod.Spec.Tolerations)
	for i := range unlimited {
		unlimited[i].TolerationSeconds = nil
	}
	return Evict(unlimited, taints) == Forever
}

// cancel cancels the deletion of a pod, with an Event if it had a delay (NODE-065).
func (c *controller) cancel(p *engine.Process, key string) {
	if c.timers.cancel(key) {
		c.events.Event(p, podRef(key), corev1.EventTypeNormal, "TaintManagerEviction", "Cancelling deletion of Pod %s", key)
	}
}

// podRef returns the pod that Events refer to: without uid and version (NODE-067).
func podRef(key string) *corev1.Pod {
	namespace, name, _ := strings.Cut(key, "/")
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// evict deletes a pod, whose time has come (NODE-066).
func (c *controller) evict(p *engine.Process, key string) {
	// NODE-067: the Event comes first.
	c.events.Event(p, podRef(key), corev1.EventTypeNormal, "TaintManagerEviction", "Marking for deletion Pod %s", key)
	for try := 1; ; try++ {
		err := deletePod(p, key)
		if err == nil {
			return
		}
		p.Decide("NODE-066", podRef(key), "the pod could not be deleted: %v", err)
		if try == deleteTries {
			return
		}
		p.Sleep(deletePause)
	}
}

// deletePod reads a pod, says in its status why it is deleted, and deletes it with its own grace period (NODE-066).
func deletePod(p *engine.Process, key string) error {
	pod, err := p.API().Pods.Get(p, key)
	if err != nil {
		return err
	}
	err = podpatch.Apply(p, pod, podpatch.Change{Condition: &corev1.PodCondition{
		Type: corev1.DisruptionTarget, ObservedGeneration: pod.Generation, Status: corev1.ConditionTrue,
		Reason: "DeletionByTaintManager", Message: "Taint manager: deleting due to NoExecute taint",
	}})
	if err != nil {
		return err
	}
	_, err = p.API().Pods.Delete(p, key, api.DeleteOptions{})
	return err
}
