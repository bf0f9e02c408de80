package csitest

import (
	"strings"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
)

func snapshots(_ *Config, c capabilities) string { return lacks(c.Snapshot, "CREATE_DELETE_SNAPSHOT") }
func listsSnapshots(_ *Config, c capabilities) string {
	return lacks(c.ListSnapshots, "LIST_SNAPSHOTS")
}
func clones(_ *Config, c capabilities) string { return lacks(c.Clone, "CLONE_VOLUME") }
func groups(_ *Config, c capabilities) string {
	return lacks(c.Group, "CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT")
}

// snapshotStories are about snapshots, the volumes created from them, and copies of volumes.
var snapshotStories = []story{
	{name: "snapshot", about: "a snapshot of a volume is taken and deleted", needs: need(creates, snapshots), run: func(r *run) {
		r.class()
		r.snapshotClass("snap", "Delete")
		r.claim("data")
		r.bound("data")
		r.snapshot("first", "data", "snap")
		r.snapshotReady("first")
		r.compare()
		r.snapshotDeleted("first")
		r.compare()
		r.deleted("data")
	}},
	{name: "snapshot-in-use", about: "two snapshots are taken of a volume that a pod writes to, and both are restored",
		needs: need(creates, snapshots),
		run: func(r *run) {
			r.class()
			r.snapshotClass("snap", "Delete")
			r.claim("data")
			r.pod("web", 0, "data")
			r.running("web")
			r.write("web", "data", "hello")
			r.snapshot("first", "data", "snap")
			r.snapshotReady("first")
			r.write("web", "data", "world")
			r.snapshot("second", "data", "snap")
			r.snapshotReady("second")
			r.write("web", "data", "end")
			r.compare()
			r.restore("old", "first", 1)
			r.restore("new", "second", 1)
			r.pod("reader-old", 0, "old")
			r.pod("reader-new", 0, "new")
			r.running("reader-old", "reader-new")
			r.read("reader-old", "old")
			r.read("reader-new", "new")
			r.read("web", "data")
			r.end("web", "reader-old", "reader-new")
			r.detached()
			r.snapshotDeleted("first", "second")
			r.compare()
			r.deleted("data", "old", "new")
		}},
	{name: "restore", about: "a volume is created from a snapshot, and both volumes are written to",
		needs: need(creates, snapshots), run: func(r *run) {
			r.filled("snap")
			r.restore("copy", "first", 1)
			r.pod("next", 0, "copy")
			r.running("next")
			r.read("next", "copy")
			r.write("next", "copy", "world")
			r.read("next", "copy")
			r.end("next")
			r.detached()
			r.pod("web", 0, "data")
			r.running("web")
			r.read("web", "data")
			r.compare()
			r.end("web")
			r.detached()
			r.snapshotDeleted("first")
			r.deleted("data", "copy")
		}},
	{name: "restore-larger", about: "a volume that is larger than its snapshot is created from it",
		needs: need(creates, snapshots), run: func(r *run) {
			r.filled("snap")
			r.restore("copy", "first", 2)
			r.pod("next", 0, "copy")
			r.running("next")
			r.read("next", "copy")
			r.measure("next", "copy")
			r.compare()
			r.end("next")
			r.detached()
			r.snapshotDeleted("first")
			r.deleted("data", "copy")
		}},
	{name: "restore-other-class",
		about: "a volume is created from a snapshot with a class that waits for the first pod and allows no expansion",
		needs: need(creates, snapshots), run: func(r *run) {
			r.filled("snap")
			class := fake.Class(r.name("late"), r.driver.Name(), fake.WaitForFirstConsumer())
			class.Parameters = r.parameters()
			r.create(class)
			r.create(r.copyOf("copy", r.fromSnapshot("first"), 1, fake.InClass(r.name("late"))))
			r.create(fake.Pod(r.name("next"), fake.Claims(r.name("copy"))))
			r.running("next")
			r.read("next", "copy")
			r.compare()
			r.end("next")
			r.detached()
			r.snapshotDeleted("first")
			r.deleted("data", "copy")
		}},
	{name: "restore-early", about: "a claim names a snapshot that is not ready yet, and a pod waits for it",
		needs: need(creates, snapshots), run: func(r *run) {
			r.class()
			r.snapshotClass("snap", "Delete")
			r.claim("data")
			r.pod("web", 0, "data")
			r.running("web")
			r.write("web", "data", "hello")
			r.end("web")
			r.detached()
			r.snapshot("first", "data", "snap")
			r.restore("copy", "first", 1)
			r.pod("next", 0, "copy")
			r.running("next")
			r.read("next", "copy")
			r.compare()
			r.end("next")
			r.detached()
			r.snapshotDeleted("first")
			r.deleted("data", "copy")
		}},
	{name: "snapshot-deleted-early", about: "a snapshot is deleted before it is ready", needs: need(creates, snapshots), run: func(r *run) {
		r.class()
		r.snapshotClass("snap", "Delete")
		r.claim("data")
		r.bound("data")
		r.snapshot("first", "data", "snap")
		r.goal("the snapshot is being taken", func() bool { return r.called("CreateSnapshot") })
		r.snapshotDeleted("first")
		r.compare()
		r.deleted("data")
	}},
	{name: "snapshot-deleted-in-restore", about: "a snapshot is deleted while a volume is created from it", needs: need(creates, snapshots),
		run: func(r *run) {
			r.filled("snap")
			r.restore("copy", "first", 1)
			r.pass(10 * time.Millisecond)
			r.remove(r.object("VolumeSnapshot", "first", nil))
			r.pod("next", 0, "copy")
			r.running("next")
			r.read("next", "copy")
			r.snapshotDeleted("first")
			r.compare()
			r.end("next")
			r.detached()
			r.deleted("data", "copy")
		}},
	{name: "snapshot-source-deleted", about: "a volume with snapshots is deleted, and then another one is created from a snapshot",
		needs: need(creates, snapshots),
		run: func(r *run) {
			r.filled("snap")
			r.remove(fake.Claim(r.name("data"), r.gib(1)))
			r.pass(5 * time.Minute)
			r.compare()
			r.restore("copy", "first", 1)
			r.pod("next", 0, "copy")
			r.running("next")
			r.read("next", "copy")
			r.compare()
			r.end("next")
			r.detached()
			r.snapshotDeleted("first")
			r.deleted("data", "copy")
		}},
	{name: "snapshot-expand", about: "a volume grows after its snapshot was taken, and the snapshot is restored in its old size",
		needs: need(creates, snapshots, expandsOnline), run: func(r *run) {
			r.filled("snap")
			r.grow("data", 2)
			r.pod("web", 0, "data")
			r.running("web")
			r.grown("data", 2)
			r.snapshot("second", "data", "snap")
			r.snapshotReady("second")
			r.compare()
			r.restore("old", "first", 1)
			r.restore("new", "second", 2)
			r.bound("old")
			r.bound("new")
			r.end("web")
			r.detached()
			r.snapshotDeleted("first", "second")
			r.compare()
			r.deleted("data", "old", "new")
		}},
	{name: "snapshot-block", about: "a snapshot of a block volume is restored",
		needs: need(creates, snapshots, supports("Block")), run: func(r *run) {
			r.class()
			r.snapshotClass("snap", "Delete")
			r.claim("data", fake.Block())
			r.bound("data")
			r.snapshot("first", "data", "snap")
			r.snapshotReady("first")
			r.create(r.copyOf("copy", r.fromSnapshot("first"), 1, fake.InClass(r.name(className)), fake.Block()))
			r.create(fake.Pod(r.name("web"), fake.OnNode(r.node(0)), fake.BlockClaims(r.name("copy"))))
			r.running("web")
			r.compare()
			r.end("web")
			r.detached()
			r.snapshotDeleted("first")
			r.deleted("data", "copy")
		}},
	{name: "snapshot-retain", about: "a snapshot whose class retains it is deleted; it is imported, restored and then deleted",
		needs: need(creates, snapshots),
		run: func(r *run) {
			r.filled("keep")
			content := r.contentOf("first")
			handle := r.snapshotHandle(content)
			r.snapshotDeleted("first")
			r.compare()
			if handle == "" {
				return
			}
			r.remove(r.clusterObject("VolumeSnapshotContent", content, nil))
			r.goal("the content is gone", func() bool { return r.stored(r.clusterObject("VolumeSnapshotContent", content, nil)) == nil })
			r.importSnapshot("import", handle, "again", "Delete")
			r.snapshotReady("again")
			r.restore("copy", "again", 1)
			r.pod("next", 0, "copy")
			r.running("next")
			r.read("next", "copy")
			r.end("next")
			r.detached()
			r.snapshotDeleted("again")
			r.compare()
			r.deleted("data", "copy")
		}},
	{name: "snapshot-unknown", about: "a snapshot is imported that does not exist", needs: need(creates, snapshots), run: func(r *run) {
		r.class()
		r.snapshotClass("snap", "Delete")
		r.claim("data")
		r.bound("data")
		r.snapshot("first", "data", "snap")
		r.snapshotReady("first")
		r.importSnapshot("import", "volsim-"+r.name("none"), "none", "Retain")
		r.pass(5 * time.Minute)
		r.compare()
		r.remove(r.object("VolumeSnapshot", "none", nil))
		r.snapshotDeleted("first")
		r.deleted("data")
	}},
	{name: "snapshot-secrets", about: "calls about snapshots have secrets of their own, which are created after they are needed",
		needs: need(creates, snapshots),
		run: func(r *run) {
			r.class()
			r.create(r.snapshotClassObject("snap", "Delete", map[string]any{
				"csi.storage.k8s.io/snapshotter-secret-name":      "${volumesnapshot.name}-snapshotter",
				"csi.storage.k8s.io/snapshotter-secret-namespace": "default",
			}))
			r.claim("data")
			r.bound("data")
			r.snapshot("first", "data", "snap")
			r.pass(2 * time.Minute)
			r.secret("first-snapshotter", "snapshotter")
			r.snapshotReady("first")
			r.compare()
			r.snapshotDeleted("first")
			r.compare()
			r.deleted("data")
		}},
	{name: "snapshot-queries", about: "volsim lists snapshots in all ways, and sends requests that must fail",
		needs: need(creates, snapshots), run: func(r *run) {
			r.class()
			r.snapshotClass("snap", "Delete")
			r.claim("data")
			r.claim("logs")
			r.bound("data")
			r.bound("logs")
			for _, name := range []string{"first", "second"} {
				r.snapshot(name, "data", "snap")
				r.snapshotReady(name)
			}
			r.snapshot("third", "logs", "snap")
			r.snapshotReady("third")
			r.compare()
			r.askAboutSnapshots()
			r.snapshotDeleted("first", "second", "third")
			r.compare()
			r.deleted("data", "logs")
		}},
	{name: "clone", about: "a volume is copied, and both volumes are written to", needs: need(creates, clones), run: func(r *run) {
		r.writtenVolume()
		r.create(r.copyOf("copy", r.fromClaim("data"), 1, fake.InClass(r.name(className))))
		r.pod("next", 0, "copy")
		r.running("next")
		r.read("next", "copy")
		r.write("next", "copy", "world")
		r.pod("web", 0, "data")
		r.running("web")
		r.read("web", "data")
		r.compare()
		r.end("web", "next")
		r.detached()
		r.deleted("data", "copy")
	}},
	{name: "clone-larger", about: "a volume in use is copied to a larger one", needs: need(creates, clones), run: func(r *run) {
		r.class()
		r.claim("data")
		r.pod("web", 0, "data")
		r.running("web")
		r.write("web", "data", "hello")
		r.measure("web", "data")
		r.create(r.copyOf("copy", r.fromClaim("data"), 2, fake.InClass(r.name(className))))
		r.pod("next", 0, "copy")
		r.running("next")
		r.read("next", "copy")
		r.measure("next", "copy")
		r.compare()
		r.end("web", "next")
		r.detached()
		r.deleted("data", "copy")
	}},
	{name: "clone-source-deleted", about: "a volume is deleted while it is copied", needs: need(creates, clones), run: func(r *run) {
		r.writtenVolume()
		r.create(r.copyOf("copy", r.fromClaim("data"), 1, fake.InClass(r.name(className))))
		r.goal("the copy is being created", func() bool { return len(r.creations()) > 1 })
		r.remove(fake.Claim(r.name("data"), r.gib(1)))
		r.bound("copy")
		r.pass(10 * time.Minute)
		r.compare()
		r.pod("next", 0, "copy")
		r.running("next")
		r.read("next", "copy")
		r.end("next")
		r.detached()
		r.deleted("data", "copy")
	}},
	{name: "clone-of-clone", about: "a copy is copied, and the volumes are deleted in the order in which they were created",
		needs: need(creates, clones),
		run: func(r *run) {
			r.writtenVolume()
			r.create(r.copyOf("copy", r.fromClaim("data"), 1, fake.InClass(r.name(className))))
			r.bound("copy")
			r.create(r.copyOf("last", r.fromClaim("copy"), 1, fake.InClass(r.name(className))))
			r.bound("last")
			r.remove(fake.Claim(r.name("data"), r.gib(1)))
			r.pass(5 * time.Minute)
			r.remove(fake.Claim(r.name("copy"), r.gib(1)))
			r.pass(5 * time.Minute)
			r.pod("next", 0, "last")
			r.running("next")
			r.read("next", "last")
			r.compare()
			r.end("next")
			r.detached()
			r.deleted("data", "copy", "last")
		}},
	{name: "group-snapshot-life", about: "a snapshot of two volumes is taken at once and deleted, with the calls of the csi-snapshotter",
		needs: need(creates, groups), run: func(r *run) {
			r.class()
			r.claim("data")
			r.claim("logs")
			r.bound("data")
			r.bound("logs")
			r.groupLife("data", "logs")
			r.compare()
			r.deleted("data", "logs")
		}},
	{name: "group-snapshot", about: "volsim takes a snapshot of two volumes at once, asks for it and deletes it",
		needs: need(creates, groups), run: func(r *run) {
			r.class()
			r.claim("data")
			r.claim("logs")
			r.bound("data")
			r.bound("logs")
			r.askAboutGroups("data", "logs")
			r.compare()
			r.deleted("data", "logs")
		}},
}

// writtenVolume creates the class and the claim "data", and writes to its volume.
func (r *run) writtenVolume() {
	r.class()
	r.claim("data")
	r.pod("web", 0, "data")
	r.running("web")
	r.write("web", "data", "hello")
	r.measure("web", "data")
	r.end("web")
	r.detached()
}

// filled takes the snapshot "first" of a volume with data, and writes other data afterwards. class is "snap", or "keep" for one that
// retains.
func (r *run) filled(class string) {
	policy := "Delete"
	if class == "keep" {
		policy = "Retain"
	}
	r.snapshotClass(class, policy)
	r.writtenVolume()
	r.snapshot("first", "data", class)
	r.snapshotReady("first")
	r.pod("writer", 0, "data")
	r.running("writer")
	r.write("writer", "data", "later")
	r.end("writer")
	r.detached()
}

// clusterObject returns an object of external-snapshotter without a namespace.
func (r *run) clusterObject(kind, name string, fields map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	for key, value := range fields {
		u.Object[key] = value
	}
	u.SetAPIVersion("snapshot.storage.k8s.io/v1")
	u.SetKind(kind)
	u.SetName(name)
	return u
}

// object returns an object of external-snapshotter in the default namespace, with the name for this run.
func (r *run) object(kind, name string, fields map[string]any) *unstructured.Unstructured {
	u := r.clusterObject(kind, r.name(name), fields)
	u.SetNamespace("default")
	return u
}

// stored returns the stored object, nil if it does not exist.
func (r *run) stored(u *unstructured.Unstructured) *unstructured.Unstructured {
	found, err := r.cluster.Objects(api.Kind(u.GetKind() + ".snapshot.storage.k8s.io")).Get(api.Key(u.GetNamespace(), u.GetName()))
	if err != nil {
		return nil
	}
	return found
}

// snapshotClass creates a VolumeSnapshotClass.
func (r *run) snapshotClass(name, policy string) {
	parameters := map[string]any{}
	if len(r.cfg.Secrets) > 0 {
		for _, kind := range []string{"snapshotter-secret", "snapshotter-list-secret"} {
			parameters["csi.storage.k8s.io/"+kind+"-name"], parameters["csi.storage.k8s.io/"+kind+"-namespace"] = commonSecret, "default"
		}
	}
	r.create(r.snapshotClassObject(name, policy, parameters))
}

func (r *run) snapshotClassObject(name, policy string, parameters map[string]any) *unstructured.Unstructured {
	for key, value := range r.cfg.SnapshotParameters {
		parameters[key] = value
	}
	return r.clusterObject("VolumeSnapshotClass", r.name(name), map[string]any{"driver": r.driver.Name(), "deletionPolicy": policy,
		"parameters": parameters})
}

// snapshot creates a VolumeSnapshot of a claim.
func (r *run) snapshot(name, claim, class string) {
	r.create(r.object("VolumeSnapshot", name, map[string]any{"spec": map[string]any{"volumeSnapshotClassName": r.name(class),
		"source": map[string]any{"persistentVolumeClaimName": r.name(claim)}}}))
}

// importSnapshot creates a content for a snapshot of the storage system, and a VolumeSnapshot that names it.
func (r *run) importSnapshot(content, handle, name, policy string) {
	r.create(r.clusterObject("VolumeSnapshotContent", r.name(content), map[string]any{"spec": map[string]any{
		"driver": r.driver.Name(), "deletionPolicy": policy, "source": map[string]any{"snapshotHandle": handle},
		"volumeSnapshotRef": map[string]any{"namespace": "default", "name": r.name(name)}}}))
	r.create(r.object("VolumeSnapshot", name,
		map[string]any{"spec": map[string]any{"source": map[string]any{"volumeSnapshotContentName": r.name(content)}}}))
}

func (r *run) snapshotReady(names ...string) {
	for _, name := range names {
		r.goal("snapshot "+name+" is ready", func() bool {
			u := r.stored(r.object("VolumeSnapshot", name, nil))
			if u == nil {
				return false
			}
			ready, _, _ := unstructured.NestedBool(u.Object, "status", "readyToUse")
			return ready
		})
	}
}

// snapshotDeleted deletes snapshots and waits until they are gone.
func (r *run) snapshotDeleted(names ...string) {
	for _, name := range names {
		r.remove(r.object("VolumeSnapshot", name, nil))
	}
	for _, name := range names {
		r.goal("snapshot "+name+" is gone", func() bool { return r.stored(r.object("VolumeSnapshot", name, nil)) == nil })
	}
}

// contentOf returns the name of the content of a snapshot, "" for none.
func (r *run) contentOf(snapshot string) string {
	u := r.stored(r.object("VolumeSnapshot", snapshot, nil))
	if u == nil {
		return ""
	}
	name, _, _ := unstructured.NestedString(u.Object, "status", "boundVolumeSnapshotContentName")
	return name
}

// snapshotHandle returns the snapshot_id of a content, "" for none.
func (r *run) snapshotHandle(content string) string {
	u := r.stored(r.clusterObject("VolumeSnapshotContent", content, nil))
	if u == nil {
		return ""
	}
	handle, _, _ := unstructured.NestedString(u.Object, "status", "snapshotHandle")
	return handle
}

func (r *run) fromSnapshot(name string) *corev1.TypedLocalObjectReference {
	return &corev1.TypedLocalObjectReference{APIGroup: new("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot", Name: r.name(name)}
}

func (r *run) fromClaim(name string) *corev1.TypedLocalObjectReference {
	return &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: r.name(name)}
}

// copyOf returns a claim for a copy of a snapshot or claim.
func (r *run) copyOf(name string, source *corev1.TypedLocalObjectReference, times int, opts ...fake.Option) *corev1.PersistentVolumeClaim {
	claim := fake.Claim(r.name(name), r.gib(times), opts...)
	claim.Spec.DataSource = source
	return claim
}

// restore creates a claim for a volume from a snapshot.
func (r *run) restore(name, snapshot string, times int) {
	r.create(r.copyOf(name, r.fromSnapshot(snapshot), times, fake.InClass(r.name(className))))
}

// creations returns the names of the volumes for which CreateVolume was called.
func (r *run) creations() map[string]bool {
	names := map[string]bool{}
	for _, c := range r.driver.Calls() {
		if c.Method == "CreateVolume" {
			names[c.Volume] = true
		}
	}
	return names
}

// askAboutSnapshots lists snapshots in all ways, and sends requests that must fail.
func (r *run) askAboutSnapshots() {
	secrets := r.cfg.Secrets
	r.ask("", &spec.CreateSnapshotRequest{Name: "volsim-" + r.name("invalid"), Secrets: secrets}, codes.InvalidArgument,
		"source_volume_id is missing")
	r.ask("", &spec.CreateSnapshotRequest{SourceVolumeId: r.handle("data"), Secrets: secrets}, codes.InvalidArgument, "name is missing")
	r.ask("", &spec.DeleteSnapshotRequest{Secrets: secrets}, codes.InvalidArgument, "snapshot_id is missing")
	r.ask("", &spec.DeleteSnapshotRequest{SnapshotId: "volsim-" + r.name("none"), Secrets: secrets}, codes.OK, "the snapshot does not exist")
	first := r.snapshotHandle(r.contentOf("first"))
	for _, c := range r.driver.Calls() {
		if req, ok := c.Request.(*spec.CreateSnapshotRequest); ok && req.GetSourceVolumeId() == r.handle("data") && req.GetName() != "" {
			again := proto.Clone(req).(*spec.CreateSnapshotRequest)
			again.SourceVolumeId = r.handle("logs")
			r.ask("", again, codes.AlreadyExists, "a snapshot of that name exists, of another volume")
			break
		}
	}
	if create := r.creationOf(r.handle("data")); create != nil {
		missing := proto.Clone(create).(*spec.CreateVolumeRequest)
		missing.Name = "volsim-" + r.name("missing")
		missing.VolumeContentSource = &spec.VolumeContentSource{Type: &spec.VolumeContentSource_Snapshot{
			Snapshot: &spec.VolumeContentSource_SnapshotSource{SnapshotId: "volsim-" + r.name("none")}}}
		r.ask("", missing, codes.NotFound, "the snapshot in volume_content_source does not exist")
	}
	if !r.rec.caps.ListSnapshots {
		return
	}
	token := ""
	for range maxPages {
		reply, ok := r.ask("", &spec.ListSnapshotsRequest{MaxEntries: 1, StartingToken: token, Secrets: secrets}, codes.OK,
			"the driver has LIST_SNAPSHOTS").(*spec.ListSnapshotsResponse)
		if !ok {
			break
		}
		if token = reply.GetNextToken(); token == "" {
			break
		}
	}
	r.ask("", &spec.ListSnapshotsRequest{StartingToken: "volsim-no-such-token", Secrets: secrets}, codes.Aborted, "starting_token is invalid")
	r.ask("", &spec.ListSnapshotsRequest{SnapshotId: first, Secrets: secrets}, codes.OK, "the snapshot exists")
	r.ask("", &spec.ListSnapshotsRequest{SnapshotId: "volsim-" + r.name("none"), Secrets: secrets}, codes.OK, "no snapshot has that ID")
	r.ask("", &spec.ListSnapshotsRequest{SourceVolumeId: r.handle("logs"), Secrets: secrets}, codes.OK, "the volume has snapshots")
	r.ask("", &spec.ListSnapshotsRequest{SourceVolumeId: "volsim-" + r.name("none"), Secrets: secrets}, codes.OK, "no volume has that ID")
}

// groupLife takes a group snapshot of the volumes of two claims and deletes it. The controllers of group snapshots are not simulated, so it makes
// the calls as the csi-snapshotter makes them: with faults, and again until they succeed.
func (r *run) groupLife(first, second string) {
	a, b := r.handle(first), r.handle(second)
	if r.stopped || a == "" || b == "" {
		return
	}
	create := &spec.CreateVolumeGroupSnapshotRequest{Name: "groupsnapshot-" + r.name("volsim"), SourceVolumeIds: []string{a, b},
		Secrets: r.cfg.Secrets, Parameters: r.cfg.SnapshotParameters}
	var group *spec.VolumeGroupSnapshot
	r.repeat("the group snapshot is ready", create, create.GetName(), func(reply proto.Message) bool {
		group = reply.(*spec.CreateVolumeGroupSnapshotResponse).GetGroupSnapshot()
		return group.GetReadyToUse()
	})
	if r.stopped || group.GetGroupSnapshotId() == "" {
		return
	}
	r.compare()
	remove := &spec.DeleteVolumeGroupSnapshotRequest{GroupSnapshotId: group.GetGroupSnapshotId(), Secrets: r.cfg.Secrets}
	for _, s := range group.GetSnapshots() {
		remove.SnapshotIds = append(remove.SnapshotIds, s.GetSnapshotId())
	}
	r.repeat("the group snapshot is deleted", remove, remove.GetGroupSnapshotId(), func(proto.Message) bool { return true })
}

// repeat makes a call as the csi-snapshotter, with its fault, until it succeeds and its reply is the last one that is needed. It waits 1 s after
// the first failure and twice as long after each other one, up to 5 minutes, and gives up with the goal of the story.
func (r *run) repeat(goal string, request proto.Message, key string, done func(proto.Message) bool) {
	method := string(request.ProtoReflect().Descriptor().Name())
	verb := string(methods[strings.TrimSuffix(method, "Request")])
	for wait, end := time.Second, r.cluster.Now().Add(patience); !r.rec.broken; wait = min(2*wait, 5*time.Minute) {
		fault := injector{r}.Inject(api.Call{Actor: "csi-snapshotter", Target: r.driver.Name(), Verb: verb, Key: key})
		reply, err := r.driver.Call("", request)
		r.merge()
		if r.broken() || err == nil && done(reply) && !fault.Crash {
			return
		}
		if r.cluster.Now().After(end) {
			r.rec.missed = append(r.rec.missed, goal)
			break
		}
		r.pass(wait)
	}
	r.stopped = true
}

// askAboutGroups takes a group snapshot of the volumes of two claims, asks for it in all ways, and deletes it.
func (r *run) askAboutGroups(first, second string) {
	secrets, name := r.cfg.Secrets, "groupsnapshot-"+r.name("volsim")
	a, b := r.handle(first), r.handle(second)
	if a == "" || b == "" {
		return
	}
	r.ask("", &spec.CreateVolumeGroupSnapshotRequest{SourceVolumeIds: []string{a, b}, Secrets: secrets}, codes.InvalidArgument,
		"name is missing")
	create := &spec.CreateVolumeGroupSnapshotRequest{Name: name, SourceVolumeIds: []string{a, b}, Secrets: secrets}
	var group *spec.VolumeGroupSnapshot
	for range maxPages {
		reply, ok := r.ask("", create, codes.OK, "the volumes exist").(*spec.CreateVolumeGroupSnapshotResponse)
		if !ok {
			return
		}
		if group = reply.GetGroupSnapshot(); group.GetReadyToUse() {
			break
		}
		r.pass(time.Minute)
	}
	r.ask("", create, codes.OK, "the group snapshot exists")
	r.ask("", &spec.CreateVolumeGroupSnapshotRequest{Name: name, SourceVolumeIds: []string{a}, Secrets: secrets}, codes.AlreadyExists,
		"a group snapshot of that name exists, of other volumes")
	var ids []string
	for _, s := range group.GetSnapshots() {
		ids = append(ids, s.GetSnapshotId())
	}
	id := group.GetGroupSnapshotId()
	r.ask("", &spec.GetVolumeGroupSnapshotRequest{GroupSnapshotId: id, SnapshotIds: ids, Secrets: secrets}, codes.OK,
		"the group snapshot exists")
	r.compare()
	remove := &spec.DeleteVolumeGroupSnapshotRequest{GroupSnapshotId: id, SnapshotIds: ids, Secrets: secrets}
	r.ask("", remove, codes.OK, "the group snapshot exists")
	r.compare()
	r.ask("", remove, codes.OK, "the group snapshot does not exist any more")
	r.ask("", &spec.GetVolumeGroupSnapshotRequest{GroupSnapshotId: id, SnapshotIds: ids, Secrets: secrets}, codes.NotFound,
		"the group snapshot does not exist any more")
}
