package apiserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/apiserver/snapshotdefinitions"
)

// TestSnapshotKinds: the kinds of snapshots have the schema, the rules and the columns of external-snapshotter's definitions, which are not
// stored (API-578).
func TestSnapshotKinds(t *testing.T) {
	const (
		root      = "/apis/snapshot.storage.k8s.io/v1/"
		snapshots = root + "namespaces/default/volumesnapshots"
		classes   = root + "volumesnapshotclasses"
		groups    = "/apis/groupsnapshot.storage.k8s.io/v1beta2/namespaces/default/volumegroupsnapshots"
		contents  = "/apis/groupsnapshot.storage.k8s.io/v1/volumegroupsnapshotcontents"
	)
	f := newFixture(t)
	head := func(group, kind string) string {
		return `{"apiVersion":"` + group + `","kind":"` + kind + `","metadata":{"name":"s"}`
	}
	const v1, group = "snapshot.storage.k8s.io/v1", "groupsnapshot.storage.k8s.io/"
	snapshot := func(spec string) string { return head(v1, "VolumeSnapshot") + `,"spec":{` + spec + `}}` }
	for _, row := range []struct {
		rule, line, body string
		code             int
		want             string
	}{
		{"API-578", "POST " + snapshots, head(v1, "VolumeSnapshot") + "}", 422, "spec: Required value"},
		{"API-578", "POST " + snapshots, snapshot(`"source":{}`), 422, "exactly one of volumeSnapshotContentName and persistentVolumeClaimName must be set"},
		{"API-578", "POST " + snapshots, snapshot(`"source":{"persistentVolumeClaimName":"a"},"volumeSnapshotClassName":""`), 422,
			"volumeSnapshotClassName must not be the empty string when set"},
		{"API-578", "POST " + snapshots + "?fieldValidation=Strict", snapshot(`"source":{"claim":"a"}`), 400, `unknown field \"spec.source.claim\"`},
		{"API-578", "POST " + snapshots, snapshot(`"source":{"persistentVolumeClaimName":"a"}`), 201, `"persistentVolumeClaimName":"a"`},
		{"API-578", "PATCH " + snapshots + "/s", snapshot(`"source":{"persistentVolumeClaimName":"b"}`), 422, "persistentVolumeClaimName is immutable"},
		{"API-578", "POST " + classes, head(v1, "VolumeSnapshotClass") + `,"driver":"d","deletionPolicy":"Keep"}`, 422, `supported values: \"Delete\", \"Retain\"`},
		{"API-578", "POST " + groups, head(group+"v1beta2", "VolumeGroupSnapshot") + `,"spec":{"source":{}}}`, 422, "exactly one of selector and volumeGroupSnapshotContentName must be set"},
		{"API-578", "POST " + contents, head(group+"v1", "VolumeGroupSnapshotContent") + `,"spec":{"driver":"d","deletionPolicy":"Delete",
			"source":{"volumeHandles":["v"]},"volumeGroupSnapshotRef":{"name":"g"}}}`, 422,
			"both volumeGroupSnapshotRef.name and volumeGroupSnapshotRef.namespace must be set"},
	} {
		var headers []string
		if row.line[:5] == "PATCH" {
			headers = append(headers, mergePatch)
		}
		resp, got := f.request(row.line, row.body, headers...)
		require.Equal(t, row.code, resp.StatusCode, "%s: %s: %s", row.rule, row.body, got)
		require.Contains(t, got, row.want, "%s: %s", row.rule, row.body)
	}
	require.Contains(t, f.must("GET "+snapshots, "", "Accept: application/json;as=Table;g=meta.k8s.io;v=v1"), `"cells":["s",null,"a",`)
	require.Contains(t, f.must("GET /openapi/v3/apis/snapshot.storage.k8s.io/v1", ""), "whose volume is copied")

	// A definition that is stored takes their place.
	f.must("POST "+definitions, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"volumesnapshots.snapshot.storage.k8s.io",
		"annotations":{"api-approved.kubernetes.io":"unapproved"}},"spec":{"group":"snapshot.storage.k8s.io","scope":"Namespaced","names":{"plural":"volumesnapshots","kind":"VolumeSnapshot"},
		"versions":[`+version("v1", true, anything)+`]}}`)
	f.must("PATCH "+snapshots+"/s", snapshot(`"source":{"claim":"c"}`), mergePatch)
}

// TestSnapshotDefinitions: the files in snapshotdefinitions can be read. internal/proof/differential/snapshotter compares them with those of
// external-snapshotter.
func TestSnapshotDefinitions(t *testing.T) {
	for _, name := range []string{"volumesnapshots", "volumesnapshotcontents", "volumesnapshotclasses"} {
		require.NotNil(t, snapshotdefinitions.Of(name+".snapshot.storage.k8s.io"), name)
	}
	for _, name := range []string{"volumegroupsnapshots", "volumegroupsnapshotcontents", "volumegroupsnapshotclasses"} {
		require.NotNil(t, snapshotdefinitions.Of(name+".groupsnapshot.storage.k8s.io"), name)
	}
	require.Nil(t, snapshotdefinitions.Of("widgets.example.com"))
}
