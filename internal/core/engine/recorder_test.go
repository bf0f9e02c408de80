package engine_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/trace"
)

// press is an actor that emits Events in the name of the user's process.
type press struct {
	t        *testing.T
	e        *engine.Engine
	a        *engine.Actor
	recorder *engine.Recorder
}

func newPress(t *testing.T, cfg engine.Config) *press {
	p := &press{t: t, e: newEngine(t, cfg)}
	p.a = startActor(t, p.e, "a", func(a *engine.Actor) { p.recorder = a.NewRecorder("controller") })
	return p
}

func (p *press) warn(obj api.Object, text string) {
	p.recorder.Event(p.e.User(), obj, corev1.EventTypeWarning, "Failed", text)
}

// stored lists the stored Events as "object reason ×count text", sorted.
func (p *press) stored() []string {
	var events []string
	for _, ev := range p.e.Store().Events.List() {
		events = append(events, fmt.Sprintf("%s %s ×%d %s", ev.InvolvedObject.Name, ev.Reason, ev.Count, ev.Message))
	}
	slices.Sort(events)
	return events
}

func (p *press) want(events ...string) {
	p.t.Helper()
	if diff := cmp.Diff(events, p.stored()); diff != "" {
		p.t.Errorf("stored Events (-want +got):\n%s", diff)
	}
}

func TestEventFields(t *testing.T) {
	p := newPress(t, engine.Config{})
	n := mustCreate(t, p.e.Store().Nodes, node("n", nil))
	c := mustCreate(t, p.e.Store().Claims, claim("shop/data"))
	p.e.Advance(1500 * time.Millisecond)
	p.recorder.Event(p.e.User(), n, corev1.EventTypeNormal, "Reason", "100%")
	p.recorder.Event(p.e.User(), c, corev1.EventTypeWarning, "Other", "%d of %s", 1, "two")
	p.e.Advance(time.Minute)
	p.recorder.Event(p.e.User(), n, corev1.EventTypeNormal, "Reason", "100%")

	at := func(d time.Duration) metav1.Time { return metav1.NewTime(engine.DefaultStart.Add(d)) }
	want := []*corev1.Event{
		{
			ObjectMeta:          metav1.ObjectMeta{Namespace: "default"},
			InvolvedObject:      corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: "n", UID: n.UID, ResourceVersion: "1"},
			Reason:              "Reason",
			Message:             "100%",
			Source:              corev1.EventSource{Component: "controller"},
			FirstTimestamp:      at(time.Second),
			LastTimestamp:       at(61 * time.Second),
			Count:               2,
			Type:                "Normal",
			ReportingController: "controller",
		},
		{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop"},
			InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: "shop", Name: "data",
				UID: c.UID, ResourceVersion: "2"},
			Reason:              "Other",
			Message:             "1 of two",
			Source:              corev1.EventSource{Component: "controller"},
			FirstTimestamp:      at(time.Second),
			LastTimestamp:       at(time.Second),
			Count:               1,
			Type:                "Warning",
			ReportingController: "controller",
		},
	}
	stored := p.e.Store().Events.List()
	var got []*corev1.Event
	for i, pattern := range []string{`^n\.[0-9a-f]{16}$`, `^data\.[0-9a-f]{16}$`} {
		if !regexp.MustCompile(pattern).MatchString(stored[i].Name) {
			t.Errorf("the Event's name is %q, want it to match %s", stored[i].Name, pattern)
		}
		ev := *stored[i]
		ev.ObjectMeta = metav1.ObjectMeta{Namespace: ev.Namespace}
		got = append(got, &ev)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stored Events (-want +got):\n%s", diff)
	}
}

func TestEventNames(t *testing.T) {
	p := newPress(t, engine.Config{})
	n := mustCreate(t, p.e.Store().Nodes, node("n", nil))
	for i := range 20 {
		p.recorder.Event(p.e.User(), n, corev1.EventTypeNormal, fmt.Sprint("Reason", i), "text")
	}
	if got := p.e.Store().Events.Len(); got != 20 {
		t.Errorf("%d Events with names of their own within one instant, want 20", got)
	}
	if _, ok := p.e.Store().Events.Lookup(fmt.Sprintf("default/n.%x", engine.DefaultStart.UnixNano())); !ok {
		t.Errorf("no Event is named after the time in nanoseconds")
	}

	long := mustCreate(t, p.e.Store().Nodes, node(strings.Repeat("n", 250), nil))
	p.warn(long, "text")
	uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	for _, ev := range p.e.Store().Events.List() {
		if ev.InvolvedObject.Name == long.Name && !uuid.MatchString(ev.Name) {
			t.Errorf("the Event about a long name is called %q, want it to look like a uuid", ev.Name)
		}
	}
	if got := p.e.Store().Events.Len(); got != 21 {
		t.Errorf("%d Events, want 21", got)
	}
}

func TestEventCorrelation(t *testing.T) {
	tests := []struct {
		rule string
		name string
		do   func(p *press, n, other *corev1.Node)
		want []string
	}{
		{
			rule: "BIND-004", name: "the same again is counted",
			do:   func(p *press, n, _ *corev1.Node) { p.warn(n, "a"); p.warn(n, "b"); p.warn(n, "a") },
			want: []string{"n Failed ×1 b", "n Failed ×2 a"},
		},
		{
			rule: "BIND-004", name: "another object, type or reason is not the same",
			do: func(p *press, n, other *corev1.Node) {
				p.warn(n, "a")
				p.warn(other, "a")
				p.recorder.Event(p.e.User(), n, corev1.EventTypeNormal, "Failed", "a")
				p.recorder.Event(p.e.User(), n, corev1.EventTypeWarning, "Other", "a")
			},
			want: []string{"n Failed ×1 a", "n Failed ×1 a", "n Other ×1 a", "other Failed ×1 a"},
		},
		{
			rule: "BIND-004", name: "25 at once are stored; what follows is only counted",
			do: func(p *press, n, other *corev1.Node) {
				for range 30 {
					p.warn(n, "a")
				}
				p.warn(n, "b")
				p.warn(other, "a")
				p.recorder.Event(p.e.User(), n, corev1.EventTypeNormal, "Fine", "a")
			},
			want: []string{"n Failed ×25 a", "n Fine ×1 a", "other Failed ×1 a"},
		},
		{
			rule: "BIND-004", name: "one more is stored every 300 s",
			do: func(p *press, n, _ *corev1.Node) {
				for range 26 {
					p.warn(n, "a")
				}
				p.e.Advance(300*time.Second - 1)
				p.warn(n, "a") // the 27th
				p.e.Advance(1)
				p.warn(n, "a") // the 28th
				p.warn(n, "a")
			},
			want: []string{"n Failed ×28 a"},
		},
		{
			rule: "BIND-004", name: "a rest earns a burst, and not more",
			do: func(p *press, n, _ *corev1.Node) {
				p.warn(n, "a")
				p.e.Advance(1000 * time.Hour)
				for range 30 {
					p.warn(n, "a")
				}
			},
			want: []string{"n Failed ×26 a"},
		},
		{
			rule: "BIND-004", name: "what was too much at first is created with its count",
			do: func(p *press, n, _ *corev1.Node) {
				for range 25 {
					p.warn(n, "a")
				}
				p.warn(n, "b")
				p.e.Advance(300 * time.Second)
				p.warn(n, "b")
			},
			want: []string{"n Failed ×2 b", "n Failed ×25 a"},
		},
		{
			rule: "BIND-004", name: "from the tenth text on similar ones are combined",
			do: func(p *press, n, _ *corev1.Node) {
				for i := range 12 {
					p.warn(n, fmt.Sprintf("text %02d", i))
				}
				p.warn(n, "text 03")
				p.recorder.Event(p.e.User(), n, corev1.EventTypeWarning, "Other", "text 20")
			},
			want: []string{
				"n Failed ×1 text 00", "n Failed ×1 text 01", "n Failed ×1 text 02", "n Failed ×1 text 04",
				"n Failed ×1 text 05", "n Failed ×1 text 06", "n Failed ×1 text 07", "n Failed ×1 text 08",
				"n Failed ×2 text 03", "n Failed ×3 (combined from similar events): text 11", "n Other ×1 text 20",
			},
		},
		{
			rule: "BIND-004", name: "similar ones count for 600 s after the last",
			do: func(p *press, n, _ *corev1.Node) {
				for i := range 9 {
					p.warn(n, fmt.Sprintf("text %02d", i))
				}
				p.e.Advance(600 * time.Second)
				p.warn(n, "still similar")
				p.e.Advance(600*time.Second + 1)
				p.warn(n, "new")
			},
			want: []string{
				"n Failed ×1 (combined from similar events): still similar", "n Failed ×1 new",
				"n Failed ×1 text 00", "n Failed ×1 text 01", "n Failed ×1 text 02", "n Failed ×1 text 03", "n Failed ×1 text 04",
				"n Failed ×1 text 05", "n Failed ×1 text 06", "n Failed ×1 text 07", "n Failed ×1 text 08",
			},
		},
		{
			rule: "BIND-004", name: "a combined Event that was taken away comes back with its count",
			do: func(p *press, n, _ *corev1.Node) {
				for i := range 11 {
					p.warn(n, fmt.Sprintf("text %02d", i))
				}
				p.clear()
				p.warn(n, "text 50")
				p.warn(n, "text 51")
			},
			want: []string{"n Failed ×4 (combined from similar events): text 51"},
		},
		{
			rule: "BIND-004", name: "an Event that was taken away comes back with its count",
			do: func(p *press, n, _ *corev1.Node) {
				p.warn(n, "a")
				p.warn(n, "a")
				p.clear()
				p.warn(n, "a")
				p.warn(n, "a")
			},
			want: []string{"n Failed ×4 a"},
		},
		{
			rule: "BIND-004", name: "what others write into an Event does not stop the count",
			do: func(p *press, n, _ *corev1.Node) {
				p.warn(n, "a")
				p.warn(n, "a")
				p.edit(func(ev *corev1.Event) { ev.Count = 40 })
				p.warn(n, "a")
				p.warn(n, "a")
			},
			want: []string{"n Failed ×4 a"},
		},
		{
			rule: "BIND-004", name: "of 4096 the one that was used least recently is forgotten",
			do: func(p *press, n, other *corev1.Node) {
				p.warn(n, "a")
				p.warn(other, "a")
				p.warn(n, "a")
				for i := range 4095 {
					p.warn(node(fmt.Sprint("crowd", i), nil), "crowd")
				}
				p.warn(n, "a")     // is known, and the first of the crowd is still
				p.warn(other, "a") // is not
				for _, ev := range p.e.Store().Events.List() {
					if ev.Message == "crowd" {
						p.delete(ev)
					}
				}
			},
			want: []string{"n Failed ×3 a", "other Failed ×1 a", "other Failed ×1 a"},
		},
		{
			rule: "BIND-004", name: "a crash forgets it all",
			do: func(p *press, n, _ *corev1.Node) {
				for range 30 {
					p.warn(n, "a")
				}
				p.a.Crash()
				p.a.Start()
				p.warn(n, "a")
			},
			want: []string{"n Failed ×1 a", "n Failed ×25 a"},
		},
		{
			rule: "BIND-004", name: "what is no Event is dropped",
			do: func(p *press, n, _ *corev1.Node) {
				p.recorder.Event(p.e.User(), n, "Error", "Failed", "no such type")
				p.recorder.Event(p.e.User(), nil, corev1.EventTypeWarning, "Failed", "about nothing")
			},
		},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			p := newPress(t, engine.Config{})
			n := mustCreate(t, p.e.Store().Nodes, node("n", nil))
			other := mustCreate(t, p.e.Store().Nodes, node("other", nil))
			test.do(p, n, other)
			p.want(test.want...)
		})
	}
}

func (p *press) delete(ev *corev1.Event) {
	if _, err := p.e.Store().Events.Delete(api.KeyOf(ev), api.DeleteOptions{}); err != nil {
		p.t.Errorf("delete %s: %v", ev.Name, err)
	}
}

func (p *press) clear() {
	for _, ev := range p.e.Store().Events.List() {
		p.delete(ev)
	}
}

func (p *press) edit(change func(*corev1.Event)) {
	for _, ev := range p.e.Store().Events.List() {
		changed := ev.DeepCopy()
		change(changed)
		if _, err := p.e.Store().Events.Update(changed); err != nil {
			p.t.Errorf("update %s: %v", ev.Name, err)
		}
	}
}

// Every emitted Event is traced, stored or not; storing it is no write of the actor and takes no time.
func TestEventsInTheTrace(t *testing.T) {
	p := newPress(t, engine.Config{Trace: &trace.Trace{}, Latency: time.Second, Seed: 1})
	n := mustCreate(t, p.e.Store().Nodes, node("n", nil))
	startActor(t, p.e, "b", func(a *engine.Actor) {
		recorder := a.NewRecorder("b")
		a.Go("emit", func(proc *engine.Process) {
			for i := range 30 {
				recorder.Event(proc, n, corev1.EventTypeWarning, "Failed", "text %d", i)
			}
			if since(p.e) != 0 {
				t.Errorf("emitting took until +%v", since(p.e))
			}
		})
	})
	p.e.Advance(0)
	emitted := 0
	for entry := range p.e.Trace().Entries() {
		switch entry.Type {
		case trace.Emitted:
			if want := fmt.Sprint("text ", emitted); entry.Text != want || entry.Verb != "Warning" || entry.Reason != "Failed" || entry.Object.Key != "n" {
				t.Errorf("entry %+v, want %q", entry, want)
			}
			emitted++
		case trace.Started, trace.Crashed:
		default:
			t.Errorf("unexpected entry %+v", entry)
		}
	}
	if emitted != 30 {
		t.Errorf("%d entries, want 30", emitted)
	}
}
