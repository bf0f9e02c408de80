package differential

import (
	"slices"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/storage"
)

// nodeDriver is Driver with node operations, whose results are injected.
type nodeDriver struct {
	driver
	cannot     []storage.Op
	mountGroup bool
}

// Capabilities returns those of the scenario. Without Stage there is no Unstage.
func (d *nodeDriver) Capabilities() storage.Capabilities {
	c := storage.Capabilities{Without: slices.Clone(d.cannot), MountGroup: d.mountGroup}
	if slices.Contains(d.cannot, storage.Stage) {
		c.Without = append(c.Without, storage.Unstage)
	}
	return c
}

// AttachLimit returns the limit of the setting.
func (d *nodeDriver) AttachLimit(string) int32 {
	if limit := d.Limit(); limit > 0 {
		return limit
	}
	return -1
}

// Inject delays node calls and lets them fail, according to the setting at their start.
func (d *nodeDriver) Inject(call api.Call) api.Fault {
	if op := storage.Op(call.Verb); call.Target == Driver && onNode(op) {
		delay, err := d.Begin(op)
		return api.Fault{Delay: delay, Err: Internal(err)}
	}
	return api.Fault{}
}

// Active implements engine.FaultPredictor: no request to the API server fails.
func (d *nodeDriver) Active(string) bool { return false }

// Delay returns the delay of the driver. Node calls are delayed by Inject.
func (d *nodeDriver) Delay(op storage.Op, id string) time.Duration {
	if onNode(op) {
		return 0
	}
	return d.driver.Delay(op, id)
}

func onNode(op storage.Op) bool {
	return op == storage.Stage || op == storage.Unstage || op == storage.Publish || op == storage.Unpublish || op == storage.NodeExpand
}
