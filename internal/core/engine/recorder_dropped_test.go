package engine_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/engine"
)

// TestDropped: BIND-004, Events that are only counted, since none of them would be stored, count like emitted ones.
func TestDropped(t *testing.T) {
	// play says the same in each of so many periods, and counts what it emits.
	play := func(texts int, few bool) (stored string, emitted int) {
		p := newPress(t, engine.Config{})
		n := mustCreate(t, p.e.Store().Nodes, node("n", nil))
		for i := range texts {
			p.warn(n, fmt.Sprint("text ", i))
		}
		dropped := 0
		for range 40_000 {
			if few && p.recorder.StoredFrom(n, corev1.EventTypeWarning).After(p.e.Now()) {
				dropped++
			} else {
				p.recorder.Dropped(n, corev1.EventTypeWarning, "Failed", "no", dropped)
				p.warn(n, "no")
				emitted, dropped = emitted+1, 0
			}
			p.e.Advance(100 * time.Millisecond)
		}
		if got := p.recorder.StoredFrom(n, corev1.EventTypeNormal); !got.Equal(p.e.Now()) {
			t.Errorf("BIND-004: StoredFrom = %v for another type, want now", got)
		}
		all := p.stored()
		stored = all[len(all)-1] + " and from " + p.recorder.StoredFrom(n, corev1.EventTypeWarning).Sub(p.e.Now()).String()
		return stored, emitted
	}
	for _, tt := range []struct {
		rule, name string
		texts      int // of others before
		want       string
	}{
		{"BIND-004", "the same text", 0, "n Failed ×39001 no and from 3m20s"},
		{"BIND-004", "one that is combined with others", 12, "n Failed ×39004 (combined from similar events): no and from 3m20s"},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			each, many := play(tt.texts, false)
			some, few := play(tt.texts, true)
			if each != tt.want || some != tt.want || few*100 > many {
				t.Errorf("BIND-004: %d emitted: %s; %d emitted: %s; want %s", many, each, few, some, tt.want)
			}
		})
	}
}
