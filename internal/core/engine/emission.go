package engine

import (
	"crypto/sha256"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/internal/core/strategy"
)

// emission is what a recorder stores when it emits an Event: a new Event, or a further count of one that exists. Most Events of a large cluster are
// never read, so an emission is made into an object when somebody reads Events; see store.DeferEvent. It takes 80 bytes. The object with its
// names and its place in the table takes 1,000.
type emission struct {
	of              *reasonEvents
	text            string // as stored
	resourceVersion string // of the object that the Event is about
	version         uint64 // of the Event, if it was deferred
	at              time.Duration
	// These are of the message, which may be another Event's later.
	stamp, first     int64
	count            int32
	combined, exists bool
}

// emission returns what the recorder stores about obj.
func (r *Recorder) emission(obj api.Object, seen *message, text string) emission {
	e := r.actor.engine
	return emission{of: seen.of, text: text, resourceVersion: obj.GetResourceVersion(), first: seen.first, at: e.now,
		stamp: seen.stamp, count: seen.count, combined: seen.combined, exists: seen.exists}
}

// emissionsAtOnce is the length of a list of emissions. The first lists are shorter: a small cluster has few.
const emissionsAtOnce, firstEmissions = 64, 4

// recountsKept is the number of further counts that are deferred: many may be of one Event.
const recountsKept = 10_000

// defers keeps an emission for later, unless it could be seen or rejected. It reports whether the emission was kept.
func (e *Engine) defers(m *emission) bool {
	if e.observer != nil || !store.HasTypedTable(m.of.about.kind) {
		return false
	}
	isNew := !m.recounts()
	version, ok := e.store.DeferEvent(m.namespace(), isNew, e)
	if !ok {
		return false
	}
	m.version = version
	last := len(e.emitted) - 1
	if last < 0 || len(e.emitted[last]) == cap(e.emitted[last]) {
		n := firstEmissions
		if last >= 0 {
			n = min(2*cap(e.emitted[last]), emissionsAtOnce)
		}
		e.emitted = append(e.emitted, make([]emission, 0, n))
		last++
	}
	e.emitted[last] = append(e.emitted[last], *m)
	if !isNew {
		if e.recounts++; e.recounts == recountsKept {
			e.store.Events.Len() // stores what was deferred
		}
	}
	return true
}

// StoreDeferred is for the store.
func (e *Engine) StoreDeferred() {
	emitted := e.emitted
	e.emitted, e.recounts = nil, 0
	for _, list := range emitted {
		for i := range list {
			event, _ := e.stored(&list[i])
			e.store.StoreDeferred(event, list[i].version)
		}
	}
}

// stored returns the Event as it is to be stored, and reports whether it exists.
func (e *Engine) stored(m *emission) (event *corev1.Event, exists bool) {
	now := seconds(e.start.Add(m.at))
	if m.count > 1 {
		if old, exists := e.store.Events.Lookup(api.Key(m.namespace(), m.name())); exists {
			event := *old
			event.Count, event.LastTimestamp, event.Message = m.count, now, m.text
			return &event, true
		}
		// A counted Event that no longer exists, for example because it expired, is created again with its count.
	}
	about := m.of.about
	apiVersion, kind := e.store.GroupVersionKind(about.kind).ToAPIVersionAndKind()
	event = &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace(), Name: m.name(), CreationTimestamp: now},
		InvolvedObject: corev1.ObjectReference{
			APIVersion:      apiVersion,
			Kind:            kind,
			Namespace:       about.namespace,
			Name:            about.name,
			UID:             about.uid,
			ResourceVersion: m.resourceVersion,
		},
		Reason:              m.of.reason,
		Message:             m.text,
		Source:              corev1.EventSource{Component: about.in.component},
		FirstTimestamp:      metav1.NewTime(time.Unix(m.first, 0).UTC()),
		LastTimestamp:       now,
		Count:               m.count,
		Type:                about.eventType(),
		ReportingController: about.in.component,
	}
	if m.combined {
		event.ReportingController = "" // client-go sets no controller in these
	}
	return event, false
}

// recounts reports whether the emission counts an Event that exists, unless Events were deleted.
func (m *emission) recounts() bool { return m.count > 1 && m.exists }

// namespace is the namespace of the Event.
func (m *emission) namespace() string {
	if about := m.of.about; about.namespace != "" {
		return about.namespace
	}
	return metav1.NamespaceDefault
}

// name is the name of the Event: that of the object and 16 hexadecimal digits. If that is no valid name, it has the form of a UUID, as in client-go.
func (m *emission) name() string {
	about, stamp := m.of.about.name, uint64(m.stamp)
	name := make([]byte, 0, len(about)+17)
	name = append(append(name, about...), '.')
	for shift := 60; shift >= 0; shift -= 4 {
		name = append(name, "0123456789abcdef"[stamp>>shift&0xf])
	}
	if !strategy.IsSubdomain(string(name)) {
		sum := sha256.Sum256(name)
		return fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
	}
	return string(name)
}

// nextStamp returns the number in the name of a new Event: the time in nanoseconds, or the next larger unused number.
func (e *Engine) nextStamp() int64 {
	e.eventStamp = max(e.eventStamp+1, e.Now().UnixNano())
	return e.eventStamp
}
