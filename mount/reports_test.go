package mount_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/proof/history"
	"github.com/volsim/volsim/trace"
)

// TestUnchangedReports: MNT-008, ATT-044, skipping reports that change nothing has exactly the effects of making all of them.
func TestUnchangedReports(t *testing.T) {
	for _, opts := range []history.Options{
		{Steps: 60, SpansOnly: true, Nodes: true},
		{Steps: 60, SpansOnly: true, Nodes: true, Faults: true, WritesOnly: true},
		{Steps: 60, SpansOnly: true, Nodes: true, Faults: true, WritesOnly: true, UserEdits: true},
	} {
		differ := 0
		for seed := uint64(200); seed < 225; seed++ {
			some, few := runReports(t, opts, seed, func(*volsim.Config) {})
			all, many := runReports(t, opts, seed, func(cfg *volsim.Config) { internals.Options(cfg).NoSkipping = true })
			if some != all {
				t.Fatalf("seed %d of %+v: what all reports do differs (+):\n%s", seed, opts,
					cmp.Diff(strings.Split(some, "\n"), strings.Split(all, "\n")))
			}
			if few < many {
				differ++
			}
		}
		require.Positive(t, differ, "no report is ever skipped")
	}
}

// reads counts how often a claim is read, and has all go well.
type reads struct{ claims int }

func (r *reads) Inject(call api.Call) api.Fault {
	if call.Verb == "get" && call.Kind == string(api.PersistentVolumeClaim) {
		r.claims++
	}
	return api.Fault{}
}

func (r *reads) Active(string) bool { return false }

// TestSkippedSyncs: MNT-009, MNT-069, where requests take no time, skipping the syncs of pods that run well has the same effects as
// running all of them.
func TestSkippedSyncs(t *testing.T) {
	opts, differ := history.Options{Steps: 60, SpansOnly: true, Nodes: true}, 0
	for seed := uint64(300); seed < 325; seed++ {
		var few, many reads
		some, _ := runReports(t, opts, seed, func(cfg *volsim.Config) { cfg.Injector = &few })
		all, _ := runReports(t, opts, seed, func(cfg *volsim.Config) { cfg.Injector, internals.Options(cfg).NoSkipping = &many, true })
		if some != all {
			t.Fatalf("seed %d: what all syncs do differs (+):\n%s", seed, cmp.Diff(strings.Split(some, "\n"), strings.Split(all, "\n")))
		}
		if few.claims < many.claims {
			differ++
		}
	}
	require.Greater(t, differ, 10, "few syncs are skipped")
}

// These fields of reports contain only the time, or count the reports.
var (
	heartbeat = regexp.MustCompile(`status\.conditions\[\d\]\.lastHeartbeatTime \S+ -> \S+(, )?`)
	version   = regexp.MustCompile(`[vV]ersion (none|"\d+") -> (none|"\d+")`)
)

// runReports runs a history and then advances without users until everything is idle. It returns the effects, and the number of unchanged
// reports.
func runReports(t *testing.T, opts history.Options, seed uint64, change func(*volsim.Config)) (string, int) {
	cfg, _ := history.Config(0)
	change(&cfg)
	c, err := volsim.New(cfg)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, history.Run(c, rand.New(rand.NewPCG(seed, 7)).IntN, opts, nil))
	require.NoError(t, history.Recover(c, 40*time.Minute))
	var out strings.Builder
	unchanged := 0
	for e := range c.Trace().Entries() {
		offset := e.Time.Sub(engine.DefaultStart)
		switch e.Type {
		case trace.Write:
			changes := fmt.Sprint(trace.Changes(e.Old, e.New))
			if e.Object.Kind == api.Node && e.Verb == "patch-status" {
				if changes = heartbeat.ReplaceAllString(changes, ""); strings.Trim(changes, "[]") == "" {
					unchanged++
					continue
				}
			}
			fmt.Fprintln(&out, offset, e.Actor, e.Verb, e.Object, version.ReplaceAllString(changes, "version"), e.Err)
		case trace.Emitted:
			fmt.Fprintln(&out, offset, e.Actor, e.Object, e.Verb, e.Reason, e.Text)
		case trace.Storage:
			fmt.Fprintln(&out, offset, e.Call, e.Verb, e.Err)
		}
	}
	return out.String(), unchanged
}
