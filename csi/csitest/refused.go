package csitest

import (
	"context"
	"slices"
	"strings"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"

	"github.com/volsim/volsim/csi"
)

// A driver may refuse to create volumes of a kind that the specification leaves to it: file systems or devices, access modes for several nodes,
// mount options, copies that are larger than their source. Stories about such volumes are not asked. If the driver creates no volume at all, or
// one of that kind elsewhere, it is a finding.

// refusal is a run that could not continue because the driver refuses its volumes.
type refusal struct {
	rec   *recording
	flaws []flaw
	kind  string // of the volume
}

// refused returns the kind of volume that the driver refuses to create in a run without faults, and the error; "" for none.
func refused(rec *recording) (kind, answer string) {
	if len(rec.plan.faults) > 0 || rec.plan.seed != 0 {
		return "", ""
	}
	var last *csi.Call
	for _, s := range rec.steps {
		if s.Call == nil || s.Call.Method != "CreateVolume" || s.Audit != nil || len(s.Call.Replies) == 0 {
			continue
		}
		if code := s.Call.Replies[0].Status.Code(); code == codes.InvalidArgument || code == codes.OutOfRange {
			last = s.Call
		}
	}
	if last == nil {
		return "", ""
	}
	request, reply := last.Request.(*spec.CreateVolumeRequest), last.Replies[0].Status
	switch kinds := kindsOf(rec.caps, request); {
	case reply.Code() == codes.OutOfRange && enlarges(rec, request):
		return "copies larger than their source", reply.Message()
	case reply.Code() == codes.InvalidArgument && request.GetVolumeContentSource() == nil && len(kinds) > 0:
		return kinds[len(kinds)-1], reply.Message()
	}
	return "", ""
}

// kindsOf returns the kinds of a volume that a driver may refuse, the most special one last. A mode for one node is none of them: each driver has
// one, and SINGLE_NODE_MULTI_WRITER says that it has the others.
func kindsOf(caps capabilities, r *spec.CreateVolumeRequest) []string {
	kinds := []string{"file systems"}
	for _, c := range r.GetVolumeCapabilities() {
		mode := c.GetAccessMode().GetMode().String()
		if c.GetBlock() != nil {
			kinds[0] = "devices"
		}
		if strings.HasPrefix(mode, "MULTI_NODE") {
			kinds = append(kinds, mode)
		}
		if c.GetBlock() == nil && strings.HasPrefix(mode, "SINGLE_NODE") && mode != "SINGLE_NODE_WRITER" && caps.SingleNodeMultiWriter && len(kinds) > 1 {
			kinds = kinds[:1]
		}
		if len(c.GetMount().GetMountFlags()) > 0 && !slices.Contains(kinds, "mount options") {
			kinds = append(kinds, "mount options")
		}
	}
	return kinds
}

// enlarges reports whether a volume should be larger than the one it is copied from.
func enlarges(rec *recording, r *spec.CreateVolumeRequest) bool {
	want, source := r.GetCapacityRange().GetRequiredBytes(), r.GetVolumeContentSource()
	for _, s := range rec.steps {
		if s.Call == nil {
			continue
		}
		for _, reply := range s.Call.Replies {
			switch m := reply.Message.(type) {
			case *spec.CreateVolumeResponse:
				if id := m.GetVolume().GetVolumeId(); id != "" && id == source.GetVolume().GetVolumeId() {
					return want > s.Call.Request.(*spec.CreateVolumeRequest).GetCapacityRange().GetRequiredBytes()
				}
			case *spec.CreateSnapshotResponse:
				if id := m.GetSnapshot().GetSnapshotId(); id != "" && id == source.GetSnapshot().GetSnapshotId() {
					return m.GetSnapshot().GetSizeBytes() > 0 && want > m.GetSnapshot().GetSizeBytes()
				}
			}
		}
	}
	return false
}

// note remembers the kinds of volumes that the driver created in a run.
func (x *explorer) note(rec *recording) {
	for _, s := range rec.steps {
		if s.Call != nil && createdBy(s.Call) != nil {
			for _, kind := range kindsOf(rec.caps, s.Call.Request.(*spec.CreateVolumeRequest)) {
				x.created[kind] = true
			}
		}
	}
}

// hold keeps a run back in which the driver refuses its volumes.
func (x *explorer) hold(rec *recording, flaws []flaw, kind, answer string) {
	rec.refused = kind + ", which the driver refuses: " + answer
	x.refusals = append(x.refusals, refusal{rec, flaws, kind})
}

// tryDevice creates and deletes a device, to find out whether the driver creates volumes at all.
func (x *explorer) tryDevice() {
	ctx, cancel := context.WithTimeout(context.Background(), x.cfg.Limit)
	defer cancel()
	client := spec.NewControllerClient(x.cfg.Controller)
	device := &spec.VolumeCapability{AccessType: &spec.VolumeCapability_Block{Block: &spec.VolumeCapability_BlockVolume{}},
		AccessMode: &spec.VolumeCapability_AccessMode{Mode: spec.VolumeCapability_AccessMode_SINGLE_NODE_WRITER}}
	reply, err := client.CreateVolume(ctx, &spec.CreateVolumeRequest{Name: "volsim-device", VolumeCapabilities: []*spec.VolumeCapability{device},
		CapacityRange: &spec.CapacityRange{RequiredBytes: int64(x.cfg.Size) << 30}, Parameters: x.cfg.Parameters, Secrets: x.cfg.Secrets})
	if err != nil {
		return
	}
	x.created["devices"] = true
	_, _ = client.DeleteVolume(ctx, &spec.DeleteVolumeRequest{VolumeId: reply.GetVolume().GetVolumeId(), Secrets: x.cfg.Secrets})
}

// release reports what was kept back, if the driver creates such volumes elsewhere, or none at all.
func (x *explorer) release() {
	if len(x.refusals) > 0 && len(x.created) == 0 {
		x.tryDevice() // the stories that ran may be those of one shard
	}
	for _, r := range x.refusals {
		if len(x.created) > 0 && !x.created[r.kind] {
			continue
		}
		x.report.add(r.rec, r.flaws)
		story := r.rec.plan.story
		x.report.Skipped = slices.DeleteFunc(x.report.Skipped, func(s Skipped) bool { return s.Story == story.name })
		x.report.Stories = append(x.report.Stories, StoryResult{Story: story.name, About: story.about, Runs: 1, Failed: 1, Stopped: true})
	}
}
