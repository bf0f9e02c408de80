package upstream

import (
	"cmp"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/controller/volume/persistentvolume"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/proof/differential/harness"
)

// sortVolumes makes a PersistentVolume controller walk groups of volumes, the volumes of a group, and at a resync claims and volumes in
// order. Unmodified it walks maps; both are legal (BIND-032, MATCH-002, MATCH-004).
func sortVolumes(controller *persistentvolume.PersistentVolumeController) {
	fields := reflect.ValueOf(controller).Elem()
	index := harness.Unexported(fields.FieldByName("volumes").FieldByName("store"))
	index.Set(reflect.ValueOf(sortedIndex{index.Interface().(cache.Indexer)}))
	volumes := harness.Unexported(fields.FieldByName("volumeLister"))
	volumes.Set(reflect.ValueOf(sortedVolumes{volumes.Interface().(corelisters.PersistentVolumeLister)}))
	claims := harness.Unexported(fields.FieldByName("claimLister"))
	claims.Set(reflect.ValueOf(sortedClaims{claims.Interface().(corelisters.PersistentVolumeClaimLister)}))
}

// sortedIndex is an index of volumes that lists them by name.
type sortedIndex struct{ cache.Indexer }

// ListIndexFuncValues lists the groups.
func (x sortedIndex) ListIndexFuncValues(index string) []string {
	return slices.Sorted(slices.Values(x.Indexer.ListIndexFuncValues(index)))
}

// Index lists the volumes of a group.
func (x sortedIndex) Index(index string, obj any) ([]any, error) {
	found, err := x.Indexer.Index(index, obj)
	slices.SortFunc(found, func(a, b any) int {
		return cmp.Compare(a.(*corev1.PersistentVolume).Name, b.(*corev1.PersistentVolume).Name)
	})
	return found, err
}

type sortedVolumes struct {
	corelisters.PersistentVolumeLister
}

func (l sortedVolumes) List(selector labels.Selector) ([]*corev1.PersistentVolume, error) {
	found, err := l.PersistentVolumeLister.List(selector)
	return byKey(found), err
}

type sortedClaims struct {
	corelisters.PersistentVolumeClaimLister
}

func (l sortedClaims) List(selector labels.Selector) ([]*corev1.PersistentVolumeClaim, error) {
	found, err := l.PersistentVolumeClaimLister.List(selector)
	return byKey(found), err
}

func byKey[T api.Object](objects []T) []T {
	slices.SortFunc(objects, func(a, b T) int { return cmp.Compare(api.KeyOf(a), api.KeyOf(b)) })
	return objects
}
