package strategy

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/volsim/volsim/internal/core/strategy/sample"
)

func TestSharesAll(t *testing.T) {
	pod := sample.Pod()
	defaultPod(pod)
	copied := Pod.Shallow(pod)
	assert.True(t, sharesAll(&pod.Spec, &copied.Spec), "a copy of the struct")
	assert.False(t, sharesAll(&pod.Spec, &pod.DeepCopy().Spec), "a copy of everything")
	copied.Spec.NodeName = "n1"
	assert.False(t, sharesAll(&pod.Spec, &copied.Spec), "another value")
	copied = Pod.Shallow(pod)
	copied.Spec.Volumes = copied.Spec.Volumes[:1]
	assert.False(t, sharesAll(&pod.Spec, &copied.Spec), "a part of a slice")
	copied = Pod.Shallow(pod)
	assert.Zero(t, testing.AllocsPerRun(100, func() { sharesAll(&pod.Spec, &copied.Spec) }), "allocations")
}

func TestLazyCopy(t *testing.T) {
	numbers := []int{1, 2}
	l := lazyCopy[int]{items: numbers}
	assert.True(t, SameSlice(numbers, l.items), "not copied before the first write")
	*l.at(0) = 7
	*l.at(1) = 8
	assert.Equal(t, []int{7, 8}, l.items)
	assert.Equal(t, []int{1, 2}, numbers, "the original stays as it is")
}
