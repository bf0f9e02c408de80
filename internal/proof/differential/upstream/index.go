package upstream

import (
	_ "unsafe" // for go:linkname

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// Index is the index of volumes in which the PersistentVolume controller looks for a match. It is not exported there, so its functions are
// linked by name.
type Index struct{ index orderedIndex }

// orderedIndex has the layout of the index.
type orderedIndex struct{ store cache.Indexer }

//go:linkname newIndex k8s.io/kubernetes/pkg/controller/volume/persistentvolume.newPersistentVolumeOrderedIndex
func newIndex() orderedIndex

//go:linkname findBestMatch k8s.io/kubernetes/pkg/controller/volume/persistentvolume.(*persistentVolumeOrderedIndex).findBestMatchForClaim
func findBestMatch(index *orderedIndex, claim *corev1.PersistentVolumeClaim, delayed bool) (*corev1.PersistentVolume, error)

//go:linkname satisfies k8s.io/kubernetes/pkg/controller/volume/persistentvolume.checkVolumeSatisfyClaim
func satisfies(pv *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) error

// NewIndex is an index with these volumes in it.
func NewIndex(volumes []*corev1.PersistentVolume) (*Index, error) {
	x := &Index{newIndex()}
	for _, pv := range volumes {
		if err := x.index.store.Add(pv); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// Match picks a volume for the claim, nil for none. Which one it picks of several that are equally good is up to chance.
func (x *Index) Match(claim *corev1.PersistentVolumeClaim, delayed bool) (*corev1.PersistentVolume, error) {
	return findBestMatch(&x.index, claim, delayed)
}

// Satisfies tells why a volume is not what a claim that names it may have, nil if it is.
func Satisfies(claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) error {
	return satisfies(pv, claim)
}
