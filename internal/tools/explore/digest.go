package explore

import (
	"encoding/binary"
	"math"
	"math/bits"
	"unsafe"
)

// digest is a hash of a text. Two texts with the same digest are taken to be equal.
type digest [16]byte

// mix adds parts to a digest, each with its length, so different lists of parts are different texts. Of a long part the digest is added.
func (d digest) mix(parts ...[]byte) digest {
	var room [512]byte
	text := append(room[:0], d[:]...)
	for _, part := range parts {
		text = binary.LittleEndian.AppendUint64(text, uint64(len(part)))
		if len(part) > longPart {
			whole := digestOf(part)
			part = whole[:]
		}
		text = append(text, part...)
	}
	return digestOf(text)
}

// longPart is the length from which on mix does not copy a part.
const longPart = 128

// with adds digests to a digest.
func (d digest) with(others ...digest) digest {
	var room [512]byte
	text := append(room[:0], d[:]...)
	for _, other := range others {
		text = append(text, other[:]...)
	}
	return digestOf(text)
}

// digestOf returns the digest of a text. The two halves are hashes by multiplication with keys of their own, of the kind of wyhash: each step
// multiplies two words of the text, to each of which a key and what came before were added, and keeps both halves of the product. It is not safe
// against those who look for collisions. BenchmarkDigest compares it with SHA-256.
func digestOf(text []byte) digest {
	length := uint64(len(text))
	a, b := length^keys[0], length^keys[1]
	for len(text) >= 16 {
		x, y := binary.LittleEndian.Uint64(text), binary.LittleEndian.Uint64(text[8:])
		a = folded(x^keys[2]^a, y^keys[3]+a)
		b = folded(x^keys[4]+b, y^keys[5]^b)
		text = text[16:]
	}
	var rest [16]byte
	copy(rest[:], text)
	x, y := binary.LittleEndian.Uint64(rest[:]), binary.LittleEndian.Uint64(rest[8:])
	a = folded(x^keys[2]^a, y^keys[3]+a)
	b = folded(x^keys[4]+b, y^keys[5]^b)
	var d digest
	binary.LittleEndian.PutUint64(d[:], folded(a^keys[6], length^keys[7]))
	binary.LittleEndian.PutUint64(d[8:], folded(b^keys[7], length^keys[6]))
	return d
}

// folded returns the two halves of a product, added bit by bit.
func folded(x, y uint64) uint64 {
	high, low := bits.Mul64(x, y)
	return high ^ low
}

// keys are the first digits of pi.
var keys = [8]uint64{
	0x243f6a8885a308d3, 0x13198a2e03707345, 0xa4093822299f31d1, 0x082efa98ec4e6c89,
	0x452821e638d01377, 0xbe5466cf34e90c6d, 0xc0ac29b7c97c50dd, 0x3f84d5b5b5470917,
}

// plus adds a digest to the sum of a set of digests, and minus takes it out again. The sum does not depend on the order.
func (d digest) plus(other digest) digest { return d.sum(other, 1) }

func (d digest) minus(other digest) digest { return d.sum(other, math.MaxUint64) }

func (d digest) sum(other digest, times uint64) digest {
	for half := 0; half < len(d); half += 8 {
		n := binary.LittleEndian.Uint64(d[half:]) + times*binary.LittleEndian.Uint64(other[half:])
		binary.LittleEndian.PutUint64(d[half:], n)
	}
	return d
}

// text returns the digest of a text.
func text(s string) digest { return digest{}.mix(bytesOf(s)) }

// number encodes a number as a part of a digest.
func number(n int) []byte {
	part := make([]byte, 8)
	binary.LittleEndian.PutUint64(part, uint64(n))
	return part
}

// bytesOf returns the bytes of a string, which must not be written to.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
