package workload

import "time"

// Attempts is how often a write is tried after conflicts (WORK-007).
const Attempts = 4

// Backoff returns the pause after the nth attempt: 10 ms, then five times as long each.
func Backoff(attempt int) time.Duration {
	d := 10 * time.Millisecond
	for range attempt - 1 {
		d *= 5
	}
	return d
}
