package csitest

import (
	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"

	"github.com/volsim/volsim/csi"
)

// createdLate examines the reply to a CreateVolume that met the DeleteVolume of its volume. It returns false if that takes effect before
// DeleteVolume, which is executed next. The caller gave up long before, so an error does not matter, and the driver may execute the call after
// DeleteVolume: then the volume is a new one, which no caller knows.
func (e *examiner) createdLate(held, next *csi.Call, reply csi.Reply) bool {
	if held.Method != "CreateVolume" || next.Method != "DeleteVolume" || reply.Broken {
		return false
	}
	r, ok := reply.Message.(*spec.CreateVolumeResponse)
	if !ok {
		return true
	}
	id, name := r.GetVolume().GetVolumeId(), held.Volume
	if was, known := e.answers["create "+name].(*spec.Volume); known && was.GetVolumeId() == id {
		e.tainted[name] = e.tainted[name] || e.caps.Remote // which call came first is not known in another process, and a new volume may have the same ID
		return e.caps.Remote
	}
	e.ids[id] = "late " + name
	e.tainted[e.ids[id]] = true
	return true
}

// interrupted reports whether the effect of a call is unknown because it was interrupted.
func interrupted(c *csi.Call, reply csi.Reply) bool {
	switch code := reply.Status.Code(); {
	case c.Fault.Kind == csi.Reset, c.Fault.Kind == csi.KilledDuring:
		return code == codes.Canceled || code == codes.Unavailable
	case c.Fault.GivenUp && reply.Met != 0:
		return code == codes.Canceled || code == codes.DeadlineExceeded
	}
	return false
}
