package fake_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/fake"
)

func TestNodeInfo(t *testing.T) {
	plain := fake.CSI("disk.example.com")
	_, limited := fake.AttachLimitOf(plain, "n1")
	require.False(t, limited)
	require.Empty(t, fake.TopologyKeysOf(plain))

	zoned := fake.CSI("disk.example.com", fake.AttachLimit(2), fake.Topology(
		fake.Segment{"zone": "a", "rack": "1"}, fake.Segment{"zone": "b", "rack": "2"}))
	limit, limited := fake.AttachLimitOf(zoned, "n1")
	require.True(t, limited)
	require.Equal(t, int32(2), limit)
	require.Equal(t, []string{"rack", "zone"}, fake.TopologyKeysOf(zoned))

	require.Error(t, fake.CSI("disk.example.com", fake.AttachLimit(-1)).Err())

	broken := panicky{}
	_, limited = fake.AttachLimitOf(broken, "n1")
	require.False(t, limited, "a backend that panics says nothing")
	require.Empty(t, fake.TopologyKeysOf(broken))
}

type panicky struct{}

func (panicky) Name() string             { return "panicky.example.com" }
func (panicky) TopologyKeys() []string   { panic("no keys") }
func (panicky) AttachLimit(string) int32 { panic("no limit") }
