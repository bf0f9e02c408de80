package snapshot

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/snapshots"
)

// updateStatus copies the status of the content to the newest version of the snapshot (SNAP-009).
func (c *controller) updateStatus(p *engine.Process, s *snapshots.Snapshot, content *snapshots.Content) (*snapshots.Snapshot, error) {
	key := api.KeyOf(s)
	group, err := c.groups.groupOf(s, content)
	if err != nil {
		return nil, err
	}
	newest, err := c.snapshots.read(p, key)
	if err != nil {
		return nil, fmt.Errorf("error get snapshot %s from api server: %w", key, err)
	}
	status := statusWith(newest, content, group)
	if status == nil {
		return newest, nil
	}
	edited := snapshots.Copy(newest)
	edited.Status = status
	// SNAP-009: Events report the first time of creation, and each time that the snapshot becomes ready, before the write.
	if (newest.Status == nil || newest.Status.Created == nil) && status.Created != nil {
		c.events.Event(p, s, corev1.EventTypeNormal, "SnapshotCreated", "Snapshot %s was successfully created by the CSI driver.", key)
	}
	if !newest.IsReady() && edited.IsReady() {
		c.events.Event(p, s, corev1.EventTypeNormal, "SnapshotReady", "Snapshot %s is ready to use.", key)
	}
	newer, err := c.snapshots.update(p, edited, api.Status)
	if err != nil {
		return nil, updateError(key, err)
	}
	return newer, nil
}

// statusWith returns the status of a snapshot with what its content reports, and the name of its group snapshot, "" for none; nil if nothing
// changes.
func statusWith(s *snapshots.Snapshot, content *snapshots.Content, group string) *snapshots.SnapshotStatus {
	from := content.Status
	if from == nil {
		from = &snapshots.ContentStatus{}
	}
	var created *metav1.Time
	if from.Created != nil {
		t := metav1.NewTime(time.Unix(0, *from.Created))
		created = &t
	}
	var size *resource.Quantity
	if from.RestoreSize != nil {
		size = resource.NewQuantity(*from.RestoreSize, resource.BinarySI)
	}
	ready := from.Ready != nil && *from.Ready
	if s.Status == nil {
		status := &snapshots.SnapshotStatus{Content: &content.Name, Ready: &ready, Created: created, RestoreSize: size, Error: from.Error}
		if group != "" {
			status.Group = &group
		}
		return status
	}
	status := *s.Status
	changed := false
	// SNAP-051: the name of the group snapshot is written once.
	if status.Group == nil && group != "" {
		status.Group, changed = &group, true
	}
	// SNAP-009: the name of the content, the time and the size are written once; a size of zero is replaced.
	if status.Content == nil {
		status.Content, changed = &content.Name, true
	}
	if status.Created == nil && created != nil {
		status.Created, changed = created, true
	}
	if status.Ready == nil || *status.Ready != ready {
		status.Ready, changed = &ready, true
		if ready {
			status.Error = nil
		}
	}
	if size != nil && (status.RestoreSize == nil || status.RestoreSize.IsZero() && !size.IsZero()) {
		status.RestoreSize, changed = size, true
	}
	// SNAP-009: the error is that of the content; without one there, it is removed.
	if status.Error != nil || from.Error != nil {
		status.Error, changed = from.Error, true
	}
	if !changed {
		return nil
	}
	return &status
}

// statusOutdated reports whether the snapshot has to be synced because of the status of its content (SNAP-013).
func statusOutdated(s *snapshots.Snapshot, content *snapshots.Content) bool {
	status, from := s.Status, content.Status
	switch {
	case from == nil:
		return false
	case status == nil, status.Content == nil:
		return true
	}
	return status.Created == nil && from.Created != nil ||
		// SNAP-013: upstream compares pointers: a snapshot is synced after each sync of its content once both report whether they are ready.
		from.Ready != nil ||
		from.RestoreSize != nil && (status.RestoreSize == nil || status.RestoreSize.IsZero() && *from.RestoreSize > 0)
}
