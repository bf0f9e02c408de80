package csitest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/storage"
)

// taken is a snapshot as the replies describe it.
type taken struct {
	reply    *spec.Snapshot // the last one
	volume   string         // in the reference
	ready    bool           // a reply said that it is ready
	deleted  bool
	data     string // of the volume when the snapshot was taken
	written  bool   // data was written before
	measured *measured
}

// aboutSnapshots reports whether a call is about snapshots only.
func aboutSnapshots(c *csi.Call) bool {
	switch c.Method {
	case "CreateSnapshot", "DeleteSnapshot", "ListSnapshots", "CreateVolumeGroupSnapshot", "DeleteVolumeGroupSnapshot",
		"GetVolumeGroupSnapshot":
		return true
	}
	return false
}

// snapshotKey is the key of a snapshot in maps that have volumes too.
func snapshotKey(name string) string { return "snapshot " + name }

// nameIn returns the ID in the reference of the snapshot or group that a call is about.
func (e *examiner) nameIn(c *csi.Call) string {
	if c.Method == "DeleteVolumeGroupSnapshot" || c.Method == "GetVolumeGroupSnapshot" {
		return e.group(c.Snapshot)
	}
	return e.snapshot(c.Snapshot)
}

// snapshotFlaw records a flaw of a snapshot. The source volume is still examined.
func (e *examiner) snapshotFlaw(kind flawKind, c *csi.Call, method, name, format string, args ...any) {
	f := flaw{kind: kind, method: method, snapshot: name, detail: fmt.Sprintf(format, args...), steps: e.steps[:e.at+1]}
	if known := e.taken[name]; known != nil {
		f.volume = known.volume
	}
	if c != nil {
		f.volume = orElse(c.Volume, f.volume)
		f.overlap = slices.ContainsFunc(c.Replies, func(r csi.Reply) bool { return r.Met != 0 })
	}
	e.tainted[snapshotKey(name)] = true
	e.flaws = append(e.flaws, f)
}

// snapshotCall compares one answer about snapshots with that of the reference.
func (e *examiner) snapshotCall(c *csi.Call, reply csi.Reply) {
	name := e.nameIn(c)
	if e.tainted[snapshotKey(name)] || c.Volume != "" && e.tainted[e.volume(c.Volume)] || e.showsSecret(c, reply) {
		e.knows(name, reply)
		return
	}
	delete(e.rejected, snapshotKey(name))
	if reply.Status == nil {
		e.snapshotReply(c, reply.Message)
		return
	}
	code, text := reply.Status.Code(), reply.Status.Message()
	answer := fmt.Sprintf("%s answers code %s: %s", c.Method, code, text)
	rejected := rejection{at: e.at, call: c, code: code, method: c.Method, detail: answer, snapshot: name}
	switch {
	case reply.Broken:
		e.snapshotFlaw(broken, c, c.Method, name, "%s gets no answer: %s", c.Method, text)
		return
	case interrupted(c, reply):
		e.unsure = append(e.unsure, c.Seq)
		if e.assumed[c.Seq] {
			e.applySnapshot(c)
		}
		return
	case slices.Contains(transient, code):
		e.rejected[snapshotKey(name)] = rejected
		return
	}
	o := e.ask(c.Node, c.Request)
	switch {
	case c.Method == "DeleteSnapshot" && (code == codes.Internal || code == codes.Unknown) && reply.Met == 0 && e.isSource(name):
		e.snapshotFlaw(wrongCode, c, c.Method, name, "%s, and code FailedPrecondition is required: a volume was created from the snapshot", answer)
		f := &e.flaws[len(e.flaws)-1]
		f.section, f.required = "DeleteSnapshot Errors", "a snapshot that is in use by a volume MUST give FAILED_PRECONDITION"
	case c.Method == "ListSnapshots":
		e.rejected[snapshotKey(name)] = rejected
	case o.err == nil && !o.changed && (c.Method == "DeleteSnapshot" || c.Method == "DeleteVolumeGroupSnapshot"):
		e.snapshotFlaw(undone, c, c.Method, name, "%s, although there is nothing left to undo", answer)
	case o.err == nil && !o.changed:
		e.snapshotFlaw(again, c, c.Method, name, "%s, although the snapshot already is as requested", answer)
	default:
		e.rejected[snapshotKey(name)] = rejected
	}
}

// applySnapshot executes a call on the reference. It returns false after a flaw.
func (e *examiner) applySnapshot(c *csi.Call) bool {
	name := e.nameIn(c)
	o := e.apply(c.Node, c.Request)
	if o.err != nil {
		e.snapshotFlaw(accepts, c, c.Method, name, "%s succeeds, and code %s is required: %s", c.Method, storage.CodeOf(o.err), trimStatus(o.err))
		e.flaws[len(e.flaws)-1].code = storage.CodeOf(o.err)
		return false
	}
	switch r := c.Request.(type) {
	case *spec.CreateSnapshotRequest:
		e.cut(name, e.volume(r.GetSourceVolumeId()))
	case *spec.DeleteSnapshotRequest:
		if known := e.taken[name]; known != nil {
			known.deleted = true
		}
	}
	return true
}

// cut stores the data of a volume as that of its new snapshot.
func (e *examiner) cut(name, volume string) {
	if known := e.taken[name]; known != nil && !known.deleted {
		return
	}
	t := &taken{volume: volume}
	t.data, t.written = e.data[volume]
	if m, ok := e.measured[volume]; ok {
		t.measured = &m
	}
	e.taken[name] = t
}

// snapshotReply examines a call about snapshots that succeeded in the driver.
func (e *examiner) snapshotReply(c *csi.Call, message proto.Message) {
	name := e.nameIn(c)
	switch r := message.(type) {
	case nil:
		e.snapshotFlaw(broken, c, c.Method, name, "%s has neither a reply nor an error", c.Method)
	case *spec.CreateSnapshotResponse:
		if large := oversized(r); large != "" {
			e.snaps[r.GetSnapshot().GetSnapshotId()] = name
			e.applySnapshot(c) // the snapshot exists, and volumes are created from it
			e.snapshotFlaw(invalid, c, c.Method, name, "the reply to %s is too large: %s", c.Method, large)
			f := &e.flaws[len(e.flaws)-1]
			f.section, f.required = c.Method, sizeLimits
			return
		}
		if e.identifies(c, name, r.GetSnapshot()) && e.applySnapshot(c) {
			e.describes(c, name, r.GetSnapshot())
		}
	case *spec.DeleteSnapshotResponse:
		e.applySnapshot(c)
	case *spec.ListSnapshotsResponse:
		e.found(c, r)
	case *spec.CreateVolumeGroupSnapshotResponse:
		if e.isGroup(c, r.GetGroupSnapshot()) && e.applySnapshot(c) {
			e.members(c, name, r.GetGroupSnapshot())
		}
	case *spec.GetVolumeGroupSnapshotResponse:
		if e.isGroup(c, r.GetGroupSnapshot()) && e.applySnapshot(c) {
			e.members(c, name, r.GetGroupSnapshot())
		}
	case *spec.DeleteVolumeGroupSnapshotResponse:
		if e.applySnapshot(c) {
			for _, known := range e.taken {
				known.deleted = known.deleted || known.reply.GetGroupSnapshotId() == c.Snapshot
			}
		}
	}
}

// identifies examines the ID in a reply to CreateSnapshot. It returns false after a flaw.
func (e *examiner) identifies(c *csi.Call, name string, s *spec.Snapshot) bool {
	id := s.GetSnapshotId()
	if id == "" {
		e.snapshotFlaw(invalid, c, c.Method, name, "the reply to %s has an empty snapshot_id", c.Method)
		return false
	}
	if other, ok := e.snaps[id]; ok && other != name && e.taken[other] != nil && !e.taken[other].deleted {
		e.snapshotFlaw(secondSnapshot, c, c.Method, name, "%s returns snapshot_id %s, which snapshot %s has", c.Method, id, other)
		return false
	}
	if known := e.taken[name]; known != nil && !known.deleted && known.reply != nil && known.reply.GetSnapshotId() != id {
		e.snapshotFlaw(secondSnapshot, c, c.Method, name, "%s returns snapshot_id %s for the name %s, and before it returned %s", c.Method, id, name,
			known.reply.GetSnapshotId())
		e.snaps[id] = name // calls and lists with this snapshot_id are about a snapshot with a flaw
		return false
	}
	e.snaps[id] = name
	return true
}

// describes compares a snapshot in a reply with what replies said before, and with its volume. c is nil for the list of all snapshots. It
// returns false after a flaw.
func (e *examiner) describes(c *csi.Call, name string, s *spec.Snapshot) bool {
	known := e.taken[name]
	if known == nil || e.tainted[snapshotKey(name)] {
		return false
	}
	method := "ListSnapshots"
	if c != nil {
		method = c.Method
	}
	was := known.reply
	wrong := func(kind flawKind, format string, args ...any) bool {
		e.snapshotFlaw(kind, c, method, name, "the reply to "+method+" has "+format, args...)
		return false
	}
	switch {
	case e.volume(s.GetSourceVolumeId()) != known.volume:
		return wrong(invalid, "source_volume_id %q for snapshot %s, and it was taken of volume %s", s.GetSourceVolumeId(), s.GetSnapshotId(),
			known.volume)
	case s.GetCreationTime() == nil:
		return wrong(invalid, "no creation_time for snapshot %s", s.GetSnapshotId())
	case !s.GetCreationTime().IsValid():
		return wrong(invalid, "an invalid creation_time for snapshot %s", s.GetSnapshotId())
	case s.GetSizeBytes() < 0:
		return wrong(invalid, "size_bytes %d for snapshot %s", s.GetSizeBytes(), s.GetSnapshotId())
	case e.reported[known.volume] > 0 && s.GetSizeBytes() > e.reported[known.volume]:
		return wrong(size, "size_bytes %d for snapshot %s, and its volume has %d bytes: no volume of that size can be created from it",
			s.GetSizeBytes(), s.GetSnapshotId(), e.reported[known.volume])
	case was != nil && !sameTime(was, s):
		return wrong(differs, "creation_time %s for snapshot %s, and before it was %s", s.GetCreationTime().AsTime().Format(time.RFC3339Nano),
			s.GetSnapshotId(),
			was.GetCreationTime().AsTime().Format(time.RFC3339Nano))
	case known.ready && !s.GetReadyToUse():
		return wrong(differs, "ready_to_use false for snapshot %s, which was ready before", s.GetSnapshotId())
	case was != nil && known.ready && was.GetSizeBytes() > 0 && s.GetSizeBytes() > 0 && s.GetSizeBytes() != was.GetSizeBytes():
		return wrong(differs, "size_bytes %d for snapshot %s, and it was %d when the snapshot was ready", s.GetSizeBytes(), s.GetSnapshotId(), was.GetSizeBytes())
	case was != nil && was.GetGroupSnapshotId() != s.GetGroupSnapshotId():
		return wrong(differs, "group_snapshot_id %q for snapshot %s, and before it was %q", s.GetGroupSnapshotId(), s.GetSnapshotId(),
			was.GetGroupSnapshotId())
	}
	known.reply, known.ready = s, known.ready || s.GetReadyToUse()
	return true
}

// sameTime reports whether two replies have the same creation time, perhaps with another precision.
func sameTime(a, b *spec.Snapshot) bool {
	first, second := a.GetCreationTime().AsTime(), b.GetCreationTime().AsTime()
	for _, unit := range []time.Duration{time.Nanosecond, time.Microsecond, time.Millisecond, time.Second} {
		if first.Truncate(unit).Equal(second) || second.Truncate(unit).Equal(first) || first.Round(unit).Equal(second) || second.Round(unit).Equal(first) {
			return true
		}
	}
	return false
}

// found examines a reply to ListSnapshots, which has one page.
func (e *examiner) found(c *csi.Call, r *spec.ListSnapshotsResponse) {
	req := c.Request.(*spec.ListSnapshotsRequest)
	if limit := int(req.GetMaxEntries()); limit > 0 && len(r.GetEntries()) > limit {
		e.snapshotFlaw(inventories, c, c.Method, "", "ListSnapshots returns %d entries, and max_entries is %d", len(r.GetEntries()), limit)
		return
	}
	if req.GetStartingToken() == "" {
		e.listed = map[string]bool{}
	}
	for _, entry := range r.GetEntries() {
		s := entry.GetSnapshot()
		id, name := s.GetSnapshotId(), e.snapshot(s.GetSnapshotId())
		known := e.taken[name]
		switch {
		case req.GetSnapshotId() != "" && id != req.GetSnapshotId():
			e.snapshotFlaw(inventories, c, c.Method, "", "ListSnapshots returns snapshot %s, and the request has snapshot_id %s", id,
				req.GetSnapshotId())
			return
		case req.GetSourceVolumeId() != "" && s.GetSourceVolumeId() != req.GetSourceVolumeId():
			e.snapshotFlaw(inventories, c, c.Method, "",
				"ListSnapshots returns snapshot %s of volume %s, and the request has source_volume_id %s", id,
				s.GetSourceVolumeId(), req.GetSourceVolumeId())
			return
		case e.listed[id]:
			e.snapshotFlaw(inventories, c, c.Method, "", "two pages of ListSnapshots have snapshot %s", id)
			return
		case known != nil && known.deleted && !e.tainted[snapshotKey(name)]:
			e.snapshotFlaw(inventories, c, "DeleteSnapshot", name, "ListSnapshots has snapshot %s, which DeleteSnapshot deleted", id)
			return
		}
		e.listed[id] = true
		if known != nil && !e.describes(c, name, s) {
			return
		}
	}
	if r.GetNextToken() != "" {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(e.taken)) {
		known := e.taken[name]
		id := known.reply.GetSnapshotId()
		asked := (req.GetSnapshotId() == "" || req.GetSnapshotId() == id) &&
			(req.GetSourceVolumeId() == "" || e.volume(req.GetSourceVolumeId()) == known.volume)
		if asked && id != "" && !known.deleted && !e.listed[id] && !e.tainted[snapshotKey(name)] {
			e.snapshotFlaw(inventories, c, c.Method, name, "ListSnapshots lacks snapshot %s, which CreateSnapshot took", id)
			return
		}
	}
}

// listSnapshots compares the snapshots that the driver lists with the replies.
func (e *examiner) listSnapshots(all []*spec.Snapshot) {
	listed := map[string]bool{}
	for _, s := range all {
		id := s.GetSnapshotId()
		name, known := e.snaps[id]
		listed[id] = true
		switch {
		case e.before[snapshotKey(id)] || e.tainted[snapshotKey(name)]:
		case !known && (e.tainted[e.volume(s.GetSourceVolumeId())] || e.groupFlawed()):
		case !known && len(e.sources) > 0 && len(e.Volumes()) == 0 && e.leaks():
			e.snapshotFlaw(inventories, nil, "DeleteVolume", id, "ListSnapshots has snapshot %s, which no reply named, and all volumes are deleted", id)
			f := &e.flaws[len(e.flaws)-1]
			f.section, f.required = "DeleteVolume", "a volume is deleted with what was made for it: no caller can delete a snapshot that no reply named"
		case !known && e.leaksSnapshots():
			e.snapshotFlaw(inventories, nil, "CreateSnapshot", id, "ListSnapshots has snapshot %s, which no reply to CreateSnapshot named", id)
		case !known:
		case e.taken[name] != nil && e.taken[name].deleted:
			method := "DeleteSnapshot"
			if s.GetGroupSnapshotId() != "" {
				method = "DeleteVolumeGroupSnapshot"
			}
			e.snapshotFlaw(inventories, nil, method, name, "ListSnapshots has snapshot %s, which %s deleted", id, method)
		default:
			e.describes(nil, name, s)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.taken)) {
		known := e.taken[name]
		if known.reply.GetGroupSnapshotId() != "" && len(e.flaws) > 0 {
			continue
		}
		if known.reply == nil || known.deleted || listed[known.reply.GetSnapshotId()] || e.tainted[snapshotKey(name)] {
			continue
		}
		method := "ListSnapshots"
		if _, exists := e.Volume(known.volume); !exists {
			method = "DeleteVolume"
		}
		e.snapshotFlaw(inventories, nil, method, name, "ListSnapshots lacks snapshot %s of volume %s, which CreateSnapshot took",
			known.reply.GetSnapshotId(),
			known.volume)
	}
}

// leaksSnapshots reports whether each CreateSnapshot got a definite answer, so that an unknown snapshot is a leak.
func (e *examiner) leaksSnapshots() bool {
	creates := false
	for _, s := range e.steps[:e.at] {
		if s.Call == nil || s.Call.Method != "CreateSnapshot" && s.Call.Method != "CreateVolumeGroupSnapshot" {
			continue
		}
		creates = true
		for _, reply := range s.Call.Replies {
			if reply.Status != nil && s.Audit == nil && !e.tainted[snapshotKey(s.Call.Snapshot)] && reply.Met == 0 {
				return false
			}
		}
	}
	return creates
}

// copied examines the reply to a CreateVolume with volume_content_source, and stores the data of the new volume. It returns false after a
// flaw.
func (e *examiner) copied(c *csi.Call, r *spec.CreateVolumeResponse) bool {
	req := c.Request.(*spec.CreateVolumeRequest)
	source, name := req.GetVolumeContentSource(), req.GetName()
	switch {
	case source == nil && r.GetVolume().GetContentSource() != nil:
		e.wrongReply(c, c.Volume, "a volume with content_source has the data of that source", "the reply to CreateVolume has content_source %s, and the request has none",
			compact(r.GetVolume().GetContentSource()))
		return false
	case source == nil:
		return true
	case !proto.Equal(source, r.GetVolume().GetContentSource()):
		e.wrongReply(c, c.Volume, "content_source is the volume_content_source of the request",
			"the reply to CreateVolume has content_source %s, and the request has volume_content_source %s",
			text(r.GetVolume().GetContentSource()), compact(source))
		return false
	}
	e.sources[name] = e.snapshot(source.GetSnapshot().GetSnapshotId())
	if s := e.taken[e.snapshot(source.GetSnapshot().GetSnapshotId())]; s != nil && !e.largeEnough(c, r.GetVolume().GetCapacityBytes(), s.reply) {
		return false
	}
	if e.copies[name] {
		return true
	}
	e.copies[name] = true
	if id := source.GetVolume().GetVolumeId(); id != "" {
		from := e.volume(id)
		e.copies[from] = true
		if content, ok := e.data[from]; ok {
			e.data[name] = content
		}
		if m, ok := e.measured[from]; ok {
			e.measured[name] = m
		}
		return true
	}
	known := e.taken[e.snapshot(source.GetSnapshot().GetSnapshotId())]
	switch {
	case known == nil:
		return true
	case known.written:
		e.data[name] = known.data
	}
	if known.measured != nil {
		e.measured[name] = *known.measured
	}
	return true
}

// largeEnough returns false, after a flaw, if a new volume is smaller than its snapshot.
func (e *examiner) largeEnough(c *csi.Call, bytes int64, s *spec.Snapshot) bool {
	if bytes <= 0 || bytes >= s.GetSizeBytes() {
		return true
	}
	e.flaw(size, c, c.Volume, "the reply to CreateVolume has capacity_bytes %d, and snapshot %s has size_bytes %d", bytes, s.GetSnapshotId(), s.GetSizeBytes())
	f := &e.flaws[len(e.flaws)-1]
	f.section, f.required = "CreateVolume Errors", "a volume MUST NOT be smaller than its snapshot: the code for a smaller capacity_range is OUT_OF_RANGE"
	return false
}

func text(s *spec.VolumeContentSource) string {
	if s == nil {
		return "none"
	}
	return compact(s)
}
