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
	failed   engine.Repeats
	resync   *engine.Ticker
	events   *engine.Recorder
}

// errNotReady is the reason for another sync of a content whose snapshot is not ready.
var errNotReady = errors.New("the snapshot is not ready to use")

// NewSnapshotter adds the csi-snapshotter of a CSI driver (SNAP-020 to SNAP-025).
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
		c.resync = a.NewTicker(engine.TickerConfig{Name: "resync", Period: cfg.ResyncPeriod, First: cfg.ResyncPeriod, Fixed: true,
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
		taken, err = backend.CreateSnapshot(req)
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
