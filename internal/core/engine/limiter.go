package engine

import (
	"time"
)

// Limiter computes the delay of a failed key: base·2^n for the nth consecutive failure, at most max, and never earlier than a token
// bucket over all keys allows.
type Limiter struct {
	base, max time.Duration
	interval  time.Duration // of the bucket; zero means no bucket
	burst     int
	tat       time.Duration // theoretical arrival time of the next token
	failures  map[string]int
}

// NewLimiter makes a limiter. With perSecond zero it has no bucket.
func NewLimiter(base, max time.Duration, perSecond, burst int) *Limiter {
	l := &Limiter{base: base, max: max, burst: burst}
	if perSecond > 0 {
		l.interval = time.Second / time.Duration(perSecond)
		l.tat = -time.Duration(burst) * l.interval // it is full at first
	}
	return l
}

// DefaultLimiter is the default of controllers: 5 ms·2^n up to 1000 s, and 10 per second after a burst of 100 (BIND-004).
func DefaultLimiter() *Limiter {
	return NewLimiter(5*time.Millisecond, 1000*time.Second, 10, 100)
}

// When counts a failure of the key and returns its delay.
func (l *Limiter) When(key string, now time.Duration) time.Duration {
	n := l.failures[key]
	if l.failures == nil {
		l.failures = map[string]int{}
	}
	l.failures[key] = n + 1
	delay := l.max
	if n < 62 && l.base <= l.max>>n {
		delay = l.base << n
	}
	if l.interval > 0 {
		l.tat = max(l.tat, now-time.Duration(l.burst)*l.interval) + l.interval
		delay = max(delay, l.tat-now)
	}
	return delay
}

// Forget resets the failures of the key.
func (l *Limiter) Forget(key string) { delete(l.failures, key) }
