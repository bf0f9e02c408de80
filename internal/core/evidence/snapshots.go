package evidence

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/snapshots"
	"github.com/volsim/volsim/storage"
)

// readSnapshots reads which snapshots a driver could not take (SNAP-023).
func (r *reader) readSnapshots() {
	for _, obj := range r.snapshots {
		if api.KindOf(obj) != snapshots.ContentKind {
			continue
		}
		content := snapshots.Of[snapshots.Content](obj)
		if content.IsReady() || content.Status == nil || content.Status.Error == nil {
			continue
		}
		message := objects.ValueOf(content.Status.Error.Message)
		code, desc, ok := errorOf(message)
		if !ok {
			continue // the sidecar did not ask the driver
		}
		ref := content.Spec.Snapshot
		a := Assumption{Subject: "driver/" + content.Spec.Driver, Behaviour: Refuses, Object: "volumesnapshot/" + api.Key(ref.Namespace, ref.Name),
			Operation: storage.CreateSnapshot, Code: code, Message: desc, key: SnapshotName(content)}
		var last time.Time
		if at := content.Status.Error.Time; at != nil {
			last = at.Time
			a.Since, a.Last = last, last
		}
		a.Evidence = fmt.Sprintf("driver %s has refused to take VolumeSnapshot %s%s with %s", content.Spec.Driver, api.Key(ref.Namespace, ref.Name),
			seen(1, last, r.now), code)
		r.found = append(r.found, a)
	}
}

// SnapshotName is the name with which a driver is asked to take the snapshot of a content (SNAP-021).
func SnapshotName(content *snapshots.Content) string {
	return "snapshot-" + string(content.Spec.Snapshot.UID)
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
	}
}
