package snapshot

import (
	"crypto/sha256"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/snapshots"
	"github.com/volsim/volsim/internal/core/store"
)

// createMembers creates a VolumeSnapshot and its content for each snapshot that the driver has taken (SNAP-045). It is repeated with each
// sync until the group snapshot is ready.
func (g *groupController) createMembers(p *engine.Process, group *snapshots.Group, content *snapshots.GroupContent) error {
	if content.Status == nil || len(content.Status.Members) == 0 || content.Status.Handle == nil {
		return nil
	}
	if group.Spec.Class == nil {
		return errors.New("getGroupSnapshotSecret: internal error: cannot find reference to volume group snapshot class")
	}
	class := g.classes.get(*group.Spec.Class)
	if class == nil {
		return fmt.Errorf("getGroupSnapshotSecret: failed to get volume snapshot class %s: %q", *group.Spec.Class,
			groupNotFound("volumegroupsnapshotclass", *group.Spec.Class))
	}
	secret, err := groupSecretOf("GroupSnapshotter", "group-snapshotter-secret", class.Parameters, content.Name, nil)
	if err != nil {
		return fmt.Errorf("getGroupSnapshotSecret: failed to get secret reference for group snapshot content %s: %w", content.Name, err)
	}
	for _, member := range content.Status.Members {
		if err := g.createMember(p, group, content, member, secret); err != nil {
			return fmt.Errorf("createIndividualSnapshotForGroupSnapshot: %w", err)
		}
	}
	return nil
}

func (g *groupController) createMember(p *engine.Process, group *snapshots.Group, content *snapshots.GroupContent, member snapshots.MemberInfo,
	secret *corev1.SecretReference) error {
	pv := g.volumeWithHandle(content.Spec.Driver, member.Volume)
	madeContent, err := createOrRead(p, g.controller.contents, memberContent(group, content, member, pv, secret))
	if err != nil {
		return fmt.Errorf("creating volumesnapshotcontent %w", err)
	}
	snapshot, err := createOrRead(p, g.snapshots, memberSnapshot(group, content, member, pv))
	if err != nil {
		return fmt.Errorf("error creating or fetching volumesnapshot %w", err)
	}
	// SNAP-045: content and snapshot are bound to each other, and the content gets the status of the snapshot in the storage system.
	_, err = g.controller.contents.patch(p, madeContent.Name, api.Main, func(c *snapshots.Content) { c.Spec.Snapshot.UID = snapshot.UID })
	if err != nil {
		return fmt.Errorf("binding volumesnapshotcontent to volumesnapshot %w", err)
	}
	_, err = g.snapshots.patch(p, api.KeyOf(snapshot), api.Status, func(s *snapshots.Snapshot) {
		s.Status = &snapshots.SnapshotStatus{Content: &madeContent.Name}
	})
	if err != nil {
		return fmt.Errorf("binding volumesnapshot to volumesnapshotcontent %w", err)
	}
	_, err = g.controller.contents.patch(p, madeContent.Name, api.Status, func(c *snapshots.Content) {
		c.Status = &snapshots.ContentStatus{Handle: &member.Snapshot, GroupHandle: content.Status.Handle, Created: member.Created,
			RestoreSize: member.RestoreSize, Ready: member.Ready}
	})
	if err != nil {
		return fmt.Errorf("setting snapshotHandle in volumesnapshotcontent %w", err)
	}
	return nil
}

// memberName returns the name of a member, or of its content (SNAP-045).
func memberName(prefix string, group *snapshots.Group, volume string) string {
	return fmt.Sprintf("%s-%x", prefix, sha256.Sum256([]byte(string(group.UID)+volume)))
}

// memberContent returns the content of a member (SNAP-045).
func memberContent(group *snapshots.Group, content *snapshots.GroupContent, member snapshots.MemberInfo, pv *corev1.PersistentVolume,
	secret *corev1.SecretReference) *snapshots.Content {
	c := &snapshots.Content{ObjectMeta: metav1.ObjectMeta{
		Name: memberName("snapcontent", group, member.Volume), Annotations: map[string]string{snapshots.GroupHandle: *content.Status.Handle},
	}}
	c.APIVersion, c.Kind = objkinds.SnapshotGroup+"/v1", "VolumeSnapshotContent"
	c.Spec.Snapshot = corev1.ObjectReference{
		Kind: "VolumeSnapshot", Name: memberName("snapshot", group, member.Volume), Namespace: content.Spec.Group.Namespace,
	}
	c.Spec.DeletionPolicy, c.Spec.Driver, c.Spec.Source.Volume = content.Spec.DeletionPolicy, content.Spec.Driver, &member.Volume
	if pv != nil {
		c.Spec.Mode = pv.Spec.VolumeMode
	}
	if secret != nil {
		// SNAP-044: the secret is that of the group snapshot.
		c.Annotations[snapshots.SecretName], c.Annotations[snapshots.SecretNamespace] = secret.Name, secret.Namespace
	}
	return c
}

// memberSnapshot returns the VolumeSnapshot of a member (SNAP-045).
func memberSnapshot(group *snapshots.Group, content *snapshots.GroupContent, member snapshots.MemberInfo, pv *corev1.PersistentVolume,
) *snapshots.Snapshot {
	s := &snapshots.Snapshot{ObjectMeta: metav1.ObjectMeta{
		Name: memberName("snapshot", group, member.Volume), Namespace: content.Spec.Group.Namespace,
		OwnerReferences: []metav1.OwnerReference{group.Owner()}, Finalizers: []string{snapshots.GroupFinalizer},
	}}
	s.APIVersion, s.Kind = objkinds.SnapshotGroup+"/v1", "VolumeSnapshot"
	// SNAP-045: a volume that no longer exists gives an empty name.
	s.Spec.Source.Claim = new("")
	if pv != nil && pv.Spec.ClaimRef != nil {
		s.Spec.Source.Claim = &pv.Spec.ClaimRef.Name
	}
	return s
}

// createOrRead creates an object. One that exists is read.
func createOrRead[T any, P object[T]](p *engine.Process, c *cache[T, P], obj P) (P, error) {
	created, err := c.typed(p.API().Create(p, snapshots.Plain(obj), store.CreateOptions{}))
	if apierrors.IsAlreadyExists(err) {
		return c.read(p, api.KeyOf(obj))
	}
	return created, err
}

// volumeWithHandle returns the volume with the handle; nil if there is none, or several.
func (g *groupController) volumeWithHandle(driver, handle string) *corev1.PersistentVolume {
	var found *corev1.PersistentVolume
	for _, pv := range g.volumes.List() {
		if pv.Spec.CSI == nil || pv.Spec.CSI.Driver != driver || pv.Spec.CSI.VolumeHandle != handle {
			continue
		}
		if found != nil {
			return nil
		}
		found = pv
	}
	return found
}

// groupOf returns the name of the group snapshot that a snapshot in the storage system belongs to; "" for none (SNAP-051).
func (g *groupController) groupOf(s *snapshots.Snapshot, content *snapshots.Content) (string, error) {
	if content.Status == nil || content.Status.GroupHandle == nil {
		return "", nil
	}
	for _, group := range g.contents.list() {
		if group.Status != nil && group.Status.Handle != nil && *group.Status.Handle == *content.Status.GroupHandle {
			return group.Spec.Group.Name, nil
		}
	}
	return "", fmt.Errorf("updateSnapshotStatus: cannot find the group snapshot for VolumeSnapshot [%s], will not update snapshot status",
		api.KeyOf(s))
}

// adopt makes a snapshot that the user bound a member of its group (SNAP-051).
func (g *groupController) adopt(p *engine.Process, s *snapshots.Snapshot) error {
	if inGroup(s) || s.Status == nil || s.Status.Group == nil || *s.Status.Group == "" {
		return nil
	}
	group := g.groups.get(api.Key(s.Namespace, *s.Status.Group))
	if group == nil {
		return groupNotFound("volumegroupsnapshot", *s.Status.Group)
	}
	edited := snapshots.Copy(s)
	edited.OwnerReferences = append(edited.OwnerReferences, group.Owner())
	_, err := g.snapshots.update(p, edited, api.Main)
	return err
}
