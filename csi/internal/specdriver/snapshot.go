package specdriver

import (
	"context"
	"fmt"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func (c controller) CreateSnapshot(ctx context.Context, r *spec.CreateSnapshotRequest) (*spec.CreateSnapshotResponse, error) {
	d := c.d
	if err := missing("source_volume_id", r.GetSourceVolumeId(), "name", r.GetName()); err != nil {
		return nil, err
	}
	unlock, err := d.lock(ctx, "snapshot "+r.GetName())
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, s := range d.snapshots {
		switch {
		case s.name != r.GetName():
		case s.volume != r.GetSourceVolumeId():
			return nil, status.Errorf(codes.AlreadyExists, "snapshot %s is of volume %s", s.name, s.volume)
		default:
			return &spec.CreateSnapshotResponse{Snapshot: d.snapshot(s)}, nil
		}
	}
	v := d.volumes[r.GetSourceVolumeId()]
	if v == nil {
		return nil, status.Errorf(codes.NotFound, "volume %s does not exist", r.GetSourceVolumeId())
	}
	if err := d.work(ctx); err != nil {
		return nil, err
	}
	if d.volumes[v.id] == nil {
		return nil, status.Errorf(codes.NotFound, "volume %s does not exist", v.id)
	}
	d.number++
	s := &snapshot{id: fmt.Sprintf("fs://snap/%06x", d.number), name: r.GetName(), volume: v.id, size: v.size, data: v.data, seconds: int64(1e9 + d.number)}
	d.snapshots[s.id] = s
	return &spec.CreateSnapshotResponse{Snapshot: d.snapshot(s)}, nil
}

func (d *Driver) snapshot(s *snapshot) *spec.Snapshot {
	r := &spec.Snapshot{SnapshotId: s.id, SourceVolumeId: s.volume, ReadyToUse: true, CreationTime: timestamppb.New(time.Unix(s.seconds, 0))}
	if !d.o.Bare {
		r.SizeBytes = s.size
	}
	return r
}

func (c controller) DeleteSnapshot(ctx context.Context, r *spec.DeleteSnapshotRequest) (*spec.DeleteSnapshotResponse, error) {
	d := c.d
	if err := missing("snapshot_id", r.GetSnapshotId()); err != nil {
		return nil, err
	}
	key := r.GetSnapshotId()
	d.mu.Lock()
	if s := d.snapshots[key]; s != nil {
		key = s.name
	}
	d.mu.Unlock()
	unlock, err := d.lock(ctx, "snapshot "+key)
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, v := range d.volumes {
		if d.o.Copies && v.create.GetVolumeContentSource().GetSnapshot().GetSnapshotId() == r.GetSnapshotId() {
			return nil, status.Errorf(codes.FailedPrecondition, "volume %s uses snapshot %s", v.id, r.GetSnapshotId())
		}
	}
	if err := d.work(ctx); err != nil {
		return nil, err
	}
	delete(d.snapshots, r.GetSnapshotId())
	return &spec.DeleteSnapshotResponse{}, nil
}

func (c controller) ListSnapshots(_ context.Context, r *spec.ListSnapshotsRequest) (*spec.ListSnapshotsResponse, error) {
	d := c.d
	d.mu.Lock()
	defer d.mu.Unlock()
	var ids []string
	for id, s := range d.snapshots {
		if (r.GetSnapshotId() == "" || r.GetSnapshotId() == id) && (r.GetSourceVolumeId() == "" || r.GetSourceVolumeId() == s.volume) {
			ids = append(ids, id)
		}
	}
	ids, next, err := d.page(ids, r.GetStartingToken(), r.GetMaxEntries())
	if err != nil {
		return nil, err
	}
	reply := &spec.ListSnapshotsResponse{NextToken: next}
	for _, id := range ids {
		reply.Entries = append(reply.Entries, &spec.ListSnapshotsResponse_Entry{Snapshot: d.snapshot(d.snapshots[id])})
	}
	return reply, nil
}
