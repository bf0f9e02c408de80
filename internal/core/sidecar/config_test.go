package sidecar_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/core/sidecar"
)

func TestComplete(t *testing.T) {
	defaults := sidecar.Config{RetryStart: time.Second, RetryMax: time.Minute, ResyncPeriod: time.Hour, Timeout: 10 * time.Second}
	cfg := sidecar.Config{RetryMax: time.Second}
	require.NoError(t, cfg.Complete("x", defaults))
	require.Equal(t, sidecar.Config{RetryStart: time.Second, RetryMax: time.Second, ResyncPeriod: time.Hour, Timeout: 10 * time.Second}, cfg)
	for _, tt := range []struct {
		cfg  sidecar.Config
		want string
	}{
		{sidecar.Config{RetryStart: -1}, "x.RetryStart is -1ns: give zero for the default of 1s, or more"},
		{sidecar.Config{RetryMax: -1}, "x.RetryMax is -1ns: give zero for the default of 1m0s, or more"},
		{sidecar.Config{ResyncPeriod: -1}, "x.ResyncPeriod is -1ns: give zero for the default of 1h0m0s, or more"},
		{sidecar.Config{RetryStart: time.Hour}, "x.RetryMax is 1m0s, less than RetryStart with 1h0m0s: give at least that"},
	} {
		require.EqualError(t, tt.cfg.Complete("x", defaults), tt.want)
	}
	unlimited := sidecar.Config{Timeout: -1}
	require.NoError(t, unlimited.Complete("x", defaults))
	require.Equal(t, time.Duration(-1), unlimited.Timeout)
}

func TestWorkers(t *testing.T) {
	require.Equal(t, []int{10, 3}, []int{sidecar.Workers(0, 10), sidecar.Workers(3, 10)})
	require.Greater(t, sidecar.Workers(-1, 10), 1_000_000)
}
