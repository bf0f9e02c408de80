package snapshot

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/snapshots"
	"github.com/volsim/volsim/internal/core/store"
)

// createGroupContent creates the content for a group snapshot of claims (SNAP-043).
func (g *groupController) createGroupContent(p *engine.Process, group *snapshots.Group) (*snapshots.GroupContent, error) {
	key := api.KeyOf(group)
	content, err := g.newGroupContent(p, group)
	if err != nil {
		return nil, err
	}
	created := content
	obj, err := p.API().Create(p, snapshots.Plain(content), store.CreateOptions{})
	switch {
	case err == nil:
		created, _ = g.contents.typed(obj, nil)
	case !apierrors.IsAlreadyExists(err): // SNAP-043: a content that exists already is as good as a new one.
		text := fmt.Sprintf("Error creating volume group snapshot content object for group snapshot %s: %v.", key, err)
		g.events.Event(p, group, corev1.EventTypeWarning, "CreateGroupSnapshotContentFailed", "%s", text)
		return nil, updateError(key, err)
	}
	g.events.Event(p, group, corev1.EventTypeNormal, "CreatingGroupSnapshot",
		"Waiting for a group snapshot %s to be created by the CSI driver.", key)
	g.contents.keep(created)
	return created, nil
}

// newGroupContent returns the content for a group snapshot of claims.
func (g *groupController) newGroupContent(p *engine.Process, group *snapshots.Group) (*snapshots.GroupContent, error) {
	failed := func(err error) error {
		return fmt.Errorf("failed to get input parameters to create group snapshot %s: %q", group.Name, err)
	}
	if group.Spec.Class == nil {
		return nil, failed(fmt.Errorf("failed to take group snapshot %s without a group snapshot class", group.Name))
	}
	class := g.classes.get(*group.Spec.Class)
	if class == nil {
		return nil, failed(groupNotFound("volumegroupsnapshotclass", *group.Spec.Class))
	}
	volumes, err := g.volumesOf(p, group)
	if err != nil {
		return nil, failed(err)
	}
	secret, err := groupSecretOf("GroupSnapshotter", "group-snapshotter-secret", class.Parameters, group.ContentName(), group)
	if err != nil {
		return nil, failed(err)
	}
	var handles []string
	for _, pv := range volumes {
		// SNAP-043: all volumes must be of the driver of the class.
		switch report := func(text string) {
			g.events.Event(p, group, corev1.EventTypeWarning, "CreateGroupSnapshotContentFailed", "%s", text)
		}; {
		case pv.Spec.CSI == nil:
			report("Cannot snapshot a non-CSI volume: " + pv.Name)
			return nil, fmt.Errorf("cannot snapshot a non-CSI volume for group snapshot %s: %s", api.KeyOf(group), pv.Name)
		case pv.Spec.CSI.Driver != class.Driver:
			text := fmt.Sprintf("Volume CSI driver (%s) mismatch with VolumeGroupSnapshotClass (%s) %s: %s", pv.Spec.CSI.Driver, class.Driver,
				api.KeyOf(group), pv.Name)
			report(text)
			return nil, updateError(api.KeyOf(group), errors.New(text))
		}
		handles = append(handles, pv.Spec.CSI.VolumeHandle)
	}
	content := &snapshots.GroupContent{ObjectMeta: metav1.ObjectMeta{Name: group.ContentName()}}
	content.APIVersion, content.Kind = objkinds.GroupSnapshotGroup+"/v1", "VolumeGroupSnapshotContent"
	content.Spec = snapshots.GroupContentSpec{
		Group: corev1.ObjectReference{
			APIVersion: content.APIVersion, Kind: "VolumeGroupSnapshot", Namespace: group.Namespace, Name: group.Name, UID: group.UID,
			ResourceVersion: group.ResourceVersion,
		},
		DeletionPolicy: class.DeletionPolicy, Driver: class.Driver, Class: &class.Name,
	}
	content.Spec.Source.Volumes = handles
	if secret != nil {
		// SNAP-044: annotations name the secret of the calls.
		content.Annotations = map[string]string{snapshots.GroupSecretName: secret.Name, snapshots.GroupSecretNamespace: secret.Namespace}
	}
	return content, nil
}

// volumesOf returns the volumes of the claims that a group snapshot selects (SNAP-043).
func (g *groupController) volumesOf(p *engine.Process, group *snapshots.Group) ([]*corev1.PersistentVolume, error) {
	selector := group.Spec.Source.Selector
	if selector == nil {
		return nil, errors.New("the group snapshot has no selector") // upstream panics
	}
	claims, err := p.API().Claims.List(p, group.Namespace)
	if err != nil {
		return nil, fmt.Errorf("failed to list PVCs with label selector %s: %q", metav1.FormatLabelSelector(selector), err)
	}
	// SNAP-043: matchExpressions are ignored.
	matches := labels.SelectorFromSet(selector.MatchLabels)
	var volumes []*corev1.PersistentVolume
	for _, claim := range claims {
		if !matches.Matches(labels.Set(claim.Labels)) {
			continue
		}
		// SNAP-043: each claim must be bound, in both directions.
		if claim.Status.Phase != corev1.ClaimBound {
			return nil, fmt.Errorf("the PVC %s is not yet bound to a PV, will not attempt to take a group snapshot", claim.Name)
		}
		pv, err := p.API().Volumes.Get(p, claim.Spec.VolumeName)
		if err != nil {
			return nil, fmt.Errorf("failed to retrieve PV %s from the API server: %q", claim.Spec.VolumeName, err)
		}
		if !isBoundTo(pv, claim) {
			return nil, errors.New("claim in dataSource not bound or invalid")
		}
		volumes = append(volumes, pv)
	}
	if len(volumes) == 0 {
		return nil, fmt.Errorf("label selector %s for group snapshot not applied to any PVC", metav1.FormatLabelSelector(selector))
	}
	return volumes, nil
}

// isBoundTo reports whether the volume refers to the claim.
func isBoundTo(pv *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) bool {
	ref := pv.Spec.ClaimRef
	return ref != nil && ref.Name == claim.Name && ref.Namespace == claim.Namespace && (ref.UID == "" || ref.UID == claim.UID)
}

func (g *groupController) syncContentKey(p *engine.Process, name string) error {
	content := g.contents.get(name)
	if content == nil {
		if old, ok := g.contents.own[name]; ok {
			delete(g.contents.own, name)
			// SNAP-050: when the content is gone, its group snapshot is synced.
			ref := old.Spec.Group
			g.groupQueue.Add(api.Key(ref.Namespace, ref.Name))
		}
		return nil
	}
	if !g.contents.keep(content) {
		return nil
	}
	// SNAP-050: a content has one source.
	if source := content.Spec.Source; (source.Handles == nil) == (len(source.Volumes) == 0) {
		err := errors.New("Exactly one of GroupSnapshotHandles and VolumeHandles should be specified")
		g.events.Event(p, content, corev1.EventTypeWarning, "GroupContentValidationError", "%s", err)
		return err
	}
	// SNAP-050: a content that is not bound yet is left to the sync of its group snapshot.
	ref := content.Spec.Group
	if ref.UID == "" {
		return nil
	}
	if content.DeletionTimestamp == nil && !has(content, snapshots.GroupContentFinalizer) {
		// SNAP-050: a bound content gets the finalizer.
		newer, err := g.contents.patch(p, name, api.Main, func(content *snapshots.GroupContent) {
			content.Finalizers = append(content.Finalizers, snapshots.GroupContentFinalizer)
		})
		if err != nil {
			return updateError(name, err)
		}
		g.contents.keep(newer)
		return nil
	}
	// SNAP-050: the content of a group snapshot that does not exist stays.
	group := g.groups.own[api.Key(ref.Namespace, ref.Name)]
	if group != nil && group.UID == ref.UID && groupStatusOutdated(group, content) {
		g.groupQueue.Add(api.KeyOf(group))
	}
	return nil
}
