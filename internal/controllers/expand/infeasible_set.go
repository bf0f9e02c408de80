package expand

import "time"

// infeasibleSet has claims whose request is infeasible, each for a fixed time after it was added (EXP-026).
type infeasibleSet struct {
	retention time.Duration
	entered   map[string]time.Time
}

func newInfeasibleSet(retention time.Duration) *infeasibleSet {
	return &infeasibleSet{retention: retention, entered: map[string]time.Time{}}
}

// add adds a claim. If it is in the set, its time does not start again.
func (s *infeasibleSet) add(key string, now time.Time) {
	if at, ok := s.entered[key]; !ok || now.Sub(at) > s.retention {
		s.entered[key] = now
	}
}

// contains reports whether the time of a claim is not over.
func (s *infeasibleSet) contains(key string, now time.Time) bool { return s.remaining(key, now) > 0 }

// remaining returns the time that a claim has left, zero or less if none.
func (s *infeasibleSet) remaining(key string, now time.Time) time.Duration {
	at, ok := s.entered[key]
	if !ok {
		return 0
	}
	return s.retention - now.Sub(at)
}

func (s *infeasibleSet) has(key string) bool { _, ok := s.entered[key]; return ok }

// empty reports whether no claim is in the set.
func (s *infeasibleSet) empty() bool { return len(s.entered) == 0 }

func (s *infeasibleSet) remove(key string) { delete(s.entered, key) }
