package mount

import (
	"math"
	"slices"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/store"
)

// limitWatch asks a driver at regular intervals how many volumes the node can have (MNT-359). A tick at which nothing would
// change is skipped.
type limitWatch struct {
	k      *kubelet
	driver string
	ticker *engine.Ticker
	asking bool
	over   bool
}

// limitPeriod returns how often the CSIDriver requests an update; zero is never. Periods longer than a time.Duration are cut to its
// maximum.
func limitPeriod(object *storagev1.CSIDriver) time.Duration {
	if object == nil || object.Spec.NodeAllocatableUpdatePeriodSeconds == nil {
		return 0
	}
	return time.Duration(min(*object.Spec.NodeAllocatableUpdatePeriodSeconds, math.MaxInt64/int64(time.Second))) * time.Second
}

// watchLimit restarts the period of the driver, or ends it (MNT-360).
func (dr *driverRegistrar) watchLimit(driver string) {
	if old, ok := dr.limits[driver]; ok {
		old.stop()
		delete(dr.limits, driver)
	}
	_, there := dr.k.node.nodes.backends.Driver(driver)
	period := limitPeriod(dr.k.CSIDriver(driver))
	// MNT-360: only a registered driver that requests updates has a period.
	if !dr.registered[driver] || !there || dr.k.node.unregistered[driver] || period <= 0 {
		return
	}
	u := &limitWatch{k: dr.k, driver: driver}
	// MNT-359: each tick is a whole number of periods after the begin; of the ticks that come during a call, one is kept.
	u.ticker = dr.k.actor.NewTicker(engine.TickerConfig{Name: "limit of " + driver, Period: period, First: period, Fixed: true,
		Pass: u.tick, Full: u.ask, Idle: engine.EveryTick})
	dr.limits[driver] = u
	u.arm()
}

// stop ends the ticks. A request that is in progress continues.
func (u *limitWatch) stop() {
	u.over = true
	u.ticker.Stop()
}

// arm requests the next tick, unless nothing would change at it.
func (u *limitWatch) arm() {
	if u.over || u.asking || u.k.node.nodes.reportsLimit[u.driver] && !u.due() {
		return
	}
	u.ticker.ArmBackground()
}

// due reports whether a tick now would change the CSINode. [SIM] A kubelet does not watch its CSINode; this only decides which ticks are
// skipped.
func (u *limitWatch) due() bool {
	k := u.k
	if k.registrar.describes(u.driver) {
		// What the driver returns is known only when it is asked.
		return true
	}
	b, _ := k.node.nodes.backends.Driver(u.driver)
	node, ok := k.actor.Engine().Store().CSINodes.Lookup(k.node.name)
	if !ok {
		return true
	}
	at := slices.IndexFunc(node.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == u.driver })
	return at < 0 || !equality.Semantic.DeepEqual(node.Spec.Drivers[at].Allocatable, k.registrar.allocatable(b))
}

// tick asks the driver, unless nothing would change.
func (u *limitWatch) tick(p *engine.Process) {
	if u.due() {
		u.ask(p)
	} else {
		u.arm()
	}
}

// ask asks the driver.
func (u *limitWatch) ask(p *engine.Process) {
	u.asking = true
	u.k.registrar.refreshLimit(p, u.driver, "MNT-359")
	u.asking = false
	u.arm()
}

// recheckLimits requests ticks that have become due.
func (dr *driverRegistrar) recheckLimits() {
	if len(dr.limits) == 0 {
		return
	}
	for name := range dr.k.node.nodes.backends.All() {
		if u, ok := dr.limits[name]; ok {
			u.arm()
		}
	}
}

// limitChanged is called when the limit of a driver may have changed. Kubelets notice at their next ticks.
func (ns *Nodes) limitChanged() {
	for _, name := range ns.names {
		if k := ns.byName[name].kubelet; k != nil {
			k.registrar.recheckLimits()
		}
	}
}

// csiNodeChanged is called when a CSINode has changed, for its kubelet.
func (ns *Nodes) csiNodeChanged(c api.Change[*storagev1.CSINode]) {
	if n, ok := ns.byName[c.Key]; ok && n.kubelet != nil {
		n.kubelet.registrar.recheckLimits()
	}
}

// followLimits watches CSINodes and the limits of drivers, which decide what a tick would change.
func (ns *Nodes) followLimits(from store.WatchOptions[*storagev1.CSINode]) error {
	for name, b := range ns.backends.All() {
		if ns.reportsLimit == nil {
			ns.reportsLimit = map[string]bool{}
		}
		ns.reportsLimit[name] = !backends.IsInTree(b) && backends.OnAttachLimit(b, ns.limitChanged)
	}
	_, err := ns.engine.Store().CSINodes.Watch(from, ns.csiNodeChanged)
	return err
}
