package csitest

import (
	"fmt"
	"maps"
	"math"
	"slices"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/storage"
)

// audit says that volsim makes a call itself, and what the CSI specification requires as its answer.
type audit struct {
	want codes.Code
	why  string     // the condition for which that code is required
	or   codes.Code // a code that is allowed instead; OK is none
}

// condition is the flaw.about of an audit. Required fields that a method does not check are one flaw.
func (a *audit) condition() string {
	if a.want == codes.InvalidArgument {
		return a.want.String()
	}
	return a.want.String() + ": " + a.why
}

// auditor is the actor of audits.
const auditor = "volsim"

// ask makes a call of its own. It does so in runs without faults only, in which the reference knows the state of each volume.
func (r *run) ask(node string, request proto.Message, want codes.Code, why string) proto.Message {
	if r.stopped || len(r.plan.faults) > 0 || r.plan.seed != 0 {
		return nil
	}
	reply, _ := r.driver.Call(node, request)
	r.merge()
	r.rec.steps[len(r.rec.steps)-1].Audit = &audit{want: want, why: why}
	return reply
}

// askOr is ask for a call that may also have another answer.
func (r *run) askOr(node string, request proto.Message, want, or codes.Code, why string) proto.Message {
	before := len(r.rec.steps)
	reply := r.ask(node, request, want, why)
	if len(r.rec.steps) > before {
		r.rec.steps[len(r.rec.steps)-1].Audit.or = or
	}
	return reply
}

// askWithoutSource creates a volume from a source that does not exist. A driver whose IDs have a form may call the ID invalid.
func (r *run) askWithoutSource(request *spec.CreateVolumeRequest, why string) {
	r.askOr("", request, codes.NotFound, codes.InvalidArgument, why)
}

// askAbout asks the driver about the volumes of claims, in all ways that it offers.
func (r *run) askAbout(claims ...string) {
	r.compare()
	caps := r.rec.caps
	if caps.List {
		r.listPages()
	}
	for _, claim := range claims {
		id := r.handle(claim)
		if id == "" {
			continue
		}
		if caps.GetVolume {
			r.ask("", &spec.ControllerGetVolumeRequest{VolumeId: id}, codes.OK, "the volume exists")
		}
		if create, volume := r.creation(id); create != nil {
			validate := &spec.ValidateVolumeCapabilitiesRequest{VolumeId: id, VolumeContext: volume.GetVolumeContext(),
				VolumeCapabilities: create.GetVolumeCapabilities(), Parameters: create.GetParameters(), Secrets: create.GetSecrets()}
			r.ask("", validate, codes.OK, "the volume was created with these capabilities")
			r.askToConfirm(validate)
		}
	}
	if caps.GetCapacity {
		r.ask("", &spec.GetCapacityRequest{Parameters: r.cfg.Parameters}, codes.OK, "the driver has GET_CAPACITY")
	}
	r.ask("", &spec.ProbeRequest{}, codes.OK, "the driver serves")
}

// listPages lists the volumes one by one, and tries an invalid token.
func (r *run) listPages() {
	token := ""
	for range maxPages {
		request := &spec.ListVolumesRequest{MaxEntries: 1, StartingToken: token}
		reply, ok := r.ask("", request, codes.OK, "the driver has LIST_VOLUMES").(*spec.ListVolumesResponse)
		if !ok {
			return
		}
		if token = reply.GetNextToken(); token == "" {
			break
		}
	}
	r.ask("", &spec.ListVolumesRequest{StartingToken: "volsim-no-such-token"}, codes.Aborted, "starting_token is invalid")
}

// maxPages limits the pages of a list that never ends.
const maxPages = 50

// askGone asks about a volume that was deleted.
func (r *run) askGone(id string, c *spec.CreateVolumeRequest) {
	if id == "" {
		return
	}
	if r.rec.caps.GetVolume {
		r.ask("", &spec.ControllerGetVolumeRequest{VolumeId: id}, codes.NotFound, "the volume does not exist")
	}
	if c != nil {
		r.ask("", &spec.ValidateVolumeCapabilitiesRequest{VolumeId: id, VolumeCapabilities: c.GetVolumeCapabilities(), Secrets: c.GetSecrets()},
			codes.NotFound, "the volume does not exist")
	}
	r.ask("", &spec.DeleteVolumeRequest{VolumeId: "volsim-" + r.name("none"), Secrets: c.GetSecrets()}, codes.OK, "no volume has that ID")
	if r.rec.caps.Attach {
		r.ask("", &spec.ControllerUnpublishVolumeRequest{VolumeId: id, NodeId: r.nodeID(0), Secrets: c.GetSecrets()}, codes.OK,
			"the volume does not exist, so it is not published")
	}
	if r.rec.caps.Modify && len(r.cfg.Attributes) > 0 {
		r.ask("", &spec.ControllerModifyVolumeRequest{VolumeId: id, MutableParameters: r.cfg.Attributes, Secrets: c.GetSecrets()}, codes.NotFound,
			"the volume does not exist")
	}
	if r.rec.caps.Snapshot {
		r.ask("", &spec.CreateSnapshotRequest{SourceVolumeId: id, Name: "snapshot-" + r.name("of-nothing"), Parameters: r.cfg.SnapshotParameters,
			Secrets: r.cfg.Secrets}, codes.NotFound, "the volume does not exist")
	}
}

// nodeID returns the node_id of a node.
func (r *run) nodeID(i int) string {
	for _, c := range r.driver.Calls() {
		if c.Method != "NodeGetInfo" || c.Node != r.node(i) || len(c.Replies) == 0 {
			continue
		}
		if info, ok := c.Replies[0].Message.(*spec.NodeGetInfoResponse); ok {
			return info.GetNodeId()
		}
	}
	return r.node(i)
}

// creationOf returns the request with which a volume was created, nil if it is not known.
func (r *run) creationOf(id string) *spec.CreateVolumeRequest {
	request, _ := r.creation(id)
	return request
}

// creation returns the request with which a volume was created, and the volume in the reply, nil if it is not known.
func (r *run) creation(id string) (*spec.CreateVolumeRequest, *spec.Volume) {
	for _, c := range r.driver.Calls() {
		req, ok := c.Request.(*spec.CreateVolumeRequest)
		if !ok || len(c.Replies) == 0 {
			continue
		}
		if reply, ok := c.Replies[0].Message.(*spec.CreateVolumeResponse); ok && reply.GetVolume().GetVolumeId() == id {
			return req, reply.GetVolume()
		}
	}
	return nil, nil
}

// limits reports whether a request wants a volume to grow up to a limit.
func limits(request proto.Message) bool {
	r, ok := request.(*spec.ControllerExpandVolumeRequest)
	return ok && r.GetCapacityRange().GetLimitBytes() > 0
}

// audit examines a call of volsim.
func (e *examiner) audit(c *csi.Call, a *audit) {
	if len(c.Replies) == 0 || c.Volume != "" && e.tainted[e.volume(c.Volume)] || e.fromFlawed(c, c.Replies[0]) {
		return
	}
	if name := e.nameIn(c); c.Snapshot != "" && e.tainted[snapshotKey(name)] {
		e.knows(name, c.Replies[0])
		return
	}
	reply := c.Replies[0]
	switch code := reply.Status.Code(); {
	case reply.Broken:
		e.flaw(broken, c, c.Volume, "%s gets no answer: %s", c.Method, reply.Status.Message())
	case code == codes.Unimplemented && advertised[c.Method] != "":
		e.unimplemented(c)
	case code == codes.OutOfRange && e.isEnough(c):
		e.flaw(size, c, c.Volume, "CreateVolume answers code OutOfRange: %s, and required_bytes is size_bytes of the snapshot: %d", reply.Status.Message(),
			requestedSize(c.Request))
		f := &e.flaws[len(e.flaws)-1]
		f.section, f.required = "CreateSnapshot", "size_bytes is the size that a volume needs to be created from the snapshot; 0 is an unknown size"
	case c.Method == "ValidateVolumeCapabilities" && reply.Status != nil && a.or != codes.OK:
		// It confirms nothing.
	case c.Method == "ControllerExpandVolume" && reply.Status != nil, code != codes.OK && code == a.or, c.Method == "ControllerUnpublishVolume" && code == codes.NotFound:
		// Success is recommended and not required.
	case c.Method == "CreateVolume" && code == codes.InvalidArgument && a.or == codes.OutOfRange &&
		c.Request.(*spec.CreateVolumeRequest).GetVolumeContentSource() != nil:
		// The code for a source of which the driver cannot make the volume.
	case reply.Status != nil && (code == codes.Unimplemented || slices.Contains(transient, code) && a.want != code && (code != codes.Aborted || a.want == codes.OK)):
	case reply.Status == nil && a.want == codes.OK && aboutSnapshots(c):
		e.snapshotReply(c, reply.Message)
	case reply.Status == nil && a.want == codes.OK && (c.Method == "CreateVolume" || c.Method == "DeleteVolume" || limits(c.Request)):
		e.success(c, reply)
	case reply.Status == nil && a.want == codes.OK:
		e.answer(c, reply.Message)
	case reply.Status == nil:
		if r, ok := reply.Message.(*spec.CreateVolumeResponse); ok {
			e.ids[r.GetVolume().GetVolumeId()] = c.Volume // lists may have this volume
		}
		e.flaw(accepts, c, c.Volume, "%s succeeds, and code %s is required: %s", c.Method, a.want, a.why)
		f := &e.flaws[len(e.flaws)-1]
		f.code, f.about = storage.Code(a.want.String()), a.condition()
		if c.Method == "NodePublishVolume" && a.want == codes.FailedPrecondition {
			f.section, f.required = c.Method+" Errors", "a SINGLE_NODE_SINGLE_WRITER volume that is published at another target_path MUST give FAILED_PRECONDITION"
		}
	case a.want == codes.OK:
		e.flaw(wrongCode, c, c.Volume, "%s answers code %s: %s, and success is required: %s", c.Method, code, reply.Status.Message(), a.why)
		f := &e.flaws[len(e.flaws)-1]
		if f.about = a.condition(); succeeds[c.Method] != "" {
			f.section, f.required = c.Method, succeeds[c.Method]
		}
	case code != a.want:
		e.answersWrong(c, storage.Code(a.want.String()), "%s answers code %s, and code %s is required: %s", c.Method, code, a.want, a.why)
		e.flaws[len(e.flaws)-1].about = a.condition()
	}
}

// succeeds says why a call of volsim must succeed, by method.
var succeeds = map[string]string{
	"CreateVolume":       "capacity_range is OPTIONAL: without one the plugin chooses the size",
	"DeleteVolume":       "the operation MUST be idempotent: if no volume has that volume_id, of whatever form, the reply is OK",
	"NodeGetVolumeStats": "a plugin with the capability GET_VOLUME_STATS MUST implement this call, for file systems and devices that are published at volume_path",
}

// answer examines the reply to a call of volsim.
func (e *examiner) answer(c *csi.Call, message proto.Message) {
	v, _ := e.Volume(e.volume(c.Volume))
	switch r := message.(type) {
	case *spec.ProbeResponse:
		if r.GetReady() != nil && !r.GetReady().GetValue() {
			e.wrongReply(c, "", "ready is false only while the plugin is not initialized", "Probe answers that the driver is not ready, and it executes calls")
		}
	case *spec.GetCapacityResponse:
		if r.GetAvailableCapacity() < 0 || r.GetMaximumVolumeSize().GetValue() < 0 || r.GetMinimumVolumeSize().GetValue() < 0 {
			e.wrongReply(c, "", "available_capacity, maximum_volume_size and minimum_volume_size MUST NOT be negative", "the reply to GetCapacity is negative: %s", compact(r))
			return
		}
		for _, v := range e.Volumes() {
			if limit := r.GetMaximumVolumeSize().GetValue(); limit > 0 && v.Size > limit && !e.tainted[v.ID] {
				e.wrongReply(c, "", "maximum_volume_size is the largest size that required_bytes of CreateVolume may have",
					"the reply to GetCapacity has maximum_volume_size %d, and volume %s with %d bytes exists", limit, v.ID, v.Size)
				return
			}
			if least := r.GetMinimumVolumeSize().GetValue(); least > e.reported[v.ID] && e.reported[v.ID] > 0 && !e.tainted[v.ID] {
				e.wrongReply(c, "", "minimum_volume_size is the smallest size that limit_bytes of CreateVolume may have",
					"the reply to GetCapacity has minimum_volume_size %d, and volume %s with %d bytes exists", least, v.ID, e.reported[v.ID])
				return
			}
		}
	case *spec.ControllerExpandVolumeResponse:
		if size := r.GetCapacityBytes(); size > 0 && size < v.Size {
			e.wrongReply(c, c.Volume, expandedSize, "the reply to ControllerExpandVolume has capacity_bytes %d, and the volume had %d", size, v.Size)
		}
	case *spec.ValidateVolumeCapabilitiesResponse:
		e.confirmed(c, r)
	case *spec.ControllerGetVolumeResponse:
		switch id := r.GetVolume().GetVolumeId(); {
		case id != c.Volume:
			e.wrongReply(c, c.Volume, "the reply describes the volume of the request", "the reply to ControllerGetVolume has volume_id %q, and the request has %q", id, c.Volume)
		case e.caps.Condition && lacksCondition(r.GetStatus()):
			e.wrongReply(c, c.Volume, withCondition, "the reply to ControllerGetVolume has no volume_condition, and the driver has VOLUME_CONDITION")
		default:
			e.described(c, c.Volume, r.GetVolume(), v.Size)
			if e.caps.ListPublished && !e.tainted[v.ID] {
				e.publishedTo(c, v, r.GetStatus().GetPublishedNodeIds())
			}
		}
	case *spec.ListVolumesResponse:
		e.page(c, r)
	case *spec.NodeGetVolumeStatsResponse:
		e.stats(c, r)
	}
}

// described compares a volume in a reply with what CreateVolume and the expansions returned. c is nil for the list of all volumes.
func (e *examiner) described(c *csi.Call, id string, volume *spec.Volume, want int64) {
	method := "ListVolumes"
	if c != nil {
		method = c.Method
	}
	was, ok := e.answers["create "+e.volume(id)].(*spec.Volume)
	bytes, attributes := volume.GetCapacityBytes(), volume.GetVolumeContext()
	switch {
	case bytes > 0 && bytes < want:
		e.flaw(size, c, id, "%s says that volume %s has %d bytes, and replies said %d", method, id, bytes, want)
	case e.reported[e.volume(id)] > 0 && bytes > e.reported[e.volume(id)] && !e.expanded(e.volume(id)):
		e.flaw(size, c, id, "%s says that volume %s has %d bytes, and CreateVolume said %d", method, id, bytes, e.reported[e.volume(id)])
		f := &e.flaws[len(e.flaws)-1]
		f.method, f.section, f.required = method, method, "capacity_bytes is the size that the volume has, in each reply"
	case ok && len(attributes) > 0 && !maps.Equal(attributes, was.GetVolumeContext()):
		e.flaw(differs, c, id, "%s says that volume %s has volume_context %v, and CreateVolume said %v", method, id, attributes,
			was.GetVolumeContext())
	}
}

// page examines one page of ListVolumes.
func (e *examiner) page(c *csi.Call, r *spec.ListVolumesResponse) {
	req := c.Request.(*spec.ListVolumesRequest)
	if req.GetStartingToken() == "" {
		e.paged = map[string]bool{}
	}
	if limit := int(req.GetMaxEntries()); limit > 0 && len(r.GetEntries()) > limit {
		e.flaw(inventories, c, "", "ListVolumes returns %d entries, and max_entries is %d", len(r.GetEntries()), limit)
		return
	}
	for _, entry := range r.GetEntries() {
		id := entry.GetVolume().GetVolumeId()
		if e.paged[id] {
			e.flaw(inventories, c, "", "two pages of ListVolumes have volume %s", id)
			return
		}
		e.paged[id] = true
	}
	if r.GetNextToken() != "" {
		return
	}
	listed := map[string]bool{}
	for id := range e.paged {
		listed[e.volume(id)] = true
	}
	for _, v := range e.Volumes() {
		if !listed[v.ID] && !e.tainted[v.ID] {
			e.flaw(inventories, c, "", "the pages of ListVolumes lack volume %s, which CreateVolume created", v.ID)
			return
		}
	}
}

// stats examines the reply to NodeGetVolumeStats.
func (e *examiner) stats(c *csi.Call, r *spec.NodeGetVolumeStatsResponse) {
	if e.caps.NodeCondition && lacksCondition(r) {
		e.wrongReply(c, c.Volume, withCondition, "the reply to NodeGetVolumeStats has no volume_condition, and the driver has VOLUME_CONDITION")
		return
	}
	for _, u := range r.GetUsage() {
		if u.GetTotal() < 0 || u.GetUsed() < 0 || u.GetAvailable() < 0 || u.GetTotal() > 0 && max(u.GetUsed(), u.GetAvailable()) > u.GetTotal() ||
			u.GetUnit() == spec.VolumeUsage_UNKNOWN {
			e.wrongReply(c, c.Volume, "total and unit are REQUIRED; total, available and used MUST NOT be negative, and no part is larger than the total",
				"the reply to NodeGetVolumeStats has usage %s", compact(u))
			return
		}
	}
}

// withCondition is the requirement that a reply has volume_condition.
const withCondition = "volume_condition MUST be specified if the plugin has the capability VOLUME_CONDITION"

// sizeLimits is the requirement about the largest size of a field.
const sizeLimits = "a string SHALL NOT exceed 128 bytes, and a map 4 KiB (section Size Limits)"

// Limits of fields, in bytes.
const (
	maxString = 128
	maxMap    = 4 << 10
)

// oversized returns what is too large in a reply, "" for nothing.
func oversized(message proto.Message) string {
	limit := func(name string, size, most int) string {
		if size > most {
			return fmt.Sprintf("%s has %d bytes, and the limit is %d", name, size, most)
		}
		return ""
	}
	sum := func(m map[string]string) (n int) {
		for k, v := range m {
			n += len(k) + len(v)
		}
		return n
	}
	switch r := message.(type) {
	case *spec.CreateVolumeResponse:
		return orElse(limit("volume_id", len(r.GetVolume().GetVolumeId()), maxString),
			limit("volume_context", sum(r.GetVolume().GetVolumeContext()), maxMap))
	case *spec.ControllerPublishVolumeResponse:
		return limit("publish_context", sum(r.GetPublishContext()), maxMap)
	case *spec.CreateSnapshotResponse:
		return limit("snapshot_id", len(r.GetSnapshot().GetSnapshotId()), maxString)
	}
	return ""
}

// impossible is a size that no storage system has.
const impossible = math.MaxInt64 / 16

// requestedSize returns required_bytes of a request.
func requestedSize(request proto.Message) int64 {
	if r, ok := request.(interface{ GetCapacityRange() *spec.CapacityRange }); ok {
		return r.GetCapacityRange().GetRequiredBytes()
	}
	return 0
}

// includes reports whether segments have all of others.
func includes(segments, others map[string]string) bool {
	for key, value := range others {
		if segments[key] != value {
			return false
		}
	}
	return true
}

// lacksCondition reports whether a message has no volume_condition. Version 1.13 of the specification has no such field.
func lacksCondition(m proto.Message) bool {
	field := m.ProtoReflect().Descriptor().Fields().ByName("volume_condition")
	return field != nil && !m.ProtoReflect().Has(field)
}
