package match

import (
	"slices"

	"github.com/tidwall/btree"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/internal/core/objects"
)

// bucketKey holds the fields that a claim must match exactly. All free volumes in a bucket have them in common.
type bucketKey struct {
	class           string
	mode            corev1.PersistentVolumeMode
	attributesClass string
}

// bucket holds the free volumes with the same key.
type bucket struct {
	key    bucketKey
	groups []*group // by rank
	count  int      // volumes in all groups
}

// group holds the volumes of a bucket with the same access modes (MATCH-001), by capacity, then by name.
type group struct {
	bucket  *bucket
	rank    int
	set     modeSet
	volumes *btree.BTreeG[item]
	byLabel map[string]byValue // by the labels that selectors have asked for
}

// item is an entry in a group, with a copy of the part of the sort key that decides most comparisons.
type item struct {
	size  int64
	entry *VolumeEntry
}

// groupDegree is the degree of the trees. From 32 to 128 insertion and search cost about the same, below 32 more.
const groupDegree = 64

// before orders a group: by capacity, then by name.
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

func (e *VolumeEntry) capacity() resource.Quantity {
	if e.odd != nil {
		return *e.odd
	}
	return *resource.NewQuantity(e.size, resource.DecimalSI)
}

// setCapacity makes the quantity the capacity of the entry.
func (e *VolumeEntry) setCapacity(q resource.Quantity) {
	var exact bool
	e.size, exact = sizeOf(q)
	e.odd = nil
	if !exact {
		odd := q.DeepCopy()
		e.odd = &odd
	}
}

// offer puts the entry where claims find pv, the new version of its volume, if that is free.
func (x *Index) offer(e *VolumeEntry, pv *corev1.PersistentVolume) {
	// MATCH-014, MATCH-017: terminating volumes and those of another phase are never picked unless they point at the claim.
	if pv.Spec.ClaimRef != nil || pv.DeletionTimestamp != nil || pv.Status.Phase != corev1.VolumeAvailable {
		x.withdraw(e)
		return
	}
	to := x.groupFor(pv)
	capacity := capacityOf(pv)
	if to == e.group && e.odd == nil {
		if size, exact := sizeOf(capacity); exact && size == e.size {
			to.relabel(item{size: e.size, entry: e}, e.PV.Labels, pv.Labels)
			return
		}
	}
	// The new group counts the entry before the old one loses it, or their bucket might be given up in between.
	to.bucket.count++
	x.withdraw(e)
	e.group = to
	e.setCapacity(capacity)
	to.put(item{size: e.size, entry: e}, pv.Labels)
}

// withdraw undoes offer.
func (x *Index) withdraw(e *VolumeEntry) {
	if e.group == nil {
		return
	}
	b := e.group.bucket
	e.group.take(item{size: e.size, entry: e}, e.PV.Labels)
	e.group, e.odd = nil, nil
	b.count--
	if b.count == 0 {
		delete(x.buckets, b.key)
	}
}

// groupFor returns the group to which the volume belongs; it may be new.
func (x *Index) groupFor(pv *corev1.PersistentVolume) *group {
	key := bucketKey{
		class:           objects.ClassOfVolume(pv),
		mode:            objects.VolumeModeOf(pv.Spec.VolumeMode),
		attributesClass: objects.ValueOf(pv.Spec.VolumeAttributesClassName),
	}
	b := x.buckets[key]
	if b == nil {
		b = &bucket{key: key}
		if x.buckets == nil {
			x.buckets = map[bucketKey]*bucket{}
		}
		x.buckets[key] = b
	}
	set := groupOf(pv)
	at, found := slices.BinarySearchFunc(b.groups, set.rank(), func(g *group, rank int) int { return g.rank - rank })
	if !found {
		b.groups = slices.Insert(b.groups, at, &group{bucket: b, rank: set.rank(), set: set, volumes: newVolumes()})
	}
	return b.groups[at]
}

// smallest returns the smallest free volume that fits, from a group before that of reserved; in the group of reserved and after it,
// reserved wins (MATCH-003, MATCH-015).
func (x *Index) smallest(r *Request, reserved candidate) (best candidate) {
	// MATCH-012, MATCH-013, MATCH-019: all volumes of the bucket pass.
	b := x.buckets[bucketKey{class: r.class, mode: r.volumeMode, attributesClass: r.attributesClass}]
	if b == nil {
		return best
	}
	x.pivot.setCapacity(r.capacity)
	from := item{size: x.pivot.size, entry: &x.pivot}
	for _, group := range b.groups {
		if reserved.pv != nil && group.rank >= reserved.rank {
			break
		}
		if !r.searches(group.set) {
			continue
		}
		volumes := group.search(r.selector)
		if volumes == nil {
			continue
		}
		// MATCH-011, MATCH-020: from the request upwards, the first is the smallest.
		volumes.Ascend(from, func(i item) bool {
			if !selected.holds(r, i.entry.PV) {
				return true
			}
			best = candidate{pv: i.entry.PV, rank: group.rank}
			return false
		})
		if best.pv != nil {
			break
		}
	}
	return best
}
