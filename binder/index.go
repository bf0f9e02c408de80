package binder

import (
	"iter"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/internal/core/seqmap"
)

// Index holds volumes so that a match is a search, not a scan. It answers exactly as Match does over the same volumes,
// in a time that hardly depends on their number; only a selector that asks for no label's value, and refuses many volumes of the
// right class and size, makes it look at each of them.
//
// The index keeps the pointers it is given: a volume in it must not be changed, a new version is Put in its place. Its
// answers follow every Put at once, so a volume that was just bound is no longer free (MATCH-024). It is not safe for
// concurrent use. Make one with NewIndex.
type Index struct {
	pointers
	shelves map[shelfKey]*shelf // free volumes
	sorted  []*entry            // all by name; nil when it has to be made anew
	pivot   entry               // where the search for the smallest starts; kept to save an allocation
}

// entry is one volume in an Index.
type entry struct {
	seqmap.Place[entry]                          // by name
	pv                  *corev1.PersistentVolume // nil if there are only claims that name it
	size                int64                    // capacity, see sizeOf
	odd                 *resource.Quantity       // capacity, when size is not exact
	slot                *slot                    // where the volume is offered, nil unless it is free
	// See pointers.
	claimed *ownClaim // that the claimRef names
	next    *entry    // with a claimRef that names the same claim
	naming  *ownClaim // the first of the claims that name the volume
	unrest
}

// NewIndex returns an empty Index.
func NewIndex() *Index {
	return &Index{shelves: map[shelfKey]*shelf{}}
}

// Len is the number of volumes.
func (x *Index) Len() int { return x.count }

// Get is the volume of that name; ok is false when there is none.
func (x *Index) Get(name string) (pv *corev1.PersistentVolume, ok bool) {
	if e := x.find(name); e != nil {
		return e.pv, true
	}
	return nil, false
}

// find is the entry of that name, nil if there is no such volume.
func (x *Index) find(name string) *entry {
	if e := x.entry(name); e != nil && e.pv != nil {
		return e
	}
	return nil
}

// All yields the volumes by name. The index must not be changed meanwhile.
func (x *Index) All() iter.Seq[*corev1.PersistentVolume] {
	return func(yield func(*corev1.PersistentVolume) bool) {
		if x.sorted == nil {
			x.sorted = make([]*entry, 0, x.count)
			for e := range x.entries.All() {
				if e.pv != nil {
					x.sorted = append(x.sorted, e)
				}
			}
			slices.SortFunc(x.sorted, func(a, b *entry) int { return strings.Compare(a.Key, b.Key) })
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
	if own := x.claims.Get(claimKey); own != nil {
		for e := own.pointing; e != nil; e = e.next {
			volumes = append(volumes, e.pv)
		}
	}
	slices.SortFunc(volumes, func(a, b *corev1.PersistentVolume) int { return strings.Compare(a.Name, b.Name) })
	return volumes
}

// Put adds the volume, or replaces the one of the same name.
func (x *Index) Put(pv *corev1.PersistentVolume) { x.put(x.entryFor(pv.Name), pv) }

// put is Put for a volume with that entry.
func (x *Index) put(e *entry, pv *corev1.PersistentVolume) {
	if e.pv == nil {
		x.count++
		x.sorted = nil
	}
	x.offer(e, pv)
	x.point(e, pv)
	e.pv = pv
}

// Delete removes the volume of that name, if there is one.
func (x *Index) Delete(name string) {
	e := x.find(name)
	if e == nil {
		return
	}
	x.withdraw(e)
	x.unpoint(e)
	x.count--
	x.sorted = nil
	e.pv, e.restless = nil, false
	x.dropEntry(e)
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
	own := x.named(q.claim.Namespace, q.claim.Name)
	if own == nil {
		return best
	}
	for e := own.pointing; e != nil; e = e.next {
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
