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

// limitWatch asks a driver at regular intervals how many volumes the node can have (MNT-359). Ticks at which it would learn and write nothing
// are left out; as long as that is so for all to come, there is not even a timer.
type limitWatch struct {
	k      *kubelet
	driver string
	period time.Duration
	begun  time.Time // ticks come every period from here
	timer  *engine.Timer
	asking bool
	over   bool
}

// limitPeriod is how often the driver of the object wants to be asked, zero for never. Periods that no clock can hold end with it.
func limitPeriod(object *storagev1.CSIDriver) time.Duration {
	if object == nil || object.Spec.NodeAllocatableUpdatePeriodSeconds == nil {
		return 0
	}
	return time.Duration(min(*object.Spec.NodeAllocatableUpdatePeriodSeconds, math.MaxInt64/int64(time.Second))) * time.Second
}

// watchLimits begins the periods of all drivers: they have registered.
func (dr *driverRegistrar) watchLimits() {
	dr.registered = true
	for name := range dr.k.node.nodes.backends.All() {
		dr.watchLimit(name)
	}
}

// watchLimit has the period of the driver begin anew, or end (MNT-360).
func (dr *driverRegistrar) watchLimit(driver string) {
	if old, ok := dr.limits[driver]; ok {
		old.stop()
		delete(dr.limits, driver)
	}
	_, there := dr.k.node.nodes.backends.Driver(driver)
	period := limitPeriod(dr.k.CSIDriver(driver))
	// MNT-360: there is one for a driver that has registered, and wants it.
	if !dr.registered || !there || dr.k.node.unregistered[driver] || period <= 0 {
		return
	}
	u := &limitWatch{k: dr.k, driver: driver, period: period, begun: dr.k.actor.Engine().Now()}
	dr.limits[driver] = u
	u.rest()
}

// stop ends the ticks. What is under way goes on.
func (u *limitWatch) stop() {
	u.over = true
	if u.timer != nil {
		u.timer.Stop()
		u.timer = nil
	}
}

// rest has the next tick come, unless nothing could come of it as things are.
func (u *limitWatch) rest() {
	if u.over || u.asking || u.timer != nil || u.k.node.nodes.telling[u.driver] && !u.due() {
		return
	}
	// MNT-359: each tick is a whole number of periods after the begin.
	u.after(u.period - u.k.actor.Engine().Now().Sub(u.begun)%u.period)
}

func (u *limitWatch) after(d time.Duration) {
	u.timer = u.k.actor.Background(d, "limit of "+u.driver, u.tick)
}

// due reports whether a tick now would do more than find that all is as it was. [SIM] A kubelet does not watch its CSINode; this only decides
// which ticks could find something new.
func (u *limitWatch) due() bool {
	k := u.k
	if k.faultPending("get", api.CSINode, k.node.name) {
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

// tick asks the driver, if that is of any use.
func (u *limitWatch) tick(p *engine.Process) {
	u.timer = nil
	if !u.due() {
		u.rest()
		return
	}
	ticks := func() time.Duration { return p.Now().Sub(u.begun) / u.period }
	before := ticks()
	u.asking = true
	u.k.registrar.refreshLimit(p, u.driver, "MNT-359")
	u.asking = false
	// MNT-359: of the ticks that came meanwhile, one is kept.
	if !u.over && ticks() > before {
		u.after(0)
		return
	}
	u.rest()
}

// lookAtLimits looks again which ticks could find something new.
func (dr *driverRegistrar) recheckLimits() {
	if len(dr.limits) == 0 {
		return
	}
	for name := range dr.k.node.nodes.backends.All() {
		if u, ok := dr.limits[name]; ok {
			u.rest()
		}
	}
}

// limitChanged has the kubelets learn, at their next ticks, that a driver may say something else than before.
func (ns *Nodes) limitChanged() {
	for _, name := range ns.names {
		if k := ns.byName[name].kubelet; k != nil {
			k.registrar.recheckLimits()
		}
	}
}

// csiNodeChanged does that for the kubelet of a CSINode that somebody changed.
func (ns *Nodes) csiNodeChanged(c api.Change[*storagev1.CSINode]) {
	if n, ok := ns.byName[c.Key]; ok && n.kubelet != nil {
		n.kubelet.registrar.recheckLimits()
	}
}

// followLimits listens to what ticks could find.
func (ns *Nodes) followLimits(from store.WatchOptions[*storagev1.CSINode]) error {
	for name, b := range ns.backends.All() {
		ns.telling[name] = !backends.IsInTree(b) && backends.OnAttachLimit(b, ns.limitChanged)
	}
	_, err := ns.engine.Store().CSINodes.Watch(from, ns.csiNodeChanged)
	return err
}
