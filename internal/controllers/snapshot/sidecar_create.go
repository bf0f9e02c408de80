package snapshot

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/snapshots"
	"github.com/volsim/volsim/storage"
)

// create takes the snapshot for a content (SNAP-021).
func (c *snapshotter) create(p *engine.Process, content *snapshots.Content) (*snapshots.Content, error) {
	input := func(err error) error {
		return fmt.Errorf("failed to get input parameters to create snapshot for content %s: %q", content.Name, err)
	}
	if content.Spec.Class == nil {
		return content, input(fmt.Errorf("failed to take snapshot %s without a snapshot class", content.Name))
	}
	class := c.classes.get(*content.Spec.Class)
	if class == nil {
		return content, input(notFound("volumesnapshotclass", *content.Spec.Class))
	}
	secrets, err := annotatedSecrets(p, content)
	if err != nil {
		return content, input(err)
	}
	// SNAP-021: the annotation stays until the driver's reply is final.
	if content, err = c.beginCreation(p, content); err != nil {
		return content, fmt.Errorf("failed to add VolumeSnapshotBeingCreated annotation on the content %s: %q", content.Name, err)
	}
	parameters, err := driverParameters(class)
	if err != nil {
		return content, fmt.Errorf("failed to remove CSI Parameters of prefixed keys: %w", err)
	}
	taken, err := c.take(p, content, parameters, secrets)
	if err != nil {
		if isFinal(err) {
			// SNAP-023: after a final error the content may be deleted.
			ended, failed := c.endCreation(p, content)
			content = ended
			if failed != nil {
				return content, fmt.Errorf("failed to remove VolumeSnapshotBeingCreated annotation from the content %s: %w", content.Name, failed)
			}
		}
		return content, fmt.Errorf("failed to take snapshot of the volume %s: %q", objects.ValueOf(content.Spec.Source.Volume), err)
	}
	newer, err := c.updateStatus(p, content, taken)
	if err != nil {
		return content, fmt.Errorf("error updating status for volume snapshot content %s: %w", content.Name, err)
	}
	newest, err := c.endCreation(p, newer)
	if err != nil {
		return newest, fmt.Errorf("failed to remove VolumeSnapshotBeingCreated annotation on the content %s: %q", newer.Name, err)
	}
	return newest, nil
}

// take calls the driver. The name of the snapshot is that of every attempt (SNAP-021).
func (c *snapshotter) take(p *engine.Process, content *snapshots.Content, parameters, secrets map[string]string) (taken storage.Snapshot, err error) {
	if content.Spec.Snapshot.UID == "" {
		return taken, fmt.Errorf("cannot create snapshot. Snapshot content %s not bound to a snapshot", content.Name)
	}
	req := storage.SnapshotRequest{
		Name: "snapshot-" + string(content.Spec.Snapshot.UID), VolumeID: objects.ValueOf(content.Spec.Source.Volume), Parameters: parameters,
		Secrets: secrets,
	}
	backend, ok := c.driver.Backend.(storage.Snapshotter)
	if !ok || !backends.Can(c.driver.Backend, storage.CreateSnapshot) {
		return taken, storage.Errorf(storage.Unimplemented, "")
	}
	err = c.driver.Call(p, storage.CreateSnapshot, req.Name, "", func() (err error) {
		taken, err = backend.CreateSnapshot(backends.OwnSnapshot(req))
		return err
	})
	return taken, err
}

// isFinal reports whether an error means that no snapshot is being taken (SNAP-023).
func isFinal(err error) bool {
	// SNAP-023: an error without a code, or with one of these, leaves the outcome open.
	switch storage.CodeOf(err) {
	case storage.Unknown:
		_, _, coded := backends.Status(err)
		return coded
	case storage.Canceled, storage.DeadlineExceeded, storage.Unavailable, storage.ResourceExhausted, storage.Aborted:
		return false
	}
	return true
}

// beginCreation annotates a content before the driver is called.
func (c *snapshotter) beginCreation(p *engine.Process, content *snapshots.Content) (*snapshots.Content, error) {
	if _, begun := content.Annotations[snapshots.BeingCreated]; begun {
		return content, nil
	}
	annotations := maps.Clone(content.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[snapshots.BeingCreated] = "yes"
	newer, err := c.contents.patch(p, content.Name, api.Main, func(content *snapshots.Content) { content.Annotations = annotations })
	if err != nil {
		return content, updateError(content.Name, err)
	}
	c.contents.keep(newer)
	return newer, nil
}

// endCreation removes the annotation.
func (c *snapshotter) endCreation(p *engine.Process, content *snapshots.Content) (*snapshots.Content, error) {
	if _, begun := content.Annotations[snapshots.BeingCreated]; !begun {
		return content, nil
	}
	newer, err := c.contents.patch(p, content.Name, api.Main, func(content *snapshots.Content) {
		content.Annotations = maps.Clone(content.Annotations)
		delete(content.Annotations, snapshots.BeingCreated)
	})
	if err != nil {
		return content, updateError(content.Name, err)
	}
	c.contents.keep(newer)
	return newer, nil
}

// updateStatus writes what the driver reported into the status of the newest version of the content (SNAP-022).
func (c *snapshotter) updateStatus(p *engine.Process, content *snapshots.Content, s storage.Snapshot) (*snapshots.Content, error) {
	newest, err := c.contents.read(p, content.Name)
	if err != nil {
		return nil, fmt.Errorf("error get snapshot content %s from api server: %w", content.Name, err)
	}
	// SNAP-022: a driver that does not know the time gets that of the reply.
	if s.Created.IsZero() {
		s.Created = p.Now()
	}
	status := snapshots.ContentStatus{}
	if newest.Status != nil {
		status = *newest.Status
	}
	before := status
	if status.Handle == nil {
		status.Handle = &s.ID
	}
	if status.Created == nil {
		status.Created = new(s.Created.UnixNano())
	}
	if status.Ready == nil || *status.Ready != s.Ready {
		status.Ready = &s.Ready
		if s.Ready {
			status.Error = nil
		}
	}
	if status.RestoreSize == nil && s.Size > 0 {
		status.RestoreSize = &s.Size
	}
	if status.GroupHandle == nil && s.GroupID != "" && content.Spec.Source.Snapshot != nil {
		status.GroupHandle = &s.GroupID
	}
	if newest.Status != nil && status == before {
		return newest, nil
	}
	newer, err := c.contents.patch(p, content.Name, api.Status, func(content *snapshots.Content) { content.Status = &status })
	if err != nil {
		return nil, updateError(content.Name, err)
	}
	return newer, nil
}

// annotatedSecrets returns the content of the Secret that the annotations of a content name; nil for none (SNAP-008).
func annotatedSecrets(p *engine.Process, content *snapshots.Content) (map[string]string, error) {
	name, named := content.Annotations[snapshots.SecretName]
	namespace, spaced := content.Annotations[snapshots.SecretNamespace]
	switch {
	case !named || !spaced:
		return nil, nil
	case name == "" || namespace == "":
		return nil, fmt.Errorf("cannot retrieve secrets for snapshot content %#v, err: secret name or namespace not specified", content.Name)
	}
	// SNAP-008: a Secret that cannot be read fails the call.
	secrets, err := p.API().Secret(p, &corev1.SecretReference{Name: name, Namespace: namespace})
	if err != nil {
		return nil, fmt.Errorf("cannot get credentials for snapshot content %#v", content.Name)
	}
	return secrets, nil
}
