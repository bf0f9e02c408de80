package binder_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/proof/history"
	"github.com/volsim/volsim/trace"
)

// TestResyncSkipsCleanObjects: BIND-032, a resync that skips clean objects has exactly the effects of one that syncs every object.
func TestResyncSkipsCleanObjects(t *testing.T) {
	lag := func(d time.Duration) map[string]time.Duration {
		return map[string]time.Duration{actors.PersistentVolume: d}
	}
	tests := []struct {
		name string
		opts history.Options
		lag  map[string]time.Duration
	}{
		{name: "users", opts: history.Options{Steps: 50}},
		{name: "users who edit the fields of controllers", opts: history.Options{Steps: 50, UserEdits: true}},
		{name: "a watch that lags", opts: history.Options{Steps: 50, UserEdits: true}, lag: lag(700 * time.Millisecond)},
		{name: "a watch that lags by more than a resync", opts: history.Options{Steps: 50, UserEdits: true}, lag: lag(17 * time.Second)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				picks := rapid.SliceOfN(rapid.IntRange(0, 1<<20), 300, 300).Draw(r, "picks")
				test.opts.SpansOnly = true
				run := func(full bool) string {
					cfg, _ := history.Config(0)
					internals.Options(&cfg).NoSkipping, cfg.Lag = full, test.lag
					return runPicks(r, cfg, test.opts, picks)
				}
				some, all := run(false), run(true)
				if some != all {
					r.Fatalf("what a full resync does differs (+ is the full one):\n%s", cmp.Diff(strings.Split(some, "\n"), strings.Split(all, "\n")))
				}
			})
		})
	}
}

// runPicks runs the history of the picks, and then 2 minutes without users. It returns all effects.
func runPicks(r *rapid.T, cfg volsim.Config, opts history.Options, picks []int) string {
	c, err := volsim.New(cfg)
	if err != nil {
		r.Fatal(err)
	}
	at := 0
	choose := func(n int) int {
		at++
		return picks[at%len(picks)] % n
	}
	if err := history.Run(c, choose, opts, nil); err != nil {
		r.Fatal(err)
	}
	if err := history.Recover(c, 2*time.Minute); err != nil {
		r.Fatal(err)
	}
	var out strings.Builder
	for e := range c.Trace().Entries() {
		offset := e.Time.Sub(engine.DefaultStart)
		switch e.Type {
		case trace.Write:
			fmt.Fprintln(&out, offset, e.Actor, e.Verb, e.Object, version(e.Old), version(e.New), trace.Changes(e.Old, e.New), e.Err)
		case trace.Emitted:
			fmt.Fprintln(&out, offset, e.Actor, e.Object, e.Verb, e.Reason, e.Text)
		case trace.Storage:
			fmt.Fprintln(&out, offset, e.Call, e.Verb, e.Err)
		}
	}
	return out.String()
}

// version returns the resourceVersion of an object, "" for nil.
func version(obj api.Object) string {
	if obj == nil {
		return ""
	}
	return obj.GetResourceVersion()
}
