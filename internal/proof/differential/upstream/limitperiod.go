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
	"github.com/volsim/volsim/internal/proof/differential/harness"
)

// limitUpdater lets the plugin's updater of one kubelet decide when the driver is asked periodically for its limit. Ticks are counted
// here, because the updater would ask through a socket, for the kubelet started last in this process.
type limitUpdater struct {
	kubelet *kubelet
	drivers cache.SharedIndexInformer
	real    unsafe.Pointer // handlers of the updater, whose type is private
	periods *sync.Map      // channels, by driver, that the updater closes to end a period

	mu         sync.Mutex
	registered bool          // the driver has
	running    chan struct{} // the running period, nil if there is none
}

//go:linkname syncDriverUpdater k8s.io/kubernetes/pkg/volume/csi.(*csiNodeUpdater).syncDriverUpdater
func syncDriverUpdater(updater unsafe.Pointer, driver string)

//go:linkname onDriverAdd k8s.io/kubernetes/pkg/volume/csi.(*csiNodeUpdater).onDriverAdd
func onDriverAdd(updater unsafe.Pointer, obj any)

//go:linkname onDriverUpdate k8s.io/kubernetes/pkg/volume/csi.(*csiNodeUpdater).onDriverUpdate
func onDriverUpdate(updater unsafe.Pointer, old, obj any)

//go:linkname onDriverDelete k8s.io/kubernetes/pkg/volume/csi.(*csiNodeUpdater).onDriverDelete
func onDriverDelete(updater unsafe.Pointer, obj any)

// newLimitUpdater returns the updater of a kubelet, which receives CSIDrivers.
func newLimitUpdater(k *kubelet, drivers cache.SharedIndexInformer) (*limitUpdater, error) {
	updater, err := csi.NewCSINodeUpdater(drivers)
	if err != nil {
		return nil, err
	}
	u := &limitUpdater{kubelet: k, drivers: drivers, real: unsafe.Pointer(updater)}
	u.periods = harness.Unexported(reflect.ValueOf(updater).Elem().FieldByName("driverUpdaters")).Addr().Interface().(*sync.Map)
	_, err = drivers.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { u.receive(func() { onDriverAdd(u.real, obj) }) },
		UpdateFunc: func(old, obj any) { u.receive(func() { onDriverUpdate(u.real, old, obj) }) },
		DeleteFunc: func(obj any) { u.receive(func() { onDriverDelete(u.real, obj) }) },
	})
	return u, err
}

// register reports to the updater that the driver has registered, like the plugin.
func (u *limitUpdater) register() {
	u.mu.Lock()
	u.registered = true
	u.mu.Unlock()
	u.receive(func() { syncDriverUpdater(u.real, differential.Driver) })
}

// receive passes an event to the updater and carries out its decision. Before registration the updater knows no driver.
func (u *limitUpdater) receive(handle func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.registered || u.kubelet.dead() {
		return
	}
	handle()
	began, _ := u.periods.Load(differential.Driver)
	if began == nil || began == any(u.running) {
		return
	}
	// The updater's own ticker stops before its first tick. What it closes to end the period ends ours.
	close(began.(chan struct{}))
	u.running = make(chan struct{})
	u.periods.Store(differential.Driver, u.running)
	obj, _, _ := u.drivers.GetStore().GetByKey(differential.Driver)
	ticker, over := time.NewTicker(time.Duration(*obj.(*storagev1.CSIDriver).Spec.NodeAllocatableUpdatePeriodSeconds)*time.Second), u.running
	u.kubelet.cluster.Running.Go(func() { u.run(ticker, over) })
}

// run asks the driver at each tick of a period.
func (u *limitUpdater) run(ticker *time.Ticker, over <-chan struct{}) {
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			// A failed write changes nothing.
			_ = u.kubelet.refreshLimit()
		case <-over:
			return
		case <-u.kubelet.ctx.Done():
			return
		}
	}
}
