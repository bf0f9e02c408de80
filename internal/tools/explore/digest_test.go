package explore

import (
	"crypto/sha256"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDigest: neither half of a digest is that of another text, among texts that differ little: in one bit, in their length, in the order of
// their parts, by one.
func TestDigest(t *testing.T) {
	first, second, texts := map[uint64]string{}, map[uint64]string{}, map[string]bool{}
	see := func(text []byte) {
		if texts[string(text)] {
			return
		}
		texts[string(text)] = true
		d := digestOf(text)
		for half, seen := range map[int]map[uint64]string{0: first, 8: second} {
			n := binary.LittleEndian.Uint64(d[half:])
			if other, ok := seen[n]; ok {
				t.Fatalf("half of the digest of %x is that of %x", text, other)
			}
			seen[n] = string(text)
		}
	}
	for length := range 70 {
		zeros := make([]byte, length)
		see(zeros)
		for i := range 8 * length {
			zeros[i/8] ^= 1 << (i % 8)
			see(zeros)
			for j := range i {
				zeros[j/8] ^= 1 << (j % 8)
				if length < 20 {
					see(zeros)
				}
				zeros[j/8] ^= 1 << (j % 8)
			}
			zeros[i/8] ^= 1 << (i % 8)
		}
	}
	for n := range 20_000 {
		see(number(n))
		see(append(number(n), number(n+1)...))
		see(append(number(-n), make([]byte, 16)...))
		a, b := text("a").mix(number(n)), text("b").mix(number(n))
		see(append(a[:], b[:]...))
		see(append(b[:], a[:]...))
	}
	require.Greater(t, len(texts), 150_000)
	require.NotEqual(t, text("ab"), digest{}.mix([]byte("a"), []byte("b")))
	require.NotEqual(t, digest{}.mix([]byte("ab"), nil), digest{}.mix([]byte("a"), []byte("b")))
	require.Equal(t, "9d908ecf 56ef78ca", Outcome("").ID()+" "+Outcome("Pod/a\nb").ID(), "the same on every machine, in every version")
}

func BenchmarkDigest(b *testing.B) {
	text := make([]byte, 48)
	b.Run("digest", func(b *testing.B) {
		for b.Loop() {
			digestOf(text)
		}
	})
	b.Run("sha256", func(b *testing.B) {
		for b.Loop() {
			sha256.Sum256(text)
		}
	})
}
