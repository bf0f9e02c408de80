package csitest

import (
	"strings"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/volsim/volsim/api"
)

// askAboutSnapshots lists snapshots in all ways, and sends requests that must fail.
func (r *run) askAboutSnapshots() {
	secrets := r.cfg.Secrets
	r.ask("", &spec.CreateSnapshotRequest{Name: "volsim-" + r.name("invalid"), Secrets: secrets}, codes.InvalidArgument,
		"source_volume_id is missing")
	r.ask("", &spec.CreateSnapshotRequest{SourceVolumeId: r.handle("data"), Secrets: secrets}, codes.InvalidArgument, "name is missing")
	r.ask("", &spec.DeleteSnapshotRequest{Secrets: secrets}, codes.InvalidArgument, "snapshot_id is missing")
	r.ask("", &spec.DeleteSnapshotRequest{SnapshotId: "volsim-" + r.name("none"), Secrets: secrets}, codes.OK, "the snapshot does not exist")
	first := r.snapshotHandle(r.contentOf("first"))
	for _, c := range r.driver.Calls() {
		if req, ok := c.Request.(*spec.CreateSnapshotRequest); ok && req.GetSourceVolumeId() == r.handle("data") && req.GetName() != "" {
			again := proto.Clone(req).(*spec.CreateSnapshotRequest)
			again.SourceVolumeId = r.handle("logs")
			r.ask("", again, codes.AlreadyExists, "a snapshot of that name exists, of another volume")
			break
		}
	}
	if create := r.creationOf(r.handle("data")); create != nil {
		missing := proto.Clone(create).(*spec.CreateVolumeRequest)
		missing.Name = "volsim-" + r.name("missing")
		missing.VolumeContentSource = &spec.VolumeContentSource{Type: &spec.VolumeContentSource_Snapshot{
			Snapshot: &spec.VolumeContentSource_SnapshotSource{SnapshotId: "volsim-" + r.name("none")}}}
		r.askWithoutSource(missing, "the snapshot in volume_content_source does not exist")
		r.compare()
		r.askToRestoreSmaller(create, first)
		other := proto.Clone(create).(*spec.CreateVolumeRequest)
		other.VolumeContentSource = &spec.VolumeContentSource{Type: &spec.VolumeContentSource_Snapshot{
			Snapshot: &spec.VolumeContentSource_SnapshotSource{SnapshotId: first}}}
		if create.GetVolumeContentSource() == nil && first != "" {
			r.ask("", other, codes.AlreadyExists, "a volume of that name exists, which was not created from the snapshot")
		}
	}
	if !r.rec.caps.ListSnapshots {
		return
	}
	token := ""
	for range maxPages {
		reply, ok := r.ask("", &spec.ListSnapshotsRequest{MaxEntries: 1, StartingToken: token, Secrets: secrets}, codes.OK,
			"the driver has LIST_SNAPSHOTS").(*spec.ListSnapshotsResponse)
		if !ok {
			break
		}
		if token = reply.GetNextToken(); token == "" {
			break
		}
	}
	r.ask("", &spec.ListSnapshotsRequest{StartingToken: "volsim-no-such-token", Secrets: secrets}, codes.Aborted, "starting_token is invalid")
	r.ask("", &spec.ListSnapshotsRequest{SnapshotId: first, Secrets: secrets}, codes.OK, "the snapshot exists")
	r.ask("", &spec.ListSnapshotsRequest{SnapshotId: "volsim-" + r.name("none"), Secrets: secrets}, codes.OK, "no snapshot has that ID")
	r.ask("", &spec.ListSnapshotsRequest{SourceVolumeId: r.handle("logs"), Secrets: secrets}, codes.OK, "the volume has snapshots")
	r.ask("", &spec.ListSnapshotsRequest{SourceVolumeId: "volsim-" + r.name("none"), Secrets: secrets}, codes.OK, "no volume has that ID")
}

// groupLife takes a group snapshot of the volumes of two claims and deletes it. The controllers of group snapshots are not simulated, so it makes
// the calls as the csi-snapshotter makes them: with faults, and again until they succeed.
func (r *run) groupLife(first, second string) {
	a, b := r.handle(first), r.handle(second)
	if r.stopped || a == "" || b == "" {
		return
	}
	create := &spec.CreateVolumeGroupSnapshotRequest{Name: "groupsnapshot-" + r.name("volsim"), SourceVolumeIds: []string{a, b},
		Secrets: r.cfg.Secrets, Parameters: r.cfg.SnapshotParameters}
	var group *spec.VolumeGroupSnapshot
	r.repeat("the group snapshot is ready", create, create.GetName(), func(reply proto.Message) bool {
		group = reply.(*spec.CreateVolumeGroupSnapshotResponse).GetGroupSnapshot()
		return group.GetReadyToUse()
	})
	if r.stopped || group.GetGroupSnapshotId() == "" {
		return
	}
	r.compare()
	remove := &spec.DeleteVolumeGroupSnapshotRequest{GroupSnapshotId: group.GetGroupSnapshotId(), Secrets: r.cfg.Secrets}
	for _, s := range group.GetSnapshots() {
		remove.SnapshotIds = append(remove.SnapshotIds, s.GetSnapshotId())
	}
	r.repeat("the group snapshot is deleted", remove, remove.GetGroupSnapshotId(), func(proto.Message) bool { return true })
}

// repeat makes a call as the csi-snapshotter, with its fault, until it succeeds and its reply is the last one that is needed. It waits 1 s after
// the first failure and twice as long after each other one, up to 5 minutes, and gives up with the goal of the story.
func (r *run) repeat(goal string, request proto.Message, key string, done func(proto.Message) bool) {
	method := string(request.ProtoReflect().Descriptor().Name())
	verb := string(methods[strings.TrimSuffix(method, "Request")])
	for wait, end := time.Second, r.cluster.Now().Add(patience); !r.rec.broken; wait = min(2*wait, 5*time.Minute) {
		fault := injector{r}.Inject(api.Call{Actor: "csi-snapshotter", Target: r.driver.Name(), Verb: verb, Key: key})
		reply, err := r.driver.Call("", request)
		r.merge()
		if r.broken() || err == nil && done(reply) && !fault.Crash {
			return
		}
		if r.cluster.Now().After(end) {
			r.rec.missed = append(r.rec.missed, goal)
			break
		}
		r.pass(wait)
	}
	r.stopped = true
}

// askAboutGroups takes a group snapshot of the volumes of two claims, asks for it in all ways, and deletes it.
func (r *run) askAboutGroups(first, second string) {
	secrets, name := r.cfg.Secrets, "groupsnapshot-"+r.name("volsim")
	a, b := r.handle(first), r.handle(second)
	if a == "" || b == "" {
		return
	}
	r.ask("", &spec.CreateVolumeGroupSnapshotRequest{SourceVolumeIds: []string{a, b}, Secrets: secrets}, codes.InvalidArgument,
		"name is missing")
	create := &spec.CreateVolumeGroupSnapshotRequest{Name: name, SourceVolumeIds: []string{a, b}, Secrets: secrets}
	var group *spec.VolumeGroupSnapshot
	for range maxPages {
		reply, ok := r.ask("", create, codes.OK, "the volumes exist").(*spec.CreateVolumeGroupSnapshotResponse)
		if !ok {
			return
		}
		if group = reply.GetGroupSnapshot(); group.GetReadyToUse() {
			break
		}
		r.pass(time.Minute)
	}
	r.ask("", create, codes.OK, "the group snapshot exists")
	r.ask("", &spec.CreateVolumeGroupSnapshotRequest{Name: name, SourceVolumeIds: []string{a}, Secrets: secrets}, codes.AlreadyExists,
		"a group snapshot of that name exists, of other volumes")
	var ids []string
	for _, s := range group.GetSnapshots() {
		ids = append(ids, s.GetSnapshotId())
	}
	id := group.GetGroupSnapshotId()
	r.ask("", &spec.GetVolumeGroupSnapshotRequest{GroupSnapshotId: id, SnapshotIds: ids, Secrets: secrets}, codes.OK,
		"the group snapshot exists")
	r.compare()
	remove := &spec.DeleteVolumeGroupSnapshotRequest{GroupSnapshotId: id, SnapshotIds: ids, Secrets: secrets}
	r.ask("", remove, codes.OK, "the group snapshot exists")
	r.compare()
	r.ask("", remove, codes.OK, "the group snapshot does not exist any more")
	r.ask("", &spec.GetVolumeGroupSnapshotRequest{GroupSnapshotId: id, SnapshotIds: ids, Secrets: secrets}, codes.NotFound,
		"the group snapshot does not exist any more")
}

// askToRestoreSmaller creates a volume of half the size from a snapshot, or of the size that the snapshot has if that is smaller than its volume. The driver may make a larger one.
func (r *run) askToRestoreSmaller(create *spec.CreateVolumeRequest, id string) {
	smaller := proto.Clone(create).(*spec.CreateVolumeRequest)
	smaller.Name = "volsim-" + r.name("smaller")
	bytes := int64(r.cfg.Size) << 29
	if size := r.snapshotSize(id); size > 0 && size < 2*bytes {
		bytes = size
	}
	smaller.CapacityRange = &spec.CapacityRange{RequiredBytes: bytes}
	smaller.VolumeContentSource = &spec.VolumeContentSource{Type: &spec.VolumeContentSource_Snapshot{
		Snapshot: &spec.VolumeContentSource_SnapshotSource{SnapshotId: id}}}
	r.askToCreate(smaller, codes.OutOfRange, "the volume is at least as large as its snapshot")
}

// snapshotSize returns size_bytes of a snapshot in the reply to CreateSnapshot, 0 if it is not known.
func (r *run) snapshotSize(id string) int64 {
	for _, c := range r.driver.Calls() {
		for _, reply := range c.Replies {
			if m, ok := reply.Message.(*spec.CreateSnapshotResponse); ok && m.GetSnapshot().GetSnapshotId() == id {
				return m.GetSnapshot().GetSizeBytes()
			}
		}
	}
	return 0
}
