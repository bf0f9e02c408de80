package snapshot

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/snapshots"
	"github.com/volsim/volsim/storage"
)

// create takes the group snapshot for a content (SNAP-061).
func (g *groupSnapshotter) create(p *engine.Process, content *snapshots.GroupContent) (*snapshots.GroupContent, error) {
	input := func(err error) error {
		return fmt.Errorf("failed to get input parameters to create group snapshot for group snapshot content %s: %q", content.Name, err)
	}
	if content.Spec.Class == nil {
		return content, input(fmt.Errorf("failed to take group snapshot %s without a group snapshot class", content.Name))
	}
	class := g.classes.get(*content.Spec.Class)
	if class == nil {
		return content, input(groupNotFound("volumegroupsnapshotclass", *content.Spec.Class))
	}
	secrets, err := groupSecrets(p, content)
	if err != nil {
		return content, input(err)
	}
	// SNAP-061: the annotation stays until the driver's reply is final.
	if content, err = g.beginCreation(p, content); err != nil {
		return content, fmt.Errorf("failed to add VolumeGroupSnapshotBeingCreated annotation on the group snapshot content %s: %q", content.Name, err)
	}
	parameters, err := driverParameters(class)
	if err != nil {
		return content, fmt.Errorf("failed to remove CSI Parameters of prefixed keys: %w", err)
	}
	taken, err := g.take(p, content, parameters, secrets)
	if err != nil {
		if isFinal(err) {
			// SNAP-063: after a final error the content may be deleted.
			ended, failed := g.endCreation(p, content)
			content = ended
			if failed != nil {
				return content, fmt.Errorf("failed to remove VolumeGroupSnapshotBeingCreated annotation from the group snapshot content %s: %w",
					content.Name, failed)
			}
		}
		return content, fmt.Errorf("failed to take group snapshot of the volumes %s: %q", content.Spec.Source.Volumes, err)
	}
	newer, err := g.updateStatus(p, content, taken)
	if err != nil {
		return content, fmt.Errorf("error updating status for volume group snapshot content %s: %w", content.Name, err)
	}
	newest, err := g.endCreation(p, newer)
	if err != nil {
		return newest, fmt.Errorf("failed to remove VolumeGroupSnapshotBeingCreated annotation on the groupSnapshotContent %s: %q", newer.Name, err)
	}
	return newest, nil
}

// take calls the driver. The name of the group snapshot is that of every attempt (SNAP-061).
func (g *groupSnapshotter) take(p *engine.Process, content *snapshots.GroupContent, parameters, secrets map[string]string,
) (taken storage.GroupSnapshot, err error) {
	switch {
	case content.Spec.Group.UID == "":
		return taken, fmt.Errorf("cannot create group snapshot. Group snapshot content %s not bound to a group snapshot", content.Name)
	case len(content.Spec.Source.Volumes) == 0:
		return taken, fmt.Errorf("cannot create group snapshot. PVCs to be snapshotted not found in group snapshot content %s", content.Name)
	}
	req := storage.GroupSnapshotRequest{
		Name: "groupsnapshot-" + string(content.Spec.Group.UID), VolumeIDs: content.Spec.Source.Volumes, Parameters: parameters, Secrets: secrets,
	}
	err = g.call(p, storage.CreateGroupSnapshot, req.Name, func(backend storage.GroupSnapshotter) (err error) {
		taken, err = backend.CreateGroupSnapshot(backends.OwnGroupSnapshot(req))
		return err
	})
	return taken, err
}

// call calls the driver, which may not be able to take group snapshots (SNAP-061).
func (g *groupSnapshotter) call(p *engine.Process, op storage.Op, handle string, fn func(storage.GroupSnapshotter) error) error {
	backend, ok := g.driver.Backend.(storage.GroupSnapshotter)
	if !ok || !backends.Can(g.driver.Backend, op) {
		return storage.Errorf(storage.Unimplemented, "")
	}
	return g.driver.Call(p, op, handle, "", func() error { return fn(backend) })
}

// beginCreation annotates a content before the driver is called. The own copy stays what it was, as upstream.
func (g *groupSnapshotter) beginCreation(p *engine.Process, content *snapshots.GroupContent) (*snapshots.GroupContent, error) {
	if _, begun := content.Annotations[snapshots.GroupBeingCreated]; begun {
		return content, nil
	}
	annotations := maps.Clone(content.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[snapshots.GroupBeingCreated] = "yes"
	newer, err := g.contents.patch(p, content.Name, api.Main, func(content *snapshots.GroupContent) { content.Annotations = annotations })
	if err != nil {
		return content, updateError(content.Name, err)
	}
	return newer, nil
}

// endCreation removes the annotation.
func (g *groupSnapshotter) endCreation(p *engine.Process, content *snapshots.GroupContent) (*snapshots.GroupContent, error) {
	if _, begun := content.Annotations[snapshots.GroupBeingCreated]; !begun {
		return content, nil
	}
	newer, err := g.contents.patch(p, content.Name, api.Main, func(content *snapshots.GroupContent) {
		content.Annotations = maps.Clone(content.Annotations)
		delete(content.Annotations, snapshots.GroupBeingCreated)
	})
	if err != nil {
		return content, updateError(content.Name, err)
	}
	g.contents.keep(newer)
	return newer, nil
}

// check asks for the state of a group snapshot that was not taken for the content (SNAP-064).
func (g *groupSnapshotter) check(p *engine.Process, content *snapshots.GroupContent) (*snapshots.GroupContent, error) {
	var secrets map[string]string
	if name := content.Spec.Class; name != nil {
		class := g.classes.get(*name)
		if class == nil {
			return content, fmt.Errorf("failed to get group snapshot class %s for group snapshot content %s: %w", *name, content.Name,
				groupNotFound("volumegroupsnapshotclass", *name))
		}
		secret, err := groupSecretOf("GroupSnapshotterGet", "group-snapshotter-get-secret", class.Parameters, content.Name, nil)
		if err != nil {
			return content, fmt.Errorf("failed to get secret reference for group snapshot content %s: %w", content.Name, err)
		}
		if secrets, err = p.API().Secret(p, secret); err != nil {
			return content, fmt.Errorf("failed to get credentials for group snapshot content %s: error getting secret %s in namespace %s: %w",
				content.Name, secret.Name, secret.Namespace, err)
		}
	}
	handles := content.Spec.Source.Handles
	if len(handles.Snapshots) == 0 {
		return content, fmt.Errorf("cannot list group snapshot %s. No snapshots found in the group snapshot content", content.Name)
	}
	var found storage.GroupSnapshot
	err := g.call(p, storage.GetGroupSnapshot, handles.Group, func(backend storage.GroupSnapshotter) (err error) {
		found, err = backend.GetGroupSnapshot(storage.GroupSnapshotRef{ID: handles.Group, SnapshotIDs: slices.Clone(handles.Snapshots), Secrets: secrets})
		return err
	})
	if err != nil {
		return content, fmt.Errorf("failed to list group snapshot for group snapshot content %s: %q", content.Name, err)
	}
	// SNAP-064: the snapshots in the reply are ignored.
	newer, err := g.updateStatus(p, content, storage.GroupSnapshot{ID: handles.Group, Created: found.Created, Ready: found.Ready})
	if err != nil {
		return content, err
	}
	return newer, nil
}

// updateStatus writes what the driver reported into the status of the newest version of the content (SNAP-062).
func (g *groupSnapshotter) updateStatus(p *engine.Process, content *snapshots.GroupContent, s storage.GroupSnapshot) (*snapshots.GroupContent, error) {
	newest, err := g.contents.read(p, content.Name)
	if err != nil {
		return nil, fmt.Errorf("error get group snapshot content %s from api server: %w", content.Name, err)
	}
	// SNAP-062: a driver that does not know the time gets that of the reply.
	if s.Created.IsZero() {
		s.Created = p.Now()
	}
	changed := newest.Status == nil
	status := snapshots.GroupContentStatus{}
	if newest.Status != nil {
		status = *newest.Status
	}
	// SNAP-062: handle, time and snapshots are written once.
	if status.Handle == nil {
		status.Handle, changed = &s.ID, true
	}
	if status.Ready == nil || *status.Ready != s.Ready {
		status.Ready, changed = &s.Ready, true
		if s.Ready {
			status.Error = nil
		}
	}
	if status.Created == nil {
		created := metav1.NewTime(s.Created)
		status.Created, changed = &created, true
	}
	if len(status.Members) == 0 && len(s.Snapshots) > 0 {
		status.Members, changed = membersOf(s.Snapshots), true
	}
	if !changed {
		return newest, nil
	}
	newest.Status = &status
	newer, err := g.contents.update(p, newest, api.Status)
	if err != nil {
		return nil, updateError(content.Name, err)
	}
	return newer, nil
}

func membersOf(taken []storage.Snapshot) []snapshots.MemberInfo {
	var members []snapshots.MemberInfo
	for _, s := range taken {
		info := snapshots.MemberInfo{Volume: s.VolumeID, Snapshot: s.ID, Ready: new(s.Ready)}
		if !s.Created.IsZero() {
			info.Created = new(s.Created.UnixNano())
		}
		if s.Size != 0 {
			info.RestoreSize = new(s.Size)
		}
		members = append(members, info)
	}
	return members
}

// deleteGroup calls the driver and clears the status, so that the call is not repeated (SNAP-065).
func (g *groupSnapshotter) deleteGroup(p *engine.Process, content *snapshots.GroupContent) (*snapshots.GroupContent, error) {
	report := func(text string) {
		g.events.Event(p, content, corev1.EventTypeWarning, "GroupSnapshotDeleteError", "%s", text)
	}
	secrets, err := groupSecrets(p, content)
	if err != nil {
		report("Failed to get snapshot credentials")
		return nil, fmt.Errorf("failed to get input parameters to delete group snapshot for group snapshot content %s: %q", content.Name, err)
	}
	// SNAP-065: the snapshots are those of the status, or those that the user named.
	var ids []string
	for _, member := range content.Status.Members {
		ids = append(ids, member.Snapshot)
	}
	if len(ids) == 0 && content.Spec.Source.Handles != nil {
		ids = slices.Clone(content.Spec.Source.Handles.Snapshots)
	}
	if len(ids) == 0 {
		err = fmt.Errorf("cannot delete group snapshot content %s. No snapshots found in the group snapshot", content.Name)
	} else {
		err = g.call(p, storage.DeleteGroupSnapshot, *content.Status.Handle, func(backend storage.GroupSnapshotter) error {
			return backend.DeleteGroupSnapshot(storage.GroupSnapshotRef{ID: *content.Status.Handle, SnapshotIDs: ids, Secrets: secrets})
		})
	}
	if err != nil {
		report("Failed to delete group snapshot")
		return nil, fmt.Errorf("failed to delete group snapshot %#v, err: %w", content.Name, err)
	}
	newest, err := g.contents.read(p, content.Name)
	if err != nil {
		report("Failed to clear content status")
		return nil, fmt.Errorf("error get group snapshot content %s from api server: %w", content.Name, err)
	}
	if newest.Status != nil {
		newest.Status.Handle, newest.Status.Ready, newest.Status.Created, newest.Status.Error = nil, nil, nil, nil
	}
	newer, err := g.contents.update(p, newest, api.Status)
	if err != nil {
		report("Failed to clear content status")
		return nil, updateError(content.Name, err)
	}
	return newer, nil
}

// groupSecrets returns the content of the Secret that the annotations of a content name; nil for none (SNAP-044).
func groupSecrets(p *engine.Process, content *snapshots.GroupContent) (map[string]string, error) {
	name, named := content.Annotations[snapshots.GroupSecretName]
	namespace, spaced := content.Annotations[snapshots.GroupSecretNamespace]
	switch {
	case !named || !spaced:
		return nil, nil
	case name == "" || namespace == "":
		return nil, fmt.Errorf("cannot retrieve secrets for group snapshot content %#v, err: secret name or namespace not specified", content.Name)
	}
	secrets, err := p.API().Secret(p, &corev1.SecretReference{Name: name, Namespace: namespace})
	if err != nil {
		return nil, fmt.Errorf("cannot get credentials for group snapshot content %#v", content.Name)
	}
	return secrets, nil
}
