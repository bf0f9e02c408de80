package match

import (
	"cmp"
	"iter"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/seqmap"
)

// links connects volumes and claims that name each other: each volume with the claim that its claimRef names and with the claims that
// name it in volumeName; each claim with the volume that it names and with the volumes whose claimRef names it. An object that is named
// but does not exist has an entry as well.
type links struct {
	volumes seqmap.Map[VolumeEntry, *VolumeEntry] // by name
	claims  seqmap.Map[ClaimEntry, *ClaimEntry]   // by key
	count   int                                   // the volumes that exist
}

// ClaimEntry is one claim in an Index.
type ClaimEntry struct {
	seqmap.Link[ClaimEntry]                               // by key
	Claim                   *corev1.PersistentVolumeClaim // nil if there are only volumes that point at it
	Mark

	pointing *VolumeEntry // the first of the volumes that point at it, by uid in the claimRef, then by name
	names    *VolumeEntry // the volume that it names
	next     *ClaimEntry  // the next claim that names the same volume
}

// Naming yields the claims that name the volume.
func (e *VolumeEntry) Naming() iter.Seq[*ClaimEntry] {
	return func(yield func(*ClaimEntry) bool) {
		for c := e.naming; c != nil && yield(c); c = c.next {
		}
	}
}

// Pointing yields the volumes whose claimRef names the claim.
func (c *ClaimEntry) Pointing() iter.Seq[*VolumeEntry] {
	return func(yield func(*VolumeEntry) bool) {
		for e := c.pointing; e != nil && yield(e); e = e.next {
		}
	}
}

// EntryFor returns the entry of a volume. PV is nil if the volume does not exist yet.
func (x *links) EntryFor(name string) *VolumeEntry {
	e := x.volumes.Get(name)
	if e == nil {
		e = &VolumeEntry{}
		e.Key = name
		x.volumes.Put(e)
	}
	return e
}

// dropVolume removes the entry of a volume that neither exists nor is named.
func (x *links) dropVolume(e *VolumeEntry) {
	if e.PV == nil && e.naming == nil {
		x.volumes.Delete(e)
	}
}

// Claim returns the entry of a claim, nil if there is no such claim.
func (x *links) Claim(key string) *ClaimEntry {
	if c := x.claims.Get(key); c != nil && c.Claim != nil {
		return c
	}
	return nil
}

// ClaimNamed is Claim for a caller that has no key.
func (x *links) ClaimNamed(namespace, name string) *ClaimEntry {
	if c := x.claims.GetNamed(namespace, name); c != nil && c.Claim != nil {
		return c
	}
	return nil
}

// PutClaim adds a claim under its key, or replaces it.
func (x *links) PutClaim(key string, claim *corev1.PersistentVolumeClaim) *ClaimEntry {
	c := x.claimFor(key)
	c.Claim = claim
	x.name(c, claim.Spec.VolumeName)
	return c
}

// DeleteClaim removes a claim, if it exists.
func (x *links) DeleteClaim(key string) {
	if c := x.Claim(key); c != nil {
		x.name(c, "")
		c.Claim, c.Dirty = nil, false
		x.dropClaim(c)
	}
}

// claimFor returns the entry of a claim, new if there is none.
func (x *links) claimFor(key string) *ClaimEntry {
	c := x.claims.Get(key)
	if c == nil {
		c = &ClaimEntry{}
		c.Key = key
		x.claims.Put(c)
	}
	return c
}

// dropClaim removes the entry of a claim that does not exist and at which no volume points.
func (x *links) dropClaim(c *ClaimEntry) {
	if c.Claim == nil && c.pointing == nil {
		x.claims.Delete(c)
	}
}

// point links the entry to the claim that pv, the new version of its volume, points at.
func (x *links) point(e *VolumeEntry, pv *corev1.PersistentVolume) {
	ref := pv.Spec.ClaimRef
	if e.claimed != nil {
		old := e.PV.Spec.ClaimRef
		if ref != nil && ref.Namespace == old.Namespace && ref.Name == old.Name && ref.UID == old.UID {
			return
		}
		x.unpoint(e)
	}
	if ref == nil {
		return
	}
	c := x.claims.GetNamed(ref.Namespace, ref.Name)
	if c == nil {
		c = x.claimFor(api.Key(ref.Namespace, ref.Name))
	}
	e.claimed = c
	at := &c.pointing
	for *at != nil && !e.comesBefore(ref.UID, *at) {
		at = &(*at).next
	}
	e.next, *at = *at, e
}

// comesBefore reports whether the entry, with a claimRef of that uid, comes before another one that points at the same claim.
func (e *VolumeEntry) comesBefore(uid types.UID, other *VolumeEntry) bool {
	return cmp.Or(cmp.Compare(uid, other.PV.Spec.ClaimRef.UID), cmp.Compare(e.Key, other.Key)) < 0
}

// unpoint undoes point.
func (x *links) unpoint(e *VolumeEntry) {
	c := e.claimed
	if c == nil {
		return
	}
	at := &c.pointing
	for *at != e {
		at = &(*at).next
	}
	*at, e.next, e.claimed = e.next, nil, nil
	x.dropClaim(c)
}

// name links a claim to the volume that its new version names; "" is none.
func (x *links) name(c *ClaimEntry, volume string) {
	if e := c.names; e != nil {
		if e.Key == volume {
			return
		}
		at := &e.naming
		for *at != c {
			at = &(*at).next
		}
		*at, c.next, c.names = c.next, nil, nil
		x.dropVolume(e)
	}
	if volume != "" {
		e := x.EntryFor(volume)
		c.names, c.next, e.naming = e, e.naming, c
	}
}
