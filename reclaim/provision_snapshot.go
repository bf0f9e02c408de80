package reclaim

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/snapshots"
	"github.com/volsim/volsim/internal/core/store"
)

// cloneFinalizer keeps a claim while its volume is copied.
const cloneFinalizer = "provisioner.storage.kubernetes.io/cloning-protection"

// sweepPeriod is the time between two sweeps of snapshots.
const sweepPeriod = 5 * time.Minute

// readSnapshot reads an object of external-snapshotter from the API server.
func readSnapshot[T any](p *engine.Process, kind api.Kind, key string) (*T, error) {
	obj, err := p.API().Get(p, api.Ref{Kind: kind, Key: key})
	if err != nil {
		return nil, err
	}
	return snapshots.Of[T](obj.(*plain.Object)), nil
}

// checkSnapshot returns the handle of a snapshot, and an error while no volume can be created from it (SNAP-030).
func (c *provisioner) checkSnapshot(p *engine.Process, claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass,
	source *corev1.TypedObjectReference) (handle string, err error) {
	s, err := readSnapshot[snapshots.Snapshot](p, snapshots.SnapshotKind, api.Key(objects.ValueOf(source.Namespace), source.Name))
	switch {
	case err != nil:
		return "", fmt.Errorf("error getting snapshot %s from api server: %w", source.Name, err)
	// SNAP-030: a snapshot that is being deleted is used only if provisioning from it has begun.
	case s.DeletionTimestamp != nil && !slices.Contains(s.Finalizers, snapshots.RestoreFinalizer):
		return "", fmt.Errorf("snapshot %s is being deleted", source.Name)
	case s.Status == nil || s.Status.Content == nil:
		return "", fmt.Errorf("snapshot %s not bound", source.Name)
	}
	content, err := readSnapshot[snapshots.Content](p, snapshots.ContentKind, s.Bound())
	switch {
	case err != nil:
		return "", fmt.Errorf("error getting snapshotcontent %s for snapshot %s", s.Bound(), source.Name)
	// SNAP-030: the content must be that of the snapshot, of the driver of the class, and ready.
	case !content.IsOf(s):
		return "", fmt.Errorf("snapshotcontent %s for snapshot %s is bound to a different snapshot", s.Bound(), source.Name)
	case content.Spec.Driver != class.Provisioner:
		return "", fmt.Errorf("snapshotcontent %s for snapshot %s is not handled by CSI driver of StorageClass %s", s.Bound(), source.Name, class.Name)
	case !s.IsReady():
		return "", fmt.Errorf("snapshot %s is not Ready", source.Name)
	case content.Status == nil || content.Status.Handle == nil:
		return "", fmt.Errorf("snapshot handle %s is not available", source.Name)
	}
	requested := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	// SNAP-030: the volume must not be smaller than the snapshot.
	if size := s.Status.RestoreSize; size != nil && requested.Value() < size.Value() {
		return "", fmt.Errorf("requested volume size %d is less than the size %d for the source snapshot %s", requested.Value(), size.Value(), s.Name)
	}
	return *content.Status.Handle, checkMode(claim, content)
}

// checkMode returns an error if the claim changes the mode of the volume without permission (SNAP-030).
func checkMode(claim *corev1.PersistentVolumeClaim, content *snapshots.Content) error {
	mode := content.Spec.Mode
	if mode == nil || claim.Spec.VolumeMode == nil || *mode == *claim.Spec.VolumeMode {
		return nil
	}
	// SNAP-030: an annotation of the content permits it.
	text, annotated := content.Annotations[snapshots.ModeChange]
	allowed, err := strconv.ParseBool(text)
	why := ""
	switch {
	case !annotated:
		why = fmt.Sprintf("%s annotation is not present on snapshotcontent %s", snapshots.ModeChange, content.Name)
	case err != nil:
		why = fmt.Sprintf("failed to convert %s annotation value to boolean with error: %v", snapshots.ModeChange, err)
	case !allowed:
		why = fmt.Sprintf("%s is set to false on snapshotcontent %s", snapshots.ModeChange, content.Name)
	default:
		return nil
	}
	return fmt.Errorf("requested volume %s modifies the mode of the source volume but does not have permission to do so. %s", api.KeyOf(claim), why)
}

// protectSource puts a finalizer on the claim or snapshot that a volume is created from (SNAP-031, SNAP-032).
func (c *provisioner) protectSource(p *engine.Process, source *corev1.TypedObjectReference) error {
	key := api.Key(objects.ValueOf(source.Namespace), source.Name)
	if source.Kind == kindClaim {
		claim, ok := c.claims.Get(key)
		if !ok {
			return fmt.Errorf("persistentvolumeclaim %q not found", source.Name)
		}
		finalizers, changed := objects.WithFinalizer(claim.Finalizers, cloneFinalizer)
		if !changed {
			return nil
		}
		// SNAP-032: the source of a copy is not deleted before the copy is bound.
		edited := *claim
		edited.Finalizers = finalizers
		_, err := p.API().Claims.Update(p, &edited)
		return err
	}
	s, err := readSnapshot[snapshots.Snapshot](p, snapshots.SnapshotKind, key)
	if err != nil {
		return err
	}
	finalizers, changed := objects.WithFinalizer(s.Finalizers, snapshots.RestoreFinalizer)
	if !changed {
		return nil
	}
	// SNAP-031: a snapshot has a finalizer of the provisioner while a volume is created from it.
	s.Finalizers = finalizers
	_, err = p.API().Update(p, snapshots.Plain(s), api.Main, store.UpdateOptions{})
	return err
}

// releaseSnapshot removes the finalizer after the volume was created. A failure is left to the sweep (SNAP-031).
func (c *provisioner) releaseSnapshot(p *engine.Process, key string) {
	s, err := readSnapshot[snapshots.Snapshot](p, snapshots.SnapshotKind, key)
	if err != nil {
		return
	}
	c.removeRestoreFinalizer(p, s)
}

func (c *provisioner) removeRestoreFinalizer(p *engine.Process, s *snapshots.Snapshot) {
	finalizers, changed := objects.WithoutFinalizer(s.Finalizers, snapshots.RestoreFinalizer)
	if !changed {
		return
	}
	s.Finalizers = finalizers
	// SNAP-031: provisioning does not fail because the finalizer stays.
	_, _ = p.API().Update(p, snapshots.Plain(s), api.Main, store.UpdateOptions{})
}

// startSourceProtection starts the two controllers of the sidecar that remove the finalizers of sources.
func (c *provisioner) startSourceProtection(a *engine.Actor) {
	queue := a.NewQueue(engine.QueueConfig{Name: "clone-sources", Kind: api.PersistentVolumeClaim, Sync: c.releaseClone})
	// SNAP-032: only a claim that is being deleted loses the finalizer.
	add := func(claim *corev1.PersistentVolumeClaim) {
		if claim.DeletionTimestamp != nil && slices.Contains(claim.Finalizers, cloneFinalizer) {
			queue.Add(api.KeyOf(claim))
		}
	}
	c.claims.Handle(engine.Handler[*corev1.PersistentVolumeClaim]{
		Add: add, Update: func(_, claim *corev1.PersistentVolumeClaim) { add(claim) },
	})
	// SNAP-031: finalizers without a pending claim are swept at intervals.
	sweep := a.NewTicker(engine.TickerConfig{Name: "snapshot-sweep", Period: sweepPeriod, First: sweepPeriod,
		Pass: func(p *engine.Process) { c.sweepSnapshots(p) }})
	ended := false
	a.OnStop(func() { ended = true })
	a.Engine().Store().OnOther(func(table store.Table[*plain.Object]) {
		if table.Kind() != snapshots.SnapshotKind || ended {
			return
		}
		arm := func(obj *plain.Object) {
			if slices.Contains(obj.Finalizers, snapshots.RestoreFinalizer) {
				sweep.ArmBackground()
			}
		}
		engine.NewInformer(a, table).Handle(engine.Handler[*plain.Object]{
			Add: arm, Update: func(_, obj *plain.Object) { arm(obj) },
		})
	})
}

// releaseClone removes the finalizer from a claim that is being deleted if no copy of it is pending (SNAP-032).
func (c *provisioner) releaseClone(p *engine.Process, key string) error {
	claim, ok := c.claims.Get(key)
	if !ok {
		return nil
	}
	finalizers, changed := objects.WithoutFinalizer(claim.Finalizers, cloneFinalizer)
	if !changed {
		return nil
	}
	for _, other := range c.claims.List() {
		source := other.Spec.DataSource
		if other.Namespace == claim.Namespace && source != nil && source.Kind == kindClaim && source.Name == claim.Name &&
			other.Status.Phase == corev1.ClaimPending {
			// SNAP-032: a pending copy keeps the source, whatever its class. SNAP-035: one in another namespace does not.
			return &engine.Retry{Err: fmt.Errorf("PVC '%s' is in 'Pending' state, cloning in progress", other.Name), Background: true}
		}
	}
	edited := *claim
	edited.Finalizers = finalizers
	if _, err := p.API().Claims.Update(p, &edited); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// sweepSnapshots removes the finalizer from snapshots that are no pending claim's source (SNAP-031).
func (c *provisioner) sweepSnapshots(p *engine.Process) {
	pending := map[string]bool{}
	for _, claim := range c.claims.List() {
		if source := objects.DataSourceOf(claim); source != nil && source.Kind == kindSnapshot && claim.Status.Phase != corev1.ClaimBound &&
			claim.Status.Phase != corev1.ClaimLost {
			if group := objects.ValueOf(source.APIGroup); group == "" || group == objkinds.SnapshotGroup {
				pending[api.Key(objects.ValueOf(source.Namespace), source.Name)] = true
			}
		}
	}
	objs, err := p.API().List(p, snapshots.SnapshotKind, "")
	if err != nil {
		return
	}
	for _, obj := range objs {
		if s := snapshots.Of[snapshots.Snapshot](obj.(*plain.Object)); !pending[api.KeyOf(s)] {
			c.removeRestoreFinalizer(p, s)
		}
	}
}
