package objects_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/core/objects"
)

func TestBytes(t *testing.T) {
	for bytes, want := range map[int64]string{0: "0", 1: "1", 1 << 30: "1Gi", 1536: "1536", 1500000000: "1500M",
		1<<62 + 1: "4611686018427387905"} {
		q := objects.Bytes(bytes)
		require.Equal(t, want, q.String(), "XPROV-030")
		require.Equal(t, bytes, q.Value())
	}
}
