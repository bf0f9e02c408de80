package snapshot

import (
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/snapshots"
)

// syncDeletedGroup deletes the content and the snapshots of a group snapshot that is being deleted, and then its finalizer (SNAP-049).
func (g *groupController) syncDeletedGroup(p *engine.Process, group *snapshots.Group) error {
	// SNAP-049: only the status names the content. One that was created, but is not in the status yet, is left behind.
	content := g.contents.own[group.Bound()]
	if content != nil && !content.IsOf(group) {
		content = nil
	}
	if !has(group, snapshots.GroupBoundFinalizer) {
		return nil
	}
	members := g.membersOf(group)
	for _, member := range members {
		// SNAP-049: a group snapshot of which a volume is being created stays.
		if g.isBeingRestored(member) {
			text := fmt.Sprintf("Snapshot %s belonging to VolumeGroupSnapshot %s is being used to restore a PVC", api.KeyOf(member), api.KeyOf(group))
			g.events.Event(p, group, corev1.EventTypeWarning, "SnapshotDeletePending", "%s", text)
			return fmt.Errorf("%s: snapshot is in use, will retry deletion", text)
		}
	}
	deleteContent := content != nil && content.Spec.DeletionPolicy == snapshots.Delete
	if content != nil {
		// SNAP-049: the annotation allows the csi-snapshotter to delete the group snapshot.
		newer, err := g.markDeleted(p, content)
		if err != nil {
			return err
		}
		content = newer
	}
	if deleteContent {
		// SNAP-049: a content that is gone already is an error, too.
		if _, err := p.API().Delete(p, api.Ref{Kind: snapshots.GroupContentKind, Key: content.Name}, api.DeleteOptions{}); err != nil {
			g.events.Event(p, group, corev1.EventTypeWarning, "GroupSnapshotContentObjectDeleteError",
				"Failed to delete group snapshot content API object")
			return fmt.Errorf("failed to delete VolumeGroupSnapshotContent %s from API server: %q", content.Name, err)
		}
	}
	for _, member := range members {
		_, err := p.API().Delete(p, api.Ref{Kind: snapshots.SnapshotKind, Key: api.KeyOf(member)}, api.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			text := fmt.Sprintf("failed to delete snapshot API object %s part of group snapshot %s: %v", api.KeyOf(member), api.KeyOf(group), err)
			g.events.Event(p, group, corev1.EventTypeWarning, "SnapshotDeleteError", "%s", text)
			return errors.New(text)
		}
	}
	// SNAP-049: the finalizer keeps the group snapshot until a content with the policy Delete is gone.
	if deleteContent {
		return nil
	}
	edited := snapshots.Copy(group)
	edited.Finalizers, _ = objects.WithoutFinalizer(edited.Finalizers, snapshots.GroupBoundFinalizer)
	newer, err := g.groups.update(p, edited, api.Main)
	if err != nil {
		return updateError(group.Name, err)
	}
	g.groups.keep(newer)
	return nil
}

// membersOf returns the snapshots of a group snapshot, which name it as owner.
func (g *groupController) membersOf(group *snapshots.Group) []*snapshots.Snapshot {
	var members []*snapshots.Snapshot
	for _, s := range g.snapshots.list() {
		if s.Namespace == group.Namespace && ownerGroup(s) == group.Name {
			members = append(members, s)
		}
	}
	return members
}

// markDeleted annotates a content whose group snapshot is being deleted (SNAP-049).
func (g *groupController) markDeleted(p *engine.Process, content *snapshots.GroupContent) (*snapshots.GroupContent, error) {
	if _, marked := content.Annotations[snapshots.GroupBeingDeleted]; marked {
		return content, nil
	}
	// SNAP-049: the cached copy gets the annotation even if the write fails.
	annotations := maps.Clone(content.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[snapshots.GroupBeingDeleted] = "yes"
	content.Annotations = annotations
	newer, err := g.contents.patch(p, content.Name, api.Main, func(content *snapshots.GroupContent) {
		content.Annotations = maps.Clone(annotations)
	})
	if err != nil {
		return content, updateError(content.Name, err)
	}
	g.contents.keep(newer)
	return newer, nil
}

// blockMember is the error of the deletion of a member whose group snapshot exists (SNAP-051). member reports that the group is gone.
func (g *groupController) blockMember(p *engine.Process, s *snapshots.Snapshot) (member bool, err error) {
	if s.Status == nil || s.Status.Group == nil {
		return false, nil
	}
	group := g.groups.get(api.Key(s.Namespace, *s.Status.Group))
	if group == nil {
		return true, nil
	}
	text := fmt.Sprintf("deletion of the individual volume snapshot %s is not allowed as it belongs to group snapshot %s. Deleting the group "+
		"snapshot will trigger the deletion of all the individual volume snapshots that are part of the group.", api.KeyOf(s), api.KeyOf(group))
	g.events.Event(p, s, corev1.EventTypeWarning, "SnapshotDeletePending", "%s", text)
	return false, errors.New(text)
}
