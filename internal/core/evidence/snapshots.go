package evidence

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/snapshots"
	"github.com/volsim/volsim/storage"
)

// readSnapshots reads which snapshots a driver could not take (SNAP-023).
func (r *reader) readSnapshots() {
	known := map[types.UID]bool{}
	for _, obj := range r.snapshots {
		if api.KindOf(obj) != snapshots.ContentKind {
			continue
		}
		content := snapshots.Of[snapshots.Content](obj)
		known[content.Spec.Snapshot.UID] = true
		if !content.IsReady() && content.Status != nil {
			r.notTaken(content.Spec.Driver, content.Spec.Snapshot, content.Status.Error)
		}
	}
	for _, obj := range r.snapshots {
		if api.KindOf(obj) != snapshots.SnapshotKind {
			continue
		}
		snap := snapshots.Of[snapshots.Snapshot](obj)
		class := r.snapshotClasses[objects.ValueOf(snap.Spec.Class)]
		if class == nil || known[snap.UID] || snap.IsReady() || snap.Status == nil {
			continue
		}
		// SNAP-009: the error of the content, which the dump does not have, is copied to the snapshot.
		r.notTaken(class.Driver, corev1.ObjectReference{Namespace: snap.Namespace, Name: snap.Name, UID: snap.UID}, snap.Status.Error)
	}
}

// notTaken reads an error of a driver about a snapshot.
func (r *reader) notTaken(driver string, snap corev1.ObjectReference, failed *snapshots.Error) {
	if failed == nil {
		return
	}
	code, desc, ok := errorOf(objects.ValueOf(failed.Message))
	if !ok {
		return // the sidecar did not ask the driver
	}
	key := api.Key(snap.Namespace, snap.Name)
	a := Assumption{Subject: "driver/" + driver, Behaviour: Refuses, Object: "volumesnapshot/" + key, Operation: storage.CreateSnapshot, Code: code,
		Message: desc, key: SnapshotName(snap.UID)}
	if failed.Time != nil {
		a.Since, a.Last = failed.Time.Time, failed.Time.Time
	}
	a.Evidence = fmt.Sprintf("driver %s has refused to take VolumeSnapshot %s%s with %s", driver, key, seen(1, a.Last, r.now), code)
	r.found = append(r.found, a)
}

// SnapshotName is the name with which a driver is asked to take a snapshot (SNAP-021).
func SnapshotName(uid types.UID) string { return "snapshot-" + string(uid) }

// Snapshot returns the assumption that a driver, whatever its name, does not take a snapshot.
func (s *Set) Snapshot(uid types.UID) (Assumption, bool) {
	return s.first(func(a *Assumption) bool { return a.Operation == storage.CreateSnapshot && a.key == SnapshotName(uid) })
}

// ofSnapshot reports whether an error of a provisioner without a code is about the snapshot that a claim is made from: it did not ask the driver
// (SNAP-030). If the dump has the snapshot, the provisioner finds the error again.
func (r *reader) ofSnapshot(claim *corev1.PersistentVolumeClaim) bool {
	source := objects.DataSourceOf(claim)
	return source != nil && source.Kind == "VolumeSnapshot" && len(r.snapshots) > 0
}

// sourceClaim returns the claim that a claim is made from; nil if there is none in the dump.
func (r *reader) sourceClaim(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	source := objects.DataSourceOf(claim)
	if source == nil || source.Kind != string(api.PersistentVolumeClaim) {
		return nil
	}
	at := slices.IndexFunc(r.claims, func(other *corev1.PersistentVolumeClaim) bool {
		return api.KeyOf(other) == api.Key(objects.ValueOf(source.Namespace), source.Name)
	})
	if at < 0 {
		return nil
	}
	return r.claims[at]
}

// unfit reports whether no volume can be made for a claim from the claim that is its source: the provisioner does not ask the driver (XPROV-031), and
// the simulated one finds the error again.
func (r *reader) unfit(claim *corev1.PersistentVolumeClaim) bool {
	source := r.sourceClaim(claim)
	if source == nil {
		return false
	}
	want, have := claim.Spec.Resources.Requests[corev1.ResourceStorage], source.Spec.Resources.Requests[corev1.ResourceStorage]
	return source.Status.Phase != corev1.ClaimBound || source.DeletionTimestamp != nil || want.Cmp(have) < 0
}

// keepSnapshot keeps an object if it is one of external-snapshotter.
func (r *reader) keepSnapshot(obj api.Object) {
	switch api.KindOf(obj) {
	case snapshots.SnapshotKind, snapshots.ContentKind:
		r.snapshots = append(r.snapshots, obj)
	case snapshots.ClassKind:
		r.snapshotClasses[obj.GetName()] = snapshots.Of[snapshots.Class](obj)
	}
}
