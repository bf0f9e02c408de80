package binder

import (
	"slices"

	"github.com/tidwall/btree"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/volsim/volsim/internal/core/objects"
)

// shelfKey is what free volumes on one shelf have in common: everything that a claim wants equal.
type shelfKey struct {
	class string
	mode  corev1.PersistentVolumeMode
	vac   string
}

// shelf holds the free volumes with the same key.
type shelf struct {
	key   shelfKey
	slots []*slot // by rank
	count int     // volumes in all slots
}

// slot holds the volumes of one group on a shelf, by capacity, then by name.
type slot struct {
	shelf   *shelf
	rank    int
	set     modeSet
	volumes *btree.BTreeG[item]
	byLabel map[string]labelled // by the labels that selectors have asked for
}

// item is an entry in a slot, with the part of the sort key that decides most comparisons at hand.
type item struct {
	size  int64
	entry *entry
}

// slotDegree is the degree of the trees. From 32 to 128 insertion and search cost about the same, below 32 more.
const slotDegree = 64

// before is the order of a slot: capacity, then name.
func (i item) before(other item) bool {
	if i.size != other.size {
		return i.size < other.size
	}
	if i.entry.odd != nil || other.entry.odd != nil {
		capacity := i.entry.capacity()
		if order := capacity.Cmp(other.entry.capacity()); order != 0 {
			return order < 0
		}
	}
	return i.entry.Key < other.entry.Key
}

func (e *entry) capacity() resource.Quantity {
	if e.odd != nil {
		return *e.odd
	}
	return *resource.NewQuantity(e.size, resource.DecimalSI)
}

// setCapacity makes the quantity the capacity of the entry.
func (e *entry) setCapacity(q resource.Quantity) {
	var exact bool
	e.size, exact = sizeOf(q)
	e.odd = nil
	if !exact {
		odd := q.DeepCopy()
		e.odd = &odd
	}
}

// offer puts the entry where claims find pv, the new version of its volume, if that is free.
func (x *Index) offer(e *entry, pv *corev1.PersistentVolume) {
	// MATCH-014, MATCH-017: terminating volumes and those of another phase are never picked unless they point at the claim.
	if pv.Spec.ClaimRef != nil || pv.DeletionTimestamp != nil || pv.Status.Phase != corev1.VolumeAvailable {
		x.withdraw(e)
		return
	}
	to := x.slotFor(pv)
	capacity := capacityOf(pv)
	if to == e.slot && e.odd == nil {
		if size, exact := sizeOf(capacity); exact && size == e.size {
			to.relabel(item{size: e.size, entry: e}, e.pv.Labels, pv.Labels)
			return
		}
	}
	// The new slot counts the entry before the old one loses it, or their shelf might be given up in between.
	to.shelf.count++
	x.withdraw(e)
	e.slot = to
	e.setCapacity(capacity)
	to.put(item{size: e.size, entry: e}, pv.Labels)
}

// withdraw undoes offer.
func (x *Index) withdraw(e *entry) {
	if e.slot == nil {
		return
	}
	s := e.slot.shelf
	e.slot.take(item{size: e.size, entry: e}, e.pv.Labels)
	e.slot, e.odd = nil, nil
	s.count--
	if s.count == 0 {
		delete(x.shelves, s.key)
	}
}

// slotFor is the slot where the volume belongs. It may be new.
func (x *Index) slotFor(pv *corev1.PersistentVolume) *slot {
	key := shelfKey{
		class: ClassOfVolume(pv),
		mode:  objects.VolumeModeOf(pv.Spec.VolumeMode),
		vac:   objects.ValueOf(pv.Spec.VolumeAttributesClassName),
	}
	s := x.shelves[key]
	if s == nil {
		s = &shelf{key: key}
		x.shelves[key] = s
	}
	set := groupOf(pv)
	at, found := slices.BinarySearchFunc(s.slots, set.rank(), func(s *slot, rank int) int { return s.rank - rank })
	if !found {
		s.slots = slices.Insert(s.slots, at, &slot{shelf: s, rank: set.rank(), set: set, volumes: newVolumes()})
	}
	return s.slots[at]
}

// smallest is the free volume that the claim gets if it gets one from a group before that of reserved; in the group of
// reserved and after it, reserved wins (MATCH-003, MATCH-015).
func (x *Index) smallest(q *query, reserved candidate) (best candidate) {
	// MATCH-012, MATCH-013, MATCH-019: all volumes of the shelf pass.
	s := x.shelves[shelfKey{class: q.class, mode: q.mode, vac: q.vac}]
	if s == nil {
		return best
	}
	x.pivot.setCapacity(q.request)
	from := item{size: x.pivot.size, entry: &x.pivot}
	for _, slot := range s.slots {
		if reserved.pv != nil && slot.rank >= reserved.rank {
			break
		}
		if !q.searches(slot.set) {
			continue
		}
		volumes := slot.among(q.selector)
		if volumes == nil {
			continue
		}
		// MATCH-011, MATCH-020: from the request upwards, the first is the smallest.
		volumes.Ascend(from, func(i item) bool {
			// MATCH-018
			if q.selector != nil && !q.selector.Matches(labels.Set(i.entry.pv.Labels)) {
				return true
			}
			best = candidate{pv: i.entry.pv, rank: slot.rank}
			return false
		})
		if best.pv != nil {
			break
		}
	}
	return best
}
