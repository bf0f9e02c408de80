package snapshotter

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/internal/proof/differential/harness"
	"github.com/volsim/volsim/storage"
)

// driver takes the place of the gRPC clients of the csi-snapshotter.
type driver struct {
	cluster *harness.Cluster
	actor   string
}

func (d *driver) backend() *differential.Backend { return d.cluster.Backends[differential.Driver] }

// call makes a call, with its error as gRPC returns it.
func (d *driver) call(op storage.Op, id string) error {
	if slices.Contains(d.cluster.Cannot(), op) {
		return status.Error(codes.Unimplemented, "")
	}
	err := d.cluster.Call(d.actor, differential.Driver, op, id)
	if code, message, ok := backends.Status(err); ok {
		return status.Error(codes.Code(backends.CodeNumber(code)), message)
	}
	return err
}

func (d *driver) CreateSnapshot(_ context.Context, name, volume string, _, _ map[string]string) (string, string, time.Time, int64, bool, error) {
	if err := d.call(storage.CreateSnapshot, name); err != nil {
		return "", "", time.Time{}, 0, false, err
	}
	s := d.backend().Taken(name, volume)
	return differential.Driver, s.ID, s.Created, s.Size, s.Ready, nil
}

func (d *driver) DeleteSnapshot(_ context.Context, id string, _ map[string]string) error {
	return d.call(storage.DeleteSnapshot, id)
}

func (d *driver) GetSnapshotStatus(_ context.Context, id string, _ map[string]string) (bool, time.Time, int64, string, error) {
	if slices.Contains(d.cluster.Cannot(), storage.GetSnapshot) {
		return true, time.Time{}, 0, "", nil
	}
	switch err := d.call(storage.GetSnapshot, id); {
	case status.Code(err) == codes.NotFound:
		// ListSnapshots returns an empty list.
		return false, time.Time{}, 0, "", fmt.Errorf("can not find snapshot for snapshotID %s", id)
	case err != nil:
		return false, time.Time{}, 0, "", err
	}
	s := d.backend().Found(id)
	return s.Ready, s.Created, s.Size, s.GroupID, nil
}

func (d *driver) CreateGroupSnapshot(_ context.Context, name string, volumes []string, _, _ map[string]string) (string, string, []*csi.Snapshot, time.Time, bool, error) {
	if err := d.call(storage.CreateGroupSnapshot, name); err != nil {
		return "", "", nil, time.Time{}, false, err
	}
	group := d.backend().TakenGroup(name, volumes)
	var members []*csi.Snapshot
	for _, s := range group.Snapshots {
		members = append(members, &csi.Snapshot{
			SnapshotId: s.ID, SourceVolumeId: s.VolumeID, SizeBytes: s.Size, CreationTime: timestamppb.New(s.Created), ReadyToUse: s.Ready, GroupSnapshotId: s.GroupID,
		})
	}
	return differential.Driver, group.ID, members, group.Created, group.Ready, nil
}

func (d *driver) DeleteGroupSnapshot(_ context.Context, id string, _ []string, _ map[string]string) error {
	return d.call(storage.DeleteGroupSnapshot, id)
}

func (d *driver) GetGroupSnapshotStatus(_ context.Context, id string, _ []string, _ map[string]string) (bool, time.Time, error) {
	if err := d.call(storage.GetGroupSnapshot, id); err != nil {
		return false, time.Time{}, err
	}
	s := d.backend().Found(id)
	return s.Ready, s.Created, nil
}
