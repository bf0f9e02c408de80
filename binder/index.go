package binder

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// Index holds volumes so that a match is a search, not a scan. It answers exactly as Match does over the same volumes,
// in a time that hardly depends on their number; only a selector that asks for no label's value, and refuses many volumes of the
// right class and size, makes it look at each of them.
//
// The index keeps the pointers it is given: a volume in it must not be changed, a new version is Put in its place. Its
// answers follow every Put at once, so a volume that was just bound is no longer free (MATCH-024). It is not safe for
// concurrent use. Make one with NewIndex.
type Index struct {
	byName  map[string]*entry
	last    *entry                          // that was asked for
	byClaim map[types.NamespacedName]*entry // the first of the volumes with that claimRef, by uid in it, then by name
	shelves map[shelfKey]*shelf             // free volumes
	sorted  []*entry                        // all by name; nil when it has to be made anew
	pivot   entry                           // where the search for the smallest starts; kept to save an allocation
}

// entry is one volume in an Index.
type entry struct {
	pv   *corev1.PersistentVolume
	name string
	size int64              // capacity, see sizeOf
	odd  *resource.Quantity // capacity, when size is not exact
	slot *slot              // where the volume is offered, nil unless it is free
	next *entry             // with a claimRef that names the same claim
	unrest
}

// NewIndex returns an empty Index.
func NewIndex() *Index {
	return &Index{
		byName:  map[string]*entry{},
		byClaim: map[types.NamespacedName]*entry{},
		shelves: map[shelfKey]*shelf{},
	}
}

// Len is the number of volumes.
func (x *Index) Len() int { return len(x.byName) }

// Get is the volume of that name; ok is false when there is none.
func (x *Index) Get(name string) (pv *corev1.PersistentVolume, ok bool) {
	if e := x.find(name); e != nil {
		return e.pv, true
	}
	return nil, false
}

// find is the entry of that name, nil if there is none. One volume is often asked for several times in a row.
func (x *Index) find(name string) *entry {
	if x.last != nil && x.last.name == name {
		return x.last
	}
	e := x.byName[name]
	if e != nil {
		x.last = e
	}
	return e
}

// All yields the volumes by name. The index must not be changed meanwhile.
func (x *Index) All() iter.Seq[*corev1.PersistentVolume] {
	return func(yield func(*corev1.PersistentVolume) bool) {
		if x.sorted == nil {
			x.sorted = make([]*entry, 0, len(x.byName))
			for _, e := range x.byName {
				x.sorted = append(x.sorted, e)
			}
			slices.SortFunc(x.sorted, func(a, b *entry) int { return strings.Compare(a.name, b.name) })
		}
		for _, e := range x.sorted {
			if !yield(e.pv) {
				return
			}
		}
	}
}

// VolumesFor lists, by name, the volumes whose claimRef names the claim, given as "namespace/name". The uid in the
// claimRef may be any: see IsMine.
func (x *Index) VolumesFor(claimKey string) []*corev1.PersistentVolume {
	volumes := []*corev1.PersistentVolume{}
	for e := x.pointingAt(claimKey); e != nil; e = e.next {
		volumes = append(volumes, e.pv)
	}
	slices.SortFunc(volumes, func(a, b *corev1.PersistentVolume) int { return strings.Compare(a.Name, b.Name) })
	return volumes
}

// pointingAt is the first of VolumesFor in the index's own order.
func (x *Index) pointingAt(claimKey string) *entry {
	namespace, name, _ := strings.Cut(claimKey, "/")
	return x.byClaim[types.NamespacedName{Namespace: namespace, Name: name}]
}

// Put adds the volume, or replaces the one of the same name.
func (x *Index) Put(pv *corev1.PersistentVolume) {
	e := x.find(pv.Name)
	if e == nil {
		e = &entry{name: pv.Name}
		x.byName[pv.Name] = e
		x.sorted = nil
	}
	x.offer(e, pv)
	x.reserve(e, pv)
	e.pv = pv
}

// Delete removes the volume of that name, if there is one.
func (x *Index) Delete(name string) {
	e := x.byName[name]
	if e == nil {
		return
	}
	x.withdraw(e)
	x.release(e)
	e.restless = false
	delete(x.byName, name)
	x.last = nil
	x.sorted = nil
}

// Match picks the volume for a claim, nil for none, with the rule that decided. delayed is the delay flag (PROV-010). The
// error says that the claim's selector is malformed, and that it had to be read (MATCH-021). The answer is that of the function Match.
func (x *Index) Match(claim *corev1.PersistentVolumeClaim, delayed bool) (*corev1.PersistentVolume, string, error) {
	q, err := newQuery(claim, Options{Delayed: delayed})
	if err != nil && q.searchesAny(x.All()) {
		return nil, "MATCH-021", err
	}
	best := x.reserved(&q)
	// MATCH-016: a delayed claim has no business among the free volumes.
	if !delayed && !q.unknown {
		if free := x.smallest(&q, best); free.pv != nil {
			best = free
		}
	}
	return best.pv, q.rule(best), nil
}

// reserved is the first volume that points at the claim and may be bound to it: in the earliest group, then by name.
func (x *Index) reserved(q *query) (best candidate) {
	for e := x.byClaim[types.NamespacedName{Namespace: q.claim.Namespace, Name: q.claim.Name}]; e != nil; e = e.next {
		pv := e.pv
		if uid := pv.Spec.ClaimRef.UID; uid != "" && uid != q.claim.UID {
			continue
		}
		rank, ok := q.rank(pv)
		if !ok {
			continue
		}
		if refusal, _ := q.judge(pv); refusal != "" {
			continue
		}
		if c := (candidate{pv: pv, rank: rank, mine: true}); best.pv == nil || c.before(best) {
			best = c
		}
	}
	return best
}

// reserve files the entry under the claim that pv, the new version of its volume, points at.
func (x *Index) reserve(e *entry, pv *corev1.PersistentVolume) {
	ref := pv.Spec.ClaimRef
	if e.pv != nil && e.pv.Spec.ClaimRef != nil {
		old := e.pv.Spec.ClaimRef
		if ref != nil && ref.Namespace == old.Namespace && ref.Name == old.Name && ref.UID == old.UID {
			return
		}
		x.release(e)
	}
	if ref == nil {
		return
	}
	key := claimOf(ref)
	first := x.byClaim[key]
	if first == nil || e.files(ref.UID, first) {
		e.next = first
		x.byClaim[key] = e
		return
	}
	at := first
	for at.next != nil && !e.files(ref.UID, at.next) {
		at = at.next
	}
	e.next, at.next = at.next, e
}

// files reports whether the entry, with a claimRef of that uid, is filed before another one under the same claim.
func (e *entry) files(uid types.UID, other *entry) bool {
	return cmp.Or(cmp.Compare(uid, other.pv.Spec.ClaimRef.UID), cmp.Compare(e.name, other.name)) < 0
}

func claimOf(ref *corev1.ObjectReference) types.NamespacedName {
	return types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
}

// release undoes reserve.
func (x *Index) release(e *entry) {
	ref := e.pv.Spec.ClaimRef
	if ref == nil {
		return
	}
	key, next := claimOf(ref), e.next
	e.next = nil
	first := x.byClaim[key]
	switch {
	case first != e:
		for first.next != e {
			first = first.next
		}
		first.next = next
	case next == nil:
		delete(x.byClaim, key)
	default:
		x.byClaim[key] = next
	}
}
