package expand

import "time"

// slowSet holds claims whose request cannot be met, each from its entry on for a fixed time (EXP-026).
type slowSet struct {
	retention time.Duration
	entered   map[string]time.Time
}

func newSlowSet(retention time.Duration) *slowSet {
	return &slowSet{retention: retention, entered: map[string]time.Time{}}
}

// add enters a claim, unless it is in the set; the last instant of its time counts.
func (s *slowSet) add(key string, now time.Time) {
	if at, ok := s.entered[key]; !ok || now.Sub(at) > s.retention {
		s.entered[key] = now
	}
}

// contains reports whether the claim's time is not over.
func (s *slowSet) contains(key string, now time.Time) bool { return s.remaining(key, now) > 0 }

// remaining is how much of the claim's time is left, zero or less if none is.
func (s *slowSet) remaining(key string, now time.Time) time.Duration {
	at, ok := s.entered[key]
	if !ok {
		return 0
	}
	return s.retention - now.Sub(at)
}

func (s *slowSet) has(key string) bool { _, ok := s.entered[key]; return ok }

func (s *slowSet) remove(key string) { delete(s.entered, key) }
