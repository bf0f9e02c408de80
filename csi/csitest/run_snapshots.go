package csitest

import (
	"context"
	"errors"
	"fmt"

	spec "github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volsim/volsim/csi"
)

// keyOf returns the key that the control plane has for a call: that of the snapshot or the volume.
func keyOf(c csi.Call) string {
	if aboutSnapshots(&c) {
		return c.Snapshot
	}
	return c.Volume
}

// startSnapshots notes the snapshots that the driver has before the run.
func (r *run) startSnapshots() error {
	if !r.rec.caps.ListSnapshots {
		return nil
	}
	all, err := r.allSnapshots()
	if err != nil {
		r.rec.gone = fmt.Errorf("list the snapshots of the driver: %w", err)
		return r.rec.gone
	}
	for _, s := range all {
		r.rec.before[snapshotKey(s.GetSnapshotId())] = true
	}
	return nil
}

// compareSnapshots adds the snapshots of the driver to an inventory.
func (r *run) compareSnapshots(in *inventory) {
	if !r.rec.caps.ListSnapshots {
		return
	}
	all, err := r.allSnapshots()
	switch {
	case err == nil:
		in.Snapshots, in.Counted = all, true
	case errors.Is(err, errEndless):
		in.Endless = err.Error()
	}
}

// allSnapshots asks the driver for its snapshots, within Config.Limit.
func (r *run) allSnapshots() ([]*spec.Snapshot, error) {
	return pages(r.cfg.Limit, func(ctx context.Context, token string) (all []*spec.Snapshot, next string, err error) {
		reply, err := spec.NewControllerClient(r.cfg.Controller).ListSnapshots(ctx, &spec.ListSnapshotsRequest{StartingToken: token,
			Secrets: r.cfg.Secrets})
		for _, entry := range reply.GetEntries() {
			all = append(all, entry.GetSnapshot())
		}
		return all, reply.GetNextToken(), err
	})
}
