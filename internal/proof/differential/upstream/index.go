package upstream

import (
	_ "unsafe" // for go:linkname

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// Index is the PersistentVolume controller's index of volumes. It is not exported there, so its functions are linked by name.
type Index struct{ index orderedIndex }

// orderedIndex has the memory layout of the index.
type orderedIndex struct{ store cache.Indexer }

//go:linkname newIndex k8s.io/kubernetes/pkg/controller/volume/persistentvolume.newPersistentVolumeOrderedIndex
func newIndex() orderedIndex

//go:linkname findBestMatch k8s.io/kubernetes/pkg/controller/volume/persistentvolume.(*persistentVolumeOrderedIndex).findBestMatchForClaim
func findBestMatch(index *orderedIndex, claim *corev1.PersistentVolumeClaim, delayed bool) (*corev1.PersistentVolume, error)

//go:linkname satisfies k8s.io/kubernetes/pkg/controller/volume/persistentvolume.checkVolumeSatisfyClaim
func satisfies(pv *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) error

// NewIndex returns an index of these volumes.
func NewIndex(volumes []*corev1.PersistentVolume) (*Index, error) {
	x := &Index{newIndex()}
	for _, pv := range volumes {
		if err := x.index.store.Add(pv); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// Match picks a volume for the claim, nil for none. Among equally good volumes the choice is random.
func (x *Index) Match(claim *corev1.PersistentVolumeClaim, delayed bool) (*corev1.PersistentVolume, error) {
	return findBestMatch(&x.index, claim, delayed)
}

// Satisfies returns why a volume does not fit a claim that names it, nil if it fits.
func Satisfies(claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) error {
	return satisfies(pv, claim)
}
