package upstream

import (
	"cmp"
	"reflect"
	"runtime"
	"slices"

	"k8s.io/kubernetes/pkg/kubelet/volumemanager"
	"k8s.io/kubernetes/pkg/kubelet/volumemanager/cache"
)

// sortDesired has the reconciler of a volume manager go through what is desired in order, after it has let others go first who are due at the same
// instant, as the populator is. By itself it goes in the order of a map, and whoever is first goes first: all that is up to chance, so it may be
// this.
func sortDesired(m volumemanager.VolumeManager) {
	reconciler := unexported(reflect.ValueOf(m).Elem().FieldByName("reconciler")).Elem()
	desired := unexported(reconciler.Elem().FieldByName("desiredStateOfWorld"))
	desired.Set(reflect.ValueOf(sorted{desired.Interface().(cache.DesiredStateOfWorld)}))
	// This is what a pass asks first.
	added := unexported(reconciler.Elem().FieldByName("populatorHasAddedPods"))
	hasAdded := added.Interface().(func() bool)
	added.Set(reflect.ValueOf(func() bool { yield(); return hasAdded() }))
}

// yield lets others go first who are due now.
func yield() {
	for range 20 {
		runtime.Gosched()
	}
}

// sorted is a desired state of the world in the order of volumes and pods.
type sorted struct{ cache.DesiredStateOfWorld }

// GetVolumesToMount lists what is desired.
func (s sorted) GetVolumesToMount() []cache.VolumeToMount {
	yield()
	volumes := s.DesiredStateOfWorld.GetVolumesToMount()
	slices.SortFunc(volumes, func(a, b cache.VolumeToMount) int {
		return cmp.Or(cmp.Compare(a.VolumeName, b.VolumeName), cmp.Compare(a.PodName, b.PodName))
	})
	return volumes
}
