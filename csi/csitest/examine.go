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
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// flaw is one thing that the driver did wrong in one run.
type flaw struct {
	kind     flawKind
	method   string
	volume   string       // volume_id or name
	snapshot string       // in the reference; "" if it is not about a snapshot
	detail   string       // what the driver did
	code     storage.Code // that is required instead of success; "" if another one is meant
	steps    []step       // up to the step that shows it
	path     string       // the mount that is wrong, "" if it is not about a mount
	overlap  bool         // the call ran at the same time as another one of its volume
	section  string       // of the specification, for stuck; "" if only the error is known
	required string       // what the section requires
}

// flawKind says which requirement was broken.
type flawKind string

// The kinds of flaws.
const (
	again       flawKind = "repeat-fails"      // the repetition of a successful call fails
	undone      flawKind = "undo-fails"        // undoing what is not there fails
	accepts     flawKind = "accepts"           // a call succeeds that must fail
	differs     flawKind = "reply-differs"     // the repetition of a call gets another answer
	duplicate   flawKind = "second-volume"     // one name has two volumes
	invalid     flawKind = "invalid-reply"     // a reply lacks a required field, or has a wrong value
	inventories flawKind = "inventory-differs" // the driver has something else than its replies say
	mounts      flawKind = "mounts-differ"     // the nodes have other mounts than the replies say
	data        flawKind = "data-lost"         // what was written cannot be read
	size        flawKind = "size-differs"      // the volume or its file system does not have the reported size
	stuck       flawKind = "stuck"             // an error that does not go away keeps the story from its end
	broken      flawKind = "no-reply"          // the driver panics, hangs, or answers garbage
	wrongCode   flawKind = "wrong-code"        // an error has another code than the specification requires
	secret      flawKind = "secret-shown"      // a reply or an error contains a secret
)

// examiner evaluates the steps of a recording. It is a pure function of them.
type examiner struct {
	*shadow
	answers  map[string]proto.Message // replies to CreateVolume and ControllerPublishVolume, by what was requested
	data     map[string]string        // by volume in the reference
	measured map[string]measured      // by volume
	tainted  map[string]bool          // volumes with a flaw; the reference does not follow them any more
	assumed  map[int]bool             // for calls whose effect is unknown, by Seq: they took effect
	unsure   []int                    // calls whose effect is unknown
	rejected map[string]rejection     // the last error of each volume that is not a flaw by itself
	flaws    []flaw
	at       int
	steps    []step
	exact    map[string]bool // volumes whose last list of nodes had no node too many, and lacked one
	before   map[string]bool // IDs of volumes of earlier runs
	held     []*csi.Call     // calls that stay open until another one meets them
	paged    map[string]bool // IDs of volumes in the pages of ListVolumes so far
	gone     map[string]bool // nodes that were removed
	inline   map[Mount]string
	mounted  map[Mount]bool // staging paths where a mount was seen
	infos    map[string]*spec.NodeGetInfoResponse
	sizes    map[string]int64  // the largest capacity_bytes of CreateVolume, by volume
	reported map[string]int64  // the largest capacity_bytes of CreateVolume and ControllerExpandVolume, by volume
	taken    map[string]*taken // snapshots by their IDs in the reference
	copies   map[string]bool   // volumes that are the copy or the source of another one
	listed   map[string]bool   // IDs of snapshots in the pages of ListSnapshots so far
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
		tainted: map[string]bool{}, assumed: assumed, rejected: map[string]rejection{}, before: rec.before, exact: map[string]bool{},
		gone: map[string]bool{}, inline: map[Mount]string{}, mounted: map[Mount]bool{}, infos: map[string]*spec.NodeGetInfoResponse{}, sizes: map[string]int64{}, paged: map[string]bool{},
		reported: map[string]int64{}, taken: map[string]*taken{}, copies: map[string]bool{}, listed: map[string]bool{}}
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

// isStuck reports the last error of the driver as the reason why a goal was not reached.
func (e *examiner) isStuck(rec *recording) {
	last, volume := rejection{at: -1}, ""
	for _, v := range slices.Sorted(maps.Keys(e.rejected)) {
		if r := e.rejected[v]; r.at > last.at {
			last, volume = r, v
		}
	}
	if known := e.taken[last.snapshot]; last.snapshot != "" {
		volume = ""
		if known != nil {
			volume = known.volume
		}
	}
	if last.at < 0 {
		return
	}
	section, required := e.unmet(last)
	e.flaws = append(e.flaws, flaw{kind: stuck, section: section, required: required, method: last.method, volume: volume, snapshot: last.snapshot, steps: e.steps[:last.at+1],
		detail: fmt.Sprintf("%s; %s never happens", last.detail, rec.missed[0])})
}

// flaw records a flaw of the step that is being examined.
func (e *examiner) flaw(kind flawKind, c *csi.Call, volume string, format string, args ...any) {
	f := flaw{kind: kind, volume: volume, detail: fmt.Sprintf(format, args...), steps: e.steps[:e.at+1]}
	if c != nil {
		f.method = c.Method
		f.overlap = slices.ContainsFunc(c.Replies, func(r csi.Reply) bool { return r.Met != 0 })
	}
	if c == nil {
		f.method, f.overlap = culprit(f)
	}
	e.tainted[e.volume(volume)] = true
	e.flaws = append(e.flaws, f)
}

// mountFlaw records that a mount is wrong.
func (e *examiner) mountFlaw(volume, path, format string, args ...any) {
	before := len(e.flaws)
	e.flaw(mounts, nil, volume, format, args...)
	f := &e.flaws[before]
	f.path = path
	f.method, f.overlap = culprit(*f)
}

// call examines a call: its executions in the driver, one after the other. A call that stayed open is examined where it was executed.
func (e *examiner) call(c *csi.Call) {
	for _, held := range e.held {
		for _, reply := range held.Replies {
			if reply.Met == c.Seq {
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
	if aboutSnapshots(c) {
		e.snapshotCall(c, reply)
		return
	}
	volume := e.volume(c.Volume)
	if e.tainted[volume] || e.showsSecret(c, reply) {
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
	case (c.Fault.Kind == csi.Reset || c.Fault.Kind == csi.KilledDuring) && (code == codes.Canceled || code == codes.Unavailable):
		e.unsure = append(e.unsure, c.Seq)
		if e.assumed[c.Seq] {
			e.apply(c.Node, c.Request)
		}
		return
	case slices.Contains(transient, code):
		e.rejected[c.Volume] = rejection{at: e.at, call: c, code: reply.Status.Code(), method: c.Method, detail: answer}
		return
	}
	o := e.ask(c.Node, c.Request)
	_, exists := e.Volume(volume)
	switch {
	case !exists && code != codes.NotFound && code != codes.Unimplemented && needsVolume[c.Method]:
		e.flaw(wrongCode, c, c.Volume, "%s, and code NotFound is required: the volume does not exist", answer)
	case requestedSize(c.Request) > impossible && code != codes.OutOfRange && code != codes.Unimplemented:
		e.flaw(wrongCode, c, c.Volume, "%s, and code OutOfRange is required: no volume can have %d bytes", answer, requestedSize(c.Request))
	case c.Method == "DeleteVolume" && code != codes.FailedPrecondition && code != codes.Unimplemented && e.hasSnapshots(volume):
		e.flaw(wrongCode, c, c.Volume, "%s, and code FailedPrecondition is required: the volume has snapshots", answer)
	case code == codes.NotFound && !exists && opposite[c.Method] && c.Node != "":
		// The table of errors has this code for a volume that does not exist.
	case o.err == nil && !o.changed && opposite[c.Method]:
		e.flaw(undone, c, c.Volume, "%s, although there is nothing left to undo", answer)
	case o.err == nil && !o.changed:
		e.flaw(again, c, c.Volume, "%s, although the volume already is as requested", answer)
	default:
		e.rejected[c.Volume] = rejection{at: e.at, call: c, code: reply.Status.Code(), method: c.Method, detail: answer}
	}
}

// needsVolume has the methods of the controller that need a volume that exists.
var needsVolume = map[string]bool{"ControllerPublishVolume": true, "ControllerExpandVolume": true, "ControllerModifyVolume": true}

// showsSecret reports a reply or an error that contains a secret of the request.
func (e *examiner) showsSecret(c *csi.Call, reply csi.Reply) bool {
	r, ok := c.Request.(interface{ GetSecrets() map[string]string })
	if !ok {
		return false
	}
	text := reply.Status.Message()
	if reply.Message != nil {
		text = compact(reply.Message)
	}
	secrets := r.GetSecrets()
	for _, key := range slices.Sorted(maps.Keys(secrets)) {
		if value := secrets[key]; len(value) >= minSecret && strings.Contains(text, value) {
			e.flaw(secret, c, c.Volume, "the answer to %s contains the secret %q", c.Method, key)
			return true
		}
	}
	return false
}

// minSecret is the length from which on the content of a secret is not found in an answer by chance.
const minSecret = 8

// inlineCall examines a call about a volume that lives as long as its mount. It returns false for any other call.
func (e *examiner) inlineCall(c *csi.Call, reply csi.Reply) bool {
	at := Mount{Node: c.Node, Path: path(c.Request)}
	_, published := e.inline[at]
	code := reply.Status.Code()
	answer := fmt.Sprintf("%s answers code %s: %s", c.Method, code, reply.Status.Message())
	switch r := c.Request.(type) {
	case *spec.NodePublishVolumeRequest:
		if r.GetVolumeContext()["csi.storage.k8s.io/ephemeral"] != "true" {
			return false
		}
		switch {
		case code == codes.OK:
			e.inline[at] = c.Volume
		case published && !slices.Contains(transient, code):
			e.flaw(again, c, c.Volume, "%s, although the volume already is as requested", answer)
		default:
			e.rejected[c.Volume] = rejection{at: e.at, call: c, code: reply.Status.Code(), method: c.Method, detail: answer}
		}
		return true
	case *spec.NodeUnpublishVolumeRequest:
		if !strings.HasPrefix(c.Volume, "csi-") || len(c.Volume) != len("csi-")+64 {
			return false
		}
		switch {
		case code == codes.OK:
			delete(e.inline, at)
		case !published && code != codes.NotFound && !slices.Contains(transient, code):
			e.flaw(undone, c, c.Volume, "%s, although there is nothing left to undo", answer)
		default:
			e.rejected[c.Volume] = rejection{at: e.at, call: c, code: reply.Status.Code(), method: c.Method, detail: answer}
		}
		return true
	}
	return false
}

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
		e.flaw(invalid, c, c.Volume, "the reply to %s is too large: %s", c.Method, text)
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
		e.flaw(accepts, c, c.Volume, "%s succeeds, and code %s is required: %s", c.Method, code, trimStatus(o.err))
		e.flaws[len(e.flaws)-1].code = code
		return
	}
	switch r := reply.Message.(type) {
	case *spec.CreateVolumeResponse:
		e.same(c, "create "+c.Volume, volumeOf(r))
	case *spec.ControllerPublishVolumeResponse:
		e.same(c, attachment(c), r)
	case *spec.ControllerUnpublishVolumeResponse:
		delete(e.answers, attachment(c))
	case *spec.DeleteVolumeResponse:
		delete(e.answers, "create "+e.volume(c.Volume))
	case *spec.ControllerExpandVolumeResponse:
		if size := r.GetCapacityBytes(); size > 0 && size < before.Size {
			e.flaw(invalid, c, c.Volume, "the reply to ControllerExpandVolume has capacity_bytes %d, and the volume had %d", size, before.Size)
			return
		}
		name := e.volume(c.Volume)
		e.reported[name] = max(e.reported[name], r.GetCapacityBytes())
		e.sized(c, r.GetCapacityBytes(), c.Request.(*spec.ControllerExpandVolumeRequest).GetCapacityRange())
	}
}

// mayAttach returns false, after a flaw, if the driver publishes a volume to a node that is gone, or has as many volumes as it can.
func (e *examiner) mayAttach(c *csi.Call, r *spec.ControllerPublishVolumeRequest) bool {
	node := e.node(r.GetNodeId())
	if e.gone[node] {
		e.flaw(accepts, c, c.Volume, "%s succeeds, and code NotFound is required: node %s does not exist", c.Method, r.GetNodeId())
		e.flaws[len(e.flaws)-1].code = storage.NotFound
		return false
	}
	attached := 0
	for _, v := range e.Volumes() {
		on := !e.tainted[v.ID] && slices.ContainsFunc(v.Attached, func(u fake.Use) bool { return u.Node == node })
		if on && v.ID == e.volume(c.Volume) {
			return true
		}
		if on {
			attached++
		}
	}
	if e.caps.Limit > 0 && attached >= int(e.caps.Limit) {
		e.flaw(accepts, c, c.Volume, "%s succeeds, and code ResourceExhausted is required: node %s has %d volumes, and max_volumes_per_node is %d",
			c.Method, r.GetNodeId(), attached, e.caps.Limit)
		e.flaws[len(e.flaws)-1].code = storage.ResourceExhausted
		return false
	}
	return true
}

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

// volumeOf returns a copy of the volume in a reply without the fields that may change.
func volumeOf(r *spec.CreateVolumeResponse) *spec.Volume {
	v := proto.Clone(r.GetVolume()).(*spec.Volume)
	v.CapacityBytes = 0 // it may have grown
	return v
}

func attachment(c *csi.Call) string {
	node := ""
	if r, ok := c.Request.(interface{ GetNodeId() string }); ok {
		node = r.GetNodeId()
	}
	return "attach " + c.Volume + " " + node
}

// same compares an answer with the previous one to the same request.
func (e *examiner) same(c *csi.Call, key string, answer proto.Message) {
	was, ok := e.answers[key]
	if ok && !proto.Equal(was, answer) {
		e.flaw(differs, c, c.Volume, "%s answers %s, and before it answered %s", c.Method, compact(answer), compact(was))
		return
	}
	e.answers[key] = answer
}

// created examines the reply to CreateVolume. It returns false after a flaw.
func (e *examiner) created(c *csi.Call, r *spec.CreateVolumeResponse) bool {
	id, req := r.GetVolume().GetVolumeId(), c.Request.(*spec.CreateVolumeRequest)
	if id == "" {
		e.flaw(invalid, c, c.Volume, "the reply to CreateVolume has an empty volume_id")
		return false
	}
	if name, ok := e.ids[id]; ok && name != req.GetName() {
		if _, exists := e.Volume(name); exists {
			e.flaw(duplicate, c, c.Volume, "CreateVolume returns volume_id %s, which volume %s has", id, name)
			return false
		}
	}
	if was, ok := e.answers["create "+req.GetName()].(*spec.Volume); ok && was.GetVolumeId() != id {
		e.flaw(duplicate, c, c.Volume, "CreateVolume returns volume_id %s for the name %s, and before it returned %s", id, req.GetName(), was.GetVolumeId())
		return false
	}
	e.ids[id] = req.GetName()
	e.sizes[req.GetName()] = max(e.sizes[req.GetName()], r.GetVolume().GetCapacityBytes())
	e.reported[req.GetName()] = max(e.reported[req.GetName()], r.GetVolume().GetCapacityBytes())
	if !e.reachable(c, r.GetVolume().GetAccessibleTopology(), req.GetAccessibilityRequirements()) {
		return false
	}
	return e.sized(c, r.GetVolume().GetCapacityBytes(), req.GetCapacityRange()) && e.copied(c, r)
}

// reachable returns false, after a flaw, if a new volume cannot be reached from any of the requisite topologies.
func (e *examiner) reachable(c *csi.Call, have []*spec.Topology, want *spec.TopologyRequirement) bool {
	switch {
	case len(have) == 0:
		return true
	case !e.caps.Topology:
		e.flaw(invalid, c, c.Volume, "the reply to CreateVolume has accessible_topology, and the driver lacks VOLUME_ACCESSIBILITY_CONSTRAINTS")
		return false
	case len(want.GetRequisite()) == 0:
		return true
	}
	for _, t := range have {
		for _, r := range want.GetRequisite() {
			if includes(r.GetSegments(), t.GetSegments()) || includes(t.GetSegments(), r.GetSegments()) {
				return true
			}
		}
	}
	e.flaw(invalid, c, c.Volume, "the volume can be reached from %s, which is none of the requisite topologies", compact(have[0]))
	return false
}

// sized compares the size in a reply with the request. It returns false after a flaw.
func (e *examiner) sized(c *csi.Call, size int64, r *spec.CapacityRange) bool {
	switch {
	case size == 0: // unknown
	case size < r.GetRequiredBytes():
		e.flaw(invalid, c, c.Volume, "the reply to %s has capacity_bytes %d, less than required_bytes %d", c.Method, size, r.GetRequiredBytes())
		return false
	case r.GetLimitBytes() > 0 && size > r.GetLimitBytes():
		e.flaw(invalid, c, c.Volume, "the reply to %s has capacity_bytes %d, more than limit_bytes %d", c.Method, size, r.GetLimitBytes())
		return false
	}
	return true
}

// info examines the reply to NodeGetInfo.
func (e *examiner) info(c *csi.Call, reply csi.Reply) {
	if r, ok := reply.Message.(*spec.NodeGetInfoResponse); ok && r.GetNodeId() == "" {
		e.flaw(invalid, c, "", "the reply to NodeGetInfo has an empty node_id")
	} else if ok {
		e.nodeInfo(c, r)
	}
}

// nodeInfo compares a reply to NodeGetInfo with the one before.
func (e *examiner) nodeInfo(c *csi.Call, r *spec.NodeGetInfoResponse) {
	was := e.infos[c.Node]
	e.infos[c.Node] = r
	switch {
	case oversized(r) != "":
		e.flaw(invalid, c, "", "the reply to NodeGetInfo is too large: %s", oversized(r))
	case r.GetMaxVolumesPerNode() < 0:
		e.flaw(invalid, c, "", "the reply to NodeGetInfo has max_volumes_per_node %d", r.GetMaxVolumesPerNode())
	case r.GetAccessibleTopology() != nil && !e.caps.Topology:
		e.flaw(invalid, c, "", "the reply to NodeGetInfo has accessible_topology, and the driver lacks VOLUME_ACCESSIBILITY_CONSTRAINTS")
	case was != nil && !proto.Equal(was.GetAccessibleTopology(), r.GetAccessibleTopology()):
		e.flaw(differs, c, "", "NodeGetInfo answers accessible_topology %s on node %s, and before it answered %s", compact(r.GetAccessibleTopology()),
			c.Node, compact(was.GetAccessibleTopology()))
	case was != nil && was.GetNodeId() != r.GetNodeId():
		e.flaw(differs, c, "", "NodeGetInfo answers node_id %q on node %s, and before it answered %q", r.GetNodeId(), c.Node, was.GetNodeId())
	}
}

// list compares what the driver has with the reference.
func (e *examiner) list(in *inventory) {
	if in.Listed {
		e.listVolumes(in)
	}
	if in.Mounted {
		e.listMounts(in)
	}
	if in.Counted {
		e.listSnapshots(in.Snapshots)
	}
}

func (e *examiner) listVolumes(in *inventory) {
	listed := map[string]bool{}
	for _, entry := range in.Volumes {
		id := entry.GetVolume().GetVolumeId()
		name, known := e.ids[id]
		v, exists := e.Volume(name)
		if e.tainted[name] {
			continue
		}
		listed[name] = true
		switch {
		case e.before[id]:
		case !known && e.leaks():
			e.flaw(inventories, nil, id, "ListVolumes has volume %s, which no reply to CreateVolume named", id)
		case !known:
		case !exists:
			e.flaw(inventories, nil, id, "ListVolumes has volume %s, which DeleteVolume deleted", id)
		default:
			e.described(nil, id, entry.GetVolume(), max(v.Size, e.sizes[name]))
			switch {
			case e.tainted[name]:
			case e.caps.Condition && lacksCondition(entry.GetStatus()):
				e.flaw(inventories, nil, id, "the entry of volume %s in ListVolumes has no volume_condition, and the driver has VOLUME_CONDITION", id)
			case in.Published:
				e.listAttached(id, entry.GetStatus().GetPublishedNodeIds())
			}
		}
	}
	for _, v := range e.Volumes() {
		if !listed[v.ID] && !e.tainted[v.ID] {
			e.flaw(inventories, nil, v.ID, "ListVolumes lacks volume %s, which CreateVolume created", v.ID)
		}
	}
}

// leaks reports whether each CreateVolume got a definite answer, so that an unknown volume is a leak.
func (e *examiner) leaks() bool {
	creates := false
	for _, s := range e.steps[:e.at] {
		if s.Call == nil || s.Call.Method != "CreateVolume" {
			continue
		}
		creates = true
		for _, reply := range s.Call.Replies {
			if reply.Status != nil && !e.tainted[s.Call.Volume] && reply.Met == 0 {
				return false
			}
		}
	}
	return creates
}

func (e *examiner) listAttached(id string, published []string) {
	if slices.Contains(published, "") {
		e.flaw(invalid, nil, id, "ListVolumes says that volume %s is published to a node with an empty ID", id)
		e.flaws[len(e.flaws)-1].method = "ListVolumes"
		return
	}
	v, _ := e.Volume(e.ids[id])
	var want, have []string
	for _, use := range v.Attached {
		want = append(want, use.Node)
	}
	for _, node := range published {
		have = append(have, e.node(node))
	}
	slices.Sort(have)
	lacks := slices.ContainsFunc(want, func(node string) bool { return !slices.Contains(have, node) })
	extra := slices.ContainsFunc(have, func(node string) bool { return !slices.Contains(want, node) })
	// The list may have nodes to which the volume is not published. So more nodes are a flaw only if the list was exact before, without some
	// node of the cluster: a driver that lists all nodes seems to be exact while the volume is attached to all of them.
	if lacks || extra && e.exact[v.ID] {
		e.flaw(inventories, nil, id, "ListVolumes says that volume %s is published to %s, and the replies say %s", id, list(have), list(want))
	}
	e.exact[v.ID] = !extra && len(have) < len(e.nodes)
}

// publishedTo compares the nodes in a reply of ControllerGetVolume with the reference.
func (e *examiner) publishedTo(c *csi.Call, v fake.VolumeState, published []string) {
	for _, use := range v.Attached {
		if !slices.ContainsFunc(published, func(node string) bool { return e.node(node) == use.Node }) {
			e.flaw(differs, c, c.Volume, "%s says that volume %s is published to %s, and the replies say %s", c.Method, c.Volume, list(published), use.Node)
			return
		}
	}
}

// listMounts compares the mounts of the nodes with the reference.
func (e *examiner) listMounts(in *inventory) {
	type expected struct{ readOnly, optional bool }
	want, owner := map[Mount]expected{}, map[Mount]string{}
	for _, v := range e.Volumes() {
		for _, use := range v.Staged {
			at := Mount{Node: use.Node, Path: use.Path}
			want[at], owner[at] = expected{optional: true}, v.ID
		}
		for _, use := range v.Published {
			at := Mount{Node: use.Node, Path: use.Path}
			want[at], owner[at] = expected{readOnly: use.ReadOnly}, v.ID
		}
	}
	for at, volume := range e.inline {
		want[at], owner[at] = expected{}, volume
	}
	maps.DeleteFunc(e.mounted, func(m Mount, _ bool) bool { _, ok := want[m]; return !ok })
	seen := map[Mount]int{}
	for _, m := range in.Mounts {
		at := Mount{Node: m.Node, Path: m.Path}
		seen[at]++
		w, ok := want[at]
		volume := owner[at]
		if volume == "" {
			volume = e.pathOwner(m)
		}
		switch {
		case e.tainted[e.volume(volume)]:
		case !ok:
			e.mountFlaw(volume, m.Path, "%s on node %s is still mounted, and the replies say that it is not", m.Path, m.Node)
		case seen[at] == 2:
			e.mountFlaw(volume, m.Path, "%s on node %s is mounted twice", m.Path, m.Node)
		case w.readOnly && !m.ReadOnly:
			e.mountFlaw(volume, m.Path, "%s on node %s can be written, and NodePublishVolume had readonly", m.Path, m.Node)
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(want), func(a, b Mount) int { return strings.Compare(a.Node+" "+a.Path, b.Node+" "+b.Path) }) {
		if seen[at] == 0 && !want[at].optional && !e.tainted[owner[at]] {
			e.mountFlaw(owner[at], "", "%s on node %s is not mounted, and NodePublishVolume succeeded", at.Path, at.Node)
		}
		if seen[at] == 0 && e.mounted[at] && !e.tainted[owner[at]] {
			e.mountFlaw(owner[at], "", "%s on node %s is not mounted any more, and NodeUnstageVolume was not called", at.Path, at.Node)
		}
		e.mounted[at] = want[at].optional && seen[at] > 0
	}
}

// pathOwner returns the volume that a path was last used for.
func (e *examiner) pathOwner(m Mount) string {
	volume := ""
	for _, s := range e.steps[:e.at] {
		if s.Call == nil || s.Call.Node != m.Node {
			continue
		}
		if path(s.Call.Request) == m.Path {
			volume = s.Call.Volume
		}
	}
	return volume
}

// path returns the path that a request to a node mounts or unmounts, "" if it does neither.
func path(request proto.Message) string {
	switch r := request.(type) {
	case *spec.NodeStageVolumeRequest:
		return r.GetStagingTargetPath()
	case *spec.NodeUnstageVolumeRequest:
		return r.GetStagingTargetPath()
	case *spec.NodePublishVolumeRequest:
		return r.GetTargetPath()
	case *spec.NodeUnpublishVolumeRequest:
		return r.GetTargetPath()
	}
	return ""
}

// access compares data.
func (e *examiner) access(a *access) {
	volume := e.volume(a.Volume)
	v, _ := e.Volume(volume)
	published := slices.ContainsFunc(v.Published, func(u fake.Use) bool { return u.Node == a.Node && u.Path == a.Path })
	if e.tainted[volume] || !published {
		return // without its volume no container runs
	}
	want, written := e.data[volume]
	switch {
	case !a.Write && a.Err == nil && written && a.Data != want && e.copies[volume]:
		e.flaw(data, nil, a.Volume, "a container reads %q at %s on node %s, and the volume should have %q", a.Data, a.Path, a.Node, want)
		e.flaws[len(e.flaws)-1].method = "CreateVolume"
	case a.Err != nil:
		e.flaw(data, nil, a.Volume, "a container cannot use %s on node %s: %v", a.Path, a.Node, a.Err)
	case a.Write:
		e.data[volume] = a.Data
	case written && a.Data != want:
		e.flaw(data, nil, a.Volume, "a container reads %q at %s on node %s, and %q was written", a.Data, a.Path, a.Node, want)
	}
}

// measure compares the size of a file system with what it was before the volume grew.
func (e *examiner) measure(s *stats) {
	v, exists := e.Volume(e.volume(s.Volume))
	if !exists || e.tainted[v.ID] {
		return
	}
	was, ok := e.measured[v.ID]
	e.measured[v.ID] = measured{total: s.Total, volume: v.Size}
	if ok && v.Size >= 2*was.volume && s.Total < was.total+was.total/2 {
		e.flaw(size, nil, s.Volume, "the file system of volume %s has %d bytes after the volume grew to %d, and had %d before", s.Volume, s.Total,
			v.Size, was.total)
	}
}

// measured is the size of a file system and of its volume in the reference at some time, in bytes.
type measured struct{ total, volume int64 }

// compact renders a message in one line.
func compact(m proto.Message) string {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	var b bytes.Buffer
	if err != nil || json.Compact(&b, text) != nil {
		return "an invalid message"
	}
	return b.String()
}

func list(words []string) string {
	if len(words) == 0 {
		return "no node"
	}
	return strings.Join(words, ", ")
}

// trimStatus returns the text of an error without the words of gRPC.
func trimStatus(err error) string {
	_, text, ok := strings.Cut(err.Error(), " desc = ")
	if !ok {
		return err.Error()
	}
	return text
}
