package backends_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/storage"
)

func TestNodeInfo(t *testing.T) {
	plain := fake.CSI("disk.example.com")
	_, limited := backends.AttachLimit(plain, "n1")
	require.False(t, limited)
	require.Empty(t, backends.TopologyKeys(plain))

	zoned := fake.CSI("disk.example.com", fake.AttachLimit(2), fake.Topology(
		storage.Segment{"zone": "a", "rack": "1"}, storage.Segment{"zone": "b", "rack": "2"}))
	limit, limited := backends.AttachLimit(zoned, "n1")
	require.True(t, limited)
	require.Equal(t, int32(2), limit)
	require.Equal(t, []string{"rack", "zone"}, backends.TopologyKeys(zoned))

	require.Error(t, fake.CSI("disk.example.com", fake.AttachLimit(-1)).Err())

	broken := panicky{}
	_, limited = backends.AttachLimit(broken, "n1")
	require.False(t, limited, "a backend that panics has no limit")
	require.Empty(t, backends.TopologyKeys(broken))
}

type panicky struct{}

func (panicky) Name() string                       { return "panicky.example.com" }
func (panicky) Capabilities() storage.Capabilities { panic("no keys") }
func (panicky) AttachLimit(string) int32           { panic("no limit") }

// The last limit that was set for a node applies, and callbacks are notified.
func TestSetAttachLimit(t *testing.T) {
	m := fake.CSI("disk.example.com", fake.AttachLimit(2))
	changes := 0
	require.True(t, backends.OnAttachLimit(m, func() { changes++ }))
	limits := func() []int32 { return []int32{m.AttachLimit("n1"), m.AttachLimit("n2")} }
	for _, step := range []struct {
		node   string
		limit  int32
		n1, n2 int32
	}{
		{"n1", 3, 3, 2},
		{"n2", 0, 3, 0},
		{"", 5, 5, 5},
		{"n2", -1, 5, -1},
		{"", -1, -1, -1},
	} {
		m.SetAttachLimit(step.node, step.limit)
		require.Equal(t, []int32{step.n1, step.n2}, limits(), "%+v", step)
	}
	require.Equal(t, 5, changes)
	_, limited := backends.AttachLimit(m, "n1")
	require.False(t, limited)

	never := func() { t.Error("the callback was called") }
	require.True(t, backends.OnAttachLimit(plain{}, never), "a backend without a limit never changes it")
	require.False(t, backends.OnAttachLimit(panicky{}, never))
	require.False(t, backends.OnAttachLimit(struct{ *fake.Memory }{m}, never), "a backend that embeds a Memory may have its own limits")
}

type plain struct{}

func (plain) Name() string { return "plain.example.com" }
