package engine

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
)

// The limits of client-go's event correlator (BIND-004).
const (
	correlatorKeys = 4096 // per cache; the least recently used key is evicted first

	spamBurst    = 25
	spamInterval = 300 * time.Second // for one more

	similarTexts  = 10 // of one object, type and reason; this one and all later ones are combined
	similarWindow = 600 * time.Second
	similarPrefix = "(combined from similar events): "
)

// subject is the object that an Event is about, with the type of the Event.
type subject struct {
	ref       api.Ref
	uid       types.UID
	eventType string
}

// eventKey is a subject and the reason of the Event.
type eventKey struct {
	subject subject
	reason  string
}

// message is an Event without its time.
type message struct {
	eventKey eventKey
	text     string
	combined bool
}

// identity is the key under which Events are counted together: it includes the text, unless they were combined.
func (s message) identity() message {
	if s.combined {
		s.text = ""
	}
	return s
}

// correlator decides how an Event is stored (BIND-004), as client-go does in each component. client-go evicts one of ten texts at random;
// here the newest one is evicted: the first nine texts keep Events of their own, all others are combined.
type correlator struct {
	spam    lru[subject, bucket]
	similar lru[eventKey, similarity]
	seen    lru[message, record]
}

// record is the known state of a stored Event.
type record struct {
	name  string
	count int32
	first time.Time
}

// similarity lists the recent texts under one key.
type similarity struct {
	texts []string
	last  time.Time
}

// bucket is a token bucket that starts full.
type bucket struct {
	used bool
	full time.Time // time at which it is full again
}

// take takes a token and reports whether there was one.
func (b *bucket) take(now time.Time) bool {
	if !b.used || b.full.Before(now) {
		b.used, b.full = true, now
	}
	full := b.full.Add(spamInterval)
	if full.Sub(now) > spamBurst*spamInterval {
		return false
	}
	b.full = full
	return true
}

// free is the time from which on a token is available.
func (b *bucket) free() time.Time { return b.full.Add(-(spamBurst - 1) * spamInterval) }

func newCorrelator() *correlator {
	c := &correlator{}
	c.spam.limit, c.similar.limit, c.seen.limit = correlatorKeys, correlatorKeys, correlatorKeys
	return c
}

// correlate counts an Event and returns what to store: the message, possibly combined, and its record, whose count includes this Event.
// The record is valid until the next call. ok is false if there were too many Events about the subject: the Event counts and is not
// stored.
func (c *correlator) correlate(t eventKey, text string, now time.Time) (key message, rec *record, ok bool) {
	key = message{eventKey: t, text: text}
	// BIND-004: too many texts under one key are combined.
	if c.combine(t, text, now) {
		key = message{eventKey: t, text: similarPrefix + text, combined: true}
	}
	// BIND-004: a repeated Event is counted.
	rec, _ = c.seen.use(key.identity())
	if rec.count == 0 {
		rec.first = now
	}
	rec.count++
	// BIND-004: a burst about one subject is stored, then one per interval.
	tokens, _ := c.spam.use(t.subject)
	return key, rec, tokens.take(now)
}

// dropped counts n Events that came while no token was available.
func (c *correlator) dropped(t eventKey, text string, n int, now time.Time) {
	key := message{eventKey: t, text: text}
	if c.combine(t, text, now) {
		key = message{eventKey: t, text: similarPrefix + text, combined: true}
	}
	rec, _ := c.seen.use(key.identity())
	rec.count += int32(n)
}

// stored takes over the server's answer to a written Event. As in client-go, a combined Event is recorded under its full text and not
// under the key that counts it.
func (c *correlator) stored(key message, name string, count int32, first time.Time) {
	key.combined = false
	rec, _ := c.seen.use(key)
	*rec = record{name: name, count: count, first: first}
}

// combine records the text and reports whether there are too many under the key.
func (c *correlator) combine(t eventKey, text string, now time.Time) bool {
	s, known := c.similar.use(t)
	if !known || now.Sub(s.last) > similarWindow {
		s.texts = s.texts[:0]
	}
	s.last = now
	if slices.Contains(s.texts, text) {
		return false
	}
	if len(s.texts)+1 >= similarTexts {
		return true
	}
	s.texts = append(s.texts, text)
	return false
}
