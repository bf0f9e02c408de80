package snapshot

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/snapshots"
)

// syncUnreadyGroup binds a group snapshot to its content, which it creates for a group snapshot of claims.
func (g *groupController) syncUnreadyGroup(p *engine.Process, group *snapshots.Group) error {
	if group.Spec.Source.Content != nil {
		return g.bindGroup(p, group)
	}
	content, err := g.contentOf(p, group)
	if err != nil {
		return err
	}
	if content == nil {
		if content, err = g.createGroupContent(p, group); err != nil {
			g.failGroup(p, group, true, "GroupSnapshotContentCreationFailed",
				fmt.Sprintf("failed to create group snapshot content with error %v", err))
			return err
		}
		return g.writeGroupStatus(p, group, content, false)
	}
	// SNAP-045: the snapshots of the group come first.
	if err := g.createMembers(p, group, content); err != nil {
		return err
	}
	newest, err := g.groups.read(p, api.KeyOf(group))
	if err != nil {
		return fmt.Errorf("error get group snapshot %s from api server: %w", api.KeyOf(group), err)
	}
	return g.writeGroupStatus(p, newest, content, true)
}

// bindGroup binds a group snapshot to the content that it names (SNAP-047).
func (g *groupController) bindGroup(p *engine.Process, group *snapshots.Group) error {
	key, name := api.KeyOf(group), *group.Spec.Source.Content
	content, err := g.contentOf(p, group)
	if err != nil {
		return err
	}
	if content == nil {
		// SNAP-047: a content that does not exist is retried.
		g.failGroup(p, group, true, "GroupSnapshotContentMissing", "VolumeGroupSnapshotContent is missing")
		return fmt.Errorf("group snapshot %s requests an non-existing group snapshot content %s", key, name)
	}
	if content.Spec.Group.UID == "" || content.Spec.Class == nil {
		// SNAP-047: the content gets the uid and the class of the group snapshot.
		newer, err := g.contents.patch(p, name, api.Main, func(content *snapshots.GroupContent) {
			content.Spec.Group.UID = group.UID
			if group.Spec.Class != nil {
				content.Spec.Class = group.Spec.Class
			}
		})
		if err != nil {
			g.failGroup(p, group, true, "GroupSnapshotBindFailed", fmt.Sprintf("GroupSnapshot failed to bind VolumeGroupSnapshotContent, %v", err))
			return fmt.Errorf("group snapshot %s is bound, but VolumeGroupSnapshotContent %s is not bound to the VolumeGroupSnapshot correctly, %w",
				key, name, err)
		}
		g.contents.keep(newer)
		content = newer
	}
	return g.writeGroupStatus(p, group, content, false)
}

// writeGroupStatus is updateGroupStatus with the error in the status and an Event. keep stores the result as the own copy.
func (g *groupController) writeGroupStatus(p *engine.Process, group *snapshots.Group, content *snapshots.GroupContent, keep bool) error {
	newer, err := g.updateGroupStatus(p, group, content)
	if err != nil {
		g.failGroup(p, group, keep, "GroupSnapshotStatusUpdateFailed", fmt.Sprintf("GroupSnapshot status update failed, %v", err))
		return err
	}
	if keep {
		g.groups.keep(newer)
	}
	return nil
}

// updateGroupStatus copies the status of the content to the newest version of the group snapshot (SNAP-046).
func (g *groupController) updateGroupStatus(p *engine.Process, group *snapshots.Group, content *snapshots.GroupContent) (*snapshots.Group, error) {
	key := api.KeyOf(group)
	newest, err := g.groups.read(p, key)
	if err != nil {
		return nil, fmt.Errorf("error get group snapshot %s from api server: %w", key, err)
	}
	status := groupStatusWith(newest, content)
	if status == nil {
		return newest, nil
	}
	edited := snapshots.Copy(newest)
	edited.Status = status
	// SNAP-046: Events report the first time of creation, and each time that the group snapshot becomes ready, before the write.
	if (newest.Status == nil || newest.Status.Created == nil) && status.Created != nil {
		g.events.Event(p, group, corev1.EventTypeNormal, "GroupSnapshotCreated", "GroupSnapshot %s was successfully created by the CSI driver.", key)
	}
	if !newest.IsReady() && edited.IsReady() {
		g.events.Event(p, group, corev1.EventTypeNormal, "GroupSnapshotReady", "GroupSnapshot %s is ready to use.", key)
	}
	newer, err := g.groups.update(p, edited, api.Status)
	if err != nil {
		return nil, updateError(key, err)
	}
	return newer, nil
}

// groupStatusWith returns the status of a group snapshot with what its content reports; nil if nothing changes.
func groupStatusWith(group *snapshots.Group, content *snapshots.GroupContent) *snapshots.GroupStatus {
	from := content.Status
	if from == nil {
		from = &snapshots.GroupContentStatus{}
	}
	ready := content.IsReady()
	if group.Status == nil {
		return &snapshots.GroupStatus{Content: &content.Name, Ready: &ready, Created: from.Created, Error: from.Error}
	}
	status := *group.Status
	changed := false
	// SNAP-046: the name of the content and the time are written once.
	if status.Content == nil {
		status.Content, changed = &content.Name, true
	}
	if status.Created == nil && from.Created != nil {
		status.Created, changed = from.Created, true
	}
	if status.Ready == nil || *status.Ready != ready {
		status.Ready, changed = &ready, true
		if ready {
			status.Error = nil
		}
	}
	// SNAP-046: the error is that of the content; without one there, it is removed.
	if status.Error != nil || from.Error != nil {
		status.Error, changed = from.Error, true
	}
	if !changed {
		return nil
	}
	return &status
}

// groupStatusOutdated reports whether the group snapshot has to be synced because of the status of its content (SNAP-050).
func groupStatusOutdated(group *snapshots.Group, content *snapshots.GroupContent) bool {
	status, from := group.Status, content.Status
	switch {
	case from == nil:
		return false
	case status == nil, status.Content == nil:
		return true
	}
	// SNAP-050: upstream compares pointers: a group snapshot is synced after each sync of its content once that reports whether it is ready.
	return status.Created == nil && from.Created != nil || from.Ready != nil
}
