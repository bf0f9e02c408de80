package csitest

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkStories runs all stories on the driver without bugs, which has no storage system to wait for. It reports the processor time, in
// seconds, that 100,000 calls take, with that of the driver.
func BenchmarkStories(b *testing.B) {
	calls, before := 0, processorTime(b)
	for b.Loop() {
		cfg := testConfig()
		cfg.Seeds, cfg.Pairs, cfg.every = 1, -1, 40
		report, err := Check(cfg)
		require.NoError(b, err)
		require.Empty(b, report.Findings)
		calls += report.Calls
	}
	b.ReportMetric((processorTime(b)-before).Seconds()*100000/float64(calls), "s/100k-calls")
	b.ReportMetric(float64(calls)/float64(b.N), "calls/op")
}

// processorTime is that of the process so far, on all processors.
func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
