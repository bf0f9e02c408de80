package csitest

import (
	"slices"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// excludes reports whether a code is wrong for a condition that requires another one. INVALID_ARGUMENT, ALREADY_EXISTS and OUT_OF_RANGE say that the
// request can never succeed, which is wrong for a volume that is in use elsewhere. ABORTED is an endless one.
func excludes(required storage.Code, code codes.Code) bool {
	switch code {
	case codes.Internal, codes.Unknown, codes.Aborted:
		return true
	case codes.InvalidArgument, codes.AlreadyExists, codes.OutOfRange:
		return required == storage.FailedPrecondition
	}
	return false
}

// endless reports whether a code is ABORTED, and nothing that the driver may still do for the volume explains it: no call of the volume was hit by
// a fault, no snapshot is taken of it, and the same request got ABORTED just before.
func (e *examiner) endless(c *csi.Call, code codes.Code) bool {
	volume := e.volume(c.Volume)
	if code != codes.Aborted || e.hasSnapshots(volume) {
		return false
	}
	repeated, first := false, true
	for _, s := range slices.Backward(e.steps[:e.at]) {
		if s.Call == nil || e.volume(s.Call.Volume) != volume {
			continue
		}
		if s.Call.Fault.Kind != "" {
			return false
		}
		if first {
			repeated = proto.Equal(s.Call.Request, c.Request) && len(s.Call.Replies) > 0 && s.Call.Replies[0].Status.Code() == codes.Aborted
			first = false
		}
	}
	return repeated && c.Fault.Kind == ""
}

// growsOffline reports whether a call must wait until its volume is not published any more.
func (e *examiner) growsOffline(c *csi.Call) bool {
	v, exists := e.Volume(e.volume(c.Volume))
	return exists && e.caps.Offline && !e.caps.Online && len(v.Attached) > 0 && requestedSize(c.Request) > v.Size
}

// isEnough reports whether a new volume is to have size_bytes of its snapshot, and less than the volume of which that was taken.
func (e *examiner) isEnough(c *csi.Call) bool {
	r, ok := c.Request.(*spec.CreateVolumeRequest)
	if !ok {
		return false
	}
	known := e.taken[e.snapshot(r.GetVolumeContentSource().GetSnapshot().GetSnapshotId())]
	if known == nil || known.reply.GetSizeBytes() == 0 || r.GetCapacityRange().GetLimitBytes() > 0 {
		return false
	}
	return requestedSize(r) >= known.reply.GetSizeBytes() && requestedSize(r) < e.reported[known.volume]
}

// expanded reports whether a volume may have grown since it was created.
func (e *examiner) expanded(volume string) bool {
	return slices.ContainsFunc(e.steps[:e.at+1], func(s step) bool {
		return s.Call != nil && (s.Call.Method == "ControllerExpandVolume" || s.Call.Method == "NodeExpandVolume") && e.volume(s.Call.Volume) == volume
	})
}

// isSource reports whether a volume exists that was created from a snapshot.
func (e *examiner) isSource(name string) bool {
	return slices.ContainsFunc(e.Volumes(), func(v fake.VolumeState) bool { return name != "" && e.sources[v.ID] == name })
}

// hasSnapshots reports whether a volume has snapshots.
func (e *examiner) hasSnapshots(volume string) bool {
	for _, known := range e.taken {
		if known.volume == volume && !known.deleted {
			return true
		}
	}
	return false
}
