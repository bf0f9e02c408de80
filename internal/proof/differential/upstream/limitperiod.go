package upstream

import (
	"reflect"
	"sync"
	"time"
	"unsafe"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/volume/csi"

	"github.com/volsim/volsim/internal/proof/differential"
)

// limitUpdater has the plugin's updater of one kubelet decide when the driver is to be asked at regular intervals for its limit, and from when
// on. The ticks are counted here, because those of the updater would ask through a socket, for the last kubelet that was started in this process.
type limitUpdater struct {
	kubelet *kubelet
	drivers cache.SharedIndexInformer
	real    unsafe.Pointer // to the updater, whose type nobody else can name
	periods *sync.Map      // of the updater: what it closes to end a period, by driver

	mu         sync.Mutex
	registered bool          // the driver has
	running    chan struct{} // of the period that runs, nil if none does
}

//go:linkname syncDriverUpdater k8s.io/kubernetes/pkg/volume/csi.(*csiNodeUpdater).syncDriverUpdater
func syncDriverUpdater(updater unsafe.Pointer, driver string)

//go:linkname onDriverAdd k8s.io/kubernetes/pkg/volume/csi.(*csiNodeUpdater).onDriverAdd
func onDriverAdd(updater unsafe.Pointer, obj any)

//go:linkname onDriverUpdate k8s.io/kubernetes/pkg/volume/csi.(*csiNodeUpdater).onDriverUpdate
func onDriverUpdate(updater unsafe.Pointer, old, obj any)

//go:linkname onDriverDelete k8s.io/kubernetes/pkg/volume/csi.(*csiNodeUpdater).onDriverDelete
func onDriverDelete(updater unsafe.Pointer, obj any)

// newLimitUpdater makes the updater of a kubelet, which is told of CSIDrivers.
func newLimitUpdater(k *kubelet, drivers cache.SharedIndexInformer) (*limitUpdater, error) {
	updater, err := csi.NewCSINodeUpdater(drivers)
	if err != nil {
		return nil, err
	}
	u := &limitUpdater{kubelet: k, drivers: drivers, real: unsafe.Pointer(updater)}
	u.periods = unexported(reflect.ValueOf(updater).Elem().FieldByName("driverUpdaters")).Addr().Interface().(*sync.Map)
	_, err = drivers.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { u.hears(func() { onDriverAdd(u.real, obj) }) },
		UpdateFunc: func(old, obj any) { u.hears(func() { onDriverUpdate(u.real, old, obj) }) },
		DeleteFunc: func(obj any) { u.hears(func() { onDriverDelete(u.real, obj) }) },
	})
	return u, err
}

// register tells the updater that the driver has registered, as the plugin does.
func (u *limitUpdater) register() {
	u.mu.Lock()
	u.registered = true
	u.mu.Unlock()
	u.hears(func() { syncDriverUpdater(u.real, differential.Driver) })
}

// hears tells the updater something, and does what it decides. Until the driver has registered it knows of none.
func (u *limitUpdater) hears(tell func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.registered || u.kubelet.dead() {
		return
	}
	tell()
	began, _ := u.periods.Load(differential.Driver)
	if began == nil || began == any(u.running) {
		return
	}
	// The updater's own ticks end before the first. What it closes to end the period is this one's from now on.
	close(began.(chan struct{}))
	u.running = make(chan struct{})
	u.periods.Store(differential.Driver, u.running)
	obj, _, _ := u.drivers.GetStore().GetByKey(differential.Driver)
	ticker, over := time.NewTicker(time.Duration(*obj.(*storagev1.CSIDriver).Spec.NodeAllocatableUpdatePeriodSeconds)*time.Second), u.running
	u.kubelet.cluster.running.Go(func() { u.run(ticker, over) })
}

// run asks the driver at each tick of a period.
func (u *limitUpdater) run(ticker *time.Ticker, over <-chan struct{}) {
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			// What cannot be written stays as it was.
			_ = u.kubelet.refreshLimit()
		case <-over:
			return
		case <-u.kubelet.ctx.Done():
			return
		}
	}
}
