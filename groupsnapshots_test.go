package volsim_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

const groupPrefix = "groupsnapshot.storage.kubernetes.io/"

func groupObject(kind, namespace, name string, content map[string]any) *unstructured.Unstructured {
	u := snapshotObject(kind, namespace, name, content)
	u.SetAPIVersion("groupsnapshot.storage.k8s.io/v1")
	return u
}

func groupClass(name, policy string, parameters map[string]any) *unstructured.Unstructured {
	return groupObject("VolumeGroupSnapshotClass", "", name, map[string]any{"driver": "disk.example.com", "deletionPolicy": policy,
		"parameters": parameters})
}

// groupOf returns a group snapshot with a source: app=VALUE or content=NAME, or both. Without class it has none.
func groupOf(name, sources, class string) *unstructured.Unstructured {
	source := map[string]any{}
	for _, text := range strings.Fields(sources) {
		key, value, _ := strings.Cut(text, "=")
		if key == "content" {
			source["volumeGroupSnapshotContentName"] = value
		} else {
			source["selector"] = map[string]any{"matchLabels": map[string]any{key: value}}
		}
	}
	spec := map[string]any{"source": source}
	if class != "" {
		spec["volumeGroupSnapshotClassName"] = class
	}
	return groupObject("VolumeGroupSnapshot", "default", name, map[string]any{"spec": spec})
}

// groupContentOf returns a content that the user makes, for the group snapshot of that name.
func groupContentOf(name, group, policy string, handles map[string]any) *unstructured.Unstructured {
	return groupObject("VolumeGroupSnapshotContent", "", name, map[string]any{"spec": map[string]any{
		"driver": "disk.example.com", "deletionPolicy": policy, "source": map[string]any{"groupSnapshotHandles": handles},
		"volumeGroupSnapshotRef": map[string]any{"namespace": "default", "name": group},
	}})
}

// groups is a cluster with the claims a and b, which have the label app=db, and the classes keep and drop with the policies Retain and Delete.
type groups struct{ *snapshots }

func newGroups(t *testing.T, opts ...fake.MemoryOption) groups {
	t.Helper()
	return newGroupsWith(t, volsim.Config{}, opts...)
}

func newGroupsWith(t *testing.T, cfg volsim.Config, opts ...fake.MemoryOption) groups {
	t.Helper()
	g := groups{newSnapshotsWith(t, cfg, opts...)}
	for _, name := range []string{"a", "b"} {
		claim := fake.Claim(name, "1Gi", fake.InClass("fast"))
		claim.Labels = map[string]string{"app": "db"}
		g.create(claim)
	}
	g.create(groupClass("keep", "Retain", nil), groupClass("drop", "Delete", nil))
	g.pass(10 * time.Second)
	return g
}

// object returns an object of the group kinds as the server has it; nil for none.
func (g groups) object(kind, name string) *unstructured.Unstructured {
	namespace := ""
	if kind == "VolumeGroupSnapshot" {
		namespace = "default"
	}
	u := groupObject(kind, namespace, name, nil)
	if g.Patch(u, "{}") != nil {
		return nil
	}
	return u
}

// at returns a field of an object of the group kinds.
func (g groups) at(kind, name, path string) any {
	g.t.Helper()
	u := g.object(kind, name)
	require.NotNil(g.t, u, name)
	value, _, _ := unstructured.NestedFieldNoCopy(u.Object, strings.Split(path, ".")...)
	return value
}

// bound returns the name of the content of a group snapshot.
func (g groups) bound(name string) string {
	g.t.Helper()
	content, _ := g.at("VolumeGroupSnapshot", name, "status.boundVolumeGroupSnapshotContentName").(string)
	return content
}

// members returns the snapshots of a group snapshot, in the order of their handles.
func (g groups) members(name string) []*unstructured.Unstructured {
	var members []*unstructured.Unstructured
	for _, s := range g.driver.Snapshots() {
		for _, obj := range g.everySnapshot() {
			owners := obj.GetOwnerReferences()
			if handle, _, _ := unstructured.NestedString(g.get("VolumeSnapshotContent", g.contentName(obj.GetName())).Object, "status",
				"snapshotHandle"); handle == s.ID && len(owners) == 1 && owners[0].Name == name {
				members = append(members, obj)
			}
		}
	}
	return members
}

// everySnapshot returns the VolumeSnapshots that the trace has seen and that exist.
func (g groups) everySnapshot() []*unstructured.Unstructured {
	names := map[string]bool{}
	for e := range g.Trace().Entries() {
		if e.Object.Kind == "VolumeSnapshot.snapshot.storage.k8s.io" {
			names[strings.TrimPrefix(e.Object.Key, "default/")] = true
		}
	}
	var all []*unstructured.Unstructured
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if obj := g.get("VolumeSnapshot", name); obj != nil {
			all = append(all, obj)
		}
	}
	return all
}

// TestGroupSnapshot: a group snapshot of two claims, from its creation to its deletion.
func TestGroupSnapshot(t *testing.T) {
	g := newGroups(t)
	g.create(groupOf("night", "app=db", "drop"))
	g.pass(10 * time.Second)
	night := g.object("VolumeGroupSnapshot", "night")
	require.Equal(t, true, g.at("VolumeGroupSnapshot", "night", "status.readyToUse"), "SNAP-046")
	require.Equal(t, []string{groupPrefix + "volumegroupsnapshot-bound-protection"}, night.GetFinalizers(), "SNAP-042")
	require.Equal(t, "CreatingGroupSnapshot GroupSnapshotCreated GroupSnapshotReady", g.events("night"), "SNAP-043, SNAP-046")
	content := g.object("VolumeGroupSnapshotContent", "groupsnapcontent-"+string(night.GetUID()))
	require.NotNil(t, content, "SNAP-043")
	require.Equal(t, []string{groupPrefix + "volumegroupsnapshotcontent-bound-protection"}, content.GetFinalizers(), "SNAP-050")
	require.Empty(t, content.GetAnnotations(), "SNAP-062")
	require.Equal(t, "groupsnapshot-"+string(night.GetUID()), g.at("VolumeGroupSnapshotContent", content.GetName(), "status.volumeGroupSnapshotHandle"),
		"SNAP-061")
	require.Len(t, g.driver.Snapshots(), 2, "SNAP-061")

	members := g.members("night")
	require.Len(t, members, 2, "SNAP-045")
	var claims []any
	for _, member := range members {
		require.Equal(t, true, g.ready(member.GetName()), "SNAP-045")
		require.Equal(t, "night", g.field("VolumeSnapshot", member.GetName(), "status.volumeGroupSnapshotName"), "SNAP-051")
		require.Equal(t, night.GetUID(), member.GetOwnerReferences()[0].UID, "SNAP-045")
		require.Contains(t, member.GetFinalizers(), prefix+"volumesnapshot-in-group-protection", "SNAP-045")
		claims = append(claims, g.field("VolumeSnapshot", member.GetName(), "spec.source.persistentVolumeClaimName"))
	}
	require.ElementsMatch(t, []any{"a", "b"}, claims, "SNAP-045")

	g.delete("VolumeSnapshot", members[0].GetName())
	g.pass(10 * time.Second)
	require.NotNil(t, g.get("VolumeSnapshot", members[0].GetName()), "SNAP-051")
	require.Contains(t, g.events(members[0].GetName()), "SnapshotDeletePending", "SNAP-051")

	require.NoError(t, g.Delete(groupObject("VolumeGroupSnapshot", "default", "night", nil)))
	g.pass(10 * time.Minute)
	require.Nil(t, g.object("VolumeGroupSnapshot", "night"), "SNAP-049")
	require.Nil(t, g.object("VolumeGroupSnapshotContent", content.GetName()), "SNAP-065")
	require.Empty(t, g.everySnapshot(), "SNAP-051")
	require.Empty(t, g.driver.Snapshots(), "SNAP-065")
}

// TestGroupSnapshotErrors: what prevents a group snapshot is in its status and Events.
func TestGroupSnapshotErrors(t *testing.T) {
	other := groupClass("other", "Delete", nil)
	other.Object["driver"] = "tape.example.com"
	for _, tt := range []struct {
		rule    string
		obj     *unstructured.Unstructured
		message string
		reason  string
	}{
		{"SNAP-041", groupOf("g", "app=db", "none"),
			`failed to get group snapshot class with error volumegroupsnapshotclass.groupsnapshot.storage.k8s.io "none" not found`,
			"GetGroupSnapshotClassFailed"},
		{"SNAP-041", groupOf("g", "app=db", ""), "Failed to set default group snapshot class with error cannot find default group snapshot class",
			"SetDefaultGroupSnapshotClassFailed"},
		{"SNAP-042", groupOf("g", "app=db content=x", "drop"), "Exactly one of Selector and VolumeGroupSnapshotContentName should be specified",
			"GroupSnapshotValidationError"},
		{"SNAP-043", groupOf("g", "app=web", "drop"), "failed to create group snapshot content with error failed to get input parameters to create " +
			`group snapshot g: "label selector app=web for group snapshot not applied to any PVC"`, "GroupSnapshotContentCreationFailed"},
		{"SNAP-043", groupOf("g", "app=db", "other"), "", "CreateGroupSnapshotContentFailed GroupSnapshotContentCreationFailed"},
		{"SNAP-047", groupOf("g", "content=none", ""), "VolumeGroupSnapshotContent is missing", "GroupSnapshotContentMissing"},
	} {
		g := newGroups(t)
		g.create(other.DeepCopy(), tt.obj)
		g.pass(500 * time.Millisecond)
		if tt.message != "" {
			require.Equal(t, tt.message, g.at("VolumeGroupSnapshot", "g", "status.error.message"), tt.rule)
		}
		require.Equal(t, tt.reason, g.events("g"), tt.rule)
	}
}

// TestGroupSnapshotClass: the default class, and the templates of the secret.
func TestGroupSnapshotClass(t *testing.T) {
	g := newGroups(t)
	class := groupClass("standard", "Delete", map[string]any{
		"csi.storage.k8s.io/group-snapshotter-secret-name": "key", "csi.storage.k8s.io/group-snapshotter-secret-namespace": "vault",
	})
	class.SetAnnotations(map[string]string{groupPrefix + "is-default-class": "true"})
	g.create(class, groupOf("g", "app=db", ""))
	g.pass(10 * time.Second)
	require.Equal(t, "standard", g.at("VolumeGroupSnapshot", "g", "spec.volumeGroupSnapshotClassName"), "SNAP-041")
	content := g.bound("g")
	require.Equal(t, map[string]string{groupPrefix + "deletion-secret-name": "key", groupPrefix + "deletion-secret-namespace": "vault"},
		g.object("VolumeGroupSnapshotContent", content).GetAnnotations(), "SNAP-044")
	require.Contains(t, g.at("VolumeGroupSnapshotContent", content, "status.error.message"), "cannot get credentials for group snapshot content",
		"SNAP-044, SNAP-063")
	require.Contains(t, g.events(content), "GroupSnapshotCreationFailed", "SNAP-063")
}

// TestGroupSnapshotOfUser: a group snapshot that names its content binds it.
func TestGroupSnapshotOfUser(t *testing.T) {
	g := newGroups(t)
	var volumes []string
	for _, v := range g.driver.Volumes() {
		volumes = append(volumes, v.ID)
	}
	_, err := g.driver.CreateGroupSnapshot(storage.GroupSnapshotRequest{Name: "old", VolumeIDs: volumes})
	require.NoError(t, err)
	var handles []any
	for _, s := range g.driver.Snapshots() {
		handles = append(handles, s.ID)
	}
	g.create(groupContentOf("imported", "g", "Retain", map[string]any{"volumeGroupSnapshotHandle": "old", "volumeSnapshotHandles": handles}),
		groupOf("g", "content=imported", "keep"))
	g.pass(10 * time.Second)
	require.Equal(t, true, g.at("VolumeGroupSnapshot", "g", "status.readyToUse"), "SNAP-047, SNAP-064")
	require.Equal(t, string(g.object("VolumeGroupSnapshot", "g").GetUID()), g.at("VolumeGroupSnapshotContent", "imported",
		"spec.volumeGroupSnapshotRef.uid"), "SNAP-047")
	require.Empty(t, g.everySnapshot(), "SNAP-047: the user makes the members")

	// A snapshot of the user becomes a member.
	g.create(contentOf("one", handles[0].(string), "s", "Retain"), snapshotOf("s", "content=one", ""))
	g.pass(time.Minute)
	require.Equal(t, true, g.ready("s"), "SNAP-051")
	require.Equal(t, "g", g.field("VolumeSnapshot", "s", "status.volumeGroupSnapshotName"), "SNAP-051")
	require.Equal(t, "g", g.get("VolumeSnapshot", "s").GetOwnerReferences()[0].Name, "SNAP-051")

	g.create(groupOf("thief", "content=imported", ""),
		groupContentOf("empty", "e", "Delete", map[string]any{"volumeGroupSnapshotHandle": "old", "volumeSnapshotHandles": []any{}}),
		groupOf("e", "content=empty", ""))
	g.pass(10 * time.Second)
	require.Contains(t, g.events("thief"), "GroupSnapshotContentMisbound", "SNAP-047")
	require.Contains(t, g.events("empty"), "GroupSnapshotContentCheckandUpdateFailed", "SNAP-063, SNAP-064")

	// SNAP-048: without its content, a ready group snapshot is not ready.
	imported := g.object("VolumeGroupSnapshotContent", "imported")
	imported.SetFinalizers(nil)
	require.NoError(t, g.Update(imported))
	require.NoError(t, g.Delete(imported))
	g.pass(20 * time.Minute)
	require.Equal(t, false, g.at("VolumeGroupSnapshot", "g", "status.readyToUse"), "SNAP-048")
	require.Contains(t, g.events("g"), "GroupSnapshotContentMissing", "SNAP-048")
}

// TestSlowGroupSnapshot: the driver is asked until the snapshots are ready; retries, restarts and lost replies change nothing about the result.
func TestSlowGroupSnapshot(t *testing.T) {
	g := newGroups(t, fake.SlowSnapshots(3))
	g.Faults.Lose(fake.Match{Target: "disk.example.com", Verb: string(storage.CreateGroupSnapshot)},
		storage.Errorf(storage.DeadlineExceeded, "context deadline exceeded")).Once()
	g.create(groupOf("g", "app=db", "keep"))
	g.pass(2 * time.Second)
	require.Equal(t, false, g.at("VolumeGroupSnapshot", "g", "status.readyToUse"), "SNAP-062")
	require.NoError(t, g.Crash("snapshot-controller"))
	require.NoError(t, g.Restart("snapshot-controller"))
	g.pass(10 * time.Minute)
	require.Equal(t, true, g.at("VolumeGroupSnapshot", "g", "status.readyToUse"), "SNAP-040, SNAP-060, SNAP-062")
	require.Len(t, g.members("g"), 2, "SNAP-045")

	require.NoError(t, g.Delete(groupObject("VolumeGroupSnapshot", "default", "g", nil)))
	g.pass(10 * time.Minute)
	require.Nil(t, g.object("VolumeGroupSnapshot", "g"), "SNAP-049")
	require.Len(t, g.driver.Snapshots(), 2, "SNAP-049: the policy is Retain")
}

// TestCopyWithoutVersion: the answer to the creation of a content is lost, and the controller tries again before it receives the content.
func TestCopyWithoutVersion(t *testing.T) {
	for _, tt := range []struct {
		rule, kind string
		obj        *unstructured.Unstructured
		ready      func(g groups) any
	}{
		{"SNAP-015", "VolumeSnapshotContent.snapshot.storage.k8s.io", snapshotOf("s", "pvc=data", "snap"),
			func(g groups) any { return g.ready("s") }},
		{"SNAP-015", "VolumeGroupSnapshotContent.groupsnapshot.storage.k8s.io", groupOf("s", "app=db", "keep"),
			func(g groups) any { return g.at("VolumeGroupSnapshot", "s", "status.readyToUse") }},
	} {
		g := newGroupsWith(t, volsim.Config{Lag: map[string]time.Duration{"snapshot-controller": 20 * time.Second}})
		create, err := fake.Match{Actor: "snapshot-controller", Verb: "create", Kind: tt.kind}, errors.New("timeout")
		// When an error is in the status already, the controller does not write it again, and does not wait for its own write.
		g.Faults.Fail(create, err).Times(2)
		g.Faults.Lose(create, err).Once()
		g.create(tt.obj)
		g.pass(10 * time.Minute)
		require.NotEmpty(t, g.driver.Snapshots(), tt.rule)
		require.Equal(t, false, tt.ready(g), tt.rule)
		// The own copies of a new process have versions.
		require.NoError(t, g.Crash("snapshot-controller"))
		require.NoError(t, g.Restart("snapshot-controller"))
		g.pass(10 * time.Minute)
		require.Equal(t, true, tt.ready(g), tt.rule)
	}
}
