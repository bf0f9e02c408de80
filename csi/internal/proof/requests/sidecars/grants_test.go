package sidecars

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/kubernetes-csi/external-provisioner/v6/pkg/features"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/testing/protocmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	gatewayv1beta1 "sigs.k8s.io/gateway-api/apis/v1beta1"
	grantlisters "sigs.k8s.io/gateway-api/pkg/client/listers/apis/v1beta1"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/csi/internal/proof/requests"
	"github.com/volsim/volsim/csi/internal/testdriver"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

var grantSeeds = flag.Int("grants", 60, "scenarios of TestGrants")

// TestGrants compares what the real provisioner and volsim do with claims whose sources are in other namespaces: the request for a volume or
// the error, with random ReferenceGrants (SNAP-033, SNAP-035). Each tenth scenario runs without the gate (SNAP-034).
func TestGrants(t *testing.T) {
	klog.SetLogger(logr.Discard())
	ctx := klog.NewContext(context.Background(), logr.Discard())
	requested, left, refused := 0, 0, map[string]bool{}
	for seed := range *grantSeeds {
		r, gate := rand.New(rand.NewPCG(uint64(seed), 75)), seed%10 != 0
		require.NoError(t, utilfeature.DefaultMutableFeatureGate.Set(fmt.Sprintf("%s=%t", features.CrossNamespaceVolumeDataSource, gate)))
		ours := newCrossing(t, r, gate)
		call := requests.Now(ours.cluster)
		text := ours.failure()
		claim, err := ours.cluster.Claims.Get("shop/copy") // with the annotation that names the provisioner
		require.NoError(t, err)
		request := ours.driver.Request("CreateVolume")
		if create, ok := request.(*spec.CreateVolumeRequest); ok && create.GetName() != "pvc-"+string(claim.UID) {
			request = nil // that of the source
		}

		driver := requests.NewDriver(t, &requests.Case{}) // without sources, so that it rejects all volumes
		err = (&story{t: t, driver: driver, call: call, grants: ours.lister()}).create(ctx, claim.DeepCopy())
		want := driver.Request("CreateVolume")
		if diff := cmp.Diff(want, request, protocmp.Transform()); diff != "" {
			t.Errorf("seed %d: CreateVolume (-real +volsim):\n%s", seed, diff)
		}
		require.Error(t, err)
		if ignored := (*controller.IgnoredError)(nil); errors.As(err, &ignored) {
			require.Empty(t, text, "seed %d: a populator provisions the volume, without an Event", seed)
			left++
		} else if want == nil {
			require.Equal(t, err.Error(), text, "seed %d: the Event ProvisioningFailed", seed)
			refused[text] = true
		} else {
			requested++
		}
	}
	require.Positive(t, requested)
	require.Greater(t, len(refused), 4)
	require.Positive(t, left)
	t.Logf("%d scenarios: %d volumes requested, %d left to a populator, %d different errors", *grantSeeds, requested, left, len(refused))
	require.NoError(t, utilfeature.DefaultMutableFeatureGate.Set(fmt.Sprintf("%s=false", features.CrossNamespaceVolumeDataSource)))
}

// crossing is a cluster in which a claim has a source with a namespace.
type crossing struct {
	t       *testing.T
	cluster *volsim.Cluster
	driver  *requests.Driver
}

func newCrossing(t *testing.T, r *rand.Rand, gate bool) *crossing {
	t.Helper()
	c := &crossing{t: t, driver: requests.NewDriver(t, &requests.Case{})}
	driver, err := csi.New(context.Background(), csi.Config{Controller: c.driver.Conn})
	require.NoError(t, err)
	c.cluster, err = volsim.New(volsim.Config{Backends: []storage.Backend{driver},
		FeatureGates: map[string]bool{string(features.CrossNamespaceVolumeDataSource): gate}})
	require.NoError(t, err)
	t.Cleanup(c.cluster.Close)
	require.NoError(t, c.cluster.Create(fake.Class("disk", testdriver.Name), fake.Claim("golden/seed", "1Gi", fake.InClass("disk")),
		fake.Claim("shop/seed", "1Gi", fake.InClass("disk"))))
	require.NoError(t, c.cluster.Apply([]byte(`
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotClass
metadata: {name: snap}
driver: `+testdriver.Name+`
deletionPolicy: Delete
---
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: seed, namespace: golden}
spec: {volumeSnapshotClassName: snap, source: {persistentVolumeClaimName: seed}}
---
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: broken, namespace: golden}
spec: {volumeSnapshotClassName: snap, source: {persistentVolumeClaimName: none}}
`)))
	for i := range r.IntN(4) {
		require.NoError(t, c.cluster.Create(randomGrant(r, fmt.Sprintf("g%d", i))))
	}
	require.NoError(t, c.cluster.Advance(time.Minute))

	claim := fake.Claim("shop/copy", pick(r, "1Gi", "1Gi", "2Gi", "500Mi"), fake.InClass("disk"))
	ref := pick(r, corev1.TypedObjectReference{APIGroup: new("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot"}, corev1.TypedObjectReference{
		Kind: "PersistentVolumeClaim"}, corev1.TypedObjectReference{APIGroup: new("shop.example.com"), Kind: "Image"})
	ref.Name, ref.Namespace = pick(r, "seed", "seed", "seed", "seed", "broken", "absent"), new(pick(r, "golden", "golden", "golden", "golden", "shop"))
	claim.Spec.DataSourceRef = &ref
	write := c.cluster.Create
	if !gate {
		write = c.cluster.Load // as a claim that was stored with the gate
	}
	require.NoError(t, write(claim))
	return c
}

// randomGrant returns a ReferenceGrant that may allow claims of namespace shop to use a source in namespace golden.
func randomGrant(r *rand.Rand, name string) *unstructured.Unstructured {
	from, to := make([]any, 1+r.IntN(2)), make([]any, r.IntN(4))
	for i := range from {
		from[i] = map[string]any{"group": pick(r, "", "", "", "apps"), "kind": pick(r, "PersistentVolumeClaim", "PersistentVolumeClaim",
			"PersistentVolumeClaim", "Pod"), "namespace": pick(r, "shop", "shop", "shop", "shop", "other")}
	}
	for i := range to {
		entry := pick(r, map[string]any{"group": "", "kind": "PersistentVolumeClaim"}, map[string]any{"group": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot"},
			map[string]any{"group": "shop.example.com", "kind": "Image"}, map[string]any{"group": "", "kind": "VolumeSnapshot"})
		switch r.IntN(4) {
		case 0:
			entry["name"] = "seed"
		case 1:
			entry["name"] = pick(r, "", "other")
		}
		to[i] = entry
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"from": from, "to": to}}}
	u.SetAPIVersion("gateway.networking.k8s.io/v1beta1")
	u.SetKind("ReferenceGrant")
	u.SetNamespace(pick(r, "golden", "golden", "golden", "shop"))
	u.SetName(name)
	return u
}

func pick[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

// failure lets the claim be synced once, and returns the text of the first failure.
func (c *crossing) failure() string {
	c.t.Helper()
	require.NoError(c.t, c.cluster.Advance(500*time.Millisecond))
	for _, e := range c.cluster.Events() {
		if e.InvolvedObject.Name == "copy" && e.Reason == "ProvisioningFailed" {
			return e.Message
		}
	}
	return ""
}

// lister has the ReferenceGrants of the cluster.
func (c *crossing) lister() grantlisters.ReferenceGrantLister {
	index := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for _, u := range c.cluster.Objects("ReferenceGrant.gateway.networking.k8s.io").List() {
		grant := &gatewayv1beta1.ReferenceGrant{}
		require.NoError(c.t, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, grant))
		require.NoError(c.t, index.Add(grant))
	}
	return grantlisters.NewReferenceGrantLister(index)
}
