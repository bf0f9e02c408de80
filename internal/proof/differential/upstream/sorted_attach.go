package upstream

import (
	"cmp"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/controller/volume/attachdetach"
	"k8s.io/kubernetes/pkg/controller/volume/attachdetach/cache"

	"github.com/volsim/volsim/internal/proof/differential/harness"
)

// sortPasses makes the reconciler of an attach/detach controller walk attached volumes, volumes to attach, and the pods of a volume in
// order. Unmodified it walks maps; both are legal (ATT-212).
func sortPasses(adc attachdetach.AttachDetachController) {
	reconciler := reflect.ValueOf(adc).Elem().FieldByName("reconciler").Elem().Elem()
	actual := harness.Unexported(reconciler.FieldByName("actualStateOfWorld"))
	actual.Set(reflect.ValueOf(sortedAttached{actual.Interface().(cache.ActualStateOfWorld)}))
	desired := harness.Unexported(reconciler.FieldByName("desiredStateOfWorld"))
	desired.Set(reflect.ValueOf(sortedDesired{desired.Interface().(cache.DesiredStateOfWorld)}))
}

// sortedAttached is an actual state of the world in the order of volumes and nodes.
type sortedAttached struct{ cache.ActualStateOfWorld }

// GetAttachedVolumes lists volumes that may be attached.
func (s sortedAttached) GetAttachedVolumes() []cache.AttachedVolume {
	volumes := s.ActualStateOfWorld.GetAttachedVolumes()
	slices.SortFunc(volumes, func(a, b cache.AttachedVolume) int {
		return cmp.Or(cmp.Compare(a.VolumeName, b.VolumeName), cmp.Compare(a.NodeName, b.NodeName))
	})
	return volumes
}

// sortedDesired is a desired state of the world in the order of nodes and volumes, with pods by uid.
type sortedDesired struct{ cache.DesiredStateOfWorld }

// GetVolumesToAttach lists volumes that should be attached.
func (s sortedDesired) GetVolumesToAttach() []cache.VolumeToAttach {
	volumes := s.DesiredStateOfWorld.GetVolumesToAttach()
	slices.SortFunc(volumes, func(a, b cache.VolumeToAttach) int {
		return cmp.Or(cmp.Compare(a.NodeName, b.NodeName), cmp.Compare(a.VolumeName, b.VolumeName))
	})
	for _, volume := range volumes {
		slices.SortFunc(volume.ScheduledPods, byUID)
	}
	return volumes
}

// GetVolumePodsOnNodes lists the pods that use a volume on these nodes.
func (s sortedDesired) GetVolumePodsOnNodes(nodes []types.NodeName, volume corev1.UniqueVolumeName) (pods []*corev1.Pod) {
	for _, node := range slices.Sorted(slices.Values(nodes)) {
		there := s.DesiredStateOfWorld.GetVolumePodsOnNodes([]types.NodeName{node}, volume)
		slices.SortFunc(there, byUID)
		pods = append(pods, there...)
	}
	return pods
}

func byUID(a, b *corev1.Pod) int { return cmp.Compare(a.UID, b.UID) }
