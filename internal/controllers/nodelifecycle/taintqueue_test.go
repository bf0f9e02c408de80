package nodelifecycle

import (
	"slices"
	"testing"
	"time"
)

func TestTaintQueue(t *testing.T) {
	zero := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now := zero
	clock := func() time.Time { return now }
	after := func(d time.Duration) { now = now.Add(d) }
	var tried []string
	done := map[string]bool{}
	q := newTaintQueue()
	try := func(rule string, want ...string) {
		t.Helper()
		tried = nil
		q.try(clock, func(node string) (bool, time.Duration) {
			tried = append(tried, node)
			return done[node], 50 * time.Millisecond
		})
		if !slices.Equal(tried, want) {
			t.Errorf("%s: tried %v at %v, want %v", rule, tried, now.Sub(zero), want)
		}
	}
	for _, node := range []string{"a", "b", "c"} {
		if !q.add(node, now) || q.add(node, now) {
			t.Errorf("NODE-046: add(%s) twice, want true and false", node)
		}
	}
	done["a"] = true
	try("NODE-047: one token", "a")
	after(9900 * time.Millisecond)
	try("NODE-047: no token yet")
	after(100 * time.Millisecond)
	try("NODE-004: one in 10 s, and NODE-046: b failed", "b")
	if q.add("a", now) {
		t.Error("NODE-046: a handled node was queued again")
	}
	after(10 * time.Second)
	try("NODE-046: a failed node goes behind others", "c")
	after(10 * time.Second)
	q.remove("c")
	done["b"] = true
	try("NODE-046: a removed node is not tried", "b")
	if !q.remove("a") || !q.add("a", now) || q.remove("x") {
		t.Error("NODE-046: a removed node can be queued again")
	}

	q.bucket.swap(0, now)
	after(time.Hour)
	try("NODE-043: no rate")
	q.bucket.swap(evictionRate, now)
	try("NODE-047: a new bucket is empty if the old one had no token")
	after(10 * time.Second)
	done["a"] = true
	try("NODE-047", "a")
	after(time.Hour)
	q.bucket.swap(secondaryEvictionRate, now)
	q.add("d", now)
	q.add("e", now)
	done["d"], done["e"] = true, true
	try("NODE-047: a full bucket is replaced by a full one", "d")
	after(100 * time.Second)
	try("NODE-004: 0.01 is a little less as a 32-bit number")
	after(100 * time.Millisecond)
	try("NODE-004", "e")
}
