package snapshot

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/snapshots"
)

// groupSnapshotter is the part of the csi-snapshotter that works on group snapshots.
type groupSnapshotter struct {
	*snapshotter
	contents *groupContentCache
	classes  *classCache
	queue    *engine.Queue
}

// newGroupSnapshotter adds the part for group snapshots to a csi-snapshotter (SNAP-060).
func newGroupSnapshotter(a *engine.Actor, c *snapshotter, cfg Settings) *groupSnapshotter {
	g := &groupSnapshotter{
		snapshotter: c,
		contents:    newCache[snapshots.GroupContent](a, snapshots.GroupContentKind),
		classes:     newCache[snapshots.Class](a, snapshots.GroupClassKind),
	}
	// SNAP-060: the queue is that of SNAP-020.
	g.queue = a.NewQueue(engine.QueueConfig{
		Name: "group contents", Kind: snapshots.GroupContentKind, Workers: controllerWorkers,
		Limiter: engine.NewLimiter(cfg.RetryStart, cfg.RetryMax, 0, 0),
		Sync:    func(p *engine.Process, key string) error { return c.failed.Of("group "+key, g.syncKey(p, key)) },
	})
	for _, content := range g.contents.list() {
		if g.isMine(content) {
			g.contents.keep(content)
		}
	}
	add := func(obj *plain.Object) {
		g.queue.Add(obj.Name)
		c.resync.ArmBackground()
	}
	g.contents.informer.Handle(engine.Handler[*plain.Object]{Add: add, Delete: add, Update: func(old, obj *plain.Object) {
		c.resync.ArmBackground()
		if isRelevantGroup(snapshots.Of[snapshots.GroupContent](old), g.contents.of(obj)) {
			g.queue.Add(obj.Name)
		}
	}})
	return g
}

// isRelevantGroup reports whether a change of a content leads to a sync (SNAP-060).
func isRelevantGroup(old, content *snapshots.GroupContent) bool {
	if !old.IsReady() && content.IsReady() {
		return true
	}
	// SNAP-060: changes of the status, of finalizers and of the annotation of creation are the sidecar's own.
	neutral := func(c *snapshots.GroupContent) *snapshots.GroupContent {
		n := *c
		n.ResourceVersion, n.Status, n.ManagedFields, n.Finalizers = "", nil, nil, nil
		n.Annotations = maps.Clone(c.Annotations)
		delete(n.Annotations, snapshots.GroupBeingCreated)
		return &n
	}
	return !same(neutral(old), neutral(content))
}

func (g *groupSnapshotter) resyncAll() {
	for _, content := range g.contents.list() {
		g.queue.Add(content.Name)
		if !content.IsReady() || content.DeletionTimestamp != nil {
			g.resync.ArmBackground()
		}
	}
}

// isMine reports whether the content is one of this driver (SNAP-060).
func (g *groupSnapshotter) isMine(content *snapshots.GroupContent) bool {
	source := content.Spec.Source
	// SNAP-060: driver and class must both be this driver's. A class that does not exist is ignored.
	if source.Handles == nil && len(source.Volumes) == 0 || content.Spec.Driver != g.name {
		return false
	}
	if content.Spec.Class != nil {
		if class := g.classes.get(*content.Spec.Class); class != nil {
			return class.Driver == g.name
		}
	}
	return true
}

func (g *groupSnapshotter) syncKey(p *engine.Process, name string) error {
	content := g.contents.get(name)
	if content == nil {
		delete(g.contents.own, name)
		return nil
	}
	if !g.isMine(content) || !g.contents.keep(content) {
		return nil
	}
	again, err := g.sync(p, content)
	if err == nil && again {
		return errNotReady
	}
	return err
}

// sync returns whether the content has to be synced again.
func (g *groupSnapshotter) sync(p *engine.Process, content *snapshots.GroupContent) (again bool, err error) {
	switch {
	case shouldDeleteGroup(content):
		return false, g.delete(p, content)
	case len(content.Spec.Source.Volumes) != 0 && content.Status == nil:
		return g.result(p, content, "GroupSnapshotCreationFailed", "Failed to create group snapshot: %v", g.create)
	case content.IsReady():
		_, err := g.endCreation(p, content)
		return false, err
	}
	check := g.create // SNAP-062: a group snapshot that is not ready is requested again.
	if content.Spec.Source.Handles != nil {
		check = g.check
	}
	return g.result(p, content, "GroupSnapshotContentCheckandUpdateFailed", "Failed to check and update group snapshot content: %v", check)
}

// result runs an operation. Its error goes into the status of the content and an Event (SNAP-063).
func (g *groupSnapshotter) result(p *engine.Process, content *snapshots.GroupContent, reason, text string,
	operation func(*engine.Process, *snapshots.GroupContent) (*snapshots.GroupContent, error)) (again bool, err error) {
	newer, err := operation(p, content)
	if err != nil {
		g.fail(p, newer, reason, fmt.Sprintf(text, err))
		return true, err
	}
	g.contents.keep(newer)
	return !newer.IsReady(), nil
}

// fail writes an error into the status of a content and emits an Event, unless the status has that error already (SNAP-063).
func (g *groupSnapshotter) fail(p *engine.Process, content *snapshots.GroupContent, reason, text string) {
	if content.Status != nil && content.Status.Error != nil && content.Status.Error.Message != nil && *content.Status.Error.Message == text {
		return
	}
	newer, err := g.contents.patch(p, content.Name, api.Status, func(newest *snapshots.GroupContent) {
		if content.Status == nil || newest.Status == nil {
			newest.Status = &snapshots.GroupContentStatus{}
		}
		newest.Status.Ready, newest.Status.Error = new(false), errorAt(p, text)
	})
	if err != nil {
		g.events.Event(p, content, corev1.EventTypeWarning, reason, "%s", text)
		return
	}
	g.events.Event(p, newer, corev1.EventTypeWarning, reason, "%s", text)
	g.contents.keep(newer)
}

// shouldDeleteGroup reports whether a content that is being deleted may go (SNAP-065).
func shouldDeleteGroup(content *snapshots.GroupContent) bool {
	if content.DeletionTimestamp == nil {
		return false
	}
	// SNAP-065: a content of the user that no group snapshot is bound to goes at once.
	if content.Spec.Source.Handles != nil && content.Spec.Group.UID == "" {
		return true
	}
	// SNAP-065: as long as it is not known whether a group snapshot is being taken, the content stays.
	if _, creating := content.Annotations[snapshots.GroupBeingCreated]; creating {
		return false
	}
	// SNAP-065: else it goes when its group snapshot is being deleted.
	_, marked := content.Annotations[snapshots.GroupBeingDeleted]
	return marked
}

// delete deletes the group snapshot of a content if its policy says so, and then the finalizer (SNAP-065).
func (g *groupSnapshotter) delete(p *engine.Process, content *snapshots.GroupContent) error {
	if content.Spec.DeletionPolicy == snapshots.Delete && content.Status != nil && content.Status.Handle != nil {
		newer, err := g.deleteGroup(p, content)
		if err != nil {
			return err
		}
		if !g.contents.keep(newer) {
			return nil
		}
		// SNAP-065: the status has no handle any more, so the next step is the finalizer.
		if _, err := g.sync(p, newer); err != nil {
			return err
		}
		return nil
	}
	if !has(content, snapshots.GroupContentFinalizer) {
		return nil
	}
	rest, _ := objects.WithoutFinalizer(content.Finalizers, snapshots.GroupContentFinalizer)
	newer, err := g.contents.patch(p, content.Name, api.Main, func(content *snapshots.GroupContent) { content.Finalizers = rest })
	if err != nil {
		return updateError(content.Name, err)
	}
	g.contents.keep(newer)
	return nil
}
