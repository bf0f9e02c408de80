package upstream

import (
	"cmp"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/volume/attachdetach"
	"k8s.io/kubernetes/pkg/controller/volume/attachdetach/cache"
)

// sortReported has an attach/detach controller write what it reports as attached in order. By itself it writes it in the order of a map: that is
// up to chance, so it may be this.
func sortReported(adc attachdetach.AttachDetachController) {
	updater := reflect.ValueOf(adc).Elem().FieldByName("nodeStatusUpdater").Elem().Elem()
	actual := unexported(updater.FieldByName("actualStateOfWorld"))
	actual.Set(reflect.ValueOf(sortedReports{actual.Interface().(cache.ActualStateOfWorld)}))
}

// sortedReports is an actual state of the world that reports volumes by name.
type sortedReports struct{ cache.ActualStateOfWorld }

// GetVolumesToReportAttached lists what is to be reported of each node.
func (s sortedReports) GetVolumesToReportAttached(logger klog.Logger) map[types.NodeName][]corev1.AttachedVolume {
	reports := s.ActualStateOfWorld.GetVolumesToReportAttached(logger)
	for _, volumes := range reports {
		sortByName(volumes)
	}
	return reports
}

// GetVolumesToReportAttachedForNode lists what is to be reported of one.
func (s sortedReports) GetVolumesToReportAttachedForNode(logger klog.Logger, node types.NodeName) (bool, []corev1.AttachedVolume) {
	needed, volumes := s.ActualStateOfWorld.GetVolumesToReportAttachedForNode(logger, node)
	sortByName(volumes)
	return needed, volumes
}

func sortByName(volumes []corev1.AttachedVolume) {
	slices.SortFunc(volumes, func(a, b corev1.AttachedVolume) int { return cmp.Compare(a.Name, b.Name) })
}
