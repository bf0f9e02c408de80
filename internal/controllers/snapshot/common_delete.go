package snapshot

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/snapshots"
)

// isDeletionCandidate reports whether a snapshot is being deleted and has a finalizer of this controller.
func isDeletionCandidate(s *snapshots.Snapshot) bool {
	return s.DeletionTimestamp != nil && (has(s, snapshots.SourceFinalizer) || has(s, snapshots.BoundFinalizer))
}

// syncDeleted deletes the content of a snapshot that is being deleted, and then its finalizers (SNAP-012).
func (c *controller) syncDeleted(p *engine.Process, s *snapshots.Snapshot) error {
	name := s.Bound()
	// SNAP-012: a content that was created for the snapshot is found by its name if the status does not have it yet.
	if name == "" && s.Spec.Source.Claim != nil {
		name = s.ContentName()
	}
	content := c.contents.own[name]
	if content != nil && !content.IsOf(s) {
		content = nil
	}
	if !isDeletionCandidate(s) {
		return nil
	}
	// SNAP-012: a snapshot of which a volume is being created stays.
	if content != nil && c.isBeingRestored(s) {
		c.events.Event(p, s, corev1.EventTypeWarning, "SnapshotDeletePending", "Snapshot is being used to restore a PVC")
		return fmt.Errorf("snapshot %s is in use (being used to restore a PVC), will retry deletion", api.KeyOf(s))
	}
	memberOfNone, err := c.groups.blockMember(p, s)
	if err != nil {
		return err
	}
	if content != nil {
		// SNAP-012: the annotation allows the csi-snapshotter to delete the snapshot.
		if content, err = c.markDeleted(p, content); err != nil {
			return err
		}
	}
	deleteContent := content != nil && content.Spec.DeletionPolicy == snapshots.Delete
	if deleteContent {
		_, err := p.API().Delete(p, api.Ref{Kind: snapshots.ContentKind, Key: content.Name}, api.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			c.events.Event(p, s, corev1.EventTypeWarning, "SnapshotContentObjectDeleteError", "Failed to delete snapshot content API object")
			return fmt.Errorf("failed to delete VolumeSnapshotContent %s from API server: %q", content.Name, err)
		}
	}
	if err := c.releaseClaim(p, s, true); err != nil {
		c.events.Event(p, s, corev1.EventTypeWarning, "ErrorPVCFinalizer", "Error check and remove PVC Finalizer for VolumeSnapshot")
		return updateError(s.Name, err)
	}
	edited := snapshots.Copy(s)
	edited.Finalizers, _ = objects.WithoutFinalizer(edited.Finalizers, snapshots.SourceFinalizer)
	// SNAP-012: the other finalizer keeps the snapshot until a content with the policy Delete is gone.
	if !deleteContent {
		edited.Finalizers, _ = objects.WithoutFinalizer(edited.Finalizers, snapshots.BoundFinalizer)
	}
	// SNAP-051: without its group snapshot, a member goes.
	if memberOfNone {
		edited.Finalizers, _ = objects.WithoutFinalizer(edited.Finalizers, snapshots.GroupFinalizer)
	}
	newer, err := c.snapshots.update(p, edited, api.Main)
	if err != nil {
		return updateError(s.Name, err)
	}
	c.snapshots.keep(newer)
	return nil
}

// isBeingRestored reports whether a pending claim has the snapshot as its data source (SNAP-012).
func (c *controller) isBeingRestored(s *snapshots.Snapshot) bool {
	for _, claim := range c.claims.List() {
		source := claim.Spec.DataSource
		if claim.Namespace == s.Namespace && source != nil && source.Name == s.Name && source.Kind == "VolumeSnapshot" &&
			objects.ValueOf(source.APIGroup) == objkinds.SnapshotGroup && claim.Status.Phase == corev1.ClaimPending {
			return true
		}
	}
	return false
}

// markDeleted annotates a content whose snapshot is being deleted (SNAP-012).
func (c *controller) markDeleted(p *engine.Process, content *snapshots.Content) (*snapshots.Content, error) {
	if _, marked := content.Annotations[snapshots.BeingDeleted]; marked {
		return content, nil
	}
	// SNAP-012: the cached copy gets the annotation even if the write fails, and other annotations are those of the cached copy.
	annotations := maps.Clone(content.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[snapshots.BeingDeleted] = "yes"
	content.Annotations = annotations
	newer, err := c.contents.patch(p, content.Name, api.Main, func(content *snapshots.Content) { content.Annotations = maps.Clone(annotations) })
	if err != nil {
		return content, updateError(content.Name, err)
	}
	c.contents.keep(newer)
	return newer, nil
}
