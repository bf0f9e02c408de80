package engine

import (
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
	correlator correlator
	log        *klog.Logger
}

// NewRecorder gives the actor a recorder. component is the source in the Events.
func (a *Actor) NewRecorder(component string) *Recorder {
	r := a.engine.memory.recorders.next()
	*r = Recorder{actor: a, correlator: newCorrelator(component)}
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
		p.Record(trace.Entry{Type: trace.Emitted, Object: p.engine.refTo(obj), Verb: eventType, Reason: reason, Text: text})
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
	seen, text, ok := r.correlator.correlate(r.correlator.events(about, reason), text, p.engine.instant())
	if seen.stamp == 0 {
		seen.stamp = p.engine.nextStamp()
	}
	if !ok {
		return
	}
	emitted := r.emission(obj, seen, text)
	if p.engine.defers(&emitted) {
		r.correlator.stored(seen, text, seen.count, seen.first)
		return
	}
	var stored *corev1.Event
	var err error
	if event, exists := p.engine.stored(&emitted); exists {
		stored, err = p.engine.store.Events.Replace(event, api.Main)
	} else {
		stored, err = p.engine.store.Events.CreateWith(event, store.CreateOptions{Owned: true})
	}
	if err == nil {
		r.correlator.stored(seen, text, stored.Count, stored.FirstTimestamp.Unix())
	}
}

func (e *Engine) instant() instant { return instant{e.Now(), e.now} }

func subjectOf(obj api.Object, eventType string) subject {
	return subject{kind: api.KindOf(obj), namespace: obj.GetNamespace(), name: obj.GetName(), uid: obj.GetUID(), warning: eventType == corev1.EventTypeWarning}
}

// Dropped counts n more Events that are not stored, for a caller that skips repeated identical Events: the next stored one includes them
// in its count. At least one such Event must have been emitted, and all n must fall before [Recorder.StoredFrom]. They are not traced.
func (r *Recorder) Dropped(obj api.Object, eventType, reason, text string, n int) {
	if n > 0 {
		about := r.correlator.events(subjectOf(obj, eventType), reason)
		r.correlator.count(about, text, n, r.actor.engine.instant())
	}
}

// StoredFrom is the time from which on an Event of that type about obj is stored: now, unless there were too many.
func (r *Recorder) StoredFrom(obj api.Object, eventType string) time.Time {
	e := r.actor.engine
	wait := time.Duration(0)
	if about := r.correlator.find(subjectOf(obj, eventType)); about != nil {
		wait = max(0, about.tokens.free()-e.now)
	}
	e.answers(int64(wait))
	return e.Now().Add(wait)
}

// seconds is the time with the precision of API objects.
func seconds(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }
