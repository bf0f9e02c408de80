package snapshot

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/snapshots"
)

type (
	snapshotCache = cache[snapshots.Snapshot, *snapshots.Snapshot]
	contentCache  = cache[snapshots.Content, *snapshots.Content]
	classCache    = cache[snapshots.Class, *snapshots.Class]
)

// controller is the snapshot controller between two crashes.
type controller struct {
	snapshots *snapshotCache
	contents  *contentCache
	classes   *classCache
	claims    engine.Informer[*corev1.PersistentVolumeClaim]

	groups *groupController

	snapshotQueue, contentQueue *engine.Queue
	failed                      engine.Repeats
	resync                      *engine.Ticker
	events                      *engine.Recorder
}

// New adds the snapshot controller (SNAP-001 to SNAP-014, SNAP-040 to SNAP-051).
func New(e *engine.Engine, cfg Settings) (*engine.Actor, error) {
	cfg = cfg.complete()
	return e.NewActor(actors.Snapshot, func(a *engine.Actor) {
		c := &controller{
			snapshots: newCache[snapshots.Snapshot](a, snapshots.SnapshotKind),
			contents:  newCache[snapshots.Content](a, snapshots.ContentKind),
			classes:   newCache[snapshots.Class](a, snapshots.ClassKind),
			claims:    engine.NewInformer(a, e.Store().Claims),
			failed:    engine.Repeats{},
			events:    a.NewRecorder(actors.Snapshot),
		}
		a.Keeps(&c.failed)
		// SNAP-001: ten workers for each kind; a failed object is synced again after 1 s, 2 s and so on, up to 5 min.
		c.snapshotQueue = a.NewQueue(engine.QueueConfig{
			Name: "snapshots", Kind: snapshots.SnapshotKind, Workers: controllerWorkers,
			Limiter: engine.NewLimiter(cfg.RetryStart, cfg.RetryMax, 0, 0),
			Sync: func(p *engine.Process, key string) error {
				return c.failed.Of("snapshot "+key, c.syncSnapshotKey(p, key))
			},
		})
		c.contentQueue = a.NewQueue(engine.QueueConfig{
			Name: "contents", Kind: snapshots.ContentKind, Workers: controllerWorkers,
			Limiter: engine.NewLimiter(cfg.RetryStart, cfg.RetryMax, 0, 0),
			Sync: func(p *engine.Process, key string) error {
				return c.failed.Of("content "+key, c.syncContentKey(p, key))
			},
		})
		// SNAP-001: all objects are synced again every 15 min.
		c.resync = a.NewTicker(engine.TickerConfig{Name: "resync", Period: cfg.ResyncPeriod, First: a.UntilResync(cfg.ResyncPeriod), Fixed: true,
			Pass: func(*engine.Process) { c.resyncAll() }})
		// SNAP-001: the own copies begin with what the informers have.
		for _, s := range c.snapshots.list() {
			c.snapshots.keep(s)
		}
		for _, content := range c.contents.list() {
			c.contents.keep(content)
		}
		c.watch(c.snapshots.informer, c.snapshotQueue)
		c.watch(c.contents.informer, c.contentQueue)
		c.groups = newGroups(a, c, cfg)
	})
}

// resyncAll queues all objects. It repeats while one of them is not ready or is being deleted; a sync of the others would change nothing.
func (c *controller) resyncAll() {
	for _, s := range c.snapshots.list() {
		c.snapshotQueue.Add(api.KeyOf(s))
		if !s.IsReady() || s.DeletionTimestamp != nil {
			c.resync.ArmBackground()
		}
	}
	for _, content := range c.contents.list() {
		c.contentQueue.Add(content.Name)
		if !content.IsReady() || content.DeletionTimestamp != nil {
			c.resync.ArmBackground()
		}
	}
	c.groups.resyncAll()
}

func (c *controller) syncSnapshotKey(p *engine.Process, key string) error {
	s := c.snapshots.get(key)
	if s == nil {
		if old, ok := c.snapshots.own[key]; ok {
			delete(c.snapshots.own, key)
			// SNAP-013: when the snapshot is gone, its content is synced.
			if name := old.Bound(); name != "" {
				c.contentQueue.Add(name)
			}
		}
		return nil
	}
	newer, err := c.withClass(p, s)
	// SNAP-002: without its class, a snapshot can still be deleted.
	if err != nil && (newer.DeletionTimestamp == nil || !apierrors.IsNotFound(err)) {
		return err
	}
	if !c.snapshots.keep(newer) {
		return nil
	}
	return c.syncSnapshot(p, newer)
}

// withClass returns the snapshot with its class, which may be the default class of the driver (SNAP-002).
func (c *controller) withClass(p *engine.Process, s *snapshots.Snapshot) (*snapshots.Snapshot, error) {
	if name := s.Spec.Class; name != nil {
		if c.classes.get(*name) == nil {
			// SNAP-002: the class must exist.
			err := notFound("volumesnapshotclass", *name)
			c.fail(p, s, false, "GetSnapshotClassFailed", fmt.Sprintf("Failed to get snapshot class with error %v", err))
			return s, err
		}
		return s, nil
	}
	newer, err := c.withDefaultClass(p, s)
	if err != nil {
		c.fail(p, s, false, "SetDefaultSnapshotClassFailed", fmt.Sprintf("Failed to set default snapshot class with error %v", err))
		return s, err
	}
	return newer, nil
}

func (c *controller) withDefaultClass(p *engine.Process, s *snapshots.Snapshot) (*snapshots.Snapshot, error) {
	// SNAP-002: a snapshot with a content, or one of a group, needs no class.
	if s.Spec.Source.Content != nil || inGroup(s) {
		return s, nil
	}
	pv, err := c.volumeOf(p, s)
	if err != nil {
		return s, err
	}
	if pv.Spec.CSI == nil {
		return s, fmt.Errorf("snapshotting non-CSI volumes is not supported, snapshot:%s/%s", s.Namespace, s.Name)
	}
	// SNAP-002: the default class is the only one of the volume's driver with the annotation.
	var defaults []string
	for _, class := range c.classes.list() {
		if class.Annotations[snapshots.DefaultClass] == "true" && class.Driver == pv.Spec.CSI.Driver {
			defaults = append(defaults, class.Name)
		}
	}
	switch len(defaults) {
	case 0:
		return s, errors.New("cannot find default snapshot class")
	case 1:
	default:
		return s, fmt.Errorf("%d default snapshot classes were found", len(defaults))
	}
	newer, err := c.snapshots.patch(p, api.KeyOf(s), api.Main, func(s *snapshots.Snapshot) { s.Spec.Class = &defaults[0] })
	if err != nil {
		// SNAP-002: the sync goes on although the class could not be written.
		return snapshots.Copy(s), nil
	}
	c.snapshots.keep(newer)
	return newer, nil
}

// syncSnapshot decides what to do about a snapshot.
func (c *controller) syncSnapshot(p *engine.Process, s *snapshots.Snapshot) error {
	if err := c.releaseClaim(p, s, false); err != nil {
		c.events.Event(p, s, corev1.EventTypeWarning, "ErrorPVCFinalizer", "Error check and remove PVC Finalizer for VolumeSnapshot")
	}
	if s.DeletionTimestamp != nil {
		return c.syncDeleted(p, s)
	}
	// SNAP-003: a snapshot has one source.
	if (s.Spec.Source.Claim == nil) == (s.Spec.Source.Content == nil) {
		err := errors.New("Exactly one of PersistentVolumeClaimName and VolumeSnapshotContentName should be specified")
		c.fail(p, s, true, "SnapshotValidationError", err.Error())
		return err
	}
	if err := c.addFinalizers(p, s); err != nil {
		c.events.Event(p, s, corev1.EventTypeWarning, "SnapshotFinalizerError", fmt.Sprintf("Failed to check and update snapshot: %s", err))
		return err
	}
	if !s.IsReady() || s.Bound() == "" {
		return c.syncUnready(p, s)
	}
	return c.syncReady(p, s)
}

// addFinalizers adds the finalizers of a snapshot that is not being deleted (SNAP-004).
func (c *controller) addFinalizers(p *engine.Process, s *snapshots.Snapshot) error {
	content, err := c.contentOf(p, s)
	if err != nil {
		return err
	}
	// SNAP-004: every snapshot has the finalizer of a source; one that names a content with the policy Delete has the other one.
	var missing []string
	if !has(s, snapshots.SourceFinalizer) {
		missing = append(missing, snapshots.SourceFinalizer)
	}
	if content != nil && s.Bound() != "" && content.Spec.DeletionPolicy == snapshots.Delete && !has(s, snapshots.BoundFinalizer) {
		missing = append(missing, snapshots.BoundFinalizer)
	}
	if len(missing) == 0 {
		return nil
	}
	var newer *snapshots.Snapshot
	if len(s.Finalizers) == 0 {
		edited := *s
		edited.Finalizers = missing
		newer, err = c.snapshots.update(p, &edited, api.Main)
	} else {
		newer, err = c.snapshots.patch(p, api.KeyOf(s), api.Main, func(s *snapshots.Snapshot) {
			s.Finalizers = append(s.Finalizers, missing...)
		})
	}
	if err != nil {
		return updateError(api.KeyOf(s), err)
	}
	c.snapshots.keep(newer)
	return nil
}

// contentOf returns the content of a snapshot: the one that it names, or the one with the name for it. nil is none. A content of another
// snapshot, or of the other origin, is an error.
func (c *controller) contentOf(p *engine.Process, s *snapshots.Snapshot) (*snapshots.Content, error) {
	named := s.Spec.Source.Content != nil
	name := s.ContentName()
	if named {
		if name = *s.Spec.Source.Content; name == "" {
			return nil, fmt.Errorf("empty VolumeSnapshotContentName for snapshot %s", api.KeyOf(s))
		}
	}
	content := c.contents.own[name]
	if content == nil {
		return nil, nil
	}
	switch {
	// SNAP-010: a content that the user made has the handle of a snapshot, one that was created for a snapshot has that of the volume.
	case named && content.Spec.Source.Snapshot == nil:
		c.fail(p, s, true, "SnapshotContentMismatch", "VolumeSnapshotContent is dynamically provisioned while expecting a pre-provisioned one")
		return nil, fmt.Errorf("snapshot %s expects a pre-provisioned VolumeSnapshotContent %s but gets a dynamically provisioned one",
			api.KeyOf(s), name)
	case !named && content.Spec.Source.Volume == nil:
		c.fail(p, s, true, "SnapshotContentMismatch",
			"VolumeSnapshotContent "+name+" is pre-provisioned while expecting a dynamically provisioned one")
		return nil, fmt.Errorf("snapshot %s expects a dynamically provisioned VolumeSnapshotContent %s but gets a pre-provisioned one",
			api.KeyOf(s), name)
	}
	// SNAP-010: the content must refer to the snapshot. Before it is bound, the uid may be missing from one that the user made.
	ref := content.Spec.Snapshot
	if ref.Name != s.Name || ref.Namespace != s.Namespace || ref.UID != s.UID && !(named && ref.UID == "") {
		text := fmt.Sprintf("VolumeSnapshotContent [%s] is bound to a different snapshot", name)
		c.fail(p, s, true, "SnapshotContentMisbound", text)
		return nil, errors.New(text)
	}
	return content, nil
}

// syncReady verifies a snapshot that was bound before (SNAP-011).
func (c *controller) syncReady(p *engine.Process, s *snapshots.Snapshot) error {
	content := c.contents.own[s.Bound()]
	switch {
	case content == nil:
		// SNAP-011: a ready snapshot whose content is missing is no longer ready.
		return c.fail(p, s, true, "SnapshotContentMissing", "VolumeSnapshotContent is missing")
	case !content.IsOf(s):
		// SNAP-011: the same holds if the content refers to another snapshot.
		return c.fail(p, s, true, "SnapshotMisbound", "VolumeSnapshotContent is not bound to the VolumeSnapshot correctly")
	}
	// SNAP-051: a snapshot of the user that belongs to a group gets its owner.
	return c.groups.adopt(p, s)
}

// syncUnready binds a snapshot to its content, which it creates for a snapshot of a claim.
func (c *controller) syncUnready(p *engine.Process, s *snapshots.Snapshot) error {
	key := api.KeyOf(s)
	if s.Spec.Source.Content != nil {
		return c.bind(p, s)
	}
	if inGroup(s) {
		// SNAP-014: a member of a group waits for the content that the controller of groups makes.
		if s.Bound() == "" {
			return fmt.Errorf("detected group snapshot member %s with no content, retrying", key)
		}
		content := c.contents.own[s.Bound()]
		if content == nil {
			return fmt.Errorf("group snapshot member %s requests an non-existing content %s", key, s.Bound())
		}
		return c.writeStatus(p, s, content, false)
	}
	content, err := c.contentOf(p, s)
	if err != nil {
		return err
	}
	if content != nil {
		if content.Spec.Source.Snapshot != nil {
			c.fail(p, s, true, "SnapshotHandleSet", fmt.Sprintf("Snapshot handle should not be set in content %s for dynamic provisioning", key))
			return fmt.Errorf("snapshotHandle should not be set in the content for dynamic provisioning for snapshot %s", key)
		}
		// SNAP-009: the status of a content that exists is copied to the newest version of the snapshot.
		newest, err := c.snapshots.read(p, key)
		if err != nil {
			return fmt.Errorf("error get snapshot %s from api server: %w", key, err)
		}
		return c.writeStatus(p, newest, content, true)
	}
	if content, err = c.createContent(p, s); err != nil {
		c.fail(p, s, true, "SnapshotContentCreationFailed", fmt.Sprintf("Failed to create snapshot content with error %v", err))
		return err
	}
	return c.writeStatus(p, s, content, false)
}

// writeStatus is updateStatus with the error in the status and an Event. keep stores the result as the own copy.
func (c *controller) writeStatus(p *engine.Process, s *snapshots.Snapshot, content *snapshots.Content, keep bool) error {
	newer, err := c.updateStatus(p, s, content)
	if err != nil {
		c.fail(p, s, keep, "SnapshotStatusUpdateFailed", fmt.Sprintf("Snapshot status update failed, %v", err))
		return err
	}
	if keep {
		c.snapshots.keep(newer)
	}
	return nil
}

// bind binds a snapshot to the content that it names (SNAP-010).
func (c *controller) bind(p *engine.Process, s *snapshots.Snapshot) error {
	key, name := api.KeyOf(s), *s.Spec.Source.Content
	content, err := c.contentOf(p, s)
	if err != nil {
		return err
	}
	if content == nil {
		// SNAP-010: a content that does not exist is retried.
		c.fail(p, s, true, "SnapshotContentMissing", "VolumeSnapshotContent is missing")
		return fmt.Errorf("snapshot %s requests an non-existing content %s", key, name)
	}
	if content.Spec.Snapshot.UID == "" || content.Spec.Class == nil {
		// SNAP-010: the content gets the uid and the class of the snapshot.
		newer, err := c.contents.patch(p, name, api.Main, func(content *snapshots.Content) {
			content.Spec.Snapshot.UID = s.UID
			if s.Spec.Class != nil {
				content.Spec.Class = s.Spec.Class
			}
		})
		if err != nil {
			c.fail(p, s, true, "SnapshotBindFailed", fmt.Sprintf("Snapshot failed to bind VolumeSnapshotContent, %v", err))
			return fmt.Errorf("snapshot %s is bound, but VolumeSnapshotContent %s is not bound to the VolumeSnapshot correctly, %w", key, name, err)
		}
		c.contents.keep(newer)
		content = newer
	}
	return c.writeStatus(p, s, content, false)
}

// fail writes an error into the status of a snapshot and emits an Event, unless the status has that error already (SNAP-009).
func (c *controller) fail(p *engine.Process, s *snapshots.Snapshot, notReady bool, reason, text string) error {
	if s.Status != nil && s.Status.Error != nil && s.Status.Error.Message != nil && *s.Status.Error.Message == text {
		return nil
	}
	edited := snapshots.Copy(s)
	if edited.Status == nil {
		edited.Status = &snapshots.SnapshotStatus{}
	}
	edited.Status.Error = errorAt(p, text)
	if notReady {
		edited.Status.Ready = new(false)
	}
	newer, err := c.snapshots.update(p, edited, api.Status)
	if err != nil {
		return err // upstream emits the Event about an object without a name, and it is lost
	}
	c.events.Event(p, newer, corev1.EventTypeWarning, reason, "%s", text)
	c.snapshots.keep(newer)
	return nil
}

func errorAt(p *engine.Process, text string) *snapshots.Error {
	now := metav1.NewTime(p.Now())
	return &snapshots.Error{Time: &now, Message: &text}
}

// updateError is the error of a failed write.
func updateError(name string, err error) error {
	return fmt.Errorf("snapshot controller failed to update %s on API server: %w", name, err)
}

func has(obj api.Object, finalizer string) bool {
	for _, name := range obj.GetFinalizers() {
		if name == finalizer {
			return true
		}
	}
	return false
}

// inGroup reports whether the snapshot is a member of a group snapshot.
func inGroup(s *snapshots.Snapshot) bool { return ownerGroup(s) != "" }

// ownerGroup returns the name of the group snapshot that owns the snapshot; "" for none.
func ownerGroup(s *snapshots.Snapshot) string {
	for _, owner := range s.OwnerReferences {
		if owner.Kind == "VolumeGroupSnapshot" && owner.APIVersion == objkinds.GroupSnapshotGroup+"/v1" {
			return owner.Name
		}
	}
	return ""
}
