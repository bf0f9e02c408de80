package volsim_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
)

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func configMap(namespace, name string, finalizers ...string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Finalizers: finalizers}}
}

// TestNamespaceObject: what the server adds to a namespace, and what clients cannot change.
func TestNamespaceObject(t *testing.T) {
	c, err := volsim.New(volsim.Config{StrictNamespaces: true})
	require.NoError(t, err)
	var names []string
	for _, ns := range volsim.List[*corev1.Namespace](c) {
		names = append(names, ns.Name)
	}
	require.Equal(t, []string{"default", "kube-node-lease", "kube-public", "kube-system"}, names, "NS-006")

	err = c.Create(configMap("shop", "a"))
	require.ErrorContains(t, err, `namespaces "shop" not found`, "NS-010, API-010")
	require.True(t, apierrors.IsNotFound(err), "NS-010")
	shop := namespace("shop")
	shop.Spec.Finalizers, shop.Status.Phase = []corev1.FinalizerName{"example.com/audit"}, corev1.NamespaceTerminating
	require.NoError(t, c.Create(shop))
	require.Equal(t, map[string]string{"kubernetes.io/metadata.name": "shop"}, shop.Labels, "NS-001")
	require.Equal(t, corev1.NamespaceActive, shop.Status.Phase, "NS-002")
	require.Equal(t, []corev1.FinalizerName{"example.com/audit", "kubernetes"}, shop.Spec.Finalizers, "NS-003")
	require.NoError(t, c.Create(configMap("shop", "a")), "NS-010")

	changed := shop.DeepCopy()
	changed.Labels, changed.Spec.Finalizers = map[string]string{"team": "a"}, nil
	require.NoError(t, c.Update(changed))
	require.Equal(t, map[string]string{"team": "a", "kubernetes.io/metadata.name": "shop"}, changed.Labels, "NS-001")
	require.Equal(t, shop.Spec.Finalizers, changed.Spec.Finalizers, "NS-004")
	err = c.PatchStatus(namespace("shop"), `{"status":{"phase":"Terminating"}}`)
	require.ErrorContains(t, err, "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty", "NS-005")

	err = c.Delete(namespace("default"))
	require.ErrorContains(t, err, `namespaces "default" is forbidden: this namespace may not be deleted`, "NS-012")
	require.NoError(t, c.Delete(namespace("shop")))
	shop, err = volsim.Get[*corev1.Namespace](c, "shop")
	require.NoError(t, err, "NS-013")
	require.Equal(t, corev1.NamespaceTerminating, shop.Status.Phase, "NS-013")
	require.Nil(t, shop.DeletionGracePeriodSeconds, "NS-013")
	err = c.Create(configMap("shop", "b"))
	require.ErrorContains(t, err, `configmaps "b" is forbidden: unable to create new content in namespace shop because it is being terminated`, "NS-011")
	require.True(t, apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), "NS-011")

	// NS-025: the finalizer of another controller keeps the namespace without content.
	require.NoError(t, c.Advance(time.Minute))
	shop, err = volsim.Get[*corev1.Namespace](c, "shop")
	require.NoError(t, err, "NS-014, NS-025")
	require.Equal(t, []corev1.FinalizerName{"example.com/audit"}, shop.Spec.Finalizers, "NS-025")
	require.Empty(t, volsim.List[*corev1.ConfigMap](c), "NS-021")
}

// TestNamespaceDeletion: pods go first, and a finalizer of one object keeps the namespace.
func TestNamespaceDeletion(t *testing.T) {
	c, err := volsim.New(volsim.Config{})
	require.NoError(t, err)
	require.NoError(t, c.Create(fake.Claim("free", "1Gi"), namespace("shop")), "NS-010: namespace default never was an object")
	claim := fake.Claim("data", "1Gi")
	claim.Namespace = "shop"
	pod := fake.Pod("web", fake.Claims("data"))
	pod.Namespace, pod.Spec.NodeName = "shop", "n1"
	pod.Finalizers = []string{"example.com/drain"}
	require.NoError(t, c.Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, claim, configMap("shop", "keep", "example.com/keep"), configMap("shop", "plain"), pod))
	require.NoError(t, c.Settle())
	deleted := c.Now()
	require.NoError(t, c.Delete(namespace("shop")))
	status := func(name corev1.NamespaceConditionType) string {
		ns, err := volsim.Get[*corev1.Namespace](c, "shop")
		require.NoError(t, err)
		for _, condition := range ns.Status.Conditions {
			if condition.Type == name {
				return string(condition.Status) + " " + condition.Reason + ": " + condition.Message
			}
		}
		return ""
	}
	require.NoError(t, c.Advance(4*time.Second))
	require.Nil(t, volsim.List[*corev1.Pod](c)[0].DeletionTimestamp, "NS-020")
	require.NoError(t, c.Advance(2*time.Second))
	require.NotNil(t, volsim.List[*corev1.Pod](c)[0].DeletionTimestamp, "NS-020, NS-021")
	require.Len(t, volsim.List[*corev1.ConfigMap](c), 2, "NS-021: pods go first")
	require.Equal(t, "False ContentRemoved: All content successfully removed", status(corev1.NamespaceContentRemaining), "NS-021, NS-024")
	require.NoError(t, c.Advance(time.Minute))
	require.Len(t, volsim.List[*corev1.ConfigMap](c), 2, "NS-021, NS-023")

	require.NoError(t, c.Patch(pod, `{"metadata":{"finalizers":null}}`))
	require.NoError(t, c.Advance(time.Minute))
	require.Empty(t, volsim.List[*corev1.Pod](c), "NS-022")
	_, err = c.Claims.Get("shop/data")
	require.True(t, apierrors.IsNotFound(err), "NS-021")
	require.Len(t, volsim.List[*corev1.ConfigMap](c), 1, "NS-023")
	require.Equal(t, "True SomeResourcesRemain: Some resources are remaining: configmaps. has 1 resource instances",
		status(corev1.NamespaceContentRemaining), "NS-024")
	require.Equal(t, "True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/keep in 1 resource instances",
		status(corev1.NamespaceFinalizersRemaining), "NS-024")
	require.Equal(t, "False ContentDeleted: All content successfully deleted, may be waiting on finalization",
		status(corev1.NamespaceDeletionContentFailure), "NS-024")
	require.NoError(t, c.Settle(), "NS-023: a stuck namespace does not keep a cluster from settling")

	require.NoError(t, c.Patch(configMap("shop", "keep"), `{"metadata":{"finalizers":null}}`))
	require.NoError(t, c.Advance(10*time.Second))
	_, err = volsim.Get[*corev1.Namespace](c, "shop")
	require.True(t, apierrors.IsNotFound(err), "NS-014, NS-025")
	require.Greater(t, c.Now().Sub(deleted), 5*time.Second)
	require.ErrorContains(t, c.Create(configMap("shop", "late")), `namespaces "shop" not found`, "NS-010")
	require.NoError(t, c.Create(namespace("shop"), configMap("shop", "late")), "NS-010")
	require.Contains(t, c.Controllers(), "namespace-controller")
	var kind api.Kind = "Namespace"
	require.NotContains(t, c.StoredOnly(), kind)
}

// TestNamespaceAtResync: a resync at the instant of a sync requests the next one after 5 s, although the sync itself asked for 8 s.
func TestNamespaceAtResync(t *testing.T) {
	c, err := volsim.New(volsim.Config{})
	require.NoError(t, err)
	require.NoError(t, c.Create(namespace("shop"), configMap("shop", "keep", "example.com/keep")))
	require.NoError(t, c.Crash("namespace-controller"))
	require.NoError(t, c.Restart("namespace-controller"))
	resync := c.Now().Add(5 * time.Minute)
	// The syncs are 5 s and, because the first one writes the conditions, 10 s after the deletion, then every 8 s.
	require.NoError(t, c.Advance(5*time.Minute-26*time.Second))
	require.NoError(t, c.Delete(namespace("shop")))
	require.NoError(t, c.Advance(resync.Sub(c.Now())+time.Second))
	require.NoError(t, c.Patch(configMap("shop", "keep"), `{"metadata":{"finalizers":null}}`))
	require.NoError(t, c.Advance(3*time.Second))
	_, err = volsim.Get[*corev1.Namespace](c, "shop")
	require.NoError(t, err, "NS-020")
	require.NoError(t, c.Advance(time.Second))
	_, err = volsim.Get[*corev1.Namespace](c, "shop")
	require.True(t, apierrors.IsNotFound(err), "NS-020")
}

// TestNamespaceRequests: NS-021, one request deletes all objects of a kind.
func TestNamespaceRequests(t *testing.T) {
	c, err := volsim.New(volsim.Config{Latency: time.Second})
	require.NoError(t, err)
	require.NoError(t, c.Create(namespace("shop"), configMap("shop", "a"), configMap("shop", "b"), configMap("shop", "c")))
	c.Faults.Fail(fake.Match{Verb: "deletecollection", Kind: "ConfigMap", Key: "shop"}, errors.New("no")).Once()
	c.Faults.Fail(fake.Match{Verb: "delete", Kind: "ConfigMap", Key: "shop/b"}, errors.New("no")).Once()
	c.Faults.Fail(fake.Match{Verb: "deletecollection", Kind: "Ingress.networking.k8s.io", Key: "shop"}, errors.New("no")).Once()
	require.NoError(t, c.Delete(namespace("shop")))
	require.NoError(t, c.Advance(5*time.Minute))
	require.Empty(t, c.Faults.Unused(), "NS-021: also for kinds without objects")
	var deletes []string
	times := map[time.Time]bool{}
	for e := range c.Trace().Entries() {
		if e.Object.Kind == "ConfigMap" && e.Verb == "delete" {
			deletes = append(deletes, e.Object.Key+" "+fmt.Sprint(e.Err))
			times[e.Time] = true
		}
	}
	require.Equal(t, []string{"shop/a <nil>", "shop/b no", "shop/b <nil>", "shop/c <nil>"}, deletes, "NS-021")
	require.Len(t, times, 2, "NS-021")
	_, err = volsim.Get[*corev1.Namespace](c, "shop")
	require.True(t, apierrors.IsNotFound(err), "NS-014")
}

// TestNamespaceInAnotherPhase: a namespace as an old server left it is deleted like any other, and its conditions are written at once.
func TestNamespaceInAnotherPhase(t *testing.T) {
	c, err := volsim.New(volsim.Config{})
	require.NoError(t, err)
	shop := namespace("shop")
	shop.UID, shop.DeletionTimestamp = "u", &metav1.Time{Time: c.Now()}
	shop.Spec.Finalizers, shop.Status.Phase = []corev1.FinalizerName{"kubernetes"}, corev1.NamespaceActive
	require.NoError(t, c.Load(shop, configMap("shop", "keep", "example.com/keep")))
	require.NoError(t, c.Advance(6*time.Second))
	stored, err := volsim.Get[*corev1.Namespace](c, "shop")
	require.NoError(t, err)
	require.Equal(t, corev1.NamespaceTerminating, stored.Status.Phase, "NS-026")
	require.Len(t, stored.Status.Conditions, 5, "NS-026, NS-024: the write of the conditions is no conflict")
	require.NoError(t, c.Patch(configMap("shop", "keep"), `{"metadata":{"finalizers":null}}`))
	require.NoError(t, c.Advance(time.Minute))
	_, err = volsim.Get[*corev1.Namespace](c, "shop")
	require.True(t, apierrors.IsNotFound(err), "NS-026, NS-014")
}
