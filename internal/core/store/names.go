package store

import (
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
	const digits = "0123456789abcdef"
	var text [36]byte
	nibble := 0
	for i := range text {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			text[i] = '-'
			continue
		}
		x := hi
		if nibble >= 16 {
			x = lo
		}
		text[i] = digits[x>>(60-4*(nibble%16))&0xf]
		nibble++
	}
	return types.UID(text[:])
}

// mix is the finalizer of splitmix64: every bit of x affects every bit of the result.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
