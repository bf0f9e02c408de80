package csitest

import (
	"context"
	"fmt"
	"time"

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
		return fmt.Errorf("list the snapshots of the driver: %w", err)
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
	if all, err := r.allSnapshots(); err == nil {
		in.Snapshots, in.Counted = all, true
	}
}

// allSnapshots asks the driver for its snapshots.
func (r *run) allSnapshots() ([]*spec.Snapshot, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var all []*spec.Snapshot
	for token := ""; ; {
		reply, err := spec.NewControllerClient(r.cfg.Controller).ListSnapshots(ctx, &spec.ListSnapshotsRequest{StartingToken: token,
			Secrets: r.cfg.Secrets})
		if err != nil {
			return nil, err
		}
		for _, entry := range reply.GetEntries() {
			all = append(all, entry.GetSnapshot())
		}
		if token = reply.GetNextToken(); token == "" || len(all) > 100000 {
			return all, nil
		}
	}
}
