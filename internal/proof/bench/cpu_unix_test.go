//go:build unix

package bench

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime is the time that this process has had a processor, garbage collection included. Unlike the time on the wall it hardly depends
// on what else a machine does.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func reportCPU(b *testing.B, cpu time.Duration, total float64, unit string) {
	b.Helper()
	b.ReportMetric(float64(cpu.Microseconds())/total, "cpu-µs/"+unit)
}
