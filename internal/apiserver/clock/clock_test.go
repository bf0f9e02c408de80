package clock

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/storage"
)

// TestAllowance: work that never ends moves virtual time ahead by a bounded time, however much clients write. Once it has ended, a jump may
// be long again, and virtual time falls back to real time.
func TestAllowance(t *testing.T) {
	c, err := volsim.New(volsim.Config{Backends: []storage.Backend{fake.CSI("disk.example.com")}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	e := internals.Engine(c)
	clock := New(e, Pace{Settle: true, Factor: 1}, func(fn func()) { fn() })
	const failures = 1000
	for i := range failures {
		c.Faults.Fail(fake.Match{Verb: "Create"}, storage.Errorf(storage.Internal, "failure %d", i)).Once()
	}
	start := c.Now()
	require.NoError(t, c.Create(fake.Class("fast", "disk.example.com"), fake.Claim("data", "1Gi", fake.InClass("fast"))))
	clock.Wrote()
	require.Equal(t, maxJump, c.Now().Sub(start))
	for i := range 10 {
		require.NoError(t, c.Create(fake.Class(fmt.Sprintf("c%d", i), "disk.example.com")))
		clock.Wrote()
	}
	require.Equal(t, maxJump, c.Now().Sub(start), "the allowance is used up")
	clock.pass(time.Minute)
	require.Equal(t, maxJump+time.Minute/2, c.Now().Sub(start), "half the pace while ahead")
	clock.Wrote()
	require.Equal(t, maxJump+time.Minute/2+time.Minute, c.Now().Sub(start), "real time adds to the allowance")

	c.Faults.Clear()
	clock.pass(2 * time.Hour)
	clock.Wrote()
	require.Equal(t, 2*time.Hour+time.Minute, c.Now().Sub(start), "virtual time is real time again")
	require.Equal(t, maxJump, clock.allowance)
}

func TestParsePace(t *testing.T) {
	for text, want := range map[string]Pace{
		"auto": {Settle: true, Factor: 1}, "settle": {Settle: true}, "manual": {}, "10x": {Factor: 10}, "0.5x": {Factor: 0.5},
	} {
		got, err := ParsePace(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "x", "10", "-1x", "0x", "NaNx", "Infx"} {
		_, err := ParsePace(text)
		require.Error(t, err, text)
	}
}
