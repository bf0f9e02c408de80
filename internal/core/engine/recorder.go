package engine

import (
	"crypto/sha256"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/klog"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/trace"
)

// Recorder emits Events in the name of one component. An Event is traced as emitted, then correlated and counted as client-go does
// (BIND-004), then stored. The correlation state is lost with this life of the actor.
type Recorder struct {
	actor      *Actor
	component  string
	correlator correlator
	log        *klog.Logger
}

// NewRecorder gives the actor a recorder. component is the source in the Events.
func (a *Actor) NewRecorder(component string) *Recorder {
	r := a.engine.memory.recorders.next()
	*r = Recorder{actor: a, component: component, correlator: newCorrelator()}
	return r
}

// LogTo makes the recorder log each Event, at level 3, before correlation. name is the logger's.
func (r *Recorder) LogTo(name string) *Recorder {
	r.log = r.actor.Logger("event", name)
	return r
}

// logEvent logs an Event.
func (r *Recorder) logEvent(p *Process, ref api.Ref, eventType, reason, text string) {
	version, kind := p.engine.store.GroupVersionKind(ref.Kind).ToAPIVersionAndKind()
	r.log.Info(eventLevel, "Event occurred", klog.String("object", ref.Key), klog.String("fieldPath", ""), klog.String("kind", kind),
		klog.String("apiVersion", version), klog.String("type", eventType), klog.String("reason", reason), klog.String("message", text))
}

// eventLevel is the level of Events in the log.
const eventLevel = 3

// Event emits an Event about obj. eventType is Normal or Warning; text may contain fmt verbs for args.
//
// An Event is stored at once: it takes no time, no other process runs in between, and no fault is injected. Emitting cannot fail: an
// Event that the store rejects, without an object, or of another type is lost.
func (r *Recorder) Event(p *Process, obj api.Object, eventType, reason, text string, args ...any) {
	if p.dead {
		return
	}
	if len(args) > 0 {
		text = fmt.Sprintf(text, args...)
	}
	p.engine.effects++
	if p.engine.trace != nil {
		p.Record(trace.Entry{Type: trace.Emitted, Object: api.RefTo(obj), Verb: eventType, Reason: reason, Text: text})
	}
	if objects.IsNil(obj) || eventType != corev1.EventTypeNormal && eventType != corev1.EventTypeWarning {
		return
	}
	about := subjectOf(obj, eventType)
	if about.kind == "" {
		return
	}
	if r.log.Enabled(eventLevel) {
		r.logEvent(p, api.RefTo(obj), eventType, reason, text)
	}
	now := p.engine.Now()
	seen, text, ok := r.correlator.correlate(r.correlator.events(about, reason), text, now)
	if seen.name == "" {
		seen.name = p.engine.eventName(about.name)
	}
	if !ok {
		return
	}
	namespace := about.namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	var stored *corev1.Event
	var err error
	if old, exists := r.earlier(namespace, seen); exists {
		event := *old
		event.Count, event.LastTimestamp, event.Message = seen.count, seconds(now), text
		stored, err = p.engine.store.Events.Replace(&event, api.Main)
	} else {
		// A counted Event that no longer exists, for example because it expired, is created again with its count.
		event := r.event(obj, seen, text, namespace, now)
		stored, err = p.engine.store.Events.CreateWith(event, store.CreateOptions{Owned: true})
	}
	if err == nil {
		r.correlator.stored(seen, text, stored.Name, stored.Count, stored.FirstTimestamp.Time)
	}
}

func subjectOf(obj api.Object, eventType string) subject {
	return subject{kind: api.KindOf(obj), namespace: obj.GetNamespace(), name: obj.GetName(), uid: obj.GetUID(), eventType: eventType}
}

// earlier returns the stored Event that counts the message.
func (r *Recorder) earlier(namespace string, seen *message) (*corev1.Event, bool) {
	if seen.count <= 1 {
		return nil, false
	}
	return r.actor.engine.store.Events.Lookup(api.Key(namespace, seen.name))
}

// Dropped counts n more Events that are not stored, for a caller that skips repeated identical Events: the next stored one includes them
// in its count. At least one such Event must have been emitted, and all n must fall before [Recorder.StoredFrom]. They are not traced.
func (r *Recorder) Dropped(obj api.Object, eventType, reason, text string, n int) {
	if n > 0 {
		about := r.correlator.events(subjectOf(obj, eventType), reason)
		r.correlator.count(about, text, n, r.actor.engine.Now())
	}
}

// StoredFrom is the time from which on an Event of that type about obj is stored: now, unless there were too many.
func (r *Recorder) StoredFrom(obj api.Object, eventType string) time.Time {
	now := r.actor.engine.Now()
	from := now
	if about := r.correlator.find(subjectOf(obj, eventType)); about != nil && about.tokens.free().After(now) {
		from = about.tokens.free()
	}
	r.actor.engine.answers(int64(from.Sub(now)))
	return from
}

func (r *Recorder) event(obj api.Object, seen *message, text, namespace string, now time.Time) *corev1.Event {
	about := seen.of.about
	apiVersion, kind := r.actor.engine.store.GroupVersionKind(about.kind).ToAPIVersionAndKind()
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: seen.name},
		InvolvedObject: corev1.ObjectReference{
			APIVersion:      apiVersion,
			Kind:            kind,
			Namespace:       about.namespace,
			Name:            about.name,
			UID:             about.uid,
			ResourceVersion: obj.GetResourceVersion(),
		},
		Reason:              seen.of.reason,
		Message:             text,
		Source:              corev1.EventSource{Component: r.component},
		FirstTimestamp:      seconds(seen.first),
		LastTimestamp:       seconds(now),
		Count:               seen.count,
		Type:                about.eventType,
		ReportingController: r.component,
	}
	if seen.combined {
		event.ReportingController = "" // client-go sets no controller in these
	}
	return event
}

// seconds is the time with the precision of API objects.
func seconds(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

// eventName returns a new name for an Event about the object of that name: the name and 16 hexadecimal digits, which are the time in
// nanoseconds, or the next larger unused number. If that is no valid name, the result has the form of a UUID, as in client-go.
func (e *Engine) eventName(about string) string {
	e.eventStamp = max(e.eventStamp+1, e.Now().UnixNano())
	name := make([]byte, 0, len(about)+17)
	name = append(append(name, about...), '.')
	for shift := 60; shift >= 0; shift -= 4 {
		name = append(name, "0123456789abcdef"[uint64(e.eventStamp)>>shift&0xf])
	}
	if !store.IsSubdomain(string(name)) {
		sum := sha256.Sum256(name)
		return fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
	}
	return string(name)
}
