package differential

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/snapshots"
)

// GenerateGroupSnapshots returns the scenario of a seed about group snapshots, with snapshots beside them.
func GenerateGroupSnapshots(seed uint64) Scenario {
	g := newSnapshotGenerator(seed, 42)
	g.kind = snapshots.GroupKind
	g.requests = []string{"create " + string(snapshots.GroupContentKind), "patch " + string(snapshots.GroupContentKind), "patch " + string(snapshots.GroupContentKind),
		"patch-status " + string(snapshots.GroupContentKind), "update-status " + string(snapshots.GroupContentKind), "delete " + string(snapshots.GroupContentKind),
		"get " + string(snapshots.GroupContentKind), "update " + string(snapshots.GroupKind), "update-status " + string(snapshots.GroupKind),
		"get " + string(snapshots.GroupKind), "create " + string(snapshots.SnapshotKind), "create " + string(snapshots.ContentKind),
		"patch " + string(snapshots.ContentKind), "patch-status " + string(snapshots.ContentKind), "patch-status " + string(snapshots.SnapshotKind),
		"delete " + string(snapshots.ContentKind), "delete " + string(snapshots.SnapshotKind), "update " + string(snapshots.SnapshotKind)}
	create := func() {
		g.start(g.createGroupClass)
		if g.chance(2) {
			g.createClass()
		}
		g.createGroup()
	}
	return g.finish(g.scenario(create, []func(){
		g.createGroup, g.createGroup, g.createGroup, g.deleteGroup, g.deleteGroup, g.deleteGroup, g.createGroupContent, g.createGroupContent, g.deleteGroupContent,
		g.changeGroup, g.changeGroup, g.changeGroupContent, g.changeGroupContent, g.createGroupClass, g.deleteGroupClass, g.drive, g.drive, g.drive,
		g.changeClaim, g.createSnapshot, g.deleteSnapshot, g.deleteMember, g.deleteMember, g.restore, g.secret, g.pass, g.pass,
	}))
}

const groupVersion = "groupsnapshot.storage.k8s.io/v1"

func (g *snapshotGenerator) createGroupClass() {
	class := g.newClass("group-snapshotter", "VolumeGroupSnapshotClass")
	class.APIVersion = groupVersion
	if g.chance(3) {
		class.Annotations = map[string]string{snapshots.DefaultGroupClass: "true"}
	}
	g.add(Step{Op: Create, Object: snapshots.Plain(class)})
}

func (g *snapshotGenerator) deleteGroupClass() {
	g.add(Step{Op: Delete, Ref: api.Ref{Kind: snapshots.GroupClassKind, Key: *g.className()}})
}

func (g *snapshotGenerator) groupName() string { return pick(g.generator, "g0", "g0", "g0", "g1") }

func (g *snapshotGenerator) group() api.Ref {
	return api.Ref{Kind: snapshots.GroupKind, Key: "default/" + g.groupName()}
}

func (g *snapshotGenerator) createGroup() {
	s := &snapshots.Group{}
	s.APIVersion, s.Kind = groupVersion, "VolumeGroupSnapshot"
	s.Namespace, s.Name = "default", g.groupName()
	if !g.chance(4) {
		s.Spec.Class = g.className()
	}
	if g.chance(4) {
		s.Spec.Source.Content = new(g.contentName())
	} else {
		s.Spec.Source.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": pick(g.generator, "db", "db", "db", "web", "none")}}
	}
	if g.chance(10) {
		s.Finalizers = []string{"example.com/hold"}
	}
	g.add(Step{Op: Create, Object: snapshots.Plain(s)})
}

func (g *snapshotGenerator) deleteGroup() { g.add(Step{Op: Delete, Ref: g.group()}) }

func (g *snapshotGenerator) changeGroup() {
	switch g.IntN(4) {
	case 0, 1:
		g.patch(g.group(), api.Main, map[string]any{"spec": map[string]any{"volumeGroupSnapshotClassName": g.className()}})
	default:
		g.patch(g.group(), api.Main, map[string]any{"metadata": map[string]any{"finalizers": pick[any](g.generator, nil, []string{"example.com/hold"})}})
	}
}

func (g *snapshotGenerator) createGroupContent() {
	c := &snapshots.GroupContent{}
	c.APIVersion, c.Kind, c.Name = groupVersion, "VolumeGroupSnapshotContent", g.contentName()
	c.Spec.Driver = pick(g.generator, Driver, Driver, Driver, Driver, Driver, Driver, "other.example.com")
	c.Spec.DeletionPolicy = pick(g.generator, snapshots.Delete, snapshots.Delete, snapshots.Retain)
	c.Spec.Group = corev1.ObjectReference{Namespace: "default", Name: g.groupName()}
	if g.chance(3) {
		c.Spec.Class = g.className()
	}
	if g.chance(8) {
		c.Spec.Source.Volumes = []string{"handle-c0", "handle-c1"}
	} else {
		c.Spec.Source.Handles = &snapshots.GroupHandles{Group: "existing-" + c.Name, Snapshots: pick(g.generator, []string{"a"}, []string{"a", "b"})}
	}
	g.add(Step{Op: Create, Object: snapshots.Plain(c)})
}

func (g *snapshotGenerator) deleteGroupContent() {
	g.add(Step{Op: Delete, Ref: g.content(snapshots.GroupContentKind)})
}

func (g *snapshotGenerator) changeGroupContent() {
	ref := g.content(snapshots.GroupContentKind)
	switch g.IntN(4) {
	case 0, 1:
		g.patch(ref, api.Main, map[string]any{"spec": map[string]any{"deletionPolicy": pick(g.generator, snapshots.Delete, snapshots.Retain)}})
	case 2:
		g.patch(ref, api.Main, map[string]any{"metadata": map[string]any{"finalizers": pick[any](g.generator, nil, []string{"example.com/hold"})}})
	default:
		g.patch(ref, api.Main, map[string]any{"metadata": map[string]any{"annotations": map[string]any{"x": pick[any](g.generator, "y", "z", nil)}}})
	}
}

// deleteMember deletes a snapshot, most often one of a group.
func (g *snapshotGenerator) deleteMember() {
	g.add(Step{Op: Delete, Ref: api.Ref{Kind: snapshots.SnapshotKind, Key: nthKey(g.IntN(3))}})
}
