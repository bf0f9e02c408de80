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
	kind            api.Kind
	namespace, name string
	uid             types.UID
	eventType       string
}

// correlator decides how an Event is stored (BIND-004), as client-go does in each component. client-go has three caches, by subject, by
// subject and reason, and by the whole message. Here they are one tree, so that an Event needs one lookup, and each has its own order of use.
// client-go evicts one of ten texts at random; here the newest one is evicted: the first nine texts keep Events of their own, all others are
// combined.
type correlator struct {
	subjects            map[types.UID]*subjectEvents // by uid: a key of all fields costs five hashes
	spam, similar, seen lru
}

// subjectEvents are the Events about one subject.
type subjectEvents struct {
	subject
	next    *subjectEvents // with the same uid
	in      *correlator
	spam    membership
	tokens  bucket
	reasons []*reasonEvents
	// Most subjects have one Event. first and firstReasons are its memory.
	first        reasonEvents
	firstReasons [1]*reasonEvents
}

// reasonEvents are the Events about one subject for one reason.
type reasonEvents struct {
	about    *subjectEvents
	reason   string
	similar  membership
	texts    []string  // the recent ones
	last     time.Time // when there was one
	messages []*message
	// Most reasons have one message. first, firstTexts and firstMessages are its memory.
	first         message
	firstTexts    [1]string
	firstMessages [1]*message
}

// message is one stored Event: those about one subject for one reason with one text. Combined Events are counted together, whatever their text.
type message struct {
	of       *reasonEvents
	text     string // of the message; "" for the count of the combined ones
	combined bool
	seen     membership
	// The known state of the stored Event.
	name  string
	count int32
	first time.Time
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

func newCorrelator() correlator {
	limit := lru{limit: correlatorKeys}
	return correlator{spam: limit, similar: limit, seen: limit}
}

// find returns the Events about a subject, nil if there are none.
func (c *correlator) find(about subject) *subjectEvents {
	s := c.subjects[about.uid]
	for s != nil && s.subject != about {
		s = s.next
	}
	return s
}

// forget removes the Events about a subject.
func (c *correlator) forget(s *subjectEvents) {
	first := c.subjects[s.uid]
	if first == s {
		first = s.next
	} else {
		for at := first; at != nil; at = at.next {
			if at.next == s {
				at.next = s.next
			}
		}
	}
	if first == nil {
		delete(c.subjects, s.uid)
	} else {
		c.subjects[s.uid] = first
	}
}

// events returns the Events about a subject for a reason.
func (c *correlator) events(about subject, reason string) *reasonEvents {
	s := c.find(about)
	if s == nil {
		s = &subjectEvents{subject: about, next: c.subjects[about.uid], in: c}
		s.reasons = s.firstReasons[:0]
		if c.subjects == nil {
			c.subjects = map[types.UID]*subjectEvents{}
		}
		c.subjects[about.uid] = s
	}
	for _, r := range s.reasons {
		if r.reason == reason {
			return r
		}
	}
	r := &s.first
	if r.about != nil {
		r = &reasonEvents{}
	}
	r.about, r.reason = s, reason
	r.texts, r.messages = r.firstTexts[:0], r.firstMessages[:0]
	s.reasons = append(s.reasons, r)
	return r
}

// correlate counts an Event. It returns its message, whose count includes this Event, and the text to store. ok is false if there were too
// many Events about the subject: the Event counts and is not stored.
func (c *correlator) correlate(r *reasonEvents, text string, now time.Time) (m *message, stored string, ok bool) {
	m, stored = c.count(r, text, 1, now)
	// BIND-004: a burst about one subject is stored, then one per interval.
	c.spam.use(&r.about.spam, r.about)
	return m, stored, r.about.tokens.take(now)
}

// count counts n Events with the same text.
func (c *correlator) count(r *reasonEvents, text string, n int, now time.Time) (m *message, stored string) {
	if c.combine(r, text, now) {
		// BIND-004: too many texts for one reason are combined.
		m, stored = c.message(r, "", true), similarPrefix+text
	} else {
		m, stored = c.message(r, text, false), text
	}
	// BIND-004: a repeated Event is counted.
	if m.count == 0 {
		m.first = now
	}
	m.count += int32(n)
	return m, stored
}

// message returns the message with that text, as the newest one.
func (c *correlator) message(r *reasonEvents, text string, combined bool) *message {
	i := slices.IndexFunc(r.messages, func(m *message) bool { return m.combined == combined && m.text == text })
	if i < 0 {
		i = len(r.messages)
		m := &r.first
		if m.of != nil {
			m = &message{}
		}
		m.of, m.text, m.combined = r, text, combined
		r.messages = append(r.messages, m)
	}
	m := r.messages[i]
	c.seen.use(&m.seen, m)
	return m
}

// stored takes over the server's answer to a written Event. As in client-go, a combined Event is recorded under its full text and not
// under the key that counts it.
func (c *correlator) stored(m *message, text, name string, count int32, first time.Time) {
	if m.combined {
		m = c.message(m.of, text, false)
	} else {
		c.seen.use(&m.seen, m)
	}
	m.name, m.count, m.first = name, count, first
}

// combine records the text and reports whether there are too many for the reason.
func (c *correlator) combine(r *reasonEvents, text string, now time.Time) bool {
	c.similar.use(&r.similar, r)
	if now.Sub(r.last) > similarWindow {
		r.texts = r.texts[:0]
	}
	r.last = now
	if slices.Contains(r.texts, text) {
		return false
	}
	if len(r.texts)+1 >= similarTexts {
		return true
	}
	r.texts = append(r.texts, text)
	return false
}

func (s *subjectEvents) evict() {
	s.tokens = bucket{}
	s.drop()
}

func (r *reasonEvents) evict() {
	r.texts, r.last = nil, time.Time{}
	r.drop()
}

func (m *message) evict() {
	r := m.of
	r.messages = slices.DeleteFunc(r.messages, func(other *message) bool { return other == m })
	r.drop()
}

// drop removes a reason that no cache has.
func (r *reasonEvents) drop() {
	if !r.similar.member() && len(r.messages) == 0 {
		s := r.about
		s.reasons = slices.DeleteFunc(s.reasons, func(other *reasonEvents) bool { return other == r })
		s.drop()
	}
}

// drop removes a subject that no cache has.
func (s *subjectEvents) drop() {
	if !s.spam.member() && len(s.reasons) == 0 {
		s.in.forget(s)
	}
}
