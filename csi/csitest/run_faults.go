package csitest

import (
	"slices"
	"strings"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/storage"
)

// injector is asked before each call of the control plane. It counts the calls, and decides about those that the plan names.
type injector struct{ r *run }

// Inject implements api.Injector.
func (i injector) Inject(call api.Call) api.Fault {
	r := i.r
	if call.Target != r.driver.Name() {
		return api.Fault{}
	}
	r.rec.calls = append(r.rec.calls, call)
	p := pending{call: call}
	defer func() { r.pending = append(r.pending, p) }()
	kind := r.plan.at(len(r.rec.calls))
	if r.stalls > 0 && call.Key == r.stalled.Key {
		r.stalls--
		switch {
		case call != r.stalled:
			r.stalls = 0
		case kind == "":
			kind = "undelivered"
		}
	}
	if !fits(kind, call) { // with another seed the number may be that of another call
		kind = ""
	}
	switch kind {
	case "":
	case crash:
		p.crash = true
		return api.Fault{Crash: true, Effect: true, Restart: time.Second}
	case reboot:
		r.reboots = append(r.reboots, call.Node)
	case stalled, untilDetached:
		p.wire = kind
		r.stalled, r.stalls = call, maxStalls
	default:
		p.wire = kind
	}
	return api.Fault{}
}

// fits reports whether a call can have a fault.
func fits(kind string, call api.Call) bool {
	switch kind {
	case reboot:
		return call.Node != "" && strings.HasPrefix(call.Actor, kubelet)
	case untilDeleted:
		return call.Verb == string(storage.Create)
	}
	return true
}

// maxStalls is how many repetitions of a stalled call do not reach the driver.
const maxStalls = 8

// pending is a call of the control plane that the driver has not got yet.
type pending struct {
	call  api.Call
	wire  string // fault of the wire
	crash bool   // the caller crashes after the call
}

// methods are the operations of backends, by the RPC that carries them out.
var methods = map[string]storage.Op{
	"CreateVolume": storage.Create, "DeleteVolume": storage.Delete, "ControllerPublishVolume": storage.Attach,
	"ControllerUnpublishVolume": storage.Detach, "ControllerExpandVolume": storage.Expand, "ControllerModifyVolume": storage.Modify,
	"GetCapacity":     storage.GetCapacity,
	"NodeStageVolume": storage.Stage, "NodeUnstageVolume": storage.Unstage, "NodePublishVolume": storage.Publish,
	"NodeUnpublishVolume": storage.Unpublish, "NodeExpandVolume": storage.NodeExpand,
	"CreateVolumeGroupSnapshot": storage.CreateGroupSnapshot, "DeleteVolumeGroupSnapshot": storage.DeleteGroupSnapshot,
	"CreateSnapshot": storage.CreateSnapshot, "DeleteSnapshot": storage.DeleteSnapshot, "ListSnapshots": storage.GetSnapshot,
}

// onWire returns the fault of the wire for a call.
func (r *run) onWire(call csi.Call) csi.Fault {
	if r.broken() {
		return csi.Fault{Kind: csi.NotDelivered}
	}
	r.pace(call)
	i := slices.IndexFunc(r.pending, func(p pending) bool {
		return p.call.Verb == string(methods[call.Method]) && (p.call.Key == keyOf(call) || call.Method == "GetCapacity") && (call.Node == "" || p.call.Node == call.Node)
	})
	if i < 0 {
		return csi.Fault{}
	}
	if r.cfg.watch != nil {
		r.cfg.watch(r.cluster, call)
	}
	p := r.pending[i]
	r.pending = slices.Delete(r.pending, i, i+1)
	r.callers[call.Seq] = p
	return wire[p.wire]
}
