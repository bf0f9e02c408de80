package snapshot

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/snapshots"
	"github.com/volsim/volsim/internal/core/store"
)

// conflictTries is how often a write is tried that meets a conflict.
const conflictTries = 5

// createContent creates the content for a snapshot of a claim (SNAP-006).
func (c *controller) createContent(p *engine.Process, s *snapshots.Snapshot) (*snapshots.Content, error) {
	if err := c.protectClaim(p, s); err != nil {
		return nil, err
	}
	content, err := c.newContent(p, s)
	if err != nil {
		return nil, err
	}
	var created *snapshots.Content
	obj, err := p.API().Create(p, snapshots.Plain(content), store.CreateOptions{})
	switch {
	case err == nil:
		created, _ = c.contents.typed(obj, nil)
	case apierrors.IsAlreadyExists(err):
		// SNAP-006: a content that exists already is as good as a new one.
		created = content
	default:
		text := fmt.Sprintf("Error creating volume snapshot content object for snapshot %s: %v.", api.KeyOf(s), err)
		c.events.Event(p, s, corev1.EventTypeWarning, "CreateSnapshotContentFailed", "%s", text)
		return nil, updateError(api.KeyOf(s), err)
	}
	c.events.Event(p, s, corev1.EventTypeNormal, "CreatingSnapshot", "Waiting for a snapshot %s to be created by the CSI driver.", api.KeyOf(s))
	c.contents.keep(created)
	return created, nil
}

// newContent returns the content for a snapshot of a claim.
func (c *controller) newContent(p *engine.Process, s *snapshots.Snapshot) (*snapshots.Content, error) {
	failed := func(err error) error {
		return fmt.Errorf("failed to get input parameters to create snapshot %s: %q", s.Name, err)
	}
	if s.Spec.Class == nil {
		return nil, failed(fmt.Errorf("failed to take snapshot %s without a snapshot class", s.Name))
	}
	class := c.classes.get(*s.Spec.Class)
	if class == nil {
		return nil, failed(notFound("volumesnapshotclass", *s.Spec.Class))
	}
	pv, err := c.volumeOf(p, s)
	if err != nil {
		return nil, failed(err)
	}
	secret, err := secretOf("Snapshotter", "snapshotter-secret", class.Parameters, s.ContentName(), s)
	if err != nil {
		return nil, failed(err)
	}
	// SNAP-007: only volumes of CSI drivers have snapshots.
	if pv.Spec.CSI == nil {
		return nil, fmt.Errorf("cannot find CSI PersistentVolumeSource for volume %s", pv.Name)
	}
	// SNAP-006: the content names the snapshot, the volume, and what its class says.
	content := &snapshots.Content{ObjectMeta: metav1.ObjectMeta{Name: s.ContentName()}}
	content.APIVersion, content.Kind = objkinds.SnapshotGroup+"/v1", "VolumeSnapshotContent"
	content.Spec = snapshots.ContentSpec{
		Snapshot: corev1.ObjectReference{
			APIVersion: objkinds.SnapshotGroup + "/v1", Kind: "VolumeSnapshot", Namespace: s.Namespace, Name: s.Name, UID: s.UID,
			ResourceVersion: s.ResourceVersion,
		},
		DeletionPolicy: class.DeletionPolicy, Driver: class.Driver, Class: &class.Name, Mode: pv.Spec.VolumeMode,
	}
	content.Spec.Source.Volume = &pv.Spec.CSI.VolumeHandle
	if secret != nil {
		// SNAP-008: annotations name the secret for the deletion.
		content.Annotations = map[string]string{snapshots.SecretName: secret.Name, snapshots.SecretNamespace: secret.Namespace}
	}
	return content, nil
}

// claimOf returns the claim of a snapshot.
func (c *controller) claimOf(s *snapshots.Snapshot) (*corev1.PersistentVolumeClaim, error) {
	switch name := s.Spec.Source.Claim; {
	case name == nil:
		return nil, errors.New("the snapshot source PVC name is not specified")
	case *name == "":
		return nil, fmt.Errorf("the PVC name is not specified in snapshot %s", api.KeyOf(s))
	default:
		claim, ok := c.claims.Get(api.Key(s.Namespace, *name))
		if !ok {
			return nil, fmt.Errorf("failed to retrieve PVC %s from the lister: %q", *name,
				fmt.Sprintf("persistentvolumeclaim %q not found", *name))
		}
		return claim, nil
	}
}

// volumeOf returns the volume to which the claim of a snapshot is bound (SNAP-007).
func (c *controller) volumeOf(p *engine.Process, s *snapshots.Snapshot) (*corev1.PersistentVolume, error) {
	claim, err := c.claimOf(s)
	if err != nil {
		return nil, err
	}
	// SNAP-007: the claim must be bound, in both directions.
	if claim.Status.Phase != corev1.ClaimBound {
		return nil, fmt.Errorf("the PVC %s is not yet bound to a PV, will not attempt to take a snapshot", claim.Name)
	}
	pv, err := p.API().Volumes.Get(p, claim.Spec.VolumeName)
	if err != nil {
		return nil, fmt.Errorf("failed to retrieve PV %s from the API server: %q", claim.Spec.VolumeName, err)
	}
	if !isBoundTo(pv, claim) {
		return nil, errors.New("claim in dataSource not bound or invalid")
	}
	return pv, nil
}

// protectClaim puts a finalizer on the claim of a snapshot before it is taken (SNAP-005).
func (c *controller) protectClaim(p *engine.Process, s *snapshots.Snapshot) error {
	claim, err := c.claimOf(s)
	switch {
	case err != nil:
		return updateError(s.Name, errors.New("cannot get claim from snapshot"))
	case has(claim, snapshots.ClaimFinalizer):
		return nil
	case claim.DeletionTimestamp != nil:
		// SNAP-005: no snapshot is taken of a claim that is being deleted, unless it has the finalizer.
		return updateError(claim.Name, errors.New("cannot add finalizer on claim because it is being deleted"))
	}
	edited := *claim
	edited.Finalizers, _ = objects.WithFinalizer(claim.Finalizers, snapshots.ClaimFinalizer)
	if _, err := p.API().Claims.Update(p, &edited); err != nil {
		return updateError(claim.Name, err)
	}
	return nil
}

// releaseClaim removes the finalizer from the claim of a snapshot if no snapshot of it is being taken (SNAP-005). others excludes this one.
func (c *controller) releaseClaim(p *engine.Process, s *snapshots.Snapshot, others bool) error {
	if s.Spec.Source.Claim == nil {
		return nil
	}
	claim, err := c.claimOf(s)
	if err != nil || !has(claim, snapshots.ClaimFinalizer) {
		return nil
	}
	// SNAP-005: a snapshot of the claim that is not ready is being taken.
	for _, other := range c.snapshots.list() {
		if other.Namespace != s.Namespace || others && other.Name == s.Name {
			continue
		}
		if name := other.Spec.Source.Claim; name != nil && *name == claim.Name && !other.IsReady() {
			return nil
		}
	}
	for try := 1; ; try++ {
		newest, err := p.API().Claims.Get(p, api.KeyOf(claim))
		if err == nil {
			edited := *newest
			edited.Finalizers, _ = objects.WithoutFinalizer(newest.Finalizers, snapshots.ClaimFinalizer)
			_, err = p.API().Claims.Update(p, &edited)
		}
		if err == nil {
			return nil
		}
		if !apierrors.IsConflict(err) || try == conflictTries {
			return updateError(claim.Name, err)
		}
	}
}

func (c *controller) syncContentKey(p *engine.Process, name string) error {
	content := c.contents.get(name)
	if content == nil {
		if old, ok := c.contents.own[name]; ok {
			delete(c.contents.own, name)
			// SNAP-013: when the content is gone, its snapshot is synced.
			ref := old.Spec.Snapshot
			c.snapshotQueue.Add(api.Key(ref.Namespace, ref.Name))
		}
		return nil
	}
	if !c.contents.keep(content) {
		return nil
	}
	return c.syncContent(p, content)
}

// syncContent tells the snapshot of a content about changes (SNAP-013).
func (c *controller) syncContent(p *engine.Process, content *snapshots.Content) error {
	// SNAP-013: a content has one source.
	if (content.Spec.Source.Volume == nil) == (content.Spec.Source.Snapshot == nil) {
		err := errors.New("Exactly one of VolumeHandle and SnapshotHandle should be specified")
		c.events.Event(p, content, corev1.EventTypeWarning, "ContentValidationError", err.Error())
		return err
	}
	// SNAP-013: a content that is not bound yet is left to the sync of its snapshot.
	ref := content.Spec.Snapshot
	if ref.UID == "" {
		return nil
	}
	if content.DeletionTimestamp == nil && !has(content, snapshots.ContentFinalizer) {
		// SNAP-013: a bound content gets the finalizer.
		newer, err := c.contents.patch(p, content.Name, api.Main, func(content *snapshots.Content) {
			content.Finalizers = append(content.Finalizers, snapshots.ContentFinalizer)
		})
		if err != nil {
			return updateError(content.Name, err)
		}
		c.contents.keep(newer)
		return nil
	}
	s := c.snapshots.own[api.Key(ref.Namespace, ref.Name)]
	// SNAP-013: the content of a snapshot that does not exist stays: it may have been copied from another cluster with its data.
	if s == nil || s.UID != ref.UID {
		return nil
	}
	if statusOutdated(s, content) {
		c.snapshotQueue.Add(api.KeyOf(s))
	}
	if isDeletionCandidate(s) {
		_, err := c.markDeleted(p, content)
		return err
	}
	return nil
}
