package mount

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/kubeletstatus"
	"github.com/volsim/volsim/mount/internal/disk"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// kubelet is one life of the kubelet of a node (MNT-013): the populator writes the desired state, the reconciler starts
// operations, a worker for each pod waits for what it needs. All of it is lost when the process ends.
type kubelet struct {
	node   *Node
	cfg    *Config
	actor  *engine.Actor
	layout disk.Layout
	events *engine.Recorder

	// pods are those assigned to the node as the API shows them, workers those that the kubelet deals with.
	pods    map[types.UID]*corev1.Pod
	workers map[types.UID]*worker
	// object is the Node as watched, nil if there is none.
	object  *corev1.Node
	infPods *engine.Informer[*corev1.Pod]
	infNode *engine.Informer[*corev1.Node]
	drivers *engine.Informer[*storagev1.CSIDriver]
	// watching says that the informers deliver: what changed before is in their view and comes with the first delivery.
	watching bool

	desired *volumes.Desired
	actual  *volumes.Actual
	ops     *engine.NestedOperations
	// processed says of a pod whether its volumes are in the desired state: absent is never seen, false is to be done again (MNT-064).
	processed map[types.UID]bool
	// sourcesReady: the pods are known. hasAddedPods: they are in the desired state (MNT-063). statesSynced: what was found on the
	// disk was compared with the node's status (MNT-137).
	sourcesReady, hasAddedPods, statesSynced bool
	// awaiting are reconstructed volumes to be compared with the node's status, failed those that could not be reconstructed.
	awaiting []corev1.UniqueVolumeName
	failed   []leftover
	// blocked says that something cannot be unmounted as long as the disk is as it is.
	blocked bool
	// undecided are claims whose volumes are larger than the node knows, and for which there is nothing to do as they are (MNT-406).
	undecided map[string]bool
	// refusals are the volumes that were not expanded at the last look because no pod may write to them (MNT-406).
	refusals map[corev1.UniqueVolumeName]*refusal
	// hindered are volumes of which something could not be done because an operation runs.
	hindered map[corev1.UniqueVolumeName]bool
	// resumed says that this life began long ago as far as anybody can tell, adopted are the pods that it knew then. While it is
	// adopting, storage is asked without anybody noticing.
	resumed, adopting bool
	adopted           map[types.UID]bool

	// uid is that of the Node as the CSINode has it, "" while it is not known; registered says that the CSINode lists the drivers of the node.
	uid        types.UID
	registered bool
	// limits are the drivers that are asked at regular intervals how many volumes the node can have (MNT-359).
	limits map[string]*limitWatch

	populator, reconciler, housekeeping, status *grid
	report                                      report
}

// The order in which passes at the same instant run (MNT-014).
const (
	rankReport    = 1
	rankPopulator = 2
	rankReconcile = 3
	rankPoll      = 4
)

// start begins a life of the kubelet.
func (n *Node) start(a *engine.Actor) {
	k := n.newKubelet()
	k.actor, k.events, k.ops = a, a.NewRecorder(Component), a.NewNestedOperations()
	n.kubelet = k
	a.OnStop(func() {
		for _, w := range k.workers {
			n.nodes.forget(w)
		}
		if n.kubelet == k {
			n.kubelet = nil
		}
		n.disk.OnChange = nil
	})
	var delay time.Duration
	if n.nodes.cfg.StartDelay != nil {
		delay = n.nodes.cfg.StartDelay(n.name)
	}
	a.After(delay, "start", k.run)
}

// newKubelet is a kubelet that knows nothing and does nothing.
func (n *Node) newKubelet() *kubelet {
	return &kubelet{
		node: n, cfg: &n.nodes.cfg, layout: disk.Layout{Root: n.nodes.cfg.Root},
		pods:      map[types.UID]*corev1.Pod{},
		workers:   map[types.UID]*worker{},
		desired:   volumes.NewDesired(),
		actual:    volumes.NewActual(),
		processed: map[types.UID]bool{},
		undecided: map[string]bool{},
		refusals:  map[corev1.UniqueVolumeName]*refusal{},
		hindered:  map[corev1.UniqueVolumeName]bool{},
		adopted:   map[types.UID]bool{},
		limits:    map[string]*limitWatch{},
	}
}

// begun reports whether the process has started to work.
func (k *kubelet) begun() bool { return k.drivers != nil }

// Component is what Events name as their source.
const Component = "kubelet"

// run is the start of the process: the node is registered, the disk is read, and then the loops and watches begin.
func (k *kubelet) run(p *engine.Proc) {
	s := p.Engine().Store()
	k.drivers = engine.NewInformer(k.actor, s.CSIDrivers)
	k.infNode = engine.NewKeyedInformer(k.actor, s.Nodes, k.node.nodes.nodesByName, k.node.name)
	k.infPods = engine.NewKeyedInformer(k.actor, s.Pods, k.node.nodes.podsByNode, k.node.name)

	k.register(p)
	k.actor.Go("CSI drivers", k.publishDrivers)
	// MNT-130: what an earlier kubelet left is read before the first pass.
	k.reconstruct(p)
	k.makeLoops(p.Now())
	k.drivers.Handle(engine.Handler[*storagev1.CSIDriver]{
		Add: func(d *storagev1.CSIDriver) { k.driversChanged(); k.watchLimit(d.Name) },
		Update: func(old, d *storagev1.CSIDriver) {
			k.driversChanged()
			// MNT-360: other changes leave the period as it is.
			if limitPeriod(old) != limitPeriod(d) {
				k.watchLimit(d.Name)
			}
		},
		Delete: func(d *storagev1.CSIDriver) { k.driversChanged(); k.watchLimit(d.Name) },
	})
	k.infNode.Handle(engine.Handler[*corev1.Node]{
		Add:    func(node *corev1.Node) { k.nodeChanged(node) },
		Update: func(_, node *corev1.Node) { k.nodeChanged(node) },
		Delete: func(*corev1.Node) { k.nodeChanged(nil) },
	})
	k.infPods.Handle(engine.Handler[*corev1.Pod]{
		Add:    func(pod *corev1.Pod) { k.podChanged(pod) },
		Update: func(_, pod *corev1.Pod) { k.podChanged(pod) },
		Delete: k.podDeleted,
	})
	k.watching = true
	k.sourcesReady = !k.node.partitioned
	if k.resumed {
		// The last report was made by the same kubelet, and its pods are not new.
		k.report.sent, k.report.awaited, k.report.until = p.Now(), false, p.Now()
	}
	k.reconciler.Arm()
	k.populator.Arm()
	k.status.Arm()
	k.housekeeping.Rest()
}

// makeLoops makes the loops of a process that begins its work now.
func (k *kubelet) makeLoops(now time.Time) {
	// MNT-001: the first pass comes at once, however long registering took.
	k.reconciler = newGrid(k.actor, "reconciler", now, passPeriod, rankReconcile, k.reconcile)
	// MNT-002
	firstPopulate := now.Add(passPeriod)
	if k.resumed {
		// Its first pass was long ago: what it wants is known before anything is reported.
		firstPopulate = now
	}
	k.populator = newGrid(k.actor, "populator", firstPopulate, passPeriod, rankPopulator, k.populatePass)
	k.housekeeping = newGrid(k.actor, "housekeeping", now.Add(k.cfg.Housekeeping), k.cfg.Housekeeping, rankPoll, k.keepHouse)
	k.status = newGrid(k.actor, "node status", now.Add(k.cfg.StatusDelay), k.cfg.StatusPeriod, rankReport, k.reportStatus)
	k.node.disk.OnChange = k.diskChanged
}

// sorted lists the keys of a map by pods in order.
func sorted[T any](m map[types.UID]T) []types.UID {
	uids := make([]types.UID, 0, len(m))
	for uid := range m {
		uids = append(uids, uid)
	}
	slices.Sort(uids)
	return uids
}

func terminal(phase corev1.PodPhase) bool { return kubeletstatus.Terminal(phase) }
