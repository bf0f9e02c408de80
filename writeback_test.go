package volsim_test

import (
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

// TestWriteBack: the object of a write gets what the server stored, as with client.Client.
func TestWriteBack(t *testing.T) {
	c := newCluster(t, volsim.Config{})
	claim := fake.Claim("data", "10Gi")
	claim.Namespace, claim.Spec.VolumeMode = "", nil
	check := func(what string) {
		t.Helper()
		stored, err := c.Claims.Get("data")
		require.NoError(t, err)
		require.Equal(t, stored, claim, what)
	}

	require.NoError(t, c.Create(claim))
	check("create")
	require.NotEmpty(t, claim.UID)
	require.NotEmpty(t, claim.ResourceVersion)
	require.Equal(t, c.Now(), claim.CreationTimestamp.Time.UTC())
	require.Equal(t, metav1.NamespaceDefault, claim.Namespace)
	require.Equal(t, corev1.PersistentVolumeFilesystem, *claim.Spec.VolumeMode, "a default")
	require.Equal(t, []string{"kubernetes.io/pvc-protection"}, claim.Finalizers)

	created := claim.ResourceVersion
	claim.Labels = map[string]string{"tier": "gold"}
	require.NoError(t, c.Update(claim))
	check("update")
	require.NotEqual(t, created, claim.ResourceVersion)

	claim.Status.Phase = corev1.ClaimLost
	require.NoError(t, c.UpdateStatus(claim))
	check("update of the status")

	require.NoError(t, c.Patch(claim, `{"metadata":{"labels":{"tier":"lead"}}}`))
	check("patch")
	require.Equal(t, "lead", claim.Labels["tier"])

	named := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}}
	require.NoError(t, c.PatchStatus(named, `{"status":{"phase":"Pending"}}`))
	claim = named
	check("patch of the status of an object that has only a name")

	// The stored object is not shared with the caller's.
	claim.Labels["tier"] = "tin"
	stored, err := c.Claims.Get("data")
	require.NoError(t, err)
	require.Equal(t, "lead", stored.Labels["tier"])

	// A failed write leaves the object alone.
	before := claim.DeepCopy()
	claim.ResourceVersion, before.ResourceVersion = "1", "1"
	require.True(t, apierrors.IsConflict(c.Update(claim)))
	require.Equal(t, before, claim)
	fresh, taken := fake.Volume("fresh", "1Gi"), fake.Claim("data", "1Gi")
	require.True(t, apierrors.IsAlreadyExists(c.Create(fresh, taken)))
	require.Equal(t, fake.Volume("fresh", "1Gi"), fresh, "none is created")
}

// TestWriteBackShares: the object of a write keeps the memory that it had where the server left it alone, and shares none with the stored object.
func TestWriteBackShares(t *testing.T) {
	c := newCluster(t, volsim.Config{})
	pv, claim := fake.Volume("pv", "1Gi", fake.InClass("disk")), fake.Claim("data", "1Gi", fake.InClass("disk"))
	mode, class := pv.Spec.VolumeMode, claim.Spec.StorageClassName
	require.NoError(t, c.Create(pv, claim))
	require.Same(t, mode, pv.Spec.VolumeMode)
	require.Same(t, class, claim.Spec.StorageClassName)
	storedVolume, storedClaim := pv.DeepCopy(), claim.DeepCopy()

	*pv.Spec.VolumeMode, *claim.Spec.VolumeMode, *claim.Spec.StorageClassName = "Changed", "Changed", "changed"
	pv.Spec.AccessModes[0], claim.Spec.AccessModes[0] = "Changed", "Changed"
	delete(pv.Spec.Capacity, corev1.ResourceStorage)
	delete(claim.Spec.Resources.Requests, corev1.ResourceStorage)
	pv.Finalizers[0], claim.Finalizers[0], pv.Spec.HostPath.Path = "changed", "changed", "/changed"
	*pv.Spec.HostPath.Type = "Changed"

	gotVolume, err := c.Volumes.Get("pv")
	require.NoError(t, err)
	require.Equal(t, storedVolume, gotVolume)
	gotClaim, err := c.Claims.Get("data")
	require.NoError(t, err)
	require.Equal(t, storedClaim, gotClaim)

	// Neither is anything shared with objects that are created later.
	other := fake.Volume("other", "1Gi", fake.InClass("disk"))
	require.NoError(t, c.Create(other))
	require.Equal(t, storedVolume.Spec.Capacity, other.Spec.Capacity)
	require.Equal(t, storedVolume.Finalizers, other.Finalizers)
	require.Equal(t, storedVolume.Spec.AccessModes, other.Spec.AccessModes)
	require.Equal(t, corev1.HostPathUnset, *other.Spec.HostPath.Type)
}

// TestConflict: an object that a controller has changed since it was created is out of date.
func TestConflict(t *testing.T) {
	c := newCluster(t, volsim.Config{})
	pv := fake.Volume("pv", "1Gi")
	require.NoError(t, c.Create(pv))
	require.NoError(t, c.Settle())
	pv.Labels = map[string]string{"tier": "gold"}
	require.True(t, apierrors.IsConflict(c.Update(pv)), "API-011: the controller has set its phase")
	pv, err := c.Volumes.Get("pv")
	require.NoError(t, err)
	pv.Labels = map[string]string{"tier": "gold"}
	require.NoError(t, c.Update(pv))
	pv.ResourceVersion = ""
	require.NoError(t, c.Update(pv), "API-012: without a version it overwrites")
}

// TestGeneratedNames: each object gets the name that the server chose, also if the same object is given twice.
func TestGeneratedNames(t *testing.T) {
	c := newCluster(t, volsim.Config{})
	claim := fake.Claim("", "1Gi")
	claim.GenerateName = "data-"
	require.NoError(t, c.Create(claim, claim))
	require.Equal(t, 2, c.Claims.Len())
	require.Equal(t, claim, c.Claims.List()[1])
}

// TestDefaultNamespace: an object or a name without a namespace is in namespace default, for each method that takes one.
func TestDefaultNamespace(t *testing.T) {
	c := newCluster(t, volsim.Config{})
	web := func() *corev1.Pod {
		pod := fake.Pod("web")
		pod.Namespace = ""
		return pod
	}
	require.NoError(t, c.Create(web()))
	for _, name := range []string{"web", "default/web"} {
		pod, err := volsim.Get[*corev1.Pod](c, name)
		require.NoError(t, err)
		require.Equal(t, "default", pod.Namespace)
		_, err = c.Pods.Get(name)
		require.NoError(t, err)
		x, err := c.Explain("pod/" + name)
		require.NoError(t, err)
		require.Equal(t, "pod/default/web", x.Object)
	}
	pod := web()
	require.NoError(t, c.Patch(pod, `{"metadata":{"labels":{"a":"b"}}}`))
	pod.Namespace = ""
	require.NoError(t, c.Update(pod))
	require.NoError(t, c.PatchStatus(web(), `{"status":{"phase":"Running"}}`))
	for range 2 {
		require.NoError(t, c.Apply([]byte(`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data},
			spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`)))
	}
	_, err := c.Claims.Get("default/data")
	require.NoError(t, err)
	now := int64(0)
	require.NoError(t, c.DeleteWith(web(), api.DeleteOptions{GracePeriodSeconds: &now}))
	require.Zero(t, c.Pods.Len())
	require.NoError(t, c.Load(web()))
	_, err = c.Pods.Get("web")
	require.NoError(t, err)
	require.NoError(t, c.Delete(web()))
}

// TestCreateThenDelete: Delete goes by name, so an object that has changed since it was created can be deleted.
func TestCreateThenDelete(t *testing.T) {
	for seed := range int64(3) {
		c := newCluster(t, volsim.Config{Seed: seed})
		pv, claim := fake.Volume("pv", "1Gi"), fake.Claim("data", "1Gi")
		require.NoError(t, c.Create(pv, claim), fmt.Sprint(seed))
		require.NoError(t, c.Settle())
		require.NoError(t, c.Delete(claim))
		require.NoError(t, c.Delete(pv))
		require.NoError(t, c.Advance(time.Minute))
		require.Zero(t, c.Claims.Len()+c.Volumes.Len())
	}
}
