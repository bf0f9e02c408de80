package engine

import (
	"time"

	corev1 "k8s.io/api/core/v1"
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
	warning         bool // otherwise the Event is Normal
}

// eventType is the type of the Event.
func (s *subject) eventType() string {
	if s.warning {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}

// correlator decides how an Event is stored (BIND-004), as client-go does in each component. client-go has three caches, by subject, by
// subject and reason, and by the whole message. Here they are one tree, so that an Event needs one lookup, and each has its own order of use.
// client-go evicts one of ten texts at random; here the newest one is evicted: the first nine texts keep Events of their own, all others are
// combined.
type correlator struct {
	component string                       // the source in the Events
	subjects  map[types.UID]*subjectEvents // by uid: a key of all fields costs five hashes
	spam      lru[subjectEvents, *subjectEvents]
	similar   lru[reasonEvents, *reasonEvents]
	seen      lru[message, *message]
}

// subjectEvents are the Events about one subject.
type subjectEvents struct {
	subject
	next    *subjectEvents // with the same uid
	in      *correlator
	spam    membership[subjectEvents]
	tokens  bucket
	reasons *reasonEvents // the newest, of a list
	first   reasonEvents  // memory of one: most subjects have no more
}

// reasonEvents are the Events about one subject for one reason.
type reasonEvents struct {
	about    *subjectEvents
	next     *reasonEvents
	reason   string
	similar  membership[reasonEvents]
	last     time.Duration // when there was one
	messages *message      // the newest, of a list
	first    message       // memory of one: most reasons have no more
}

// message is one stored Event: those about one subject for one reason with one text. Combined Events are counted together, whatever their text.
// A recent text has a message even if its Event is not known any more.
type message struct {
	of   *reasonEvents
	next *message
	text string // of the message; "" for the count of the combined ones
	seen membership[message]
	// The known state of the stored Event. stamp makes its name; see emission.name.
	stamp            int64
	first            int64 // Unix time
	count            int32
	combined, exists bool // exists: unless it was deleted since
	recent           bool // the text counts as one of the similar ones
}

// instant is a moment of the virtual time.
type instant struct {
	time    time.Time
	elapsed time.Duration // since the start of the engine
}

// bucket is a token bucket that starts full: the time at which it is full again.
type bucket time.Duration

// take takes a token and reports whether there was one.
func (b *bucket) take(now time.Duration) bool {
	full := later(max(time.Duration(*b), now), spamInterval)
	if full-now > spamBurst*spamInterval {
		return false
	}
	*b = bucket(full)
	return true
}

// free is the time from which on a token is available.
func (b bucket) free() time.Duration { return time.Duration(b) - (spamBurst-1)*spamInterval }

func newCorrelator(component string) correlator {
	c := correlator{component: component}
	c.spam.limit, c.similar.limit, c.seen.limit = correlatorKeys, correlatorKeys, correlatorKeys
	return c
}

// find returns the Events about a subject, nil if there are none.
func (c *correlator) find(about subject) *subjectEvents { return c.subjects[about.uid].find(about) }

// find is correlator.find among those with the uid of s, which may be nil.
func (s *subjectEvents) find(about subject) *subjectEvents {
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
	first := c.subjects[about.uid]
	s := first.find(about)
	if s == nil {
		s = &subjectEvents{subject: about, next: first, in: c}
		if c.subjects == nil {
			c.subjects = map[types.UID]*subjectEvents{}
		}
		c.subjects[about.uid] = s
	}
	for r := s.reasons; r != nil; r = r.next {
		if r.reason == reason {
			return r
		}
	}
	r := &s.first
	if r.about != nil {
		r = &reasonEvents{}
	}
	r.about, r.next, r.reason = s, s.reasons, reason
	s.reasons = r
	return r
}

// correlate counts an Event. It returns its message, whose count includes this Event, and the text to store. ok is false if there were too
// many Events about the subject: the Event counts and is not stored.
func (c *correlator) correlate(r *reasonEvents, text string, now instant) (m *message, stored string, ok bool) {
	m, stored = c.count(r, text, 1, now)
	// BIND-004: a burst about one subject is stored, then one per interval.
	c.spam.use(r.about)
	return m, stored, r.about.tokens.take(now.elapsed)
}

// count counts n Events with the same text.
func (c *correlator) count(r *reasonEvents, text string, n int, now instant) (m *message, stored string) {
	if c.combine(r, text, now.elapsed) {
		// BIND-004: too many texts for one reason are combined.
		m, stored = c.message(r, "", true), similarPrefix+text
	} else {
		m, stored = c.message(r, text, false), text
		m.recent = true
	}
	// BIND-004: a repeated Event is counted.
	if m.count == 0 {
		m.first = now.time.Unix()
	}
	m.count += int32(n)
	return m, stored
}

// message returns the message with that text, as the newest one.
func (c *correlator) message(r *reasonEvents, text string, combined bool) *message {
	m := r.messages
	for m != nil && (m.combined != combined || m.text != text) {
		m = m.next
	}
	if m == nil {
		m = &r.first
		if m.of != nil {
			m = &message{}
		}
		m.of, m.next, m.text, m.combined = r, r.messages, text, combined
		r.messages = m
	}
	c.seen.use(m)
	return m
}

// stored takes over the server's answer to a written Event. As in client-go, a combined Event is recorded under its full text and not
// under the key that counts it.
func (c *correlator) stored(m *message, text string, count int32, first int64) {
	stamp := m.stamp
	m.exists = true
	if m.combined {
		m = c.message(m.of, text, false)
	} else {
		c.seen.use(m)
	}
	m.stamp, m.count, m.exists, m.first = stamp, count, true, first
}

// combine records the text and reports whether there are too many for the reason.
func (c *correlator) combine(r *reasonEvents, text string, now time.Duration) bool {
	c.similar.use(r)
	if now-r.last > similarWindow {
		r.forgetTexts()
	}
	r.last = now
	texts := 0
	for m := r.messages; m != nil; m = m.next {
		if m.recent && m.text == text {
			return false
		}
		if m.recent {
			texts++
		}
	}
	return texts+1 >= similarTexts
}

// forgetTexts ends the time in which the texts are recent.
func (r *reasonEvents) forgetTexts() {
	for m := r.messages; m != nil; m = m.next {
		if m.recent = false; !m.seen.member() {
			m.leave()
		}
	}
}

func (s *subjectEvents) membership() *membership[subjectEvents] { return &s.spam }
func (r *reasonEvents) membership() *membership[reasonEvents]   { return &r.similar }
func (m *message) membership() *membership[message]             { return &m.seen }

func (s *subjectEvents) evict() {
	s.tokens = 0
	s.drop()
}

func (r *reasonEvents) evict() {
	r.forgetTexts()
	r.drop()
}

func (m *message) evict() {
	if m.recent {
		m.stamp, m.first, m.count, m.exists = 0, 0, 0, false
		return
	}
	m.leave()
	m.of.drop()
}

// leave removes a message from those of its reason.
func (m *message) leave() {
	at := &m.of.messages
	for *at != nil && *at != m {
		at = &(*at).next
	}
	if *at == m {
		*at = m.next
	}
}

// drop removes a reason that no cache has.
func (r *reasonEvents) drop() {
	if r.similar.member() || r.messages != nil {
		return
	}
	at := &r.about.reasons
	for *at != nil && *at != r {
		at = &(*at).next
	}
	if *at == r {
		*at = r.next
	}
	r.about.drop()
}

// drop removes a subject that no cache has.
func (s *subjectEvents) drop() {
	if !s.spam.member() && s.reasons == nil {
		s.in.forget(s)
	}
}
