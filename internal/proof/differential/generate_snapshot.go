package differential

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/snapshots"
	"github.com/volsim/volsim/storage"
)

// snapshotGenerator makes the steps of a scenario about snapshots. Steps stand for the PersistentVolume controller and the external provisioner.
type snapshotGenerator struct{ *workloadGenerator }

// GenerateSnapshots returns the scenario of a seed about snapshots.
func GenerateSnapshots(seed uint64) Scenario {
	g := newSnapshotGenerator(seed, 41)
	g.requests = []string{"create " + string(snapshots.ContentKind), "patch " + string(snapshots.ContentKind), "patch " + string(snapshots.ContentKind),
		"patch-status " + string(snapshots.ContentKind), "update-status " + string(snapshots.ContentKind), "delete " + string(snapshots.ContentKind),
		"get " + string(snapshots.ContentKind), "update " + string(snapshots.SnapshotKind), "update " + string(snapshots.SnapshotKind),
		"patch " + string(snapshots.SnapshotKind), "update-status " + string(snapshots.SnapshotKind), "get " + string(snapshots.SnapshotKind),
		"update PersistentVolumeClaim", "get PersistentVolumeClaim", "get PersistentVolume", "get Secret"}
	create := func() {
		g.start(g.createClass)
		g.createSnapshot()
	}
	return g.finish(g.scenario(create, []func(){
		g.createSnapshot, g.createSnapshot, g.createSnapshot, g.createSnapshot, g.deleteSnapshot, g.deleteSnapshot, g.deleteSnapshot, g.createContent,
		g.createContent, g.deleteContent, g.changeContent, g.changeContent, g.changeSnapshot, g.changeSnapshot, g.createClass, g.deleteClass,
		g.drive, g.drive, g.drive, g.changeClaim, g.restore, g.secret, g.pass, g.pass,
	}))
}

func newSnapshotGenerator(seed, stream uint64) *snapshotGenerator {
	return &snapshotGenerator{newWorkloadGenerator(seed, stream, snapshots.SnapshotKind, actors.Snapshot, actors.Snapshotter(Driver))}
}

// start creates classes, and claims with their volumes.
func (g *snapshotGenerator) start(createClass func()) {
	for range 1 + g.IntN(2) {
		createClass()
	}
	for i := range 2 + g.IntN(2) {
		g.createBound(fmt.Sprintf("c%d", i))
	}
	g.drive()
}

// finish sets what Driver lacks.
func (g *snapshotGenerator) finish(s Scenario) Scenario {
	if g.chance(6) {
		s.Cannot = append(s.Cannot, storage.GetSnapshot)
	}
	return s
}

// createBound creates a claim that is bound to a volume, most of the time.
func (g *snapshotGenerator) createBound(name string) {
	key, class := "default/"+name, "external"
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": pick(g.generator, "db", "db", "web")}}}
	claim.Spec.StorageClassName, claim.Spec.VolumeName = &class, "pv-"+name
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-" + name}}
	pv.Spec.StorageClassName, pv.Spec.AccessModes = class, claim.Spec.AccessModes
	pv.Spec.Capacity = claim.Spec.Resources.Requests
	pv.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	if g.chance(8) {
		pv.Spec.HostPath = &corev1.HostPathVolumeSource{Path: "/x"}
	} else {
		pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: pick(g.generator, Driver, Driver, Driver, Driver, Driver, "other.example.com"), VolumeHandle: "handle-" + name}
	}
	if g.chance(8) {
		pv.Spec.VolumeMode, claim.Spec.VolumeMode = new(corev1.PersistentVolumeBlock), new(corev1.PersistentVolumeBlock)
	}
	grouped := g.kind == snapshots.GroupKind
	if grouped {
		// The real controller crashes if a volume of a group snapshot has no claim, so the volume is created with it.
		pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: name, UID: types.UID(uidOf + key + "!")}
	}
	g.add(Step{Op: Create, Object: claim}, Step{Op: Create, Object: pv})
	if g.chance(8) && !grouped {
		return
	}
	// A volume that exists already is bound to the new claim.
	g.patch(api.Ref{Kind: api.PersistentVolume, Key: pv.Name}, api.Main, map[string]any{"spec": map[string]any{"claimRef": map[string]any{
		"namespace": "default", "name": name, "uid": uidOf + key + "!"}}})
	g.bind(key)
}

func (g *snapshotGenerator) bind(claim string) {
	g.patch(api.Ref{Kind: api.PersistentVolumeClaim, Key: claim}, api.Status, map[string]any{"status": map[string]any{
		"phase": pick(g.generator, corev1.ClaimBound, corev1.ClaimBound, corev1.ClaimBound, corev1.ClaimBound, corev1.ClaimBound, corev1.ClaimLost, corev1.ClaimPending)}})
}

func (g *snapshotGenerator) claimName() string {
	return pick(g.generator, "c0", "c0", "c0", "c1", "c1", "c2")
}

// changeClaim deletes a claim, creates it again, or changes its phase or finalizers.
func (g *snapshotGenerator) changeClaim() {
	name := g.claimName()
	ref := api.Ref{Kind: api.PersistentVolumeClaim, Key: "default/" + name}
	switch g.IntN(6) {
	case 0:
		g.createBound(name)
	case 1:
		g.add(Step{Op: Delete, Ref: ref})
	case 2:
		g.add(Step{Op: Delete, Ref: api.Ref{Kind: api.PersistentVolume, Key: "pv-" + name}})
	case 3:
		g.patch(ref, api.Main, map[string]any{"metadata": map[string]any{"finalizers": pick[any](g.generator, nil, []string{"example.com/hold"}, []string{snapshots.ClaimFinalizer})}})
	default:
		g.bind(ref.Key)
	}
}

// restore creates a claim whose data source is a snapshot, or lets its provisioning end.
func (g *snapshotGenerator) restore() {
	if g.chance(2) {
		g.patch(api.Ref{Kind: api.PersistentVolumeClaim, Key: "default/restored"}, api.Status, map[string]any{"status": map[string]any{"phase": corev1.ClaimBound}})
		return
	}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "restored"}}
	claim.Spec.StorageClassName = new("external")
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	claim.Spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: new("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot", Name: g.snapshotName()}
	g.add(Step{Op: Create, Object: claim})
}

func (g *snapshotGenerator) secret() {
	g.add(Step{Op: Create, Object: &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "key"}, Data: map[string][]byte{"a": []byte("b")}}})
}

// className returns the name of a class that may exist.
func (g *snapshotGenerator) className() *string {
	return new(pick(g.generator, "k0", "k0", "k0", "k0", "k0", "k1", "k1", "none"))
}

func (g *snapshotGenerator) newClass(prefix, kind string) *snapshots.Class {
	class := &snapshots.Class{Driver: pick(g.generator, Driver, Driver, Driver, Driver, Driver, Driver, "other.example.com"),
		DeletionPolicy: pick(g.generator, snapshots.Delete, snapshots.Delete, snapshots.Retain), Parameters: map[string]string{"kind": "fast"}}
	class.Name = pick(g.generator, "k0", "k0", "k0", "k1")
	class.APIVersion, class.Kind = "snapshot.storage.k8s.io/v1", kind
	switch g.IntN(8) {
	case 0, 1:
		class.Parameters["csi.storage.k8s.io/"+prefix+"-secret-name"] = pick(g.generator, "key", "key", "${volumesnapshot.name}", "${x}")
		class.Parameters["csi.storage.k8s.io/"+prefix+"-secret-namespace"] = pick(g.generator, "default", "${volumesnapshot.namespace}")
	case 2:
		class.Parameters["csi.storage.k8s.io/"+prefix+"-secret-name"] = "key"
	case 3:
		class.Parameters["csi.storage.k8s.io/unknown"] = "x"
	case 4:
		class.Parameters["csi.storage.k8s.io/snapshotter-list-secret-name"], class.Parameters["csi.storage.k8s.io/snapshotter-list-secret-namespace"] = "key", "default"
	}
	return class
}

func (g *snapshotGenerator) createClass() {
	class := g.newClass("snapshotter", "VolumeSnapshotClass")
	if g.chance(3) {
		class.Annotations = map[string]string{snapshots.DefaultClass: "true"}
	}
	g.add(Step{Op: Create, Object: snapshots.Plain(class)})
}

func (g *snapshotGenerator) deleteClass() {
	g.add(Step{Op: Delete, Ref: api.Ref{Kind: snapshots.ClassKind, Key: *g.className()}})
}

func (g *snapshotGenerator) snapshotName() string {
	return pick(g.generator, "s0", "s0", "s0", "s1", "s2")
}

func (g *snapshotGenerator) snapshot() api.Ref {
	return api.Ref{Kind: snapshots.SnapshotKind, Key: "default/" + g.snapshotName()}
}

func (g *snapshotGenerator) createSnapshot() {
	s := &snapshots.Snapshot{}
	s.APIVersion, s.Kind = "snapshot.storage.k8s.io/v1", "VolumeSnapshot"
	s.Namespace, s.Name = "default", g.snapshotName()
	if !g.chance(4) {
		s.Spec.Class = g.className()
	}
	if g.chance(4) {
		s.Spec.Source.Content = new(g.contentName())
	} else {
		s.Spec.Source.Claim = new(g.claimName())
	}
	if g.chance(10) {
		s.Finalizers = []string{"example.com/hold"}
	}
	g.add(Step{Op: Create, Object: snapshots.Plain(s)})
}

func (g *snapshotGenerator) deleteSnapshot() { g.add(Step{Op: Delete, Ref: g.snapshot()}) }

// changeSnapshot changes the class or the metadata of a snapshot.
func (g *snapshotGenerator) changeSnapshot() {
	switch g.IntN(5) {
	case 0, 1:
		g.patch(g.snapshot(), api.Main, map[string]any{"spec": map[string]any{"volumeSnapshotClassName": g.className()}})
	case 2:
		g.patch(g.snapshot(), api.Main, map[string]any{"metadata": map[string]any{"labels": map[string]any{"x": pick(g.generator, "y", "z")}}})
	default:
		g.patch(g.snapshot(), api.Main, map[string]any{"metadata": map[string]any{"finalizers": pick[any](g.generator, nil, []string{"example.com/hold"})}})
	}
}

// contentName returns the name of a content of the user.
func (g *snapshotGenerator) contentName() string { return pick(g.generator, "x0", "x0", "x0", "x1") }

// content returns a content of the user, or one that was created for a snapshot.
func (g *snapshotGenerator) content(kind api.Kind) api.Ref {
	if g.chance(2) {
		return api.Ref{Kind: kind, Key: nthKey(g.IntN(4))}
	}
	return api.Ref{Kind: kind, Key: g.contentName()}
}

func (g *snapshotGenerator) createContent() {
	c := &snapshots.Content{}
	c.APIVersion, c.Kind, c.Name = "snapshot.storage.k8s.io/v1", "VolumeSnapshotContent", g.contentName()
	c.Spec.Driver = pick(g.generator, Driver, Driver, Driver, Driver, Driver, Driver, "other.example.com")
	c.Spec.DeletionPolicy = pick(g.generator, snapshots.Delete, snapshots.Delete, snapshots.Retain)
	c.Spec.Snapshot = corev1.ObjectReference{Namespace: "default", Name: g.snapshotName()}
	if g.chance(3) {
		c.Spec.Class = g.className()
	}
	if g.chance(8) {
		c.Spec.Source.Volume = new("handle-c0")
	} else {
		c.Spec.Source.Snapshot = new("existing-" + c.Name)
	}
	if g.chance(8) {
		c.Annotations = map[string]string{snapshots.SecretName: "key", snapshots.SecretNamespace: "default"}
	}
	g.add(Step{Op: Create, Object: snapshots.Plain(c)})
}

func (g *snapshotGenerator) deleteContent() {
	g.add(Step{Op: Delete, Ref: g.content(snapshots.ContentKind)})
}

// changeContent changes the policy or the metadata of a content.
func (g *snapshotGenerator) changeContent() {
	ref := g.content(snapshots.ContentKind)
	switch g.IntN(5) {
	case 0, 1:
		g.patch(ref, api.Main, map[string]any{"spec": map[string]any{"deletionPolicy": pick(g.generator, snapshots.Delete, snapshots.Retain)}})
	case 2:
		g.patch(ref, api.Main, map[string]any{"metadata": map[string]any{"finalizers": pick[any](g.generator, nil, []string{"example.com/hold"})}})
	case 3:
		g.patch(ref, api.Main, map[string]any{"metadata": map[string]any{"annotations": map[string]any{"x": pick[any](g.generator, "y", "z", nil)}}})
	default:
		g.patch(ref, api.Status, map[string]any{"status": map[string]any{"readyToUse": g.chance(2)}})
	}
}

// drive changes how Driver behaves.
func (g *snapshotGenerator) drive() {
	s := Setting{Uploading: g.chance(3), SnapshotSize: int64(pick(g.generator, 0, 1<<20, 1<<30)), Fail: map[string]string{}, Delay: map[string]time.Duration{}}
	ops := []storage.Op{storage.CreateSnapshot, storage.CreateSnapshot, storage.DeleteSnapshot, storage.GetSnapshot, storage.CreateGroupSnapshot, storage.CreateGroupSnapshot,
		storage.DeleteGroupSnapshot, storage.GetGroupSnapshot}
	for range pick(g.generator, 0, 1, 1, 3) {
		s.Fail[string(pick(g.generator, ops...))] = pick(g.generator, "broken", "full")
	}
	for range pick(g.generator, 0, 0, 1) {
		s.Delay[string(pick(g.generator, ops...))] = time.Duration(pick(g.generator, 2, 7, 30)) * time.Second
	}
	s.Code = pick(g.generator, "", storage.Internal, storage.Aborted, storage.Unavailable, storage.ResourceExhausted, storage.InvalidArgument, storage.NotFound, storage.FailedPrecondition)
	g.add(Step{Op: Storage, Backend: Driver, Setting: s})
}
