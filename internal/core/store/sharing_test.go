package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
)

func TestSharesAll(t *testing.T) {
	pod := goodPod()
	defaultPod(pod)
	copied := podStrategy.shallow(pod)
	assert.True(t, sharesAll(&pod.Spec, &copied.Spec), "a copy of the struct")
	assert.False(t, sharesAll(&pod.Spec, &pod.DeepCopy().Spec), "a copy of everything")
	copied.Spec.NodeName = "n1"
	assert.False(t, sharesAll(&pod.Spec, &copied.Spec), "another value")
	copied = podStrategy.shallow(pod)
	copied.Spec.Volumes = copied.Spec.Volumes[:1]
	assert.False(t, sharesAll(&pod.Spec, &copied.Spec), "a part of a slice")
	copied = podStrategy.shallow(pod)
	assert.Zero(t, testing.AllocsPerRun(100, func() { sharesAll(&pod.Spec, &copied.Spec) }), "allocations")
}

func TestLazyCopy(t *testing.T) {
	numbers := []int{1, 2}
	l := lazyCopy[int]{items: numbers}
	assert.True(t, sameSlice(numbers, l.items), "not copied before it is written to")
	*l.at(0) = 7
	*l.at(1) = 8
	assert.Equal(t, []int{7, 8}, l.items)
	assert.Equal(t, []int{1, 2}, numbers, "what belongs to somebody else stays")
}

// TestCommons: what objects say alike they have between them, whoever brought it, and it is what each of them said.
func TestCommons(t *testing.T) {
	s := New(Config{})
	volume, claim, other := goodVolume(), goodClaim(), goodClaim()
	other.Name = "other"
	volume.Spec.Capacity, claim.Spec.Resources.Requests, other.Spec.Resources.Requests = storageList("10Gi"), storageList("10Gi"), storageList("10Gi")
	for _, c := range []*corePVC{claim, other} {
		c.Spec.StorageClassName, c.Spec.VolumeMode = new("fast"), new(corev1.PersistentVolumeFilesystem)
		c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	}
	pv, err := s.Volumes.Create(volume)
	require.NoError(t, err)
	first, err := s.Claims.Create(claim)
	require.NoError(t, err)
	second, err := s.Claims.Create(other)
	require.NoError(t, err)
	require.True(t, sameMap(pv.Spec.Capacity, first.Spec.Resources.Requests))
	require.True(t, sharesAll(&first.Spec, &second.Spec))
	require.Same(t, &first.Finalizers[0], &second.Finalizers[0])
	require.Equal(t, 1, cap(first.Finalizers), "who appends to it makes a list of his own")
	require.Equal(t, []string{pvcProtection}, first.Finalizers)
	require.Equal(t, []string{pvProtection}, pv.Finalizers)
	require.Equal(t, claim.Spec, first.Spec)

	odd := goodClaim()
	odd.Name = "odd"
	odd.Spec.StorageClassName, odd.Spec.VolumeMode = new("slow"), new(corev1.PersistentVolumeBlock)
	odd.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany}
	odd.Finalizers = []string{"example.com/mine"}
	third, err := s.Claims.Create(odd)
	require.NoError(t, err)
	require.Equal(t, odd.Spec, third.Spec)
	require.Equal(t, []string{"example.com/mine", pvcProtection}, third.Finalizers)
}

// TestTimesShared: all that is stored within a second has one time between it, and what comes later another one.
func TestTimesShared(t *testing.T) {
	now := noon
	s := New(Config{Now: func() time.Time { return now }})
	create := func(name string) *corePV {
		volume := goodVolume()
		volume.Name = name
		pv, err := s.Volumes.Create(volume)
		require.NoError(t, err)
		return pv
	}
	a, b := create("a"), create("b")
	require.Same(t, a.Status.LastPhaseTransitionTime, b.Status.LastPhaseTransitionTime)
	now = now.Add(time.Second)
	c := create("c")
	require.Equal(t, clock(noon), *a.Status.LastPhaseTransitionTime)
	require.Equal(t, clock(now), *c.Status.LastPhaseTransitionTime)
}

func TestListsShared(t *testing.T) {
	same := func(a, b corev1.ResourceList) bool { return sameMap(a, b) }
	var known commons
	share := func(list corev1.ResourceList) corev1.ResourceList { return known.shareList(list, 0) }
	ten := share(storageList("10Gi"))
	require.True(t, same(ten, share(storageList("10Gi"))))
	require.False(t, same(ten, share(storageList("11Gi"))), "another size")
	require.False(t, same(ten, share(storageList("10240Mi"))), "another notation")
	more := corev1.ResourceList{"storage": ten["storage"], "cpu": ten["storage"]}
	require.True(t, same(more, share(more)), "more than storage")
	for i := range 3 * poolSize {
		list := corev1.ResourceList{"storage": *apiresource.NewQuantity(int64(i), apiresource.BinarySI)}
		require.Equal(t, list, known.shareList(list, 2*poolSize))
		require.LessOrEqual(t, len(known.lists), 2*poolSize)
	}
	share(storageList("1Ki"))
	require.Len(t, known.lists, 1, "with fewer objects than lists, it starts over")
}
