package volsim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

const (
	snapshotGroup = "snapshot.storage.k8s.io"
	prefix        = "snapshot.storage.kubernetes.io/"
)

// snapshots is a cluster with the claim data of 1Gi, bound to a volume of the driver, and the class snap.
type snapshots struct {
	*volsim.Cluster
	t      *testing.T
	driver *fake.Memory
}

func newSnapshots(t *testing.T, opts ...fake.MemoryOption) *snapshots {
	t.Helper()
	return newSnapshotsWith(t, volsim.Config{}, opts...)
}

func newSnapshotsWith(t *testing.T, cfg volsim.Config, opts ...fake.MemoryOption) *snapshots {
	t.Helper()
	driver := fake.CSI("disk.example.com", opts...)
	cfg.Backends = []storage.Backend{driver}
	c, err := volsim.New(cfg)
	require.NoError(t, err)
	s := &snapshots{c, t, driver}
	s.create(fake.Class("fast", "disk.example.com"), fake.Claim("data", "1Gi", fake.InClass("fast")), snapshotClass("snap", nil))
	s.pass(10 * time.Second)
	require.Equal(t, corev1.ClaimBound, s.claim("data").Status.Phase)
	return s
}

func snapshotObject(kind, namespace, name string, content map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	for key, value := range content {
		u.Object[key] = value
	}
	u.SetAPIVersion(snapshotGroup + "/v1")
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

func snapshotClass(name string, parameters map[string]any) *unstructured.Unstructured {
	return snapshotObject("VolumeSnapshotClass", "", name, map[string]any{"driver": "disk.example.com", "deletionPolicy": "Delete",
		"parameters": parameters})
}

// snapshotOf returns a snapshot with a source: pvc=NAME or content=NAME. Without class it has none.
func snapshotOf(name, source, class string) *unstructured.Unstructured {
	spec := map[string]any{}
	if class != "" {
		spec["volumeSnapshotClassName"] = class
	}
	key, value, _ := strings.Cut(source, "=")
	fields := map[string]string{"pvc": "persistentVolumeClaimName", "content": "volumeSnapshotContentName"}
	sources := map[string]any{}
	if key != "" {
		sources[fields[key]] = value
	}
	spec["source"] = sources
	return snapshotObject("VolumeSnapshot", "default", name, map[string]any{"spec": spec})
}

// contentOf returns a content that the user makes, for the snapshot of that name.
func contentOf(name, handle, snapshot, policy string) *unstructured.Unstructured {
	return snapshotObject("VolumeSnapshotContent", "", name, map[string]any{"spec": map[string]any{
		"driver": "disk.example.com", "deletionPolicy": policy, "source": map[string]any{"snapshotHandle": handle},
		"volumeSnapshotRef": map[string]any{"namespace": "default", "name": snapshot},
	}})
}

func (s *snapshots) create(objs ...api.Object) {
	s.t.Helper()
	require.NoError(s.t, s.Create(objs...))
}

func (s *snapshots) pass(d time.Duration) {
	s.t.Helper()
	require.NoError(s.t, s.Advance(d))
}

func (s *snapshots) claim(name string) *corev1.PersistentVolumeClaim {
	s.t.Helper()
	claim, err := s.Claims.Get("default/" + name)
	require.NoError(s.t, err, name)
	return claim
}

// get returns a snapshot or content as the server has it; nil for none.
func (s *snapshots) get(kind, name string) *unstructured.Unstructured {
	namespace := ""
	if kind == "VolumeSnapshot" {
		namespace = "default"
	}
	u := snapshotObject(kind, namespace, name, nil)
	if s.Patch(u, "{}") != nil { // it writes the stored object into u
		return nil
	}
	return u
}

// field returns a field of a snapshot or content.
func (s *snapshots) field(kind, name, path string) any {
	s.t.Helper()
	u := s.get(kind, name)
	require.NotNil(s.t, u, name)
	value, _, _ := unstructured.NestedFieldNoCopy(u.Object, strings.Split(path, ".")...)
	return value
}

func (s *snapshots) ready(name string) any {
	return s.field("VolumeSnapshot", name, "status.readyToUse")
}

// contentName returns the content to which the snapshot is bound.
func (s *snapshots) contentName(name string) string {
	bound, _ := s.field("VolumeSnapshot", name, "status.boundVolumeSnapshotContentName").(string)
	return bound
}

func (s *snapshots) delete(kind, name string) {
	s.t.Helper()
	obj := s.get(kind, name)
	require.NotNil(s.t, obj, name)
	require.NoError(s.t, s.Delete(snapshotObject(kind, obj.GetNamespace(), name, nil)))
}

// events returns the reasons of the Events about an object, in order.
func (s *snapshots) events(name string) string {
	var reasons []string
	for _, e := range s.Events() {
		if e.InvolvedObject.Name == name {
			reasons = append(reasons, e.Reason)
		}
	}
	return strings.Join(reasons, " ")
}

// TestSnapshotOfClaim: the snapshot of a claim, from its creation to its deletion (SNAP-001, SNAP-004, SNAP-005, SNAP-006, SNAP-009, SNAP-012,
// SNAP-013, SNAP-020, SNAP-021, SNAP-022, SNAP-025).
func TestSnapshotOfClaim(t *testing.T) {
	s := newSnapshots(t)
	s.create(snapshotOf("first", "pvc=data", "snap"))
	s.pass(10 * time.Second)
	require.Equal(t, true, s.ready("first"), "SNAP-009")
	require.Equal(t, "1Gi", s.field("VolumeSnapshot", "first", "status.restoreSize"), "SNAP-009")
	first := s.get("VolumeSnapshot", "first")
	require.Equal(t, []string{prefix + "volumesnapshot-as-source-protection", prefix + "volumesnapshot-bound-protection"}, first.GetFinalizers(), "SNAP-004")
	require.Equal(t, "CreatingSnapshot SnapshotCreated SnapshotReady", s.events("first"), "SNAP-006, SNAP-009")
	content := s.get("VolumeSnapshotContent", "snapcontent-"+string(first.GetUID()))
	require.NotNil(t, content, "SNAP-006")
	require.Equal(t, []string{prefix + "volumesnapshotcontent-bound-protection"}, content.GetFinalizers(), "SNAP-013")
	require.Empty(t, content.GetAnnotations(), "SNAP-022")
	require.NotContains(t, s.claim("data").Finalizers, prefix+"pvc-as-source-protection", "SNAP-005")
	taken := s.driver.Snapshots()
	require.Len(t, taken, 1)
	require.Equal(t, "snapshot-"+string(first.GetUID()), taken[0].ID, "SNAP-021")

	s.delete("VolumeSnapshot", "first")
	s.pass(10 * time.Second)
	require.Nil(t, s.get("VolumeSnapshot", "first"), "SNAP-012")
	require.Nil(t, s.get("VolumeSnapshotContent", content.GetName()), "SNAP-025")
	require.Empty(t, s.driver.Snapshots(), "SNAP-025")
}

// TestSlowSnapshot: a snapshot that has to be uploaded is asked for until it is ready, and protects its claim (SNAP-005, SNAP-020, SNAP-022).
func TestSlowSnapshot(t *testing.T) {
	s := newSnapshots(t, fake.SlowSnapshots(3))
	s.create(snapshotOf("first", "pvc=data", "snap"))
	s.pass(2 * time.Second)
	require.Equal(t, false, s.ready("first"))
	require.Contains(t, s.claim("data").Finalizers, prefix+"pvc-as-source-protection", "SNAP-005")
	require.NoError(t, s.Delete(s.claim("data")))
	s.pass(time.Second)
	s.claim("data") // is still there
	s.pass(time.Minute)
	require.Equal(t, true, s.ready("first"), "SNAP-022")
	_, err := s.Claims.Get("default/data")
	require.Error(t, err, "SNAP-005")
}

// TestSnapshotErrors: what prevents a snapshot is in its status and Events (SNAP-002, SNAP-003, SNAP-007, SNAP-023).
func TestSnapshotErrors(t *testing.T) {
	for _, tt := range []struct {
		rule    string
		obj     *unstructured.Unstructured
		message string
		reason  string
	}{
		{"SNAP-002", snapshotOf("s", "pvc=data", "none"),
			`Failed to get snapshot class with error volumesnapshotclass.snapshot.storage.k8s.io "none" not found`, "GetSnapshotClassFailed"},
		{"SNAP-002", snapshotOf("s", "pvc=data", ""), "Failed to set default snapshot class with error cannot find default snapshot class",
			"SetDefaultSnapshotClassFailed"},
		{"SNAP-003", snapshotOf("s", "", "snap"), "Exactly one of PersistentVolumeClaimName and VolumeSnapshotContentName should be specified",
			"SnapshotValidationError"},
		{"SNAP-007", snapshotOf("s", "pvc=other", "snap"),
			"Failed to create snapshot content with error snapshot controller failed to update s on API server: cannot get claim from snapshot",
			"SnapshotContentCreationFailed"},
		{"SNAP-010", snapshotOf("s", "content=none", ""), "VolumeSnapshotContent is missing", "SnapshotContentMissing"},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			s := newSnapshots(t)
			s.create(tt.obj)
			s.pass(time.Minute)
			require.Equal(t, tt.message, s.field("VolumeSnapshot", "s", "status.error.message"), tt.rule)
			require.Equal(t, tt.reason, s.events("s"), tt.rule)
		})
	}
}

// TestDefaultSnapshotClass: a snapshot without a class gets the default class of its driver (SNAP-002).
func TestDefaultSnapshotClass(t *testing.T) {
	s := newSnapshots(t)
	class := snapshotClass("standard", nil)
	class.SetAnnotations(map[string]string{prefix + "is-default-class": "true"})
	s.create(class, snapshotOf("s", "pvc=data", ""))
	s.pass(10 * time.Second)
	require.Equal(t, "standard", s.field("VolumeSnapshot", "s", "spec.volumeSnapshotClassName"), "SNAP-002")
	require.Equal(t, true, s.ready("s"))
}

// secretDriver is a driver that stores the secrets of its calls.
type secretDriver struct {
	*fake.Memory
	created, deleted, found map[string]string
}

func (d *secretDriver) CreateSnapshot(req storage.SnapshotRequest) (storage.Snapshot, error) {
	d.created = req.Secrets
	return d.Memory.CreateSnapshot(req)
}

func (d *secretDriver) DeleteSnapshot(req storage.SnapshotRef) error {
	d.deleted = req.Secrets
	return d.Memory.DeleteSnapshot(req)
}

func (d *secretDriver) GetSnapshot(req storage.SnapshotRef) (storage.Snapshot, error) {
	d.found = req.Secrets
	return d.Memory.GetSnapshot(req)
}

// TestSnapshotSecretContents: requests have the content of the Secret, which is read before each call (SNAP-008, SNAP-024).
func TestSnapshotSecretContents(t *testing.T) {
	driver := &secretDriver{Memory: fake.CSI("disk.example.com")}
	c, err := volsim.New(volsim.Config{Backends: []storage.Backend{driver}})
	require.NoError(t, err)
	s := &snapshots{c, t, driver.Memory}
	secret := func(name string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "vault", Name: name}, StringData: map[string]string{"name": name}}
	}
	s.create(fake.Class("fast", "disk.example.com"), fake.Claim("data", "1Gi", fake.InClass("fast")), snapshotClass("secret", map[string]any{
		"csi.storage.k8s.io/snapshotter-secret-name": "${volumesnapshot.name}-key", "csi.storage.k8s.io/snapshotter-secret-namespace": "vault",
		"csi.storage.k8s.io/snapshotter-list-secret-name": "list", "csi.storage.k8s.io/snapshotter-list-secret-namespace": "vault",
	}))
	s.pass(10 * time.Second)
	s.create(snapshotOf("s", "pvc=data", "secret"))
	s.pass(10 * time.Second)
	require.Contains(t, s.field("VolumeSnapshotContent", s.contentName("s"), "status.error.message"),
		"failed to get input parameters to create snapshot for content "+s.contentName("s")+
			`: "cannot get credentials for snapshot content \"`+s.contentName("s")+`\""`, "SNAP-008")
	s.create(secret("s-key"))
	s.pass(time.Minute)
	require.Equal(t, true, s.ready("s"), "SNAP-008")
	require.Equal(t, map[string]string{"name": "s-key"}, driver.created, "SNAP-008")

	_, err = driver.Memory.CreateSnapshot(storage.SnapshotRequest{Name: "old", VolumeID: driver.Volumes()[0].ID})
	require.NoError(t, err)
	imported := contentOf("imported", "old", "i", "Retain")
	require.NoError(t, unstructured.SetNestedField(imported.Object, "secret", "spec", "volumeSnapshotClassName"))
	s.create(imported, snapshotOf("i", "content=imported", "secret"))
	s.pass(10 * time.Second)
	require.Contains(t, s.field("VolumeSnapshotContent", "imported", "status.error.message"),
		"failed to get credentials for snapshot content imported: error getting secret list in namespace vault", "SNAP-024")
	s.create(secret("list"))
	s.pass(time.Minute)
	require.Equal(t, true, s.ready("i"), "SNAP-024")
	require.Equal(t, map[string]string{"name": "list"}, driver.found, "SNAP-024")

	s.delete("VolumeSnapshot", "s")
	s.pass(time.Minute)
	require.Equal(t, map[string]string{"name": "s-key"}, driver.deleted, "SNAP-008")
}

// TestSnapshotSecrets: the class names a secret by templates (SNAP-008); an unknown parameter with the prefix is an error (SNAP-021).
func TestSnapshotSecrets(t *testing.T) {
	s := newSnapshots(t)
	s.create(snapshotClass("secret", map[string]any{
		"csi.storage.k8s.io/snapshotter-secret-name": "${volumesnapshot.name}-key", "csi.storage.k8s.io/snapshotter-secret-namespace": "vault",
	}), snapshotClass("wrong", map[string]any{"csi.storage.k8s.io/unknown": "x"}))
	s.create(snapshotOf("s", "pvc=data", "secret"), snapshotOf("w", "pvc=data", "wrong"))
	s.pass(10 * time.Second)
	require.Equal(t, map[string]string{prefix + "deletion-secret-name": "s-key", prefix + "deletion-secret-namespace": "vault"},
		s.get("VolumeSnapshotContent", s.contentName("s")).GetAnnotations(), "SNAP-008")
	require.Contains(t, s.field("VolumeSnapshotContent", s.contentName("w"), "status.error.message"),
		`found unknown parameter key "csi.storage.k8s.io/unknown" with reserved namespace csi.storage.k8s.io/`, "SNAP-021")
}

// TestPreprovisionedSnapshot: a snapshot that names its content binds it, and asks the driver about it (SNAP-010, SNAP-011, SNAP-024).
func TestPreprovisionedSnapshot(t *testing.T) {
	s := newSnapshots(t)
	_, err := s.driver.CreateSnapshot(storage.SnapshotRequest{Name: "old", VolumeID: "v"})
	require.NoError(t, err)
	s.create(contentOf("imported", "old", "s", "Retain"), snapshotOf("s", "content=imported", "snap"))
	s.pass(10 * time.Second)
	require.Equal(t, true, s.ready("s"), "SNAP-024")
	require.Equal(t, string(s.get("VolumeSnapshot", "s").GetUID()), s.field("VolumeSnapshotContent", "imported", "spec.volumeSnapshotRef.uid"), "SNAP-010")
	require.Equal(t, "snap", s.field("VolumeSnapshotContent", "imported", "spec.volumeSnapshotClassName"), "SNAP-010")

	s.create(contentOf("lost", "missing", "l", "Delete"), snapshotOf("l", "content=lost", ""), snapshotOf("thief", "content=imported", ""))
	s.pass(10 * time.Second)
	require.Contains(t, s.events("lost"), "SnapshotContentCheckandUpdateFailed", "SNAP-023, SNAP-024")
	require.Contains(t, s.events("thief"), "SnapshotContentMisbound", "SNAP-010")

	s.delete("VolumeSnapshot", "s")
	s.pass(10 * time.Second)
	require.Nil(t, s.get("VolumeSnapshot", "s"), "SNAP-012")
	require.NotNil(t, s.get("VolumeSnapshotContent", "imported"), "SNAP-012: the policy is Retain")
	s.delete("VolumeSnapshotContent", "imported")
	s.pass(10 * time.Second)
	require.Nil(t, s.get("VolumeSnapshotContent", "imported"), "SNAP-025")
	require.Len(t, s.driver.Snapshots(), 1, "SNAP-025: the policy is Retain")
}

// TestContentRemoved: a ready snapshot whose content is removed is no longer ready (SNAP-011, SNAP-013).
func TestContentRemoved(t *testing.T) {
	s := newSnapshots(t)
	s.create(snapshotOf("s", "pvc=data", "snap"))
	s.pass(10 * time.Second)
	content := s.get("VolumeSnapshotContent", s.contentName("s"))
	content.SetFinalizers(nil)
	require.NoError(t, s.Update(content))
	require.NoError(t, s.Delete(snapshotObject("VolumeSnapshotContent", "", content.GetName(), nil)))
	s.pass(10 * time.Second)
	if s.get("VolumeSnapshotContent", content.GetName()) == nil {
		require.Equal(t, false, s.ready("s"), "SNAP-011")
		require.Contains(t, s.events("s"), "SnapshotContentMissing", "SNAP-011")
	}
}

// TestGroupMember: a member of a group without a content waits (SNAP-014).
func TestGroupMember(t *testing.T) {
	s := newSnapshots(t)
	group := snapshotObject("VolumeGroupSnapshot", "default", "g", map[string]any{"spec": map[string]any{}})
	group.SetAPIVersion("groupsnapshot.storage.k8s.io/v1")
	s.create(group) // the garbage collector deletes members without their group
	member := snapshotOf("m", "pvc=data", "")
	require.NoError(t, unstructured.SetNestedSlice(member.Object, []any{map[string]any{
		"apiVersion": "groupsnapshot.storage.k8s.io/v1", "kind": "VolumeGroupSnapshot", "name": "g", "uid": string(group.GetUID()),
	}}, "metadata", "ownerReferences"))
	s.create(member)
	s.pass(10 * time.Second)
	require.Empty(t, s.contentName("m"), "SNAP-014")
	require.Empty(t, s.driver.Snapshots(), "SNAP-014")
}

// TestSnapshotFaults: errors of the driver (SNAP-023, SNAP-025).
func TestSnapshotFaults(t *testing.T) {
	for _, code := range []storage.Code{storage.Internal, storage.DeadlineExceeded} {
		s := newSnapshots(t)
		s.Faults.Fail(fake.Match{Verb: string(storage.CreateSnapshot)}, storage.Errorf(code, "broken"))
		s.create(snapshotOf("s", "pvc=data", "snap"))
		s.pass(10 * time.Second)
		content := s.get("VolumeSnapshotContent", s.contentName("s"))
		require.Contains(t, s.events(content.GetName()), "SnapshotCreationFailed", "SNAP-023")
		_, creating := content.GetAnnotations()[prefix+"volumesnapshot-being-created"]
		require.Equal(t, code == storage.DeadlineExceeded, creating, "SNAP-023")
		s.delete("VolumeSnapshot", "s")
		s.pass(10 * time.Minute)
		require.Equal(t, creating, s.get("VolumeSnapshotContent", content.GetName()) != nil, "SNAP-025: %s", code)
	}
}

// TestRestore: a claim gets a volume with the data of a snapshot (SNAP-030, SNAP-031).
func TestRestore(t *testing.T) {
	restored := func(name, size string) *corev1.PersistentVolumeClaim {
		claim := fake.Claim(name, size, fake.InClass("fast"))
		group := snapshotGroup
		claim.Spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: &group, Kind: "VolumeSnapshot", Name: "first"}
		return claim
	}
	s := newSnapshots(t, fake.SlowSnapshots(3))
	s.create(snapshotOf("first", "pvc=data", "snap"),
		restored("restored", "1Gi"), restored("small", "500Mi"))
	s.pass(2 * time.Second)
	require.Equal(t, corev1.ClaimPending, s.claim("restored").Status.Phase, "SNAP-030: the snapshot is not ready")
	s.pass(time.Minute)
	require.Equal(t, corev1.ClaimBound, s.claim("restored").Status.Phase, "SNAP-030")
	require.Equal(t, corev1.ClaimPending, s.claim("small").Status.Phase, "SNAP-030: the snapshot is larger")
	volume, ok := s.driver.Volume(s.claim("restored").Spec.VolumeName)
	require.True(t, ok)
	require.Equal(t, s.driver.Snapshots()[0].ID, volume.Origin)
	require.NotContains(t, s.get("VolumeSnapshot", "first").GetFinalizers(), "provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection", "SNAP-031")

	s.delete("VolumeSnapshot", "first")
	s.pass(time.Minute)
	require.NotNil(t, s.get("VolumeSnapshot", "first"), "SNAP-012: a claim is pending")
	require.Contains(t, s.events("first"), "SnapshotDeletePending", "SNAP-012")
	require.NoError(t, s.Delete(s.claim("small")))
	s.pass(10 * time.Minute)
	require.Nil(t, s.get("VolumeSnapshot", "first"), "SNAP-012")
}

// TestCloneProtection: the source of a copy is not deleted while the copy is pending (SNAP-032).
func TestCloneProtection(t *testing.T) {
	const finalizer = "provisioner.storage.kubernetes.io/cloning-protection"
	s := newSnapshots(t, fake.Latency(storage.Create, 5*time.Second))
	copied := fake.Claim("copy", "1Gi", fake.InClass("fast"))
	copied.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: "data"}
	s.create(copied)
	s.pass(2 * time.Second)
	require.Contains(t, s.claim("data").Finalizers, finalizer, "SNAP-032")
	require.NoError(t, s.Delete(s.claim("data")))
	s.pass(time.Second)
	s.claim("data") // is still there
	s.pass(time.Minute)
	require.Equal(t, corev1.ClaimBound, s.claim("copy").Status.Phase)
	_, err := s.Claims.Get("default/data")
	require.Error(t, err, "SNAP-032")
}
