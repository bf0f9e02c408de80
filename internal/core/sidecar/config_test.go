package sidecar_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/core/sidecar"
)

func TestComplete(t *testing.T) {
	zero, set, unlimited := time.Duration(0), time.Minute, -time.Second
	require.NoError(t, sidecar.Complete("x: Config",
		sidecar.Duration{Field: "RetryStart", Value: &zero, Default: time.Second},
		sidecar.Duration{Field: "RetryMax", Value: &set, Default: time.Second},
		sidecar.Duration{Field: "Timeout", Value: &unlimited, Default: time.Second, MayBeNegative: true},
	))
	require.Equal(t, []time.Duration{time.Second, time.Minute, -time.Second}, []time.Duration{zero, set, unlimited})
	require.EqualError(t, sidecar.Complete("x: Config", sidecar.Duration{Field: "ResyncPeriod", Value: &unlimited, Default: time.Minute}),
		"x: Config.ResyncPeriod is -1s: give zero for the default of 1m0s, or more")
}

func TestCheckRetries(t *testing.T) {
	require.NoError(t, sidecar.CheckRetries("x: Config", time.Second, time.Second))
	require.EqualError(t, sidecar.CheckRetries("x: Config", 2*time.Second, time.Second),
		"x: Config.RetryMax is 1s, less than RetryStart with 2s: give at least that")
}

func TestWorkers(t *testing.T) {
	require.Equal(t, []int{10, 3}, []int{sidecar.Workers(0, 10), sidecar.Workers(3, 10)})
	require.Greater(t, sidecar.Workers(-1, 10), 1_000_000)
}
