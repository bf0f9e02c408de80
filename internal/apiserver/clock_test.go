package apiserver_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/apiserver"
	"github.com/volsim/volsim/internal/apiserver/clock"
	"github.com/volsim/volsim/internal/core/internals"
)

func TestClock(t *testing.T) {
	f := newFixture(t)
	start := f.cluster.Now()
	f.server, _ = apiserver.NewWithClock(apiserver.Config{Backend: apiserver.ForEngine(internals.Engine(f.cluster))}, internals.Engine(f.cluster), clock.Pace{})
	f.expect("POST /volsim/clock?do=now", "", 200, "2026-01-01T00:00:00Z")
	f.expect("POST /volsim/clock?do=advance&by=5s", "", 200, "2026-01-01T00:00:05Z")
	require.Equal(t, start.Add(5*time.Second), f.cluster.Now())
	f.expect("POST /volsim/clock?do=settle", "", 200, "2026-01-01T00:00:05Z")
	f.expect("POST /volsim/clock?do=advance&by=-5s", "", 400, "advance -5s: time does not run backwards; give zero or more")
	f.expect("POST /volsim/clock?do=stop", "", 400, "clock: want do=now, do=settle or do=advance")
	f.expect("GET /volsim/clock?do=now", "", 405, "GET /volsim/clock: want POST")
}

// TestSettlingPace checks that a volume is bound when the request that creates its claim is answered.
func TestSettlingPace(t *testing.T) {
	f := newFixture(t)
	f.server, _ = apiserver.NewWithClock(apiserver.Config{Backend: apiserver.ForEngine(internals.Engine(f.cluster))}, internals.Engine(f.cluster), clock.Pace{Settle: true})
	f.must("POST "+volumes, `{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pv"},"spec":{"capacity":{"storage":"1Gi"},
		"accessModes":["ReadWriteOnce"],"nfs":{"server":"s","path":"/p"}}}`)
	f.must("POST "+claims, claim)
	require.Contains(t, f.must("GET "+claims+"/data", ""), `"phase":"Bound"`)
}
