package engine

import (
	"crypto/sha256"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/klog"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/trace"
)

// Recorder emits Events in the name of one component. An Event is traced as emitted, then correlated and counted as client-go does
// (BIND-004), then stored. The correlation state is lost with this life of the actor.
type Recorder struct {
	actor      *Actor
	component  string
	correlator *correlator
	log        *klog.Logger
}

// NewRecorder gives the actor a recorder. component is the source in the Events.
func (a *Actor) NewRecorder(component string) *Recorder {
	return &Recorder{actor: a, component: component, correlator: newCorrelator()}
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
	ref := api.RefTo(obj)
	now := p.engine.Now()
	p.Record(trace.Entry{Type: trace.Emitted, Object: ref, Verb: eventType, Reason: reason, Text: text})
	if ref.Kind == "" || eventType != corev1.EventTypeNormal && eventType != corev1.EventTypeWarning {
		return
	}
	if r.log.Enabled(eventLevel) {
		r.logEvent(p, ref, eventType, reason, text)
	}
	about := eventKey{subject: subject{ref: ref, uid: obj.GetUID(), eventType: eventType}, reason: reason}
	seen, rec, ok := r.correlator.correlate(about, text, now)
	if rec.name == "" {
		rec.name = p.engine.eventName(obj.GetName())
	}
	if !ok {
		return
	}
	namespace := obj.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	var stored *corev1.Event
	var err error
	events := p.engine.store.Events
	if old, exists := events.Lookup(api.Key(namespace, rec.name)); exists && rec.count > 1 {
		event := *old
		event.Count, event.LastTimestamp, event.Message = rec.count, seconds(now), seen.text
		stored, err = events.Replace(&event, api.Main)
	} else {
		// A counted Event that no longer exists, for example because it expired, is created again with its count.
		stored, err = events.CreateWith(r.event(obj, seen, rec, namespace, now), store.CreateOptions{Owned: true})
	}
	if err == nil {
		r.correlator.stored(seen, stored.Name, stored.Count, stored.FirstTimestamp.Time)
	}
}

// Dropped counts n more Events that are not stored, for a caller that skips repeated identical Events: the next stored one includes them
// in its count. At least one such Event must have been emitted, and all n must fall before [Recorder.StoredFrom]. They are not traced.
func (r *Recorder) Dropped(obj api.Object, eventType, reason, text string, n int) {
	if n > 0 {
		about := eventKey{subject: subject{ref: api.RefTo(obj), uid: obj.GetUID(), eventType: eventType}, reason: reason}
		r.correlator.dropped(about, text, n, r.actor.engine.Now())
	}
}

// StoredFrom is the time from which on an Event of that type about obj is stored: now, unless there were too many.
func (r *Recorder) StoredFrom(obj api.Object, eventType string) time.Time {
	now := r.actor.engine.Now()
	from := now
	about := subject{ref: api.RefTo(obj), uid: obj.GetUID(), eventType: eventType}
	if tokens, known := r.correlator.spam.peek(about); known && tokens.free().After(now) {
		from = tokens.free()
	}
	r.actor.engine.answers(int64(from.Sub(now)))
	return from
}

func (r *Recorder) event(obj api.Object, seen message, rec *record, namespace string, now time.Time) *corev1.Event {
	about := seen.eventKey.subject
	apiVersion, kind := r.actor.engine.store.GroupVersionKind(about.ref.Kind).ToAPIVersionAndKind()
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: rec.name},
		InvolvedObject: corev1.ObjectReference{
			APIVersion:      apiVersion,
			Kind:            kind,
			Namespace:       obj.GetNamespace(),
			Name:            obj.GetName(),
			UID:             about.uid,
			ResourceVersion: obj.GetResourceVersion(),
		},
		Reason:              seen.eventKey.reason,
		Message:             seen.text,
		Source:              corev1.EventSource{Component: r.component},
		FirstTimestamp:      seconds(rec.first),
		LastTimestamp:       seconds(now),
		Count:               rec.count,
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
	name := fmt.Sprintf("%s.%016x", about, uint64(e.eventStamp))
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		sum := sha256.Sum256([]byte(name))
		name = fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
	}
	return name
}
