package bench

import (
	"testing"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// BenchmarkNew measures the start of a cluster: with every controller, with a CSI driver and its sidecars as well, and until one claim is
// bound. Sweeps and searches start a cluster for each run.
func BenchmarkNew(b *testing.B) {
	start := func(b *testing.B, cfg volsim.Config) *volsim.Cluster {
		b.Helper()
		cfg.TraceLimit = -1
		return newCluster(b, cfg)
	}
	b.Run("plain", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			start(b, volsim.Config{}).Close()
		}
	})
	b.Run("driver", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			start(b, volsim.Config{Backends: []storage.Backend{fake.CSI(diskDriver)}}).Close()
		}
	})
	b.Run("bind-one", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c := start(b, volsim.Config{})
			must(b, c.Create(fake.Volume("v", "1Gi"), fake.Claim("c", "1Gi")))
			must(b, c.Settle())
			c.Close()
		}
	})
}
