package dump_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/tools/dump"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

func start(t testing.TB, name string) *dump.Cluster {
	t.Helper()
	c, err := read(t, name).Start(dump.Options{})
	require.NoError(t, err)
	return c
}

// A settled cluster stays as it is: for an hour no object changes except for node heartbeats, no storage is called, and no component
// reports an error.
func TestHealthyDumpStays(t *testing.T) {
	var files []string
	for _, dir := range []string{dumps, "../predict/testdata/cases"} {
		in, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
		require.NoError(t, err)
		files = append(files, in...)
	}
	healthy := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		d, err := dump.Read(data)
		require.NoError(t, err, file)
		c, err := d.Start(dump.Options{})
		require.NoError(t, err, file)
		if !settled(t, c, d) {
			continue
		}
		healthy++
		t.Run(filepath.Base(file), func(t *testing.T) {
			require.Empty(t, c.Notes)
			seen := c.Trace().Seq()
			require.NoError(t, c.Advance(time.Hour))
			for e := range c.Trace().Since(seen) {
				switch {
				case e.Type == trace.Emitted && e.Reason == "RegisteredNode":
					// NODE-030: the controller that has just started finds each node new.
				case e.Verb == "create" && e.Object.Kind == "ControllerRevision.apps":
					// The dump has no revisions. The controller creates the one that the StatefulSet names in its status.
					require.Contains(t, string(data), "updateRevision: "+e.Object.Key[len("default/"):])
				case e.Type == trace.Storage, e.Type == trace.Emitted:
					t.Errorf("%v %s: %s %s %s", e.Time, e.Actor, e.Object, e.Verb, e.Text)
				case e.Type == trace.Write && e.Old != e.New && e.Object.Kind != api.Node:
					t.Errorf("%v %s: %s %s", e.Time, e.Actor, e.Verb, e.Object)
				}
			}
		})
	}
	require.GreaterOrEqual(t, healthy, 10)
}

// TestLoadErrors: an object that the API server would reject is an error at the line of its field.
func TestLoadErrors(t *testing.T) {
	text := "kind: List\napiVersion: v1\nitems:\n- {apiVersion: v1, kind: Node, metadata: {name: a}}\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: db-0\n    namespace: a.b\n"
	d, err := dump.ReadFiles(dump.File{Name: "d.yaml", Data: []byte(text)})
	require.NoError(t, err)
	_, err = d.Start(dump.Options{})
	require.ErrorContains(t, err, "d.yaml:9: load Pod/a.b/db-0: ")
	at := new(dump.Error)
	require.ErrorAs(t, err, &at)
	require.Equal(t, 9, at.Line)
}

// settled reports whether all objects of a dump are in their desired state.
func settled(t testing.TB, c *dump.Cluster, d *dump.Dump) bool {
	t.Helper()
	explainer := explain.New(c.Snapshot())
	for _, obj := range d.Objects {
		switch api.KindOf(obj) {
		case api.Pod, api.PersistentVolumeClaim, api.PersistentVolume, api.VolumeAttachment:
			x, err := explainer.Object(api.RefTo(obj))
			require.NoError(t, err)
			if x.Changes.When != explain.Settled {
				return false
			}
		}
	}
	return true
}

func TestObjectsKeepTheirState(t *testing.T) {
	d := read(t, "dead-node.yaml")
	c, err := d.Start(dump.Options{})
	require.NoError(t, err)
	require.Equal(t, d.Newest(), c.Now())
	for _, obj := range d.Objects {
		pod, ok := obj.(*corev1.Pod)
		if !ok {
			continue
		}
		kept, err := c.Pods.Get(api.KeyOf(pod))
		require.NoError(t, err)
		require.Equal(t, pod.UID, kept.UID)
		require.Equal(t, pod.Status.Phase, kept.Status.Phase)
		require.True(t, pod.DeletionTimestamp.Equal(kept.DeletionTimestamp))
		require.True(t, pod.CreationTimestamp.Equal(&kept.CreationTimestamp))
		require.Equal(t, pod.Annotations, kept.Annotations)
	}
	later, err := d.Start(dump.Options{Now: d.Newest().Add(time.Hour)})
	require.NoError(t, err)
	require.Equal(t, d.Newest().Add(time.Hour), later.Now())
}

// A node that is not ready is disconnected, and its containers keep running.
func TestSilentNodes(t *testing.T) {
	c := start(t, "dead-node.yaml")
	require.Len(t, c.Evidence.All(), 1)
	require.Equal(t, "node ip-10-0-1-21 is NotReady since 09:21; assumed to stay cut off from the API server, with its containers running",
		c.Evidence.All()[0].String())
	node, err := c.Node("ip-10-0-1-21")
	require.NoError(t, err)
	require.True(t, node.Partitioned())
	require.Len(t, internals.Node(node).Containers(), 1)
	require.NoError(t, c.Advance(30*time.Minute))
	obj, err := c.Nodes.Get("ip-10-0-1-21")
	require.NoError(t, err)
	require.Equal(t, corev1.ConditionUnknown, obj.Status.Conditions[3].Status)
	_, err = c.Pods.Get("shop/cart-7c6d9f5b8-9k2lp")
	require.NoError(t, err)
}

func TestBackendsAreInferred(t *testing.T) {
	names := func(backends []storage.Backend) (names []string) {
		for _, b := range backends {
			names = append(names, b.Name())
		}
		return names
	}
	drivers, notes := read(t, "full-nodes.yaml").Backends(nil)
	require.Empty(t, notes)
	require.Equal(t, []string{"ebs.csi.aws.com", "kubernetes.io/host-path", "kubernetes.io/nfs"}, names(drivers))
	disk := drivers[0]
	require.True(t, backends.Can(disk, storage.Attach))
	limit, ok := backends.AttachLimit(disk, "ip-10-0-1-20")
	require.True(t, ok)
	require.EqualValues(t, 1, limit)
	_, ok = backends.AttachLimit(disk, "elsewhere")
	require.False(t, ok)
	require.Equal(t, []string{"topology.ebs.csi.aws.com/zone"}, backends.TopologyKeys(disk))
	volumes := disk.(interface{ Volumes() []fake.VolumeState }).Volumes()
	require.Len(t, volumes, 2, "those with a VolumeAttachment")
	require.Len(t, volumes[0].Attached, 1)

	drivers, notes = read(t, "k3s.yaml").Backends(nil)
	require.Empty(t, notes)
	require.Equal(t, []string{"rancher.io/local-path", "kubernetes.io/host-path", "kubernetes.io/nfs"}, names(drivers))

	d, err := dump.Read([]byte(`
apiVersion: v1
kind: List
items:
- {apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: files.example.com}, spec: {attachRequired: false}}
- {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: old}, provisioner: kubernetes.io/aws-ebs}
- {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: static}, provisioner: kubernetes.io/no-provisioner}
- {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: odd}, provisioner: a-name-that-is-longer-than-a-driver-can-have.storage.example.com/x}
- {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: main}], volumes: [{name: v, csi: {driver: inline.example.com}}]}}
`))
	require.NoError(t, err)
	drivers, notes = d.Backends(nil)
	require.Equal(t, []string{"ebs.csi.aws.com", "files.example.com", "inline.example.com", "kubernetes.io/host-path", "kubernetes.io/nfs"},
		names(drivers))
	require.False(t, backends.Can(drivers[1], storage.Attach))
	require.Equal(t,
		[]string{"Driver a-name-that-is-longer-than-a-driver-can-have.storage.example.com/x is not simulated: its name is longer than 63 characters."}, notes)
}

// TestSourceAcrossNamespaces: a claim with a source in another namespace shows that its gate is on (API-114). The grants of the dump decide.
func TestSourceAcrossNamespaces(t *testing.T) {
	const objects = `
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, provisioner: disk.example.com}
---
{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: disk.example.com}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: seed, namespace: golden, uid: seed}
spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: copy, namespace: shop, uid: copy}
spec:
  storageClassName: fast
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
  dataSourceRef: {kind: PersistentVolumeClaim, name: seed, namespace: golden}
`
	const grant = `
---
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: seeds, namespace: golden}
spec: {from: [{group: "", kind: PersistentVolumeClaim, namespace: shop}], to: [{group: "", kind: PersistentVolumeClaim}]}
`
	copyAfter := func(text string) (explain.Explanation, corev1.PersistentVolumeClaimPhase) {
		d, err := dump.Read([]byte(text))
		require.NoError(t, err)
		c, err := d.Start(dump.Options{})
		require.NoError(t, err)
		x, err := explain.New(c.Snapshot()).Object(api.Ref{Kind: api.PersistentVolumeClaim, Key: "shop/copy"})
		require.NoError(t, err)
		require.NoError(t, c.Advance(time.Minute))
		claim, err := c.Claims.Get("shop/copy")
		require.NoError(t, err)
		require.Equal(t, "golden", *claim.Spec.DataSourceRef.Namespace, "API-114")
		return x, claim.Status.Phase
	}
	x, phase := copyAfter(objects)
	require.Equal(t, "SNAP-033", x.Rule)
	require.Equal(t, corev1.ClaimPending, phase, "SNAP-033")
	x, phase = copyAfter(objects + grant)
	require.Equal(t, "XPROV-031", x.Rule, "the source is not bound yet")
	require.Equal(t, corev1.ClaimBound, phase, "SNAP-033")
}

// A pod that runs although its volume is missing in the dump starts again. The note names pod and reason, not what the simulator does inside.
func TestPodsThatStartAgain(t *testing.T) {
	const node = `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","uid":"n1"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`
	text := node
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		text += `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"` + name + `","namespace":"shop","uid":"` + name + `"},"spec":{"nodeName":"n1","containers":
[{"name":"c","image":"i","volumeMounts":[{"name":"d","mountPath":"/d"}]}],"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"gone"}}]},"status":{"phase":"Running"}}`
	}
	d, err := dump.Read([]byte(text))
	require.NoError(t, err)
	c, err := d.Start(dump.Options{})
	require.NoError(t, err)
	defer c.Close()
	require.Len(t, c.Notes, 2)
	require.Equal(t, []string{"In the simulation, running pods start again whose volumes in the dump do not fit: " +
		"pod shop/a: volume d: the PersistentVolume of claim shop/gone does not exist; pod shop/b: volume d: the PersistentVolume of claim shop/gone does not exist; " +
		"pod shop/c: volume d: the PersistentVolume of claim shop/gone does not exist; and 2 more."}, c.Notes[1:])
}
