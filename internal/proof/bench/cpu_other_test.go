//go:build !unix

package bench

import (
	"testing"
	"time"
)

// cpuTime is unknown on this system.
func cpuTime() time.Duration { return 0 }

func reportCPU(*testing.B, time.Duration, float64, string) {}
