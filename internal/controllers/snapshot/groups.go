package snapshot

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/snapshots"
)

type (
	groupCache        = cache[snapshots.Group, *snapshots.Group]
	groupContentCache = cache[snapshots.GroupContent, *snapshots.GroupContent]
)

// groupController is the part of the snapshot controller that works on group snapshots.
type groupController struct {
	*controller
	groups   *groupCache
	contents *groupContentCache
	classes  *classCache
	volumes  engine.Informer[*corev1.PersistentVolume]

	groupQueue, contentQueue *engine.Queue
}

// newGroups adds the part for group snapshots to the snapshot controller (SNAP-040).
func newGroups(a *engine.Actor, c *controller, cfg Settings) *groupController {
	g := &groupController{
		controller: c,
		groups:     newCache[snapshots.Group](a, snapshots.GroupKind),
		contents:   newCache[snapshots.GroupContent](a, snapshots.GroupContentKind),
		classes:    newCache[snapshots.Class](a, snapshots.GroupClassKind),
		volumes:    engine.NewInformer(a, a.Engine().Store().Volumes),
	}
	// SNAP-040: the queues are those of SNAP-001. The own copies begin empty, because upstream fills them with objects of other kinds.
	queue := func(name string, kind api.Kind, sync func(*engine.Process, string) error) *engine.Queue {
		return a.NewQueue(engine.QueueConfig{
			Name: name, Kind: kind, Workers: controllerWorkers, Limiter: engine.NewLimiter(cfg.RetryStart, cfg.RetryMax, 0, 0),
			Sync: func(p *engine.Process, key string) error { return c.failed.Of(name+" "+key, sync(p, key)) },
		})
	}
	g.groupQueue = queue("group snapshots", snapshots.GroupKind, g.syncGroupKey)
	g.contentQueue = queue("group contents", snapshots.GroupContentKind, g.syncContentKey)
	// SNAP-040: a content is copied before a group snapshot needs it.
	c.watch(g.contents.informer, g.contentQueue)
	c.watch(g.groups.informer, g.groupQueue)
	return g
}

// resyncAll queues all objects, and repeats while one of them is not ready or is being deleted.
func (g *groupController) resyncAll() {
	for _, group := range g.groups.list() {
		g.groupQueue.Add(api.KeyOf(group))
		if !group.IsReady() || group.DeletionTimestamp != nil {
			g.resync.ArmBackground()
		}
	}
	for _, content := range g.contents.list() {
		g.contentQueue.Add(content.Name)
		if !content.IsReady() || content.DeletionTimestamp != nil {
			g.resync.ArmBackground()
		}
	}
}

// groupNotFound is the error of a lister of the kinds of group snapshots.
func groupNotFound(resource, name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Group: objkinds.GroupSnapshotGroup, Resource: resource}, name)
}

func (g *groupController) syncGroupKey(p *engine.Process, key string) error {
	group := g.groups.get(key)
	if group == nil {
		if old, ok := g.groups.own[key]; ok {
			delete(g.groups.own, key)
			// SNAP-050: when the group snapshot is gone, its content is synced.
			if name := old.Bound(); name != "" {
				g.contentQueue.Add(name)
			}
		}
		return nil
	}
	newer, err := g.withClass(p, group)
	// SNAP-041: without the class that it names, a group snapshot can still be deleted.
	if err != nil && (newer.DeletionTimestamp == nil || !apierrors.IsNotFound(err)) {
		return err
	}
	if !g.groups.keep(newer) {
		return nil
	}
	return g.syncGroup(p, newer)
}

// withClass returns the group snapshot with its class, which may be the default class of the driver (SNAP-041).
func (g *groupController) withClass(p *engine.Process, group *snapshots.Group) (*snapshots.Group, error) {
	if name := group.Spec.Class; name != nil {
		if g.classes.get(*name) != nil {
			return group, nil
		}
		// SNAP-041: the class must exist.
		err := groupNotFound("volumegroupsnapshotclass", *name)
		g.failGroup(p, group, false, "GetGroupSnapshotClassFailed", fmt.Sprintf("failed to get group snapshot class with error %v", err))
		return group, err
	}
	newer, err := g.withDefaultClass(p, group)
	if err != nil {
		g.failGroup(p, group, false, "SetDefaultGroupSnapshotClassFailed",
			fmt.Sprintf("Failed to set default group snapshot class with error %v", err))
		return group, err
	}
	return newer, nil
}

func (g *groupController) withDefaultClass(p *engine.Process, group *snapshots.Group) (*snapshots.Group, error) {
	// SNAP-041: a group snapshot with a content needs no class.
	if group.Spec.Source.Content != nil {
		return group, nil
	}
	volumes, err := g.volumesOf(p, group)
	if err != nil {
		return group, err
	}
	if volumes[0].Spec.CSI == nil {
		return group, fmt.Errorf("snapshotting non-CSI volumes is not supported, group snapshot:%s/%s", group.Namespace, group.Name)
	}
	// SNAP-041: the default class is the only one with the annotation that is of the driver of the first volume.
	var defaults []string
	for _, class := range g.classes.list() {
		if class.Annotations[snapshots.DefaultGroupClass] == "true" && class.Driver == volumes[0].Spec.CSI.Driver {
			defaults = append(defaults, class.Name)
		}
	}
	switch len(defaults) {
	case 0:
		return group, errors.New("cannot find default group snapshot class")
	case 1:
	default:
		return group, fmt.Errorf("%d default snapshot classes were found", len(defaults))
	}
	edited := *group
	edited.Spec.Class = &defaults[0]
	newer, err := g.groups.update(p, &edited, api.Main)
	if err != nil {
		// SNAP-041: a write that fails is only logged, and the sync goes on with an object without a name; here it is repeated.
		return group, err
	}
	g.groups.keep(newer)
	return newer, nil
}

// syncGroup decides what to do about a group snapshot.
func (g *groupController) syncGroup(p *engine.Process, group *snapshots.Group) error {
	if group.DeletionTimestamp != nil {
		return g.syncDeletedGroup(p, group)
	}
	// SNAP-042: a group snapshot has one source.
	if (group.Spec.Source.Selector == nil) == (group.Spec.Source.Content == nil) {
		err := errors.New("Exactly one of Selector and VolumeGroupSnapshotContentName should be specified")
		g.failGroup(p, group, true, "GroupSnapshotValidationError", err.Error())
		return err
	}
	if err := g.addGroupFinalizer(p, group); err != nil {
		g.events.Event(p, group, corev1.EventTypeWarning, "GroupSnapshotFinalizerError", "Failed to check and update group snapshot: %s", err)
		return err
	}
	if !group.IsReady() || group.Bound() == "" {
		return g.syncUnreadyGroup(p, group)
	}
	content := g.contents.own[group.Bound()]
	switch {
	case content == nil:
		// SNAP-048: a ready group snapshot whose content is missing is no longer ready.
		return g.failGroup(p, group, true, "GroupSnapshotContentMissing", "VolumeGroupSnapshotContent is missing")
	case !content.IsOf(group):
		// SNAP-048: the same holds if the content refers to another group snapshot.
		return g.failGroup(p, group, true, "GroupSnapshotMisbound", "VolumeGroupSnapshotContent is not bound to the VolumeGroupSnapshot correctly")
	}
	return nil
}

// addGroupFinalizer adds the finalizer to a group snapshot that names its content (SNAP-042).
func (g *groupController) addGroupFinalizer(p *engine.Process, group *snapshots.Group) error {
	content, err := g.contentOf(p, group)
	if err != nil {
		return err
	}
	// SNAP-042: whatever the deletion policy is. Until then nothing keeps the group snapshot.
	if content == nil || group.Bound() == "" || has(group, snapshots.GroupBoundFinalizer) {
		return nil
	}
	var newer *snapshots.Group
	if len(group.Finalizers) == 0 {
		edited := *group
		edited.Finalizers = []string{snapshots.GroupBoundFinalizer}
		newer, err = g.groups.update(p, &edited, api.Main)
	} else {
		newer, err = g.groups.patch(p, api.KeyOf(group), api.Main, func(group *snapshots.Group) {
			group.Finalizers = append(group.Finalizers, snapshots.GroupBoundFinalizer)
		})
	}
	if err != nil {
		return updateError(api.KeyOf(group), err)
	}
	g.groups.keep(newer)
	return nil
}

// contentOf returns the content of a group snapshot: the one that it names, or the one with the name for it. nil is none. A content of
// another group snapshot, or of the other origin, is an error.
func (g *groupController) contentOf(p *engine.Process, group *snapshots.Group) (*snapshots.GroupContent, error) {
	named, name := group.Spec.Source.Content != nil, group.ContentName()
	if named {
		if name = *group.Spec.Source.Content; name == "" {
			return nil, fmt.Errorf("empty VolumeGroupSnapshotContentName for group snapshot %s", api.KeyOf(group))
		}
	}
	content := g.contents.own[name]
	if content == nil {
		return nil, nil
	}
	switch made := content.Spec.Source.Handles != nil; {
	// SNAP-047: a content that the user made has handles, one that was created for a group snapshot has those of the volumes.
	case named && !made:
		g.failGroup(p, group, true, "GroupSnapshotContentMismatch",
			"VolumeGroupSnapshotContent is dynamically provisioned while expecting a pre-provisioned one")
		return nil, fmt.Errorf("group snapshot %s expects a pre-provisioned VolumeGroupSnapshotContent %s but gets a dynamically provisioned one",
			api.KeyOf(group), name)
	case !named && made:
		g.failGroup(p, group, true, "GroupSnapshotContentMismatch",
			"VolumeGroupSnapshotContent "+name+" is pre-provisioned while expecting a dynamically provisioned one")
		return nil, fmt.Errorf("group snapshot %s expects a dynamically provisioned VolumeGroupSnapshotContent %s but gets a pre-provisioned one",
			api.KeyOf(group), name)
	}
	// SNAP-047: the content must refer to the group snapshot. Before it is bound, the uid may be missing from one that the user made.
	ref := content.Spec.Group
	if ref.Name != group.Name || ref.Namespace != group.Namespace || ref.UID != group.UID && !(named && ref.UID == "") {
		text := fmt.Sprintf("VolumeGroupSnapshotContent [%s] is bound to a different group snapshot", name)
		g.failGroup(p, group, true, "GroupSnapshotContentMisbound", text)
		return nil, errors.New(text)
	}
	return content, nil
}

// failGroup writes an error into the status of a group snapshot and emits an Event, unless the status has that error already (SNAP-046).
func (g *groupController) failGroup(p *engine.Process, group *snapshots.Group, notReady bool, reason, text string) error {
	if group.Status != nil && group.Status.Error != nil && group.Status.Error.Message != nil && *group.Status.Error.Message == text {
		return nil
	}
	edited := snapshots.Copy(group)
	if edited.Status == nil {
		edited.Status = &snapshots.GroupStatus{}
	}
	edited.Status.Error = errorAt(p, text)
	if notReady {
		edited.Status.Ready = new(false)
	}
	newer, err := g.groups.update(p, edited, api.Status)
	if err != nil {
		return err // upstream emits the Event about an object without a name, and it is lost
	}
	g.events.Event(p, newer, corev1.EventTypeWarning, reason, "%s", text)
	g.groups.keep(newer)
	return nil
}

// watch queues each change of an object, and lets the resync run while there is something to do.
func (c *controller) watch(inf engine.Informer[*plain.Object], queue *engine.Queue) {
	add := func(obj *plain.Object) {
		queue.Add(api.KeyOf(obj))
		c.resync.ArmBackground()
	}
	inf.Handle(engine.Handler[*plain.Object]{Add: add, Update: func(_, obj *plain.Object) { add(obj) }, Delete: add})
}
