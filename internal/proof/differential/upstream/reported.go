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

	"github.com/volsim/volsim/internal/proof/differential/harness"
)

// sortReported makes an attach/detach controller report attached volumes in order. Unmodified it reports them in map order; both are
// legal.
func sortReported(adc attachdetach.AttachDetachController) {
	updater := reflect.ValueOf(adc).Elem().FieldByName("nodeStatusUpdater").Elem().Elem()
	actual := harness.Unexported(updater.FieldByName("actualStateOfWorld"))
	actual.Set(reflect.ValueOf(sortedReports{actual.Interface().(cache.ActualStateOfWorld)}))
}

// sortedReports is an actual state of the world that reports volumes by name.
type sortedReports struct{ cache.ActualStateOfWorld }

// GetVolumesToReportAttached lists what each node's status should report.
func (s sortedReports) GetVolumesToReportAttached(logger klog.Logger) map[types.NodeName][]corev1.AttachedVolume {
	reports := s.ActualStateOfWorld.GetVolumesToReportAttached(logger)
	for _, volumes := range reports {
		sortByName(volumes)
	}
	return reports
}

// GetVolumesToReportAttachedForNode lists it for one node.
func (s sortedReports) GetVolumesToReportAttachedForNode(logger klog.Logger, node types.NodeName) (bool, []corev1.AttachedVolume) {
	needed, volumes := s.ActualStateOfWorld.GetVolumesToReportAttachedForNode(logger, node)
	sortByName(volumes)
	return needed, volumes
}

func sortByName(volumes []corev1.AttachedVolume) {
	slices.SortFunc(volumes, func(a, b corev1.AttachedVolume) int { return cmp.Compare(a.Name, b.Name) })
}
