package store

import (
	"testing"

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

// TestListsShared: objects of one size have one list of resources between them, whoever brought it.
func TestListsShared(t *testing.T) {
	same := func(a, b corev1.ResourceList) bool { return sameMap(a, b) }
	s := New(Config{})
	volume, claim, other := goodVolume(), goodClaim(), goodClaim()
	volume.Spec.Capacity, claim.Spec.Resources.Requests, other.Spec.Resources.Requests = storageList("10Gi"), storageList("10Gi"), storageList("10Gi")
	other.Name = "other"
	pv, err := s.Volumes.Create(volume)
	require.NoError(t, err)
	pvc, err := s.Claims.Create(claim)
	require.NoError(t, err)
	second, err := s.Claims.Create(other)
	require.NoError(t, err)
	require.True(t, same(pv.Spec.Capacity, pvc.Spec.Resources.Requests))
	require.True(t, same(pv.Spec.Capacity, second.Spec.Resources.Requests))

	var known resourceLists
	ten := known.share(storageList("10Gi"))
	require.False(t, same(ten, known.share(storageList("11Gi"))), "another size")
	require.False(t, same(ten, known.share(storageList("10240Mi"))), "another notation")
	more := corev1.ResourceList{"storage": ten["storage"], "cpu": ten["storage"]}
	require.True(t, same(more, known.share(more)), "more than storage")
	for i := range maxLists {
		known.share(corev1.ResourceList{"storage": *apiresource.NewQuantity(int64(i), apiresource.BinarySI)})
	}
	require.LessOrEqual(t, len(known.bySize), maxLists)
}
