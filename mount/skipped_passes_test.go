package mount

import (
	"fmt"
	"testing"
	"time"

	"github.com/volsim/volsim/internal/core/engine"
)

func TestGrid(t *testing.T) {
	const ms = time.Millisecond
	for _, tc := range []struct {
		rule, name string
		arms       []time.Duration
		pass       time.Duration // how long a pass takes
		again      bool          // the first pass arms again
		want       []time.Duration
	}{
		{"MNT-001", "the first pass is at once", []time.Duration{0}, 0, false, []time.Duration{0}},
		{"MNT-001", "later ones are on the grid", []time.Duration{0, 130 * ms, 999 * ms}, 0, false, []time.Duration{0, 200 * ms, 1000 * ms}},
		{"MNT-001", "the pause counts from the end of a pass", []time.Duration{0, 250 * ms}, 30 * ms, false, []time.Duration{0, 330 * ms}},
		{"MNT-001", "arming twice is the same as once", []time.Duration{10 * ms, 20 * ms, 30 * ms}, 0, false, []time.Duration{100 * ms}},
		{"MNT-001", "a pass that arms again", []time.Duration{0}, 0, true, []time.Duration{0, 100 * ms}},
		{"MNT-014", "on a tick", []time.Duration{300 * ms}, 0, false, []time.Duration{300 * ms}},
		{"MNT-002", "nothing to do", nil, 0, false, nil},
	} {
		t.Run(tc.rule+" "+tc.name, func(t *testing.T) {
			e, err := engine.New(engine.Config{})
			if err != nil {
				t.Fatal(err)
			}
			start := e.Now()
			var got []time.Duration
			_, err = e.NewActor("a", func(a *engine.Actor) {
				var g *grid
				g = newGrid(a, "pass", start, 100*ms, rankReconcile, func(p *engine.Process) {
					got = append(got, p.Now().Sub(start))
					if tc.pass > 0 {
						p.Sleep(tc.pass)
					}
					if tc.again && len(got) == 1 {
						g.Arm()
					}
				})
				for _, at := range tc.arms {
					a.After(at, "arm", func(*engine.Process) { g.Arm() })
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			e.Advance(10 * time.Second)
			want(t, tc.rule, fmt.Sprint(got), fmt.Sprint(tc.want))
		})
	}
}

// Work at rest does not keep Settle going; what is armed in earnest does.
func TestGridInTheBackground(t *testing.T) {
	e, _ := engine.New(engine.Config{})
	passes := 0
	var g *grid
	_, err := e.NewActor("a", func(a *engine.Actor) {
		g = newGrid(a, "pass", e.Now(), time.Minute, rankReport, func(*engine.Process) { passes++ })
		g.RestAt(e.Now().Add(time.Second))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Settle(time.Hour); err != nil || passes != 0 {
		t.Fatalf("MNT-001: Settle = %v after %d passes, want none", err, passes)
	}
	g.ArmAt(e.Now().Add(time.Second))
	if err := e.Settle(time.Hour); err != nil || passes != 1 {
		t.Fatalf("MNT-001: Settle = %v after %d passes, want one", err, passes)
	}
}
