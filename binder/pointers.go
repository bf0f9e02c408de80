package binder

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/seqmap"
)

// pointers holds volumes and claims, and which of them name which: each volume leads to the claim that its claimRef names, and to the
// claims that name it; each claim leads to the volume that it names, and to the volumes that point at it. What is named and is not there
// has its place, too.
type pointers struct {
	entries seqmap.Map[entry, *entry]       // by the name of the volume
	claims  seqmap.Map[ownClaim, *ownClaim] // by key
	count   int                             // the volumes that are there
}

// ownClaim is one claim: the controller's own view of it.
type ownClaim struct {
	seqmap.Place[ownClaim]
	claim    *corev1.PersistentVolumeClaim // nil if there are only volumes that point at it
	pointing *entry                        // the first of the volumes that point at it, by uid in the claimRef, then by name
	names    *entry                        // the volume that it names
	next     *ownClaim                     // that names the same volume
	unrest
}

// entry is the place of a volume, nil if there is no such volume and no claim names it.
func (x *pointers) entry(name string) *entry { return x.entries.Get(name) }

// entryFor is entry, for a volume that comes or is named: it gets a place.
func (x *pointers) entryFor(name string) *entry {
	e := x.entries.Get(name)
	if e == nil {
		e = &entry{}
		e.Key = name
		x.entries.Put(e)
	}
	return e
}

// dropEntry gives up the place of a volume that is neither there nor named.
func (x *pointers) dropEntry(e *entry) {
	if e.pv == nil && e.naming == nil {
		x.entries.Delete(e)
	}
}

// claim is the place of a claim, nil if there is no such claim and no volume points at it.
func (x *pointers) claim(key string) *ownClaim { return x.claims.Get(key) }

// named is claim without a key.
func (x *pointers) named(namespace, name string) *ownClaim { return x.claims.GetNamed(namespace, name) }

// claimFor is claim, for one that comes: it gets a place.
func (x *pointers) claimFor(key string) *ownClaim {
	own := x.claims.Get(key)
	if own == nil {
		own = &ownClaim{}
		own.Key = key
		x.claims.Put(own)
	}
	return own
}

// dropClaim gives up the place of a claim that is not there and at which nothing points.
func (x *pointers) dropClaim(own *ownClaim) {
	if own.claim == nil && own.pointing == nil {
		x.claims.Delete(own)
	}
}

// point has the entry point at the claim that pv, the new version of its volume, names.
func (x *pointers) point(e *entry, pv *corev1.PersistentVolume) {
	ref := pv.Spec.ClaimRef
	if e.claimed != nil {
		old := e.pv.Spec.ClaimRef
		if ref != nil && ref.Namespace == old.Namespace && ref.Name == old.Name && ref.UID == old.UID {
			return
		}
		x.unpoint(e)
	}
	if ref == nil {
		return
	}
	own := x.named(ref.Namespace, ref.Name)
	if own == nil {
		own = x.claimFor(api.Key(ref.Namespace, ref.Name))
	}
	e.claimed = own
	at := &own.pointing
	for *at != nil && !e.comesBefore(ref.UID, *at) {
		at = &(*at).next
	}
	e.next, *at = *at, e
}

// comesBefore reports whether the entry, with a claimRef of that uid, comes before another one that points at the same claim.
func (e *entry) comesBefore(uid types.UID, other *entry) bool {
	return cmp.Or(cmp.Compare(uid, other.pv.Spec.ClaimRef.UID), cmp.Compare(e.Key, other.Key)) < 0
}

// unpoint undoes point.
func (x *pointers) unpoint(e *entry) {
	own := e.claimed
	if own == nil {
		return
	}
	at := &own.pointing
	for *at != e {
		at = &(*at).next
	}
	*at, e.next, e.claimed = e.next, nil, nil
	x.dropClaim(own)
}

// name has a claim name the volume that its new version names; "" is none.
func (x *pointers) name(own *ownClaim, volume string) {
	if e := own.names; e != nil {
		if e.Key == volume {
			return
		}
		at := &e.naming
		for *at != own {
			at = &(*at).next
		}
		*at, own.next, own.names = own.next, nil, nil
		x.dropEntry(e)
	}
	if volume != "" {
		e := x.entryFor(volume)
		own.names, own.next, e.naming = e, e.naming, own
	}
}
