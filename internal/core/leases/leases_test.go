package leases_test

import (
	"testing"
	"time"

	"github.com/volsim/volsim/internal/core/leases"
)

func TestRenewed(t *testing.T) {
	zero := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds float64) time.Time { return zero.Add(time.Duration(seconds * float64(time.Second))) }
	const none = -1
	tests := []struct {
		rule, name string
		history    func(b *leases.Book)
		by, want   float64
		renewing   bool
	}{
		{"NODE-023", "no kubelet", func(*leases.Book) {}, 100, none, false},
		{"NODE-020", "at the start", func(b *leases.Book) { b.Start("n", at(3)) }, 3, 3, true},
		{"NODE-020", "not before", func(b *leases.Book) { b.Start("n", at(3)) }, 2, none, false},
		{"NODE-020", "every 10 s", func(b *leases.Book) { b.Start("n", at(3)) }, 42, 33, true},
		{"NODE-020", "to the second", func(b *leases.Book) { b.Start("n", at(3)) }, 43, 43, true},
		{"NODE-022", "a stopped kubelet", func(b *leases.Book) { b.Start("n", at(3)); b.Stop("n", at(32.9)) }, 900, 23, false},
		{"NODE-022", "one that stops right after", func(b *leases.Book) { b.Start("n", at(3)); b.Stop("n", at(33)) }, 900, 33, false},
		{"NODE-020", "a new process has a new rhythm",
			func(b *leases.Book) { b.Start("n", at(0)); b.Stop("n", at(5)); b.Start("n", at(7)) }, 19, 17, true},
		{"NODE-020", "the time before it", func(b *leases.Book) { b.Start("n", at(0)); b.Stop("n", at(5)); b.Start("n", at(7)) }, 6, 0, false},
		{"NODE-021", "a short cut between renewals changes nothing",
			func(b *leases.Book) { b.Start("n", at(0)); b.Stop("n", at(11)); b.Resume("n", at(19)) }, 25, 20, true},
		{"NODE-021", "the first retry", func(b *leases.Book) { b.Start("n", at(0)); b.Stop("n", at(11)); b.Resume("n", at(20.1)) }, 29,
			20.2, true},
		{"NODE-021", "retries after 0.2, 0.4, 0.8 s",
			func(b *leases.Book) { b.Start("n", at(0)); b.Stop("n", at(11)); b.Resume("n", at(21)) }, 29, 21.4, true},
		{"NODE-021", "every 7 s in the end", func(b *leases.Book) { b.Start("n", at(0)); b.Stop("n", at(11)); b.Resume("n", at(60)) }, 70,
			60.6, true},
		{"NODE-021", "not until the retry", func(b *leases.Book) { b.Start("n", at(0)); b.Stop("n", at(11)); b.Resume("n", at(60)) }, 60.5,
			10, false},
		{"NODE-021", "then every 10 s", func(b *leases.Book) { b.Start("n", at(0)); b.Stop("n", at(11)); b.Resume("n", at(60)) }, 71, 70.6, true},
	}
	for _, tt := range tests {
		var b leases.Book
		tt.history(&b)
		want, wantOK := at(tt.want), tt.want != none
		if got, ok := b.Renewed("n", at(tt.by)); ok != wantOK || ok && !got.Equal(want) {
			t.Errorf("%s, %s: Renewed(n, %vs) = %v, %v, want %v, %v", tt.rule, tt.name, tt.by, got.Sub(zero), ok, want.Sub(zero), wantOK)
		}
		if got := b.Renewing("n", at(tt.by)); got != tt.renewing {
			t.Errorf("%s, %s: Renewing(n, %vs) = %v, want %v", tt.rule, tt.name, tt.by, got, tt.renewing)
		}
	}
}

func TestOnChange(t *testing.T) {
	var b leases.Book
	var seen []string
	b.OnChange(func(node string) { seen = append(seen, node) })
	now := time.Now()
	b.Start("a", now)
	b.Stop("a", now)
	b.Stop("a", now)
	b.Resume("a", now)
	if len(seen) != 3 {
		t.Errorf("NODE-024: %d changes were reported, want 3: a second Stop is none", len(seen))
	}
}
