package nodelifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/store"
)

// The periods and workers of the controller.
const (
	monitorPeriod = 5 * time.Second        // NODE-001: --node-monitor-period, from the end of a pass to the next
	taintPeriod   = 100 * time.Millisecond // NODE-006: from the end of a pass that adds NoExecute taints to the next
	taintOffset   = 50 * time.Millisecond  // NODE-006: from the first pass of the monitor to the first of this loop
	nodeWorkers   = 8                      // NODE-007
	podWorkers    = 4                      // NODE-007
)

// component is the source of Events.
const component = "node-controller"

// Leases reports when kubelets renewed the leases of their nodes; see leases.Book.
type Leases interface {
	// Renewed returns the time of the last renewal up to by. It reports false if there was none.
	Renewed(node string, by time.Time) (time.Time, bool)
	// Renewing reports whether the kubelet renews at now, and will until the function given to OnChange is called.
	Renewing(node string, now time.Time) bool
	// OnChange registers fn, which runs when the kubelet of a node stops or begins to renew.
	OnChange(fn func(node string))
}

// Config configures the controller.
type Config struct {
	// Leases are the leases of nodes. Nil: there are no kubelets, and every lease counts as renewed (NODE-023).
	Leases Leases
	// Continues: it goes on as one that has run all the time, also before its start: the NoExecute taints of nodes that are not ready stay.
	Continues bool
	// everyPass runs every pass, for tests of those that are skipped.
	everyPass bool
}

// controller is one life of the node lifecycle controller.
type controller struct {
	actor      *engine.Actor
	events     *engine.Recorder
	leases     Leases
	continues  bool
	nodes      engine.Informer[*corev1.Node]
	pods       engine.Informer[*corev1.Pod]
	podsByNode store.Index[*corev1.Pod]

	nodeQueue *engine.Queue
	podQueue  *engine.Queue
	monitor   *engine.Ticker
	tainter   *engine.Ticker

	// known are the uids of the nodes that the last pass saw.
	known  map[string]types.UID
	health map[string]*nodeHealth
	// retry are nodes whose pods could not all be marked as not ready (NODE-035).
	retry map[string]bool
	// zones are the states of zones; queues has a queue for each zone that there ever was, and order has those zones in the order of their
	// first nodes.
	zones  map[string]ZoneState
	queues map[string]*taintQueue
	order  []string
	// changed says that the pass that runs changed what the controller remembers, so the next pass is not skipped.
	changed   bool
	everyPass bool
}

// nodeHealth is the health of a node after the last pass that counts.
type nodeHealth struct {
	Health
	seen time.Time // that pass, which may have been skipped
}

// New adds the controller.
func New(e *engine.Engine, cfg Config) (*engine.Actor, error) {
	s := e.Store()
	var c *controller
	if cfg.Leases != nil {
		cfg.Leases.OnChange(func(node string) { c.leaseChanged(node) })
	}
	return e.NewActor(actors.NodeLifecycle, func(a *engine.Actor) {
		c = &controller{
			actor: a, events: a.NewRecorder(component), leases: cfg.Leases, continues: cfg.Continues, podsByNode: s.PodsByNode,
			nodes: engine.NewInformer(a, s.Nodes), pods: engine.NewInformer(a, s.Pods),
			known: map[string]types.UID{}, health: map[string]*nodeHealth{}, retry: map[string]bool{},
			zones: map[string]ZoneState{}, queues: map[string]*taintQueue{},
			everyPass: cfg.everyPass,
		}
		c.nodeQueue = a.NewQueue(engine.QueueConfig{Name: "node_lifecycle_controller", Kind: api.Node, Workers: nodeWorkers,
			Of: c, Work: engine.Work[*controller]((*controller).syncNode)})
		c.podQueue = a.NewQueue(engine.QueueConfig{Name: "node_lifecycle_controller_pods", Kind: api.Pod, Workers: podWorkers,
			Of: c, Work: engine.Work[*controller]((*controller).syncPod)})
		// NODE-006: SIM: the passes of the two are never at the same instant.
		c.tainter = a.NewTicker(engine.TickerConfig{Name: "NoExecute taints", Period: taintPeriod, First: taintOffset, Pass: c.addNoExecuteTaints})
		c.monitor = a.NewTicker(engine.TickerConfig{Name: "node monitor", Period: monitorPeriod, Pass: c.monitorNodes})
		engine.Handle(c.nodes, c, &nodeHandlers)
		engine.Handle(c.pods, c, &podHandlers)
		// NODE-001: the first pass is at once.
		c.monitor.ArmBackground()
	})
}

var (
	nodeHandlers = engine.Handlers[*controller, *corev1.Node]{
		Add:    func(c *controller, node *corev1.Node) { c.nodeChanged(nil, node) },
		Update: (*controller).nodeChanged,
		Delete: (*controller).nodeDeleted,
	}
	podHandlers = engine.Handlers[*controller, *corev1.Pod]{
		Add:    func(c *controller, pod *corev1.Pod) { c.podChanged(nil, pod) },
		Update: (*controller).podChanged,
	}
)

func (c *controller) nodeChanged(old, node *corev1.Node) {
	if old == nil {
		c.notSeen(node.Name)
	} else {
		c.catchUp(old)
	}
	c.wakeFor(old, node)
	// NODE-050: a node that has its taints and labels needs no work.
	if add, remove := NoScheduleChanges(node); len(add) > 0 || len(remove) > 0 || len(missingLabels(node)) > 0 {
		c.nodeQueue.Add(node.Name)
	}
}

func (c *controller) nodeDeleted(node *corev1.Node) {
	delete(c.retry, node.Name)
	c.catchUp(node)
	c.monitor.ArmBackground()
}

// podChanged queues a pod that has got a node (NODE-036).
func (c *controller) podChanged(old, pod *corev1.Pod) {
	if pod.Spec.NodeName == "" || old != nil && old.Spec.NodeName == pod.Spec.NodeName {
		return
	}
	h := c.health[pod.Spec.NodeName]
	if h == nil {
		return
	}
	if _, known := c.nodes.Get(pod.Spec.NodeName); !known || isNotReady(h.Ready) {
		c.podQueue.Add(api.KeyOf(pod))
	}
}
