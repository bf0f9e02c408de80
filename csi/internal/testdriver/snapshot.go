package testdriver

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// snapshot is a snapshot of the storage system.
type snapshot struct {
	id, name string
	volume   string // ID
	size     int64
	usable   int64 // bytes of its file system
	data     string
	second   int64  // when it was taken, since 1970
	replies  int    // that still say that it is not ready
	group    string // ID of the group; "" for none
	answers  int
}

// group is a group snapshot. Its snapshots have its ID.
type group struct {
	id, name string
	volumes  []string // IDs, sorted
	second   int64
}

// firstSecond is the creation_time of the first snapshot.
const firstSecond = 1_700_000_000

// snapshotCapabilities are those of the controller.
var snapshotCapabilities = []csi.ControllerServiceCapability_RPC_Type{
	csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT,
	csi.ControllerServiceCapability_RPC_LIST_SNAPSHOTS,
	csi.ControllerServiceCapability_RPC_CLONE_VOLUME,
}

func (d *Driver) snapshotByName(name string) *snapshot {
	i := slices.IndexFunc(d.snapshots, func(s *snapshot) bool { return s.name == name })
	if i < 0 {
		return nil
	}
	return d.snapshots[i]
}

func (d *Driver) snapshotByID(id string) *snapshot {
	i := slices.IndexFunc(d.snapshots, func(s *snapshot) bool { return s.id == id })
	if i < 0 {
		return nil
	}
	return d.snapshots[i]
}

// take takes a snapshot of a volume. It is not in the list yet.
func (d *Driver) take(v *volume, name, group string) *snapshot {
	d.taken++
	return &snapshot{id: fmt.Sprintf("snap-%d", d.taken), name: name, volume: v.id, size: v.size, usable: v.usable, data: v.data,
		second: firstSecond + int64(d.taken), replies: d.SlowSnapshots, group: group}
}

// describe returns the snapshot as a reply has it.
func (d *Driver) describe(s *snapshot) *csi.Snapshot {
	s.answers++
	ready := s.replies <= 0 && !d.has(SnapshotNeverReady)
	if v := d.byID(s.volume); d.has(SnapshotCutsLate) && v != nil && s.replies >= 0 {
		s.data = v.data
	}
	s.replies--
	out := &csi.Snapshot{SnapshotId: s.id, SourceVolumeId: s.volume, SizeBytes: s.size, CreationTime: timestamppb.New(timeOf(s.second)),
		ReadyToUse: ready, GroupSnapshotId: s.group}
	if d.has(SnapshotLongID) {
		out.SnapshotId += strings.Repeat("-0123456789abcdef", 8)
	}
	switch {
	case d.has(SnapshotWithoutTime):
		out.CreationTime = nil
	case d.has(SnapshotTimeChanges):
		out.CreationTime = timestamppb.New(timeOf(s.second + int64(60*s.answers)))
	case d.has(SnapshotTimeMoves):
		out.CreationTime = timestamppb.Now()
	}
	if d.has(SnapshotWithoutSource) {
		out.SourceVolumeId = ""
	}
	if v := d.byID(s.volume); v != nil && d.has(SnapshotSizeFollows) {
		out.SizeBytes = v.size
	}
	if d.has(SnapshotTooSmall) || d.has(SnapshotShrinks) && s.replies < -1 {
		out.SizeBytes /= 2
	}
	if d.has(SnapshotTooLarge) {
		out.SizeBytes += gib
	}
	if d.has(SnapshotBecomesUnready) && s.replies == -2 {
		out.ReadyToUse = false
	}
	if d.has(GroupMembersWithoutID) {
		out.GroupSnapshotId = ""
	}
	return out
}

func (s *controllerServer) CreateSnapshot(ctx context.Context, req *csi.CreateSnapshotRequest) (*csi.CreateSnapshotResponse, error) {
	d := s.d
	if err := d.required("name", req.GetName(), "source_volume_id", req.GetSourceVolumeId()); err != nil {
		return nil, err
	}
	key := "snapshot " + req.GetName()
	if d.has(SnapshotOverlap) {
		key = fmt.Sprintf("%s %p", key, req)
	}
	end, err := d.begin(key)
	if err != nil {
		return nil, err
	}
	defer end()
	known := d.snapshotByName(req.GetName())
	if d.has(SnapshotForgetsNames) {
		known = d.snapshotByID(d.names[key])
	}
	if i := slices.IndexFunc(d.snapshots, func(s *snapshot) bool { return s.volume == req.GetSourceVolumeId() }); i >= 0 && d.has(SnapshotKeyedByVolume) {
		known = d.snapshots[i]
	}
	if known != nil {
		switch {
		case d.has(SnapshotAgainFails):
			return nil, status.Errorf(codes.AlreadyExists, "snapshot %s exists", req.GetName())
		case known.volume != req.GetSourceVolumeId() && !d.has(SnapshotIgnoresSource):
			return nil, status.Errorf(codes.AlreadyExists, "snapshot %s exists, of volume %s", req.GetName(), known.volume)
		}
		return &csi.CreateSnapshotResponse{Snapshot: d.describe(known)}, nil
	}
	v := d.byID(req.GetSourceVolumeId())
	if v == nil && d.has(SnapshotMissingInternal) {
		return nil, status.Errorf(codes.Internal, "read volume %s: no such object", req.GetSourceVolumeId())
	}
	if v == nil {
		return nil, status.Errorf(codes.NotFound, "volume %s does not exist", req.GetSourceVolumeId())
	}
	taken := d.take(v, req.GetName(), "")
	d.pause(ctx)
	d.snapshots = append(d.snapshots, taken)
	d.names[key] = taken.id
	if d.has(SnapshotInterruptedUnready) && ctx.Err() != nil {
		taken.replies = math.MaxInt32
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	return &csi.CreateSnapshotResponse{Snapshot: d.describe(taken)}, nil
}

func (s *controllerServer) DeleteSnapshot(ctx context.Context, req *csi.DeleteSnapshotRequest) (*csi.DeleteSnapshotResponse, error) {
	d := s.d
	if err := d.required("snapshot_id", req.GetSnapshotId()); err != nil {
		return nil, err
	}
	end, err := d.begin("snapshot " + req.GetSnapshotId())
	if err != nil {
		return nil, err
	}
	defer end()
	known := d.snapshotByID(req.GetSnapshotId())
	switch {
	case d.has(SnapshotSecretRequired) && len(req.GetSecrets()) == 0:
		return nil, status.Error(codes.InvalidArgument, "secrets is missing")
	case known == nil && d.has(SnapshotDeleteAgainFails):
		return nil, status.Errorf(codes.NotFound, "snapshot %s does not exist", req.GetSnapshotId())
	case known == nil, d.has(SnapshotDeleteLeaves):
		return &csi.DeleteSnapshotResponse{}, nil
	case known.group != "":
		return nil, status.Errorf(codes.InvalidArgument, "snapshot %s is part of group snapshot %s", known.id, known.group)
	}
	for _, v := range d.volumes {
		switch used := v.from.GetSnapshot().GetSnapshotId() == known.id; {
		case used && d.has(SnapshotInUseInternal):
			return nil, status.Errorf(codes.Internal, "snapshot %s has clones", known.id)
		case used && d.has(SnapshotDeleteEndsCopies):
			v.data = ""
		}
	}
	d.pause(ctx)
	d.snapshots = slices.DeleteFunc(d.snapshots, func(other *snapshot) bool { return other == known })
	return &csi.DeleteSnapshotResponse{}, nil
}

func (s *controllerServer) ListSnapshots(_ context.Context, req *csi.ListSnapshotsRequest) (*csi.ListSnapshotsResponse, error) {
	d := s.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.has(SnapshotListEndless) && len(d.snapshots) > 0 && req.GetMaxEntries() == 0 {
		return &csi.ListSnapshotsResponse{NextToken: req.GetStartingToken() + "+"}, nil
	}
	var found []*snapshot
	for _, known := range d.snapshots {
		if (req.GetSnapshotId() == "" || known.id == req.GetSnapshotId() || d.has(SnapshotListIgnoresID)) &&
			(req.GetSourceVolumeId() == "" || known.volume == req.GetSourceVolumeId() || d.has(SnapshotListIgnoresVolume)) {
			found = append(found, known)
		}
	}
	if req.GetSnapshotId() != "" && len(found) == 0 && d.has(SnapshotListUnknownFails) {
		return nil, status.Errorf(codes.NotFound, "snapshot %s does not exist", req.GetSnapshotId())
	}
	first := 0
	if token := req.GetStartingToken(); token != "" {
		n, err := strconv.Atoi(token)
		switch {
		case err == nil && n <= len(found):
			first = n
		case !d.has(SnapshotListAcceptsTokens):
			return nil, status.Error(codes.Aborted, "starting_token is invalid")
		}
	}
	last := len(found)
	if m := int(req.GetMaxEntries()); m > 0 && !d.has(SnapshotListIgnoresMaxEntries) {
		last = min(last, first+m)
	}
	resp := &csi.ListSnapshotsResponse{}
	if last < len(found) {
		resp.NextToken = strconv.Itoa(last)
	}
	if first > 0 && d.has(SnapshotListRepeats) {
		first--
	}
	if req.GetMaxEntries() > 0 && last == len(found) && d.has(SnapshotListLosesLast) {
		last = first
	}
	for _, known := range found[first:last] {
		resp.Entries = append(resp.Entries, &csi.ListSnapshotsResponse_Entry{Snapshot: d.describe(known)})
	}
	return resp, nil
}

// content returns the content of a new volume.
type content struct {
	data   string
	usable int64 // bytes of its file system; 0 for none
	size   int64
	source string // ID of the volume that is copied
}

// contentFor returns the content for a new volume.
func (d *Driver) contentFor(req *csi.CreateVolumeRequest, size int64) (content, error) {
	var c content
	switch from := req.GetVolumeContentSource(); {
	case from == nil:
		return content{}, nil
	case from.GetSnapshot() != nil:
		known := d.snapshotByID(from.GetSnapshot().GetSnapshotId())
		switch {
		case known == nil && d.has(RestoreMissingSucceeds):
			return content{}, nil
		case known == nil:
			return c, status.Errorf(codes.NotFound, "snapshot %s does not exist", from.GetSnapshot().GetSnapshotId())
		case known.replies > 0:
			return c, status.Errorf(codes.Unavailable, "snapshot %s is not ready", known.id)
		}
		c = content{data: known.data, usable: known.usable, size: known.size}
		if v := d.byID(known.volume); v != nil && d.has(RestoreLatest) {
			c.data = v.data
		}
		for _, other := range d.snapshots {
			if other.volume == known.volume && d.has(RestoreOtherSnapshot) {
				c.data = other.data
			}
		}
		if d.has(RestoreEmpty) {
			c.data, c.usable = "", 0
		}
	default:
		v := d.byID(from.GetVolume().GetVolumeId())
		if v == nil && d.has(CloneMissingSucceeds) {
			return content{}, nil
		}
		if v == nil {
			return c, status.Errorf(codes.NotFound, "volume %s does not exist", from.GetVolume().GetVolumeId())
		}
		c = content{data: v.data, usable: v.usable, size: v.size, source: v.id}
		if d.has(CloneLeavesSnapshot) {
			d.snapshots = append(d.snapshots, d.take(v, "for "+req.GetName(), ""))
		}
		if d.has(CloneEmpty) {
			c.data, c.usable = "", 0
		}
	}
	if size < c.size && !d.has(RestoreSmaller) {
		return c, status.Errorf(codes.OutOfRange, "a volume of %d bytes is smaller than its source with %d bytes", size, c.size)
	}
	return c, nil
}

// share copies data that was written to a volume to those that share it (CloneShares).
func (d *Driver) share(v *volume) {
	for _, other := range d.volumes {
		if d.has(CloneShares) && (other.source == v.id || v.source == other.id) {
			other.data = v.data
		}
	}
}

// endWith removes what a buggy driver loses with a volume.
func (d *Driver) endWith(v *volume) {
	if d.has(SnapshotsEndWithVolume) {
		d.snapshots = slices.DeleteFunc(d.snapshots, func(s *snapshot) bool { return s.volume == v.id })
	}
	for _, other := range d.volumes {
		if d.has(CloneEndsWithSource) && other.source == v.id {
			other.data = ""
		}
	}
}

func timeOf(second int64) time.Time { return time.Unix(second, 0) }
