package explain

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/evidence"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/snapshots"
	"github.com/volsim/volsim/storage"
)

// snapshotWord is the kind of a snapshot in the source of a claim.
const snapshotWord = "VolumeSnapshot"

// restored explains a claim from whose VolumeSnapshot its driver cannot create a volume now. It reports whether that is so. A dump without
// VolumeSnapshots does not tell.
func (x *explainer) restored(e *Explanation, claim *corev1.PersistentVolumeClaim, driver string) bool {
	source := objects.DataSourceOf(claim)
	if source == nil || source.Kind != snapshotWord || x.Evidence != nil && len(x.Snapshots) == 0 {
		return false
	}
	key := api.Key(objects.ValueOf(source.Namespace), source.Name)
	snap, ok := snapshotOf[snapshots.Snapshot](x, snapshots.SnapshotKind, key)
	name := snapshotWord + " " + key
	// SNAP-030: the checks of the provisioner, each retried with backoff.
	switch {
	case !ok:
		e.because("SNAP-030", fmt.Sprintf("its source %s does not exist", name))
		e.todo(fmt.Sprintf("create %s, or create the claim again with another source", name))
		e.manual("the provisioner retries within 5m, and succeeds once the snapshot is ready")
		return true
	case snap.DeletionTimestamp != nil && !isOneOf(snapshots.RestoreFinalizer, snap.Finalizers):
		e.because("SNAP-030", fmt.Sprintf("its source %s is being deleted", name))
		e.todo("create the claim again with another source")
		e.manual("each retry of the provisioner fails the same way")
		return true
	}
	content, ok := snapshotOf[snapshots.Content](x, snapshots.ContentKind, snap.Bound())
	switch {
	case !snap.IsReady() || !ok:
		x.awaitSnapshot(e, snap, content, driver)
		return true
	case content.Spec.Driver != driver:
		e.because("SNAP-030", fmt.Sprintf("%s is in driver %s, and storage class %q has driver %s", name, content.Spec.Driver, objects.ClassOf(claim), driver))
		e.todo(fmt.Sprintf("create the claim again, with a storage class of driver %s", content.Spec.Driver))
		e.manual("each retry of the provisioner fails the same way")
		return true
	}
	request := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if size := snap.Status.RestoreSize; size != nil && request.Cmp(*size) < 0 {
		e.because("SNAP-030", fmt.Sprintf("it requests %s, and %s has %s", &request, name, size))
		// API-221: the request of a claim that is not bound cannot be changed.
		e.todo(fmt.Sprintf("create the claim again, with at least %s", size))
		e.manual("each retry of the provisioner fails the same way, and the request of a claim can be changed only once it is bound")
		return true
	}
	return false
}

// cloned explains a claim that its driver cannot make from another claim now. It reports whether that is so. A dump without that claim does not
// tell.
func (x *explainer) cloned(e *Explanation, claim *corev1.PersistentVolumeClaim, driver string) bool {
	source := objects.DataSourceOf(claim)
	if source == nil || source.Kind != string(api.PersistentVolumeClaim) {
		return false
	}
	key := api.Key(objects.ValueOf(source.Namespace), source.Name)
	origin := x.claims[key]
	if origin == nil {
		return false
	}
	request, size := claim.Spec.Resources.Requests[corev1.ResourceStorage], origin.Spec.Resources.Requests[corev1.ResourceStorage]
	// XPROV-031: the checks of the provisioner, each retried with backoff.
	switch {
	case origin.Status.Phase != corev1.ClaimBound:
		e.because("XPROV-031", fmt.Sprintf("its source, claim %s, is not bound", key))
		x.addClaim(e, key)
		e.next(actors.Provisioner(driver), "creates the volume once that claim is bound; it retries within 5m")
		e.follow()
	case origin.DeletionTimestamp != nil:
		e.because("XPROV-031", fmt.Sprintf("its source, claim %s, is being deleted", key))
		e.todo("create the claim again with another source")
		e.manual("each retry of the provisioner fails the same way")
	case request.Cmp(size) < 0:
		e.because("XPROV-031", fmt.Sprintf("it requests %s, and its source, claim %s, requests %s", &request, key, &size))
		// API-221: the request of a claim that is not bound cannot be changed.
		e.todo(fmt.Sprintf("create the claim again, with at least %s", &size))
		e.manual("each retry of the provisioner fails the same way, and the request of a claim can be changed only once it is bound")
	default:
		return false
	}
	return true
}

// snapshotOf returns an object of external-snapshotter; ok is false, and the object empty, if it does not exist.
func snapshotOf[T any](x *explainer, kind api.Kind, key string) (obj *T, ok bool) {
	for _, other := range x.Snapshots {
		if api.KindOf(other) == kind && api.KeyOf(other) == key {
			return snapshots.Of[T](other), true
		}
	}
	return new(T), false
}

// awaitSnapshot explains a claim that waits until a snapshot is ready. content is that of the snapshot, empty if there is none.
func (x *explainer) awaitSnapshot(e *Explanation, snap *snapshots.Snapshot, content *snapshots.Content, driver string) {
	todo := x.taking(e, "SNAP-030", fmt.Sprintf("it waits for %s %s, which is not ready: ", snapshotWord, api.KeyOf(snap)), snap, content,
		"; the provisioner then retries within 5m")
	e.next(actors.Provisioner(driver), "creates the volume once the snapshot is ready")
	if todo != "" {
		e.todo(todo)
	}
}

// taking explains what keeps a snapshot from being ready, after the text waits, and returns what the user has to do; "" is nothing. then says what
// happens when it is ready.
func (x *explainer) taking(e *Explanation, rule, waits string, snap *snapshots.Snapshot, content *snapshots.Content, then string) (todo string) {
	// SNAP-023, SNAP-009: the sidecar reports its error in the content, from which it is copied to the snapshot.
	driver, failed := content.Spec.Driver, (*snapshots.Error)(nil)
	if content.Status != nil {
		failed = content.Status.Error
	}
	refused, ok := x.Evidence.Call(driver, evidence.SnapshotName(snap.UID), "", storage.CreateSnapshot)
	if content.Name == "" {
		// The dump does not have the content.
		if refused, ok = x.Evidence.Snapshot(snap.UID); ok && snap.Status != nil {
			driver, failed = strings.TrimPrefix(refused.Subject, "driver/"), snap.Status.Error
		}
	}
	switch {
	case failed != nil:
		e.because(rule, waits+"the driver could not take it"+messageOf(failed))
		e.next(actors.Snapshotter(driver), "takes the snapshot again")
		todo = x.readLog(storage.CreateSnapshot, driver, "")
		e.manual("each attempt to take the snapshot fails the same way")
		if ok {
			e.assume(refused)
			e.Notes = append(e.Notes, refused.Meaning(x.Now))
		}
	case content.Name != "":
		e.because(rule, waits+fmt.Sprintf("the driver still takes it, since %s", stamp(content.CreationTimestamp.Time)))
		e.next(actors.Snapshotter(content.Spec.Driver), "asks the driver until the snapshot is ready")
		e.automatic(x.Now, "SNAP-022", "when the snapshot is ready"+then)
	case snap.Status != nil && snap.Status.Error != nil:
		e.because(rule, waits+"snapshot-controller reports an error"+messageOf(snap.Status.Error))
		e.next(actors.Snapshot, "tries again")
		todo = "remove the cause that the error names"
		e.manual("each attempt of snapshot-controller fails the same way")
	default:
		// SNAP-006: the controller makes the content, or binds one that exists (SNAP-010).
		e.because(rule, waits+"snapshot-controller has not made its VolumeSnapshotContent yet")
		e.next(actors.Snapshot, "makes the VolumeSnapshotContent")
		e.automatic(x.Now, "SNAP-006", "when the snapshot is ready; if nothing happens for minutes, check that snapshot-controller runs")
	}
	return todo
}

// keptBySnapshot explains a claim whose deletion waits for the snapshots that are taken of it (SNAP-005).
func (x *explainer) keptBySnapshot(e *Explanation, claim *corev1.PersistentVolumeClaim) {
	var leaving *snapshots.Snapshot
	for _, other := range x.Snapshots {
		if api.KindOf(other) != snapshots.SnapshotKind || other.GetNamespace() != claim.Namespace {
			continue
		}
		snap := snapshots.Of[snapshots.Snapshot](other)
		if objects.ValueOf(snap.Spec.Source.Claim) != claim.Name || snap.IsReady() {
			continue
		}
		if snap.DeletionTimestamp != nil {
			leaving = snap
			continue
		}
		content, _ := snapshotOf[snapshots.Content](x, snapshots.ContentKind, snap.Bound())
		todo := x.taking(e, "SNAP-005", fmt.Sprintf("it is being deleted, but %s %s of it is not ready: ", snapshotWord, api.KeyOf(snap)), snap, content, "")
		e.next(actors.Snapshot, "removes the finalizer once the snapshot is ready or deleted")
		if todo != "" {
			e.todo(todo)
		}
		if e.Changes.When == Manual {
			e.todo(fmt.Sprintf("or delete %s %s, if it is not needed", snapshotWord, api.KeyOf(snap)))
		}
		return
	}
	if leaving != nil {
		e.because("SNAP-005", fmt.Sprintf("it is being deleted, and so is %s %s of it, which is not ready", snapshotWord, api.KeyOf(leaving)))
		e.next(actors.Snapshot, "removes the finalizer of the claim, then deletes the snapshot")
		e.automatic(x.Now, "SNAP-012", "with the next sync of the snapshot; if nothing happens for minutes, check that snapshot-controller runs")
		return
	}
	why := "no VolumeSnapshot of it is being taken"
	if x.Evidence != nil && len(x.Snapshots) == 0 {
		why = "snapshot-controller removes that when no VolumeSnapshot of the claim is being taken"
		e.todo(fmt.Sprintf("look for VolumeSnapshots of the claim that are not ready: kubectl get volumesnapshots -n %s; delete or repair them", claim.Namespace))
	}
	e.because("SNAP-005", fmt.Sprintf("it is being deleted, and finalizer %s blocks that: %s", snapshots.ClaimFinalizer, why))
	e.todo("check that snapshot-controller runs; if there is no such VolumeSnapshot, remove the finalizer")
	e.manual("snapshot-controller looks at the claim only when a VolumeSnapshot of it changes")
}

// messageOf renders an error in the status of a snapshot.
func messageOf(failed *snapshots.Error) string {
	text := ""
	if failed.Time != nil {
		text = " (" + stamp(failed.Time.Time) + ")"
	}
	return text + ": " + objects.ValueOf(failed.Message)
}
