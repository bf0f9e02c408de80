package snapshot

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/snapshots"
	"github.com/volsim/volsim/storage"
)

// shouldDelete reports whether a content that is being deleted may go (SNAP-025).
func shouldDelete(content *snapshots.Content) bool {
	if content.DeletionTimestamp == nil {
		return false
	}
	// SNAP-025: a content of the user that no snapshot is bound to goes at once.
	if content.Spec.Source.Snapshot != nil && content.Spec.Snapshot.UID == "" {
		return true
	}
	// SNAP-025: as long as it is not known whether a snapshot is being taken, the content stays.
	if _, creating := content.Annotations[snapshots.BeingCreated]; creating {
		return false
	}
	// SNAP-025: else it goes when its snapshot is being deleted.
	_, marked := content.Annotations[snapshots.BeingDeleted]
	return marked
}

// delete deletes the snapshot of a content if its policy says so, and then the finalizer (SNAP-025).
func (c *snapshotter) delete(p *engine.Process, content *snapshots.Content) error {
	// SNAP-025: a snapshot of a group is deleted with the group.
	if content.Spec.DeletionPolicy == snapshots.Delete && content.Status != nil && content.Status.Handle != nil && content.Status.GroupHandle == nil {
		newer, err := c.deleteSnapshot(p, content)
		if err != nil {
			return err
		}
		content = newer
	}
	if !has(content, snapshots.ContentFinalizer) {
		return nil
	}
	rest, _ := objects.WithoutFinalizer(content.Finalizers, snapshots.ContentFinalizer)
	newer, err := c.contents.patch(p, content.Name, api.Main, func(content *snapshots.Content) { content.Finalizers = rest })
	if err != nil {
		return updateError(content.Name, err)
	}
	c.contents.keep(newer)
	return nil
}

// deleteSnapshot calls the driver and clears the status, so that the call is not repeated (SNAP-025).
func (c *snapshotter) deleteSnapshot(p *engine.Process, content *snapshots.Content) (*snapshots.Content, error) {
	report := func(text string) {
		c.events.Event(p, content, corev1.EventTypeWarning, "SnapshotDeleteError", text)
	}
	secrets, err := annotatedSecrets(p, content)
	if err != nil {
		report("Failed to get snapshot credentials")
		return nil, fmt.Errorf("failed to get input parameters to delete snapshot for content %s: %q", content.Name, err)
	}
	handle := handleOf(content)
	err = storage.Errorf(storage.Unimplemented, "")
	if backend, ok := c.driver.Backend.(storage.Snapshotter); ok && backends.Can(c.driver.Backend, storage.DeleteSnapshot) {
		err = c.driver.Call(p, storage.DeleteSnapshot, handle, "", func() error {
			return backend.DeleteSnapshot(storage.SnapshotRef{ID: handle, Secrets: secrets})
		})
	}
	if err != nil {
		report("Failed to delete snapshot")
		return nil, fmt.Errorf("failed to delete snapshot %#v, err: failed to delete snapshot content %s: %q", content.Name, content.Name, err)
	}
	newest, err := c.contents.read(p, content.Name)
	if err != nil {
		report("Failed to clear content status")
		return nil, fmt.Errorf("error get snapshot content %s from api server: %w", content.Name, err)
	}
	if newest.Status != nil {
		newest.Status.Handle, newest.Status.Ready, newest.Status.Created, newest.Status.RestoreSize = nil, nil, nil, nil
	}
	newer, err := c.contents.update(p, newest, api.Status)
	if err != nil {
		report("Failed to clear content status")
		return nil, updateError(content.Name, err)
	}
	return newer, nil
}
