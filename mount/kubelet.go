package mount

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/kubeletdefs"
	"github.com/volsim/volsim/internal/core/kubeletstatus"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/mount/internal/disk"
	"github.com/volsim/volsim/mount/internal/plugin"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// kubelet is one life of the kubelet process of a node (MNT-013). All of its state is lost when the process ends.
//
// Its parts are the fields below: the populator writes the desired state, the reconciler compares it with the actual state and starts
// operations, a worker for each pod waits for what the pod needs, and the status reporter reports volumes in use.
type kubelet struct {
	node    *Node
	cfg     *Config
	opts    options.Kubelet
	actor   *engine.Actor
	layout  disk.Layout
	plugins *plugin.Host
	events  *engine.Recorder
	log     volumeLog

	// pods are the pods of the node as the API shows them. workers has one worker for each pod that the kubelet deals with.
	pods    map[types.UID]*corev1.Pod
	workers map[types.UID]*podWorker
	// object is the Node object as watched, nil if there is none.
	object  *corev1.Node
	infPods engine.Informer[*corev1.Pod]
	infNode engine.Informer[*corev1.Node]
	drivers engine.Informer[*storagev1.CSIDriver]
	// watching says that the informers deliver. Earlier changes are in their views, and come with the first delivery.
	watching bool
	// sourcesReady says that the kubelet knows all pods of the node.
	sourcesReady bool
	// resumed says that this life continues one from before a dump was loaded, so nothing that it finds is new.
	resumed bool
	// began is when the loops began; renews says that the lease is renewed from then on.
	began  time.Time
	renews bool

	// levels counts the SELinux levels that the kubelet has chosen.
	levels int

	// tokens are those of the pods' service accounts, for drivers.
	tokens map[tokenKey]podToken

	desired *volumes.Desired
	actual  *volumes.Actual

	populator    *populator
	reconciler   *reconciler
	operations   *operations
	expansion    *volumeExpansion
	status       *statusReporter
	statuses     *statusManager
	registrar    *driverRegistrar
	housekeeping *housekeeper
	adoption     *adopter
	health       *volumeHealth // nil without the feature gate
}

// The order in which passes at the same instant run (MNT-014).
const (
	rankReport    = 1
	rankPopulator = 2
	rankReconcile = 3
	rankEnd       = 4 // of driver calls, and of requests of operations
	rankPoll      = 5
)

// start begins a life of the kubelet.
func (n *Node) start(a *engine.Actor) {
	k := n.newKubelet()
	k.actor, k.events, k.operations.pending = a, a.NewRecorder(component), a.NewNestedOperations()
	k.operations.pending.AtTicks, k.operations.pending.After = true, k.operations.ended
	n.kubelet, k.log = k, newVolumeLog(a)
	a.SetIsolated(n.partitioned)
	a.OnStop(func() {
		for _, w := range k.workers {
			n.nodes.unwatchObjects(w)
		}
		if n.kubelet == k {
			n.kubelet = nil
		}
		k.stopLease()
		n.disk.OnChange = nil
	})
	var delay time.Duration
	if n.nodes.opts.StartDelay != nil {
		delay = n.nodes.opts.StartDelay(n.name)
	}
	a.After(delay, "start", k.run)
}

// newKubelet returns a kubelet that knows nothing and does nothing yet.
func (n *Node) newKubelet() *kubelet {
	k := &kubelet{
		node: n, cfg: &n.nodes.cfg, opts: n.nodes.opts, layout: disk.Layout{Root: kubeletdefs.Root},
		pods:    map[types.UID]*corev1.Pod{},
		workers: map[types.UID]*podWorker{},
		desired: volumes.NewDesired(),
		actual:  volumes.NewActual(),
	}
	k.plugins = &plugin.Host{
		Node: n.name, Layout: k.layout, Disk: n.disk, Backends: n.nodes.backends, Unregistered: n.unregistered,
		Failed: map[string]bool{},
		Owners: n.nodes.owners, GroupChange: k.cfg.GroupChange, API: k, Rank: rankEnd,
	}
	k.populator = &populator{k: k, processed: map[types.UID]bool{}}
	k.reconciler = &reconciler{k: k}
	k.operations = &operations{k: k, blocked: map[corev1.UniqueVolumeName]bool{}}
	k.expansion = &volumeExpansion{k: k, undecided: map[string]bool{}, deferrals: map[corev1.UniqueVolumeName]*expansionDeferral{}}
	k.status, k.statuses = &statusReporter{k: k}, &statusManager{k: k}
	k.registrar = &driverRegistrar{k: k, registered: map[string]bool{}, limits: map[string]*limitWatch{}}
	k.housekeeping = &housekeeper{k: k}
	k.adoption = &adopter{k: k, pods: map[types.UID]bool{}}
	return k
}

// working reports whether the process has started to work.
func (k *kubelet) working() bool { return k.drivers != nil }

// component is the source of the kubelet's Events.
const component = "kubelet"

// run is the start of the process: the disk is read, and then the loops and watches begin. The first round of the node's status registers a node
// that is not there yet, while the other loops run (MNT-001, MNT-365).
func (k *kubelet) run(p *engine.Process) {
	s := p.Engine().Store()
	k.drivers = engine.NewInformer(k.actor, s.CSIDrivers)
	k.infNode = engine.NewKeyedInformer(k.actor, s.Nodes, k.node.nodes.nodesByName, k.node.name)
	k.infPods = engine.NewKeyedInformer(k.actor, s.Pods, s.PodsByNode, k.node.name)

	if k.resumed {
		k.status.last.registered, k.status.last.unschedulable = kubeletstatus.Registered(k.object), k.object.Spec.Unschedulable
	}
	k.status.registerAtOnce(p)
	k.actor.Go("CSI drivers", k.registrar.start)
	// MNT-130: what an earlier kubelet left is read before the first pass.
	k.reconciler.reconstruct(p)
	k.makeTickers()
	k.began = p.Now()
	k.statuses.start()
	k.startLease()
	k.watch()
	k.sourcesReady = !k.node.partitioned
	if k.resumed {
		// The same kubelet made the last report, and its pods are not new.
		k.status.last.sent, k.status.last.due, k.status.last.until = p.Now(), false, p.Now()
	}
	k.reconciler.ticker.Arm()
	k.populator.ticker.Arm()
	k.status.ticker.Arm()
	k.housekeeping.ticker.ArmBackground()
	k.startHealth()
}

// makeTickers creates the loops of a process that begins to work now. The pause between two passes counts from the end of a pass (MNT-001,
// MNT-002); passes at which nothing could have changed are not armed. MNT-014: the other events of an instant come before the passes.
func (k *kubelet) makeTickers() {
	// MNT-001: the first pass runs at once.
	k.reconciler.ticker = k.actor.NewTicker(engine.TickerConfig{
		Name: "reconciler", Period: passPeriod, Rank: rankReconcile, Pass: k.reconciler.pass,
		Full: k.reconciler.fullPass, Idle: k.expansion.nextRecheck,
	})
	// MNT-002: the first pass runs one period after the start.
	firstPopulate := passPeriod
	if k.resumed {
		// Its first pass was long ago, so the desired state is complete before the first report.
		firstPopulate = 0
	}
	k.populator.ticker = k.actor.NewTicker(engine.TickerConfig{
		Name: "populator", First: firstPopulate, Period: passPeriod, Rank: rankPopulator, Pass: k.populator.pass,
	})
	k.housekeeping.ticker = k.actor.NewTicker(engine.TickerConfig{
		Name: "housekeeping", First: kubeletdefs.Housekeeping, Period: kubeletdefs.Housekeeping, Rank: rankPoll, Pass: k.housekeeping.pass,
	})
	firstReport := kubeletdefs.StatusDelay
	if k.opts.Recorded {
		firstReport = kubeletdefs.RecordedDelay
	}
	k.status.ticker = k.actor.NewTicker(engine.TickerConfig{
		Name: "node status", First: firstReport, Period: k.cfg.StatusPeriod, Rank: rankReport, Pass: k.status.pass,
		Idle: k.status.nextIdleRound,
	})
	k.node.disk.OnChange = k.diskChanged
}

// sorted returns the keys of a map in order.
func sorted[T any](m map[types.UID]T) []types.UID {
	uids := make([]types.UID, 0, len(m))
	for uid := range m {
		uids = append(uids, uid)
	}
	slices.Sort(uids)
	return uids
}

func terminal(phase corev1.PodPhase) bool { return kubeletstatus.Terminal(phase) }
