package explore

import (
	"crypto/sha256"
	"encoding/binary"
)

// digest is a hash of a text. Two texts with the same digest are taken to be equal.
type digest [16]byte

// mix adds parts to a digest, each with its length, so different lists of parts are different texts.
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

// text returns the digest of a text.
func text(s string) digest { return digest{}.mix([]byte(s)) }

// number encodes a number as a part of a digest.
func number(n int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }
