package volumes

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// ByPod has the records of a volume for pods, ordered by uid. Nearly all volumes have one pod. Copies share the records.
type ByPod[T any] struct{ list []podRecord[T] }

type podRecord[T any] struct {
	uid    types.UID
	record *T
}

// Get returns the record for a pod.
func (b *ByPod[T]) Get(uid types.UID) (*T, bool) {
	for i := range b.list {
		if b.list[i].uid == uid {
			return b.list[i].record, true
		}
	}
	return nil, false
}

// Len is the number of records.
func (b *ByPod[T]) Len() int { return len(b.list) }

// Scan visits the records in order until visit returns false. The visit must not add or remove records.
func (b *ByPod[T]) Scan(visit func(uid types.UID, record *T) bool) {
	for i := range b.list {
		if !visit(b.list[i].uid, b.list[i].record) {
			return
		}
	}
}

// set adds or replaces the record for a pod.
func (b *ByPod[T]) set(uid types.UID, record *T) {
	i, known := b.find(uid)
	if known {
		b.list[i].record = record
	} else {
		b.list = slices.Insert(b.list, i, podRecord[T]{uid, record})
	}
}

// remove removes the record for a pod and returns it, nil if there is none.
func (b *ByPod[T]) remove(uid types.UID) *T {
	i, known := b.find(uid)
	if !known {
		return nil
	}
	record := b.list[i].record
	b.list = slices.Delete(b.list, i, i+1)
	return record
}

func (b *ByPod[T]) find(uid types.UID) (int, bool) {
	return slices.BinarySearchFunc(b.list, uid, func(r podRecord[T], uid types.UID) int { return cmp.Compare(r.uid, uid) })
}
