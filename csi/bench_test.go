package csi_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// BenchmarkLife is the whole life of a volume with its pod, ten calls of a driver in the same process. It reports calls per second.
func BenchmarkLife(b *testing.B) {
	calls := 0
	for b.Loop() {
		d := newDisk("n1")
		driver, err := csi.New(context.Background(), csi.Config{Controller: csi.Serve(d.register)})
		require.NoError(b, err)
		c, err := volsim.New(volsim.Config{Backends: []storage.Backend{driver}, TraceLimit: -1})
		require.NoError(b, err)
		require.NoError(b, c.Create(fake.Node("n1"), fake.Class("fast", "disk.example.com", fake.Expandable())))
		require.NoError(b, life(c))
		c.Close()
		calls += len(driver.Calls())
	}
	b.ReportMetric(float64(calls)/b.Elapsed().Seconds(), "calls/s")
}
