//go:build unix

package bench

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime returns the processor time of this process, garbage collection included. It hardly depends on other load of the machine.
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
