// Package leases records when kubelets renew the Leases of their nodes, without a write for each renewal.
//
// A kubelet renews its Lease every 10 s. Only the node lifecycle controller reads it, and that controller only compares the time of
// the last renewal with that of its last pass. So a [Book] computes renewals from the times at which kubelets start, stop, and lose or
// regain the API server. No Lease is stored; the API server shows one of each node to clients.
//
// Rules: NODE-020 to NODE-025 of docs/rules/node-lifecycle.md.
package leases

import "time"

// RenewPeriod is the time from one renewal to the next (NODE-020).
const RenewPeriod = 10 * time.Second

// The pauses of a kubelet whose renewal failed (NODE-021).
const (
	firstPause = 200 * time.Millisecond
	lastPause  = 7 * time.Second
)

// Key is the key under which the Book of a cluster is attached to its engine.
type Key struct{}

// Book has the renewals of all nodes. The zero value is ready to use.
type Book struct {
	nodes   map[string][]span // by node, in order
	watched []func(node string)
}

// span is a time in which a kubelet renews at start and every RenewPeriod after, until end if it has ended.
type span struct {
	start, end time.Time
	ended      bool
}

// OnChange registers fn, which runs when the kubelet of a node stops or begins to renew.
func (b *Book) OnChange(fn func(node string)) { b.watched = append(b.watched, fn) }

// Start records that the kubelet of a node renews from now on (NODE-020).
func (b *Book) Start(node string, now time.Time) {
	b.end(node, now)
	b.begin(node, now)
}

// Stop records that the kubelet of a node renews no more: it has stopped, or cannot reach the API server (NODE-022).
func (b *Book) Stop(node string, now time.Time) {
	if b.end(node, now) {
		b.changed(node)
	}
}

// Resume records that a kubelet, which Stop cut off from the API server, reaches it again. It returns when the kubelet renews next
// (NODE-021).
func (b *Book) Resume(node string, now time.Time) time.Time {
	next := now
	if all := b.nodes[node]; len(all) > 0 {
		next = retry(all[len(all)-1], now)
	}
	b.begin(node, next)
	return next
}

// begin adds a span that begins at a time.
func (b *Book) begin(node string, at time.Time) {
	if b.nodes == nil {
		b.nodes = map[string][]span{}
	}
	b.nodes[node] = append(b.nodes[node], span{start: at})
	b.changed(node)
}

// retry returns when a kubelet renews whose renewals failed since a span ended, if they succeed from now on.
func retry(s span, now time.Time) time.Time {
	next := s.start
	if last, ok := s.last(s.end); ok {
		// NODE-021: the first renewal that fails is the next one that is due.
		next = last.Add(RenewPeriod)
	}
	for pause := firstPause; next.Before(now); pause = min(2*pause, lastPause) {
		next = next.Add(pause)
	}
	return next
}

// Renewing reports whether the kubelet of a node renews at now, and will go on until the next call of Start, Stop or Resume.
func (b *Book) Renewing(node string, now time.Time) bool {
	all := b.nodes[node]
	return len(all) > 0 && !all[len(all)-1].ended && !all[len(all)-1].start.After(now)
}

// Renewed returns the time of the last renewal up to by, one at that instant included (NODE-024). It reports false if there was none.
func (b *Book) Renewed(node string, by time.Time) (time.Time, bool) {
	all := b.nodes[node]
	for i := len(all) - 1; i >= 0; i-- {
		if at, ok := all[i].last(by); ok {
			return at, true
		}
	}
	return time.Time{}, false
}

// last returns the last renewal of the span up to by.
func (s span) last(by time.Time) (time.Time, bool) {
	if s.ended && s.end.Before(by) {
		by = s.end
	}
	if by.Before(s.start) {
		return time.Time{}, false
	}
	return s.start.Add(by.Sub(s.start).Truncate(RenewPeriod)), true
}

// end ends the last span of a node. It reports whether that was still open.
func (b *Book) end(node string, now time.Time) bool {
	all := b.nodes[node]
	if len(all) == 0 || all[len(all)-1].ended {
		return false
	}
	last := &all[len(all)-1]
	last.end, last.ended = now, true
	return true
}

func (b *Book) changed(node string) {
	for _, fn := range b.watched {
		fn(node)
	}
}
