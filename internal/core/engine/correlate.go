package engine

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
)

// The figures of client-go's correlator (BIND-004).
const (
	correlatorKeys = 4096 // per cache; the least recently used one is forgotten first

	spamBurst    = 25
	spamInterval = 300 * time.Second // for one more

	similarTexts  = 10 // of one object, type and reason: the last of these is combined, and so is what follows
	similarWindow = 600 * time.Second
	similarPrefix = "(combined from similar events): "
)

// subject is what an Event is about.
type subject struct {
	ref       api.Ref
	uid       types.UID
	eventType string
}

// topic is a subject and the reason of the Event.
type topic struct {
	subject subject
	reason  string
}

// sighting is an Event without its time.
type sighting struct {
	topic    topic
	text     string
	combined bool
}

// identity is what Events that are counted together have in common: the text, unless they were combined.
func (s sighting) identity() sighting {
	if s.combined {
		s.text = ""
	}
	return s
}

// correlator decides how an Event is stored (BIND-004), as client-go does in each component. Where client-go forgets one of ten
// texts at random, the newest one is forgotten here: the first nine texts keep Events of their own, all others are combined.
type correlator struct {
	spam    lru[subject, bucket]
	similar lru[topic, similarity]
	seen    lru[sighting, record]
}

// record is what is known about a stored Event.
type record struct {
	name  string
	count int32
	first time.Time
}

// similarity holds the texts seen under one topic lately.
type similarity struct {
	texts []string
	last  time.Time
}

// bucket is a token bucket, full at first.
type bucket struct {
	used bool
	full time.Time // when it will be full again
}

// take takes a token, if there is one.
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

// free is from when on there is a token.
func (b *bucket) free() time.Time { return b.full.Add(-(spamBurst - 1) * spamInterval) }

func newCorrelator() *correlator {
	c := &correlator{}
	c.spam.limit, c.similar.limit, c.seen.limit = correlatorKeys, correlatorKeys, correlatorKeys
	return c
}

// correlate counts an Event. It returns what to store: the text, which may have been combined, under the record, whose count
// includes this Event; the record is valid until the next call. ok is false if there are too many Events about the subject: then
// nothing is to be stored, but it is counted.
func (c *correlator) correlate(t topic, text string, now time.Time) (key sighting, rec *record, ok bool) {
	key = sighting{topic: t, text: text}
	// BIND-004: too many texts under one topic are combined.
	if c.combine(t, text, now) {
		key = sighting{topic: t, text: similarPrefix + text, combined: true}
	}
	// BIND-004: the same again is counted.
	rec, _ = c.seen.use(key.identity())
	if rec.count == 0 {
		rec.first = now
	}
	rec.count++
	// BIND-004: a burst about one subject is stored, then one in a while.
	tokens, _ := c.spam.use(t.subject)
	return key, rec, tokens.take(now)
}

// dropped counts n Events that came while there was no token.
func (c *correlator) dropped(t topic, text string, n int, now time.Time) {
	key := sighting{topic: t, text: text}
	if c.combine(t, text, now) {
		key = sighting{topic: t, text: similarPrefix + text, combined: true}
	}
	rec, _ := c.seen.use(key.identity())
	rec.count += int32(n)
}

// stored takes over what the server says about an Event that was written. What was combined is, as in client-go, noted under its
// full text and not under that by which it is counted.
func (c *correlator) stored(key sighting, name string, count int32, first time.Time) {
	key.combined = false
	rec, _ := c.seen.use(key)
	*rec = record{name: name, count: count, first: first}
}

// combine notes the text and reports whether it is one too many.
func (c *correlator) combine(t topic, text string, now time.Time) bool {
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
