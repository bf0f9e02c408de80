package csitest

import (
	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/volsim/volsim/csi"
)

// noAttribute is a key that no volume_context has.
const noAttribute = "volsim-no-such-attribute"

// askToConfirm asks whether a volume has an access mode that does not exist, and a volume_context that is not its own. The driver may answer with
// an error, or confirm nothing.
func (r *run) askToConfirm(request *spec.ValidateVolumeCapabilitiesRequest) {
	unknown := proto.Clone(request).(*spec.ValidateVolumeCapabilitiesRequest)
	for _, c := range unknown.GetVolumeCapabilities() {
		c.AccessMode = &spec.VolumeCapability_AccessMode{}
	}
	r.askOr("", unknown, codes.OK, codes.InvalidArgument, "access_mode is UNKNOWN")
	other := proto.Clone(request).(*spec.ValidateVolumeCapabilitiesRequest)
	other.VolumeContext = map[string]string{noAttribute: "1"}
	r.askOr("", other, codes.OK, codes.InvalidArgument, "volume_context is not that of the volume")
}

// confirmed examines the reply to ValidateVolumeCapabilities.
func (e *examiner) confirmed(c *csi.Call, r *spec.ValidateVolumeCapabilitiesResponse) {
	request := c.Request.(*spec.ValidateVolumeCapabilitiesRequest)
	switch unknown := request.GetVolumeCapabilities()[0].GetAccessMode().GetMode() == spec.VolumeCapability_AccessMode_UNKNOWN; {
	case r.GetConfirmed() == nil && !unknown && request.GetVolumeContext()[noAttribute] == "":
		e.flaw(wrongCode, c, c.Volume, "ValidateVolumeCapabilities does not confirm the capabilities with which the volume was created: %q", r.GetMessage())
	case r.GetConfirmed() == nil:
	case unknown:
		e.wrongReply(c, c.Volume, "the reply has confirmed only if all volume_capabilities of the request are supported; the mode of access_mode is REQUIRED",
			"ValidateVolumeCapabilities confirms access_mode UNKNOWN")
	case r.GetConfirmed().GetVolumeContext()[noAttribute] != "":
		e.wrongReply(c, c.Volume, "volume_context MUST match that of the volume; confirmed has a volume_context only if the plugin has validated it",
			"ValidateVolumeCapabilities confirms volume_context %v, and the reply to CreateVolume had another one", r.GetConfirmed().GetVolumeContext())
	case len(r.GetConfirmed().GetVolumeCapabilities()) == 0:
		e.wrongReply(c, c.Volume, "volume_capabilities of confirmed is REQUIRED: the caller compares it with the request",
			"ValidateVolumeCapabilities confirms without volume_capabilities")
	}
}
