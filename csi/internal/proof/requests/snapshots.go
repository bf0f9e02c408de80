package requests

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/csi/internal/testdriver"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// SnapshotCase is the life of a snapshot.
type SnapshotCase struct {
	Name       string
	parameters map[string]any // of the VolumeSnapshotClass
	Imported   bool           // it is also imported, as another snapshot
}

// SnapshotCases are the lives of snapshots that are compared.
var SnapshotCases = []SnapshotCase{
	{Name: "a snapshot"},
	{Name: "parameters", parameters: map[string]any{"type": "copy", "pool": "7"}},
	{Name: "secrets", parameters: secretParameters("key", "default")},
	{Name: "secrets by template", parameters: secretParameters("key", "${volumesnapshot.namespace}")},
	{Name: "an imported snapshot", Imported: true},
}

func secretParameters(name, namespace string) map[string]any {
	parameters := map[string]any{"type": "copy"}
	for _, prefix := range []string{"snapshotter", "snapshotter-list"} {
		parameters["csi.storage.k8s.io/"+prefix+"-secret-name"], parameters["csi.storage.k8s.io/"+prefix+"-secret-namespace"] = name, namespace
	}
	return parameters
}

// Snapshots are the API objects of a snapshot: its class, its content before and after the driver has taken it, and the content of the import.
type Snapshots struct {
	Secret                        *corev1.Secret
	Class, Created, Ready, Import *unstructured.Unstructured
}

// SimulateSnapshot runs the life of a snapshot in a simulated cluster. It returns the requests and the objects.
func SimulateSnapshot(t *testing.T, tt *SnapshotCase) (*Driver, *Snapshots) {
	t.Helper()
	r := NewDriver(t, &Case{})
	driver, err := csi.New(context.Background(), csi.Config{Controller: r.Conn})
	require.NoError(t, err)
	c, err := volsim.New(volsim.Config{Backends: []storage.Backend{driver}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	o := &Snapshots{
		Secret: &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "key"},
			Data: map[string][]byte{"user": []byte("u"), "key": []byte("k")}},
		Class: object("VolumeSnapshotClass", "", "class", map[string]any{"driver": testdriver.Name, "deletionPolicy": "Delete",
			"parameters": tt.parameters}),
	}
	claim := fake.Claim("data", "1Gi", fake.InClass("disk"))
	require.NoError(t, c.Create(o.Secret, fake.Node("n1"), fake.Class("disk", testdriver.Name), claim, o.Class))
	require.NoError(t, c.Advance(time.Minute))
	snapshot := object("VolumeSnapshot", "default", "first", map[string]any{"spec": map[string]any{"volumeSnapshotClassName": "class",
		"source": map[string]any{"persistentVolumeClaimName": "data"}}})
	require.NoError(t, c.Create(snapshot))
	contents := c.Objects(api.Kind("VolumeSnapshotContent.snapshot.storage.k8s.io"))
	require.NoError(t, c.Until(func() bool { return contents.Len() > 0 }, time.Minute))
	o.Created = contents.List()[0]
	require.NoError(t, c.Advance(5*time.Minute))
	o.Ready = contents.List()[0]
	if tt.Imported {
		handle, _, _ := unstructured.NestedString(o.Ready.Object, "status", "snapshotHandle")
		o.Import = object("VolumeSnapshotContent", "", "imported", map[string]any{"spec": map[string]any{"driver": testdriver.Name,
			"deletionPolicy": "Delete", "source": map[string]any{"snapshotHandle": handle}, "volumeSnapshotClassName": "class",
			"volumeSnapshotRef": map[string]any{"namespace": "default", "name": "second"}}})
		require.NoError(t, c.Create(o.Import, object("VolumeSnapshot", "default", "second", map[string]any{"spec": map[string]any{
			"volumeSnapshotClassName": "class", "source": map[string]any{"volumeSnapshotContentName": "imported"}}})))
		require.NoError(t, c.Advance(5*time.Minute))
	}
	require.NoError(t, c.Delete(snapshot))
	require.NoError(t, c.Advance(5*time.Minute))
	return r, o
}

// object returns an object of external-snapshotter.
func object(kind, namespace, name string, fields map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: fields}
	u.SetAPIVersion("snapshot.storage.k8s.io/v1")
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}
