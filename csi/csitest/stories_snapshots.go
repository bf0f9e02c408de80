package csitest

import (
	"time"

	"github.com/volsim/volsim/fake"
)

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
			r.read("next", "copy")
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
