package store_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/manifests"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// object reads a manifest.
func object(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	objs, err := manifests.Read([]byte(manifest))
	require.NoError(t, err)
	require.Len(t, objs, 1)
	return objs[0].(*unstructured.Unstructured)
}

// made creates an object of a kind that is not simulated.
func made(w *fixture, obj api.Object) *plain.Object {
	w.t.Helper()
	stored, err := w.Create(obj)
	require.NoError(w.t, err)
	return stored.(*plain.Object)
}

func settings(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Data: map[string]string{"mode": "fast"}}
}

// TestOtherKind: a ConfigMap lives as any other object does.
func TestOtherKind(t *testing.T) {
	w := newFixture(t)
	_, err := w.Get("ConfigMap", "default/settings")
	assert.Equal(t, `configmaps "settings" not found`, w.refused("API-300", err, http.StatusNotFound, metav1.StatusReasonNotFound, 0).Message)
	var seen []string
	stop, err := w.Watch("ConfigMap", store.WatchOptions[api.Object]{}, func(c api.Change[api.Object]) { seen = append(seen, string(c.Type)+" "+c.Key) })
	require.NoError(t, err)

	first := made(w, settings("settings"))
	assert.NotEmpty(t, first.UID, "API-300")
	assert.Equal(t, "1", first.ResourceVersion, "API-300")
	assert.Equal(t, noon, first.CreationTimestamp.UTC(), "API-300")
	assert.Zero(t, first.Generation, "API-303")
	assert.Equal(t, map[string]any{"data": map[string]any{"mode": "fast"}}, first.Content())
	assert.Equal(t, []api.Kind{"ConfigMap"}, w.Kinds()[len(store.Kinds()):])

	_, err = w.Create(settings("settings"))
	w.refused("API-300", err, http.StatusConflict, metav1.StatusReasonAlreadyExists, 1)
	_, err = w.Create(settings("Not_A_Name"))
	w.refused("API-300", err, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, 1)
	stale := first.DeepCopyObject().(*plain.Object)
	stale.ResourceVersion = "7"
	_, err = w.Update(stale)
	w.refused("API-300", err, http.StatusConflict, metav1.StatusReasonConflict, 1)
	same, err := w.Update(settings("settings"))
	require.NoError(t, err, "API-300: a ConfigMap may be overwritten")
	assert.Same(t, first, same, "API-014")

	patched, err := w.Patch("ConfigMap", "default/settings", []byte(`{"data":{"mode":"slow","depth":"2"},"metadata":{"finalizers":["example.com/keep"]}}`), api.Main)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"data": map[string]any{"mode": "slow", "depth": "2"}}, patched.(*plain.Object).Content())
	_, err = w.Patch("ConfigMap", "default/settings", []byte(`{"kind":"Secret"}`), api.Main)
	w.refused("API-300", err, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, 2)
	_, err = w.UpdateStatus(settings("settings"))
	require.ErrorContains(t, err, "the server could not find the requested resource")
	marked := remove(w, settings("settings"))
	assert.NotNil(t, marked.GetDeletionTimestamp(), "API-300")
	_, err = w.Patch("ConfigMap", "default/settings", []byte(`{"metadata":{"finalizers":null}}`), api.Main)
	require.NoError(t, err)
	assert.Empty(t, w.List("ConfigMap"), "API-300")
	again := made(w, settings("settings"))
	assert.NotEqual(t, first.UID, again.UID, "API-057")
	assert.Equal(t, "ADDED default/settings,MODIFIED default/settings,MODIFIED default/settings,DELETED default/settings,ADDED default/settings",
		strings.Join(seen, ","), "API-300")
	stop()

	// API-300: names of roles need only fit into a path; those of Services and StatefulSets are labels.
	made(w, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "system:Admin", Namespace: "ignored"}})
	_, err = w.Get("ClusterRole.rbac.authorization.k8s.io", "system:Admin")
	require.NoError(t, err, "API-300, API-009")
	for _, obj := range []api.Object{
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "a.b", Namespace: "default"}},
		&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "a.b", Namespace: "default"}},
	} {
		_, err = w.Create(obj)
		require.ErrorContains(t, err, "must not contain dots", "API-300")
	}
}

// TestWatchedKind: neither a watch nor a dry run makes the table of a kind. What follows new tables sees an object before the watch does.
func TestWatchedKind(t *testing.T) {
	w := newFixture(t)
	var seen []string
	follow := func(name string) func(api.Change[api.Object]) {
		return func(c api.Change[api.Object]) { seen = append(seen, name+" "+string(c.Type)+" "+c.Key) }
	}
	w.OnOther(func(table store.Table[*plain.Object]) {
		seen = append(seen, string(table.Kind()))
		_, err := w.Watch(table.Kind(), store.WatchOptions[api.Object]{}, follow("controller"))
		require.NoError(t, err)
	})
	for range 2 {
		_, err := w.Watch("ConfigMap", store.WatchOptions[api.Object]{}, follow("client"))
		require.NoError(t, err)
	}
	stop, err := w.Watch("ConfigMap", store.WatchOptions[api.Object]{}, follow("stopped"))
	require.NoError(t, err)
	stop()
	assert.Empty(t, seen, "API-540")
	_, err = w.Watch("Unknown", store.WatchOptions[api.Object]{}, follow("client"))
	require.ErrorIs(t, err, api.ErrUnknownKind)

	w.DryRun(func() { made(w, settings("settings")) })
	assert.Empty(t, seen, "API-540")

	made(w, settings("settings"))
	assert.Equal(t, []string{"ConfigMap", "controller ADDED default/settings", "client ADDED default/settings", "client ADDED default/settings"}, seen, "API-540")
	seen = nil
	_, err = w.Delete("ConfigMap", "default/settings", api.DeleteOptions{})
	require.NoError(t, err)
	assert.Len(t, seen, 3)
}

// TestOtherKindWithStatus: a ReplicationController has a status of its own and a generation.
func TestOtherKindWithStatus(t *testing.T) {
	w := newFixture(t)
	web := &corev1.ReplicationController{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", Generation: 9}, Status: corev1.ReplicationControllerStatus{Replicas: 3}}
	web.Spec.Template = &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	stored := made(w, web)
	assert.Equal(t, api.Kind("ReplicationController"), api.KindOf(stored))
	assert.Equal(t, "v1", stored.APIVersion)
	assert.Equal(t, map[string]any{"replicas": int64(0)}, stored.Content()["status"], "API-302")
	assert.EqualValues(t, 1, stored.Generation, "API-303")
	after, err := w.UpdateStatus(web)
	require.NoError(t, err)
	assert.EqualValues(t, map[string]any{"replicas": int64(3)}, after.(*plain.Object).Content()["status"], "API-302")
	assert.EqualValues(t, 1, after.GetGeneration(), "API-303")
	web.Spec.Replicas, web.Status = new(int32(5)), corev1.ReplicationControllerStatus{}
	after, err = w.Update(web)
	require.NoError(t, err)
	assert.Contains(t, after.(*plain.Object).Content(), "status", "API-302")
	assert.EqualValues(t, 2, after.GetGeneration(), "API-303")
	typed, err := plain.As[*corev1.ReplicationController](after)
	require.NoError(t, err)
	assert.EqualValues(t, 5, *typed.Spec.Replicas)
	assert.EqualValues(t, 3, typed.Status.Replicas)
}

// TestSimulatedUnstructured: an unstructured object of a simulated kind becomes one of the Go type.
func TestSimulatedUnstructured(t *testing.T) {
	w := newFixture(t)
	u, err := plain.Unstructured(disk("disk"))
	require.NoError(t, err)
	u.SetAPIVersion("v1")
	u.SetKind("PersistentVolume")
	stored, err := w.Create(u)
	require.NoError(t, err)
	assert.IsType(t, &corev1.PersistentVolume{}, stored)
	u.SetAPIVersion("v2")
	_, err = w.Create(u)
	require.EqualError(t, err, `no matches for kind "PersistentVolume" in version "v2"`, "API-301")
}

func TestSecret(t *testing.T) {
	w := newFixture(t)
	stored := made(w, object(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {user: me}\ndata: {user: eA==, key: eA==}\n"))
	assert.Equal(t, map[string]any{"type": "Opaque", "data": map[string]any{"user": "bWU=", "key": "eA=="}}, stored.Content(), "API-308")
}

const vaults = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: vaults.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: vaults, kind: Vault, shortNames: [vt]}
  versions:
  - {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}, subresources: {status: {}}}
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}, subresources: {status: {}}}
  - {name: v1alpha1, served: false, storage: false, schema: {openAPIV3Schema: {type: object}}}
`

// TestNullFields: objects of the kinds of external-snapshotter have no fields that are null.
func TestNullFields(t *testing.T) {
	const content = "apiVersion: snapshot.storage.k8s.io/v1\nkind: VolumeSnapshotContent\nmetadata: {name: c}\n"
	for _, tt := range []struct{ rule, name, manifest, want string }{
		{"API-313", "a field", "spec: {driver: d, volumeSnapshotClassName: null, volumeSnapshotRef: {name: s, uid: null}}", `{"spec":{"driver":"d","volumeSnapshotRef":{"name":"s"}}}`},
		{"API-313", "a field at the top", "spec: null", `{}`},
		{"API-313", "nothing else", "spec: {driver: '', source: {}}", `{"spec":{"driver":"","source":{}}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newFixture(t)
			given := object(t, content+tt.manifest)
			before := given.DeepCopy()
			stored, err := json.Marshal(made(w, given).Content())
			require.NoError(t, err)
			assert.Equal(t, tt.want, string(stored), tt.rule)
			assert.Equal(t, before, given, "the caller's object stays as it is")
		})
	}
	w := newFixture(t)
	stored := made(w, object(t, content+"spec: {driver: d}"))
	stored = stored.DeepCopyObject().(*plain.Object)
	stored.Content()["status"] = map[string]any{"restoreSize": nil, "readyToUse": true}
	updated, err := w.UpdateStatus(stored)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"readyToUse": true}, updated.(*plain.Object).Content()["status"], "API-313")
}

const vault = "apiVersion: example.com/v1beta1\nkind: Vault\nmetadata: {name: a, namespace: default}\nspec: {size: 3}\nstatus: {ready: true}\n"

// TestDefinition: a CustomResourceDefinition adds a kind, and its deletion removes the objects first.
func TestDefinition(t *testing.T) {
	w := newFixture(t)
	const kind = api.Kind("Vault.example.com")
	_, err := w.Create(object(t, vault))
	require.EqualError(t, err, `no matches for kind "Vault" in version "example.com/v1beta1"; ensure CRDs are installed first`, "API-301")
	require.ErrorIs(t, err, api.ErrUnknownKind)

	definition := made(w, object(t, vaults))
	assert.EqualValues(t, 1, definition.Generation, "API-303")
	status := definition.Content()["status"].(map[string]any)
	assert.Equal(t, []any{"v1"}, status["storedVersions"], "API-306")
	assert.Equal(t, "vault", status["acceptedNames"].(map[string]any)["singular"], "API-305, API-306")
	assert.Equal(t, "NamesAccepted Established", conditionTypes(status), "API-306")
	assert.Equal(t, "example.com/v1, Kind=Vault", w.GroupVersionKind(kind).String(), "API-304")
	_, err = w.Create(object(t, strings.Replace(vault, "v1beta1", "v1alpha1", 1)))
	require.ErrorContains(t, err, `in version "example.com/v1alpha1"`, "API-301")

	a := made(w, object(t, vault))
	assert.Equal(t, "example.com/v1", a.APIVersion, "API-304")
	assert.NotContains(t, a.Content(), "status", "API-302")
	unversioned := object(t, vault)
	_, err = w.Update(unversioned)
	require.ErrorContains(t, err, "must be specified for an update", "API-300")
	unversioned.SetResourceVersion(a.ResourceVersion)
	unversioned.SetLabels(map[string]string{"a": "b"})
	ready, err := w.UpdateStatus(unversioned)
	require.NoError(t, err)
	assert.Empty(t, ready.GetLabels(), "API-302")
	assert.Equal(t, map[string]any{"ready": true}, ready.(*plain.Object).Content()["status"], "API-302")

	_, err = w.Patch(kind, "default/a", []byte(`{"metadata":{"finalizers":["example.com/keep"]}}`), api.Main)
	require.NoError(t, err)
	made(w, object(t, strings.Replace(vault, "name: a", "name: b", 1)))
	deleted := remove(w, definition).(*plain.Object)
	assert.Equal(t, []string{"customresourcecleanup.apiextensions.k8s.io"}, deleted.Finalizers, "API-307")
	assert.Equal(t, "NamesAccepted Established Terminating", conditionTypes(deleted.Content()["status"].(map[string]any)), "API-307")
	require.Len(t, w.List(kind), 1, "API-307")
	_, err = w.Patch(kind, "default/a", []byte(`{"metadata":{"finalizers":null}}`), api.Main)
	require.NoError(t, err)
	assert.Empty(t, w.List("CustomResourceDefinition.apiextensions.k8s.io"), "API-307")
	_, err = w.Create(object(t, vault))
	require.ErrorIs(t, err, api.ErrUnknownKind, "API-301")

	// API-305: what a definition must have.
	for old, text := range map[string]string{
		"name: vaults.example.com": `metadata.name: Invalid value: "x": must be spec.names.plural+"."+spec.group`,
		"scope: Namespaced":        "spec.scope: Required value",
		"storage: true":            "must have exactly one version marked as storage version",
		"kind: Vault":              "spec.names.kind: Required value",
	} {
		manifest := strings.Replace(vaults, old, map[bool]string{true: "name: x", false: "x: y"}[strings.HasPrefix(old, "name")], 1)
		_, err := w.Create(object(t, manifest))
		require.ErrorContains(t, err, text, "API-305: %s", old)
	}
}

// conditionTypes lists the types of the conditions in a status.
func conditionTypes(status map[string]any) string {
	var types []string
	for _, c := range status["conditions"].([]any) {
		types = append(types, c.(map[string]any)["type"].(string))
	}
	return strings.Join(types, " ")
}
