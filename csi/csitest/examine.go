package csitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/storage"
)

// examiner evaluates the steps of a recording. It is a pure function of them.
type examiner struct {
	*shadow
	answers    map[string]proto.Message // replies to CreateVolume and ControllerPublishVolume, by what was requested
	data       map[string]string        // by volume in the reference
	measured   map[string]measured      // by volume
	tainted    map[string]bool          // volumes with a flaw; the reference does not follow them any more
	assumed    map[int]bool             // for calls whose effect is unknown, by Seq: they took effect
	unsure     []int                    // calls whose effect is unknown
	rejected   map[string]rejection     // the last error of each volume that is not a flaw by itself
	flaws      []flaw
	at         int
	steps      []step
	exact      map[string]bool // volumes whose last list of nodes had no node too many, and lacked one
	before     map[string]bool // IDs of volumes of earlier runs
	left       map[string]int  // volumes that earlier runs left attached, by node_id
	held       []*csi.Call     // calls that stay open until another one meets them
	paged      map[string]bool // IDs of volumes in the pages of ListVolumes so far
	gone       map[string]bool // nodes that were removed
	inline     map[Mount]string
	inlined    map[Mount]bool                           // paths at which inline volumes were published
	mounted    map[Mount]bool                           // staging paths where a mount was seen
	used       map[Mount]*spec.NodePublishVolumeRequest // the last request that succeeded, by path
	infos      map[string]*spec.NodeGetInfoResponse
	sizes      map[string]int64             // the largest capacity_bytes of CreateVolume, by volume
	parameters map[string]map[string]string // of CreateVolume, by volume
	reported   map[string]int64             // the largest capacity_bytes of CreateVolume and ControllerExpandVolume, by volume
	taken      map[string]*taken            // snapshots by their IDs in the reference
	sources    map[string]string            // snapshots from which volumes were created, "" for copies of volumes
	copies     map[string]bool              // volumes that are the copy or the source of another one
	listed     map[string]bool              // IDs of snapshots in the pages of ListSnapshots so far
}

// rejection is an error with which the driver answered.
type rejection struct {
	at       int
	call     *csi.Call
	code     codes.Code
	method   string
	detail   string
	snapshot string // "" for a volume
}

// maxUnsure limits how many calls of unknown effect are tried both ways.
const maxUnsure = 4

// examine returns the flaws that the recording shows. If the effect of calls is unknown, the driver gets the benefit of the doubt.
func examine(rec *recording, steps []step) []flaw {
	e := newExaminer(rec, nil)
	first := e.all(rec, steps)
	if len(first) == 0 || len(e.unsure) == 0 {
		return first
	}
	unsure := e.unsure[:min(len(e.unsure), maxUnsure)]
	for set := 1; set < 1<<len(unsure); set++ {
		assumed := map[int]bool{}
		for i, seq := range unsure {
			assumed[seq] = set&(1<<i) != 0
		}
		if len(newExaminer(rec, assumed).all(rec, steps)) == 0 {
			return nil
		}
	}
	return first
}

func newExaminer(rec *recording, assumed map[int]bool) *examiner {
	return &examiner{shadow: newShadow(rec.caps, rec.nodes), answers: map[string]proto.Message{}, data: map[string]string{}, measured: map[string]measured{},
		tainted: map[string]bool{}, assumed: assumed, rejected: map[string]rejection{}, before: rec.before, left: rec.left, exact: map[string]bool{},
		gone: map[string]bool{}, inline: map[Mount]string{}, inlined: map[Mount]bool{}, mounted: map[Mount]bool{},
		used: map[Mount]*spec.NodePublishVolumeRequest{}, infos: map[string]*spec.NodeGetInfoResponse{}, sizes: map[string]int64{},
		paged:      map[string]bool{},
		parameters: map[string]map[string]string{}, reported: map[string]int64{}, taken: map[string]*taken{}, copies: map[string]bool{}, sources: map[string]string{}, listed: map[string]bool{}}
}

func (e *examiner) all(rec *recording, steps []step) []flaw {
	e.steps = steps
	for _, s := range steps {
		if s.Call != nil && s.Call.Fault.Kind == csi.Overlap {
			e.held = append(e.held, s.Call)
		}
	}
	for i, s := range steps {
		e.at = i
		switch {
		case s.Audit != nil:
			e.audit(s.Call, s.Audit)
		case s.Call != nil:
			e.call(s.Call)
		case s.Event != nil:
			e.happens(s.Event)
			e.gone[s.Event.Node] = e.gone[s.Event.Node] || s.Event.Gone
			maps.DeleteFunc(e.inline, func(m Mount, _ string) bool { return m.Node == s.Event.Node })
			maps.DeleteFunc(e.mounted, func(m Mount, _ bool) bool { return m.Node == s.Event.Node })
		case s.Listed != nil:
			e.list(s.Listed)
		case s.Access != nil:
			e.access(s.Access)
		case s.Stats != nil:
			e.measure(s.Stats)
		}
	}
	if len(e.flaws) == 0 && len(rec.missed) > 0 {
		e.isStuck(rec)
	}
	return e.flaws
}

// call examines a call: its executions in the driver, one after the other. A call that stayed open is examined where it was executed.
func (e *examiner) call(c *csi.Call) {
	for _, held := range e.held {
		for _, reply := range held.Replies {
			if reply.Met == c.Seq && !e.createdLate(held, c, reply) {
				e.execution(held, reply)
			}
		}
	}
	if c.Fault.Kind == csi.Overlap && len(c.Replies) > 0 && c.Replies[0].Met != 0 {
		return
	}
	for _, reply := range c.Replies {
		e.execution(c, reply)
	}
}

// transient are codes that ask the caller to try again.
var transient = []codes.Code{codes.Aborted, codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.ResourceExhausted}

// execution compares one answer of the driver with that of the reference.
func (e *examiner) execution(c *csi.Call, reply csi.Reply) {
	if c.Method == "NodeGetInfo" || c.Method == "ListVolumes" {
		if reply.Broken {
			e.flaw(broken, c, "", "%s gets no answer: %s", c.Method, reply.Status.Message())
			return
		}
		e.info(c, reply)
		return
	}
	if c.Method == "GetCapacity" {
		e.capacity(c, reply)
		return
	}
	if aboutSnapshots(c) {
		e.snapshotCall(c, reply)
		return
	}
	volume := e.volume(c.Volume)
	if e.tainted[volume] || e.showsSecret(c, reply) {
		if r, ok := reply.Message.(*spec.CreateVolumeResponse); ok && e.ids[r.GetVolume().GetVolumeId()] == "" {
			e.ids[r.GetVolume().GetVolumeId()] = c.Volume // calls with this volume_id are about a volume with a flaw
		}
		return
	}
	delete(e.rejected, c.Volume)
	if reply.Broken {
		e.flaw(broken, c, c.Volume, "%s gets no answer: %s", c.Method, reply.Status.Message())
		return
	}
	if e.inlineCall(c, reply) {
		return
	}
	if reply.Status == nil {
		e.success(c, reply)
		return
	}
	code, text := reply.Status.Code(), reply.Status.Message()
	answer := fmt.Sprintf("%s answers code %s: %s", c.Method, code, text)
	switch {
	case interrupted(c, reply):
		e.unsure = append(e.unsure, c.Seq)
		if e.assumed[c.Seq] {
			e.apply(c.Node, c.Request)
		}
		return
	case slices.Contains(transient, code) && !e.endless(c, code):
		e.rejected[c.Volume] = rejection{at: e.at, call: c, code: reply.Status.Code(), method: c.Method, detail: answer}
		return
	}
	if code == codes.Unimplemented && advertised[c.Method] != "" {
		e.unimplemented(c)
		return
	}
	o := e.ask(c.Node, c.Request)
	_, exists := e.Volume(volume)
	switch required := e.tabled(c, o.err); {
	case required != "" && excludes(required, code) && reply.Met == 0:
		e.answersWrong(c, required, "%s, and code %s is required", answer, required)
	case !exists && code != codes.NotFound && code != codes.Unimplemented && needsVolume[c.Method]:
		e.answersWrong(c, storage.NotFound, "%s, and code NotFound is required: the volume does not exist", answer)
	case requestedSize(c.Request) > impossible && code != codes.OutOfRange && code != codes.Unimplemented:
		e.answersWrong(c, storage.OutOfRange, "%s, and code OutOfRange is required: no volume can have %d bytes", answer, requestedSize(c.Request))
	case c.Method == "ControllerExpandVolume" && excludes(storage.FailedPrecondition, code) && reply.Met == 0 && e.growsOffline(c):
		e.answersWrong(c, storage.FailedPrecondition, "%s, and code FailedPrecondition is required: the volume is published at a node, and the driver "+
			"has VolumeExpansion OFFLINE only", answer)
	case c.Method == "DeleteVolume" && exists && code != codes.FailedPrecondition && code != codes.Unimplemented && e.hasSnapshots(volume):
		e.answersWrong(c, storage.FailedPrecondition, "%s, and code FailedPrecondition is required: the volume has snapshots", answer)
	case code == codes.NotFound && !exists && opposite[c.Method] && c.Node != "":
		// The table of errors has this code for a volume that does not exist.
	case o.err == nil && !o.changed && opposite[c.Method] && code != codes.Aborted:
		e.flaw(undone, c, c.Volume, "%s, although there is nothing left to undo", answer)
	case o.err == nil && !o.changed && code != codes.Aborted:
		e.flaw(again, c, c.Volume, "%s, although the volume already is as requested", answer)
	default:
		e.rejected[c.Volume] = rejection{at: e.at, call: c, code: reply.Status.Code(), method: c.Method, detail: answer}
	}
}

// advertised has the capability for which the calls of a method are made.
var advertised = map[string]string{
	"CreateVolume": "CREATE_DELETE_VOLUME", "DeleteVolume": "CREATE_DELETE_VOLUME", "ControllerPublishVolume": "PUBLISH_UNPUBLISH_VOLUME",
	"ControllerUnpublishVolume": "PUBLISH_UNPUBLISH_VOLUME", "ControllerExpandVolume": "EXPAND_VOLUME", "ControllerModifyVolume": "MODIFY_VOLUME",
	"ListVolumes": "LIST_VOLUMES", "GetCapacity": "GET_CAPACITY", "ControllerGetVolume": "GET_VOLUME", "CreateSnapshot": "CREATE_DELETE_SNAPSHOT",
	"DeleteSnapshot": "CREATE_DELETE_SNAPSHOT", "ListSnapshots": "LIST_SNAPSHOTS", "NodeStageVolume": "STAGE_UNSTAGE_VOLUME",
	"NodeUnstageVolume": "STAGE_UNSTAGE_VOLUME", "NodeExpandVolume": "EXPAND_VOLUME", "NodeGetVolumeStats": "GET_VOLUME_STATS",
}

// unimplemented reports that a call fails with Unimplemented for which the driver has the capability.
func (e *examiner) unimplemented(c *csi.Call) {
	e.flaw(wrongCode, c, c.Volume, "%s answers code Unimplemented, and the driver has the capability %s", c.Method, advertised[c.Method])
	f := &e.flaws[len(e.flaws)-1]
	f.section, f.required = c.Method, "a plugin with the capability "+advertised[c.Method]+" MUST implement this call"
}

// tabled returns the code that the table of errors requires for the error of the reference, "" for none.
func (e *examiner) tabled(c *csi.Call, err error) storage.Code {
	if r, ok := c.Request.(*spec.ControllerPublishVolumeRequest); ok && e.gone[e.node(r.GetNodeId())] {
		return storage.NotFound
	}
	switch code := storage.CodeOf(err); {
	case err == nil:
	case c.Method == "CreateVolume" && code == storage.AlreadyExists, c.Method == "ControllerPublishVolume" && code == storage.FailedPrecondition,
		c.Method == "DeleteVolume" && code == storage.FailedPrecondition && !e.tolerates(c, code):
		return code
	}
	return ""
}

// needsVolume has the methods of the controller that need a volume that exists.
var needsVolume = map[string]bool{"ControllerPublishVolume": true, "ControllerExpandVolume": true, "ControllerModifyVolume": true}

// opposite has the methods that undo others.
var opposite = map[string]bool{"DeleteVolume": true, "ControllerUnpublishVolume": true, "NodeUnstageVolume": true, "NodeUnpublishVolume": true}

// success examines a call that succeeded in the driver.
func (e *examiner) success(c *csi.Call, reply csi.Reply) {
	if reply.Message == nil {
		e.flaw(broken, c, c.Volume, "%s has neither a reply nor an error", c.Method)
		return
	}
	if text := oversized(reply.Message); text != "" {
		if r, ok := reply.Message.(*spec.CreateVolumeResponse); ok {
			e.ids[r.GetVolume().GetVolumeId()] = c.Volume
		}
		e.wrongReply(c, c.Volume, sizeLimits, "the reply to %s is too large: %s", c.Method, text)
		return
	}
	if r, ok := reply.Message.(*spec.CreateVolumeResponse); ok && !e.created(c, r) {
		e.tainted[c.Volume] = true
		return
	}
	if r, ok := c.Request.(*spec.ControllerPublishVolumeRequest); ok && !e.mayAttach(c, r) {
		return
	}
	before, _ := e.Volume(e.volume(c.Volume))
	o := e.apply(c.Node, c.Request)
	if o.err != nil {
		code := storage.CodeOf(o.err)
		if e.tolerates(c, code) {
			e.tainted[e.volume(c.Volume)] = e.tainted[e.volume(c.Volume)] || opposite[c.Method]
			return
		}
		if e.fromFlawed(c, reply) || code == storage.AlreadyExists && e.onlyParametersDiffer(c) {
			return
		}
		e.flaw(accepts, c, c.Volume, "%s succeeds, and code %s is required: %s", c.Method, code, trimStatus(o.err))
		f := &e.flaws[len(e.flaws)-1]
		f.code, f.about = code, string(code)
		return
	}
	switch r := reply.Message.(type) {
	case *spec.CreateVolumeResponse:
		e.parameters[c.Volume] = c.Request.(*spec.CreateVolumeRequest).GetParameters()
		e.same(c, "create "+c.Volume, volumeOf(r))
	case *spec.ControllerPublishVolumeResponse:
		e.same(c, attachment(c), r)
	case *spec.NodePublishVolumeResponse:
		e.used[Mount{Node: c.Node, Path: path(c.Request)}] = c.Request.(*spec.NodePublishVolumeRequest)
	case *spec.ControllerUnpublishVolumeResponse:
		delete(e.answers, attachment(c))
	case *spec.DeleteVolumeResponse:
		delete(e.answers, "create "+e.volume(c.Volume))
	case *spec.ControllerExpandVolumeResponse:
		if r.GetCapacityBytes() == 0 {
			e.wrongReply(c, c.Volume, expandedSize, "the reply to ControllerExpandVolume has no capacity_bytes")
			return
		}
		if size := r.GetCapacityBytes(); size < before.Size {
			e.wrongReply(c, c.Volume, expandedSize, "the reply to ControllerExpandVolume has capacity_bytes %d, and the volume had %d", size, before.Size)
			return
		}
		if r.GetNodeExpansionRequired() && !e.caps.NodeExpand {
			e.wrongReply(c, c.Volume, "if node_expansion_required is true, NodeExpandVolume MUST be called, which is for plugins with the node capability EXPAND_VOLUME",
				"the reply to ControllerExpandVolume has node_expansion_required true, and the driver lacks the node capability EXPAND_VOLUME")
			return
		}
		name := e.volume(c.Volume)
		if was := e.reported[name]; !o.changed && reply.Met == 0 && was >= requestedSize(c.Request) && r.GetCapacityBytes() > was {
			e.flaw(differs, c, c.Volume, "ControllerExpandVolume answers capacity_bytes %d, and the volume already had %d, which is enough", r.GetCapacityBytes(), was)
			return
		}
		e.reported[name] = max(e.reported[name], r.GetCapacityBytes())
		e.sized(c, r.GetCapacityBytes(), c.Request.(*spec.ControllerExpandVolumeRequest).GetCapacityRange())
	case *spec.NodeExpandVolumeResponse:
		if !e.caps.Expand {
			e.reported[e.volume(c.Volume)] = max(e.reported[e.volume(c.Volume)], r.GetCapacityBytes(), requestedSize(c.Request))
		}
		e.sized(c, r.GetCapacityBytes(), c.Request.(*spec.NodeExpandVolumeRequest).GetCapacityRange())
	}
}

// expandedSize is the requirement about the size in a reply to ControllerExpandVolume.
const expandedSize = "capacity_bytes is REQUIRED: it is the capacity of the volume after the expansion"

// tolerates reports whether a driver may accept what the reference rejects, because it cannot know better.
func (e *examiner) tolerates(c *csi.Call, code storage.Code) bool {
	v, _ := e.Volume(e.volume(c.Volume))
	switch c.Method {
	case "DeleteVolume":
		return len(v.Attached) == 0 // a controller does not know what is mounted
	case "NodeUnstageVolume":
		return true // Kubernetes does not send it, except by a fault of its own
	}
	return code == storage.OutOfRange || code == storage.ResourceExhausted
}

// onlyParametersDiffer reports that the volume is as a CreateVolume requests it, but for parameters. Which parameters make a volume incompatible only the
// driver knows: it may ignore some.
func (e *examiner) onlyParametersDiffer(c *csi.Call) bool {
	r, ok := c.Request.(*spec.CreateVolumeRequest)
	if !ok {
		return false
	}
	r = proto.CloneOf(r)
	r.Parameters = e.parameters[c.Volume]
	return e.ask(c.Node, r).err == nil
}

// compact renders a message in one line.
func compact(m proto.Message) string {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	var b bytes.Buffer
	if err != nil || json.Compact(&b, text) != nil {
		return "an invalid message"
	}
	return b.String()
}

// trimStatus returns the text of an error without the words of gRPC.
func trimStatus(err error) string {
	_, text, ok := strings.Cut(err.Error(), " desc = ")
	if !ok {
		return err.Error()
	}
	return text
}
