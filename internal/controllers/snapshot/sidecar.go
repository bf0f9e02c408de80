package snapshot

import (
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/sidecar"
	"github.com/volsim/volsim/internal/core/snapshots"
	"github.com/volsim/volsim/storage"
)

// snapshotter is the csi-snapshotter of one CSI driver between two crashes.
type snapshotter struct {
	name     string
	driver   sidecar.Driver
	contents *contentCache
	classes  *classCache
	queue    *engine.Queue
	groups   *groupSnapshotter
	failed   engine.Repeats
	resync   *engine.Ticker
	events   *engine.Recorder
}

// errNotReady is the reason for another sync of a content whose snapshot is not ready.
var errNotReady = errors.New("the snapshot is not ready to use")

// NewSnapshotter adds the csi-snapshotter of a CSI driver (SNAP-020 to SNAP-025, SNAP-060 to SNAP-065).
func NewSnapshotter(e *engine.Engine, backend storage.Backend, cfg Settings) (*engine.Actor, error) {
	cfg = cfg.complete()
	name := backend.Name()
	return e.NewActor(actors.Snapshotter(name), func(a *engine.Actor) {
		c := &snapshotter{
			name: name, driver: sidecar.Driver{Backend: backend, Timeout: cfg.Timeout},
			contents: newCache[snapshots.Content](a, snapshots.ContentKind),
			classes:  newCache[snapshots.Class](a, snapshots.ClassKind),
			failed:   engine.Repeats{},
			events:   a.NewRecorder("csi-snapshotter " + name),
		}
		a.Keeps(&c.failed)
		// SNAP-020: ten workers; a content that fails or is not ready is synced again after 1 s, 2 s and so on, up to 5 min.
		c.queue = a.NewQueue(engine.QueueConfig{
			Name: "contents", Kind: snapshots.ContentKind, Workers: controllerWorkers,
			Limiter: engine.NewLimiter(cfg.RetryStart, cfg.RetryMax, 0, 0),
			Sync:    func(p *engine.Process, key string) error { return c.failed.Of(key, c.syncKey(p, key)) },
		})
		c.resync = a.NewTicker(engine.TickerConfig{Name: "resync", Period: cfg.ResyncPeriod, First: a.UntilResync(cfg.ResyncPeriod), Fixed: true,
			Pass: func(*engine.Process) { c.resyncAll() }})
		for _, content := range c.contents.list() {
			if c.isMine(content) {
				c.contents.keep(content)
			}
		}
		add := func(obj *plain.Object) {
			c.queue.Add(obj.Name)
			c.resync.ArmBackground()
		}
		c.contents.informer.Handle(engine.Handler[*plain.Object]{Add: add, Delete: add, Update: func(old, obj *plain.Object) {
			c.resync.ArmBackground()
			if isRelevant(snapshots.Of[snapshots.Content](old), c.contents.of(obj)) {
				c.queue.Add(obj.Name)
			}
		}})
		c.groups = newGroupSnapshotter(a, c, cfg)
	})
}

// isRelevant reports whether a change of a content leads to a sync (SNAP-020).
func isRelevant(old, content *snapshots.Content) bool {
	// SNAP-020: a content that became ready is synced; its deletion may have waited for that.
	if !old.IsReady() && content.IsReady() {
		return true
	}
	// SNAP-020: changes of the status, of finalizers and of the annotation of creation are the sidecar's own.
	neutral := func(c *snapshots.Content) *snapshots.Content {
		n := *c
		n.ResourceVersion, n.Status, n.ManagedFields, n.Finalizers = "", nil, nil, nil
		n.Annotations = maps.Clone(c.Annotations)
		delete(n.Annotations, snapshots.BeingCreated)
		return &n
	}
	return !same(neutral(old), neutral(content))
}

func (c *snapshotter) resyncAll() {
	for _, content := range c.contents.list() {
		c.queue.Add(content.Name)
		if !content.IsReady() || content.DeletionTimestamp != nil {
			c.resync.ArmBackground()
		}
	}
	c.groups.resyncAll()
}

// isMine reports whether the content is one of this driver (SNAP-020).
func (c *snapshotter) isMine(content *snapshots.Content) bool {
	// SNAP-020: driver and class must both be this driver's. A class that does not exist is ignored.
	if content.Spec.Source.Volume == nil && content.Spec.Source.Snapshot == nil || content.Spec.Driver != c.name {
		return false
	}
	if content.Spec.Class != nil {
		if class := c.classes.get(*content.Spec.Class); class != nil {
			return class.Driver == c.name
		}
	}
	return true
}

func (c *snapshotter) syncKey(p *engine.Process, name string) error {
	content := c.contents.get(name)
	if content == nil {
		delete(c.contents.own, name)
		return nil
	}
	if !c.isMine(content) || !c.contents.keep(content) {
		return nil
	}
	again, err := c.sync(p, content)
	if err == nil && again {
		return errNotReady
	}
	return err
}

// sync returns whether the content has to be synced again.
func (c *snapshotter) sync(p *engine.Process, content *snapshots.Content) (again bool, err error) {
	_, member := content.Annotations[snapshots.GroupHandle]
	switch {
	case shouldDelete(content):
		return false, c.delete(p, content)
	case content.Spec.Source.Volume != nil && content.Status == nil && !member:
		return c.result(p, content, "SnapshotCreationFailed", "Failed to create snapshot: %v", c.create)
	case content.IsReady():
		_, err := c.endCreation(p, content)
		return false, err
	}
	return c.result(p, content, "SnapshotContentCheckandUpdateFailed", "Failed to check and update snapshot content: %v", c.check)
}

// result runs an operation. Its error goes into the status of the content and an Event (SNAP-023).
func (c *snapshotter) result(p *engine.Process, content *snapshots.Content, reason, text string,
	operation func(*engine.Process, *snapshots.Content) (*snapshots.Content, error)) (again bool, err error) {
	newer, err := operation(p, content)
	if err != nil {
		c.fail(p, newer, reason, fmt.Sprintf(text, err))
		return true, err
	}
	c.contents.keep(newer)
	// SNAP-022: a snapshot that is not ready is asked for again.
	return !newer.IsReady(), nil
}

// fail writes an error into the status of a content and emits an Event, unless the status has that error already (SNAP-023).
func (c *snapshotter) fail(p *engine.Process, content *snapshots.Content, reason, text string) {
	if content.Status != nil && content.Status.Error != nil && content.Status.Error.Message != nil && *content.Status.Error.Message == text {
		return
	}
	newer, err := c.contents.patch(p, content.Name, api.Status, func(newest *snapshots.Content) {
		if content.Status == nil || newest.Status == nil {
			newest.Status = &snapshots.ContentStatus{}
		}
		newest.Status.Ready, newest.Status.Error = new(false), errorAt(p, text)
	})
	if err != nil {
		c.events.Event(p, content, corev1.EventTypeWarning, reason, "%s", text)
		return
	}
	c.events.Event(p, newer, corev1.EventTypeWarning, reason, "%s", text)
	c.contents.keep(newer)
}

// check asks for the state of a snapshot that is not ready (SNAP-022, SNAP-024).
func (c *snapshotter) check(p *engine.Process, content *snapshots.Content) (*snapshots.Content, error) {
	member := content.Status != nil && content.Status.GroupHandle != nil
	if content.Spec.Source.Snapshot == nil && !(member && content.Status.Handle != nil) {
		if _, annotated := content.Annotations[snapshots.GroupHandle]; annotated {
			return content, nil
		}
		// SNAP-022: a snapshot that was taken for the content is requested again.
		return c.create(p, content)
	}
	var secrets map[string]string
	if name := content.Spec.Class; name != nil {
		class := c.classes.get(*name)
		if class == nil {
			return content, fmt.Errorf("failed to get snapshot class %s for snapshot content %s: %w", *name, content.Name,
				notFound("volumesnapshotclass", *name))
		}
		secret, err := secretOf("SnapshotterList", "snapshotter-list-secret", class.Parameters, content.Name, nil)
		if err != nil {
			return content, fmt.Errorf("failed to get secret reference for snapshot content %s: %w", content.Name, err)
		}
		if secrets, err = p.API().Secret(p, secret); err != nil {
			return content, fmt.Errorf("failed to get credentials for snapshot content %s: error getting secret %s in namespace %s: %w", content.Name,
				secret.Name, secret.Namespace, err)
		}
	}
	if member {
		// SNAP-024: a member of a group has no class, so its secret is that of the annotations.
		var err error
		if secrets, err = annotatedSecrets(p, content); err != nil {
			return content, fmt.Errorf("failed to get credentials from annotation for snapshot content %s: %w", content.Name, err)
		}
	}
	handle := handleOf(content)
	// SNAP-024: without LIST_SNAPSHOTS, the snapshot is assumed to exist and to be ready.
	found := storage.Snapshot{ID: handle, Ready: true}
	if backends.Can(c.driver.Backend, storage.GetSnapshot) {
		err := c.driver.Call(p, storage.GetSnapshot, handle, "", func() (err error) {
			found, err = c.driver.Backend.(storage.SnapshotLister).GetSnapshot(storage.SnapshotRef{ID: handle, Secrets: secrets})
			return err
		})
		if storage.CodeOf(err) == storage.NotFound {
			err = fmt.Errorf("can not find snapshot for snapshotID %s", handle)
		}
		if err != nil {
			return content, fmt.Errorf("failed to list snapshot for content %s: %q", content.Name, err)
		}
	}
	found.ID = handle
	newer, err := c.updateStatus(p, content, found)
	if err != nil {
		return content, err
	}
	return newer, nil
}

// handleOf returns the handle of the snapshot of a content, "" if it is not known.
func handleOf(content *snapshots.Content) string {
	if content.Status != nil && content.Status.Handle != nil {
		return *content.Status.Handle
	}
	return objects.ValueOf(content.Spec.Source.Snapshot)
}
