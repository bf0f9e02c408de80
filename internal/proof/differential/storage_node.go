package differential

import (
	"slices"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/storage"
)

// nodeDriver is Driver with a part on nodes. How its calls there go is injected.
type nodeDriver struct {
	driver
	cannot     []storage.Op
	mountGroup bool
}

// Can reports whether the driver can do that. One that does not stage does not unstage.
func (d *nodeDriver) Can(op storage.Op) bool {
	if op == storage.Unstage {
		op = storage.Stage
	}
	return !slices.Contains(d.cannot, op)
}

// AttachLimit is what the setting says.
func (d *nodeDriver) AttachLimit(string) int32 {
	if limit := d.Limit(); limit > 0 {
		return limit
	}
	return -1
}

// MountsWithGroup is what the scenario says.
func (d *nodeDriver) MountsWithGroup() bool { return d.mountGroup }

// Inject has calls on nodes take as long and end as the setting says at their beginning.
func (d *nodeDriver) Inject(call api.Call) api.Fault {
	if op := storage.Op(call.Verb); call.Target == Driver && onNode(op) {
		delay, err := d.Begin(op)
		return api.Fault{Delay: delay, Err: Internal(err)}
	}
	return api.Fault{}
}

// Awaits reports whether a call may fail or take time: any of the driver's may.
func (d *nodeDriver) Awaits(call api.Call) bool { return call.Target == Driver }

// OnFault has nothing to tell: that is always so.
func (d *nodeDriver) OnFault(func()) {}

// Delay is that of the driver. For calls on nodes it is injected.
func (d *nodeDriver) Delay(op storage.Op, id string) time.Duration {
	if onNode(op) {
		return 0
	}
	return d.driver.Delay(op, id)
}

func onNode(op storage.Op) bool {
	return op == storage.Stage || op == storage.Unstage || op == storage.Publish || op == storage.Unpublish || op == storage.NodeExpand
}
