package store

import (
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"

	"github.com/volsim/volsim/api"
	"k8s.io/apimachinery/pkg/types"
)

const (
	generateNameAttempts = 8
	generateNameBase     = 58
	generateNameSuffix   = 5
	generateNameLetters  = "bcdfghjklmnpqrstvwxz2456789"
)

// nthName returns the number from which the next name with a base follows: the version of the store, so that the same history gives the same
// names, or with Config.CountedNames the number of names generated before.
func (s *Store) nthName(base string) uint64 {
	if s.names == nil {
		return s.version
	}
	s.names[base]++
	return s.names[base]
}

// generateName appends five letters to the base (API-008). They depend on a number and the attempt.
func generateName(base string, nth uint64, attempt int) string {
	if len(base) > generateNameBase {
		base = base[:generateNameBase]
	}
	x := mix(nth*generateNameAttempts + uint64(attempt))
	suffix := make([]byte, generateNameSuffix)
	for i := range suffix {
		suffix[i] = generateNameLetters[x%uint64(len(generateNameLetters))]
		x /= uint64(len(generateNameLetters))
	}
	return base + string(suffix)
}

// NewUID returns the uid of the first object of a kind with that key.
func NewUID(kind api.Kind, key string) types.UID { return newUID(kind, key, 0) }

// newUID returns the uid of the nth object of a kind with that key, in the form of a random UUID. It depends on nothing else, so an object
// has the same uid in every ordering of a run.
func newUID(kind api.Kind, key string, nth uint32) types.UID {
	h := fnv.New64a()
	h.Write([]byte(kind))
	h.Write([]byte{'/'})
	h.Write([]byte(key))
	sum := h.Sum64() + uint64(nth)*0x9e3779b97f4a7c15
	hi, lo := mix(sum), mix(^sum)
	hi = hi&^0xf000 | 0x4000                       // version 4
	lo = lo&^(uint64(0xc0)<<56) | uint64(0x80)<<56 // variant 10
	var bytes [16]byte
	binary.BigEndian.PutUint64(bytes[:8], hi)
	binary.BigEndian.PutUint64(bytes[8:], lo)
	var text [36]byte
	hex.Encode(text[:8], bytes[:4])
	hex.Encode(text[9:13], bytes[4:6])
	hex.Encode(text[14:18], bytes[6:8])
	hex.Encode(text[19:23], bytes[8:10])
	hex.Encode(text[24:], bytes[10:])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return types.UID(text[:])
}

// mix is the finalizer of splitmix64: every bit of x affects every bit of the result.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
