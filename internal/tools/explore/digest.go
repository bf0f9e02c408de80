package explore

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// digest stands for a text. That two texts have the same one is taken to be impossible.
type digest [16]byte

// mix adds parts to a digest, each with its length, so that no two lists of parts are the same text.
func (d digest) mix(parts ...[]byte) digest {
	var room [512]byte
	text := append(room[:0], d[:]...)
	for _, part := range parts {
		text = binary.LittleEndian.AppendUint64(text, uint64(len(part)))
		text = append(text, part...)
	}
	sum := sha256.Sum256(text)
	return digest(sum[:len(d)])
}

// with adds digests to a digest.
func (d digest) with(others ...digest) digest {
	var room [512]byte
	text := append(room[:0], d[:]...)
	for _, other := range others {
		text = append(text, other[:]...)
	}
	sum := sha256.Sum256(text)
	return digest(sum[:len(d)])
}

// text is the digest of a text.
func text(s string) digest { return digest{}.mix([]byte(s)) }

// number is a number as a part of a digest.
func number(n int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }

// unordered is the digest of digests in whatever order they come.
func unordered(all []digest) digest {
	slices.SortFunc(all, func(a, b digest) int { return bytes.Compare(a[:], b[:]) })
	return digest{}.with(all...)
}
