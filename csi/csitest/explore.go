package csitest

import (
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/csi/internal/replies"
	"github.com/volsim/volsim/storage"
)

// Check runs the stories against a driver and returns what it found. It returns an error for a configuration that does not work, and for a
// driver that does not answer at the start. If no story ran, because driver or configuration lack something, or a hook
// fails, it returns the report with an error.
func Check(cfg Config) (*Report, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Controller == nil {
		return checkRecorded(&cfg)
	}
	cfg.watchHooks()
	x := &explorer{cfg: &cfg, report: &Report{}, created: map[string]bool{}}
	selected, err := cfg.selected()
	if err != nil {
		return nil, err
	}
	var replay plan
	if cfg.Replay != "" {
		if replay, err = parsePlan(cfg.Replay); err != nil {
			return nil, err
		}
	}
	if cfg.Replay == "" {
		x.report.Shard = cfg.Shard
	}
	if x.caps, err = ask(&cfg); errors.Is(err, errNoDriver) {
		return nil, err
	} else if err != nil {
		x.gone(err)
		for _, s := range selected {
			x.skip(s)
		}
		return x.report, nil
	}
	cfg.limit, x.report.Driver = x.caps.Limit, x.caps.Driver
	x.list()
	x.listSnapshots()
	if cfg.Replay != "" {
		if err := x.replay(replay); err != nil {
			return nil, err
		}
		return x.result()
	}
	for _, s := range selected {
		if err := x.story(s); err != nil {
			if x.cfg.hooks() == nil {
				return nil, err
			}
			x.release()
			x.report.finish()
			return x.report, fmt.Errorf("test a CSI driver: %w", err)
		}
	}
	x.release()
	x.report.finish()
	return x.result()
}

// result returns the report, with an error if no story ran.
func (x *explorer) result() (*Report, error) {
	if err := x.report.unasked(); err != nil {
		return x.report, fmt.Errorf("test a CSI driver: %w", err)
	}
	return x.report, nil
}

// explorer runs stories.
type explorer struct {
	cfg     *Config
	report  *Report
	caps    capabilities
	number  int    // of the run
	broken  int    // runs in which the driver did not answer
	lacks   string // what the driver lacks, if the test has ended early
	retried string // story of which a run was made again
	// created are the kinds of volumes that the driver created, refusals the runs in which it refused to.
	created  map[string]bool
	refusals []refusal
}

// run executes a plan and adds what it shows to the report.
func (x *explorer) run(p plan) *recording {
	x.number++
	rec := execute(x.cfg, p, x.number)
	if rec.broken {
		x.broken++
	}
	if rec.broken && x.cfg.Restart != nil {
		for _, node := range append([]string{""}, slices.Sorted(maps.Keys(x.cfg.Nodes))...) {
			_ = x.cfg.Restart(node) // its error ends the test
		}
	}
	if err := x.cfg.hooks(); err != nil {
		rec.err = err
		return rec
	}
	if rec.gone != nil {
		x.gone(rec.gone)
	}
	if rec.err == nil {
		var flaws []flaw
		flaws = examine(rec, rec.steps)
		if rec.unsettled != nil && !blames(flaws) {
			rec.err = rec.unsettled
			return rec
		}
		x.note(rec)
		if kind, answer := refused(rec); kind != "" && len(flaws) > 0 {
			x.hold(rec, flaws, kind, answer)
			return rec
		}
		rec, flaws = x.again(rec, flaws)
		rec, flaws = x.confirm(rec, flaws)
		x.report.add(rec, withoutExcused(rec, flaws))
		if rec.crowded != "" {
			x.broken, x.lacks = maxBroken+1, rec.crowded
		}
	}
	return rec
}

// gone ends the test, because the driver does not answer at the start of a run, or answers what no cluster can use.
func (x *explorer) gone(err error) {
	x.broken, x.lacks = maxBroken+1, "driver that answers"
	f := flaw{kind: broken, method: "GetPluginInfo"}
	section, text := requirement(f)
	detail, calls := "the driver does not answer when a run begins: "+err.Error(), []CallText(nil)
	if status.Code(err) == codes.Unimplemented {
		detail = "the driver does not serve csi.v1, so it is for another version of CSI: " + err.Error()
	}
	if e, ok := errors.AsType[*replies.Error](err); ok {
		f.kind, section, text, detail = invalid, f.method, e.Required, e.Text
		calls = []CallText{{Actor: "node-driver-registrar", Method: f.method, Request: "{}", Reply: compact(e.Reply)}}
	}
	if e, ok := errors.AsType[*startError](err); ok {
		f.kind, f.method, section, text, detail, calls = e.kind, e.method, e.method, e.required, e.text, e.calls
	}
	if f.kind != broken {
		x.lacks = "valid reply to " + f.method
	}
	x.report.Findings = append(x.report.Findings, Finding{Kind: string(f.kind), Method: f.method, Section: section, Requirement: text, Detail: detail,
		Calls: calls, Why: firstCall[f.method], Runs: 1})
}

// list tries ListVolumes. If it does not work, that is a finding, and volumes are not compared.
func (x *explorer) list() {
	if !x.caps.List {
		return
	}
	_, err := (&run{cfg: x.cfg}).list()
	if code := status.Code(err); err == nil || code == codes.Unknown && !errors.Is(err, errEndless) || slices.Contains(transient, code) {
		return
	}
	x.cfg.unlisted, x.caps.List = true, false
	x.unlisted(flaw{kind: inventories, method: "ListVolumes"}, "the driver has LIST_VOLUMES, and ListVolumes fails: "+err.Error(), err, listing)
}

// listSnapshots tries ListSnapshots. If its pages do not end, that is a finding, and snapshots are not compared.
func (x *explorer) listSnapshots() {
	if !x.caps.ListSnapshots {
		return
	}
	if _, err := (&run{cfg: x.cfg}).allSnapshots(); errors.Is(err, errEndless) {
		x.cfg.endless, x.caps.ListSnapshots = true, false
		x.unlisted(flaw{kind: inventories, method: "ListSnapshots"}, "the driver has LIST_SNAPSHOTS, and ListSnapshots fails: "+err.Error(), err,
			comparing)
	}
}

// unlisted reports that a list does not work.
func (x *explorer) unlisted(f flaw, detail string, err error, why []Reason) {
	section, text := requirement(f)
	x.report.Findings = append(x.report.Findings, Finding{Kind: string(f.kind), Method: f.method, Section: section, Requirement: text,
		Detail: detail, Why: why, Runs: 1, Calls: []CallText{{Actor: auditor, Method: f.method, Request: "{}", Reply: err.Error()}}})
}

// skip reports that a story does not run because the driver does not answer, or answers what no cluster can use.
func (x *explorer) skip(s *story) {
	x.report.Skipped = append(x.report.Skipped, Skipped{Story: s.name, About: s.about, Missing: orElse(x.lacks, "driver that answers")})
}

// story runs one story: without faults, with each fault at each call, with pairs of faults, and in other orders.
func (x *explorer) story(s *story) error {
	if missing := s.needs(x.cfg, x.caps); missing != "" {
		x.report.Skipped = append(x.report.Skipped, Skipped{Story: s.name, About: s.about, Missing: missing})
		return nil
	}
	if x.broken > maxBroken {
		x.skip(s)
		return nil
	}
	before, found := x.number, x.report.found
	first := x.run(plan{story: s})
	switch {
	case first.gone != nil:
		x.skip(s)
		return nil
	case first.err != nil:
		return first.err
	case first.refused != "":
		x.report.Skipped = append(x.report.Skipped, Skipped{Story: s.name, About: s.about, Missing: first.refused})
		return nil
	}
	same, findings := 0, len(x.report.Findings)
	stopped := false
	for _, p := range x.plans(s, first) {
		if same++; len(x.report.Findings) > findings || x.report.found == found {
			same, findings = 0, len(x.report.Findings)
		}
		if stopped = same > enough && x.report.found-found > enough || x.broken > maxBroken; stopped {
			break
		}
		x.run(p)
		if stopped = x.cfg.hooks() != nil; stopped {
			break
		}
	}
	x.report.Stories = append(x.report.Stories, StoryResult{Story: s.name, About: s.about, Runs: x.number - before, Failed: x.report.found - found,
		Stopped: stopped, Incomplete: first.incomplete(x.report.found > found)})
	if x.cfg.Progress != nil {
		x.cfg.Progress(s.name, x.number-before)
	}
	return x.cfg.hooks()
}

// replay makes one run. Without a finding, each fault of the plan must have been injected. A recorded finding may have faults at calls that only
// the wrong driver causes, so there it is no error.
func (x *explorer) replay(p plan) error {
	rec := x.run(p)
	switch s := p.story; {
	case rec.gone != nil:
		x.skip(s)
	case rec.err != nil:
		return rec.err
	case rec.refused != "":
		x.report.Skipped = append(x.report.Skipped, Skipped{Story: s.name, About: s.about, Missing: rec.refused})
	default:
		x.report.Stories = append(x.report.Stories, StoryResult{Story: s.name, About: s.about, Runs: x.number, Failed: x.report.found,
			Incomplete: rec.incomplete(x.report.found > 0)})
	}
	x.release()
	x.report.finish()
	if len(x.report.Findings) == 0 && rec.refused == "" && x.cfg.Recorded == "" {
		return rec.uninjected()
	}
	return nil
}

// uninjected returns an error for a fault of the plan that was not injected, nil for none.
func (rec *recording) uninjected() error {
	for _, f := range rec.plan.faults {
		if f.call > len(rec.calls) {
			return fmt.Errorf("replay %q: faults can hit %s of the story; %s@%d was not injected", rec.plan, count(len(rec.calls), "call"), f.kind, f.call)
		}
		if call := rec.calls[f.call-1]; !fits(f.kind, call) {
			return fmt.Errorf("replay %q: call %d is %s of %s; %s@%d was not injected", rec.plan, f.call, call.Verb, call.Actor, f.kind, f.call)
		}
	}
	return nil
}

// incomplete says why a run ended early, "" if it did not, the driver is to blame, or the specification allows it.
func (rec *recording) incomplete(flawed bool) string {
	switch {
	case !flawed && rec.crowded != "":
		return "no " + rec.crowded
	case flawed || rec.excused:
		return ""
	case rec.cut == "" && len(rec.missed) > 0:
		return rec.missed[0] + ": not reached"
	}
	return rec.cut
}

// maxBroken is the number of runs with a call that the driver did not answer after which the test ends: each may cost Config.Limit.
const maxBroken = 20

// enough is the number of failing runs without a new finding after which a story ends: more runs would show the same again.
const enough = 20

// plans returns all runs of a story but the first: each fault at each call, pairs of faults, and other orders.
func (x *explorer) plans(s *story, first *recording) []plan {
	var plans []plan
	single := x.singles(s, first)
	for i, f := range single {
		if x.cfg.every > 1 && i%x.cfg.every != 0 {
			continue
		}
		plans = append(plans, plan{story: s, faults: []fault{f}})
	}
	for _, pair := range pairs(s, single, x.cfg.Pairs) {
		plans = append(plans, plan{story: s, faults: pair})
	}
	for seed := range max(x.cfg.Seeds, 0) {
		p := plan{story: s, seed: int64(seed) + 1}
		plans = append(plans, p)
		if len(single) > 0 {
			p.faults = []fault{single[random(s, p.seed).Intn(len(single))]}
			plans = append(plans, p)
		}
	}
	return plans
}

// singles returns each fault at each call of a run.
func (x *explorer) singles(s *story, rec *recording) []fault {
	var all []fault
	for _, kind := range x.cfg.kinds() {
		for i, call := range rec.calls {
			if x.applies(kind, call, rec.calls[i+1:]) {
				all = append(all, fault{call: i + 1, kind: kind})
			}
		}
	}
	return all
}

// applies reports whether a fault makes sense for a call. later are the calls after it.
func (x *explorer) applies(kind string, call api.Call, later []api.Call) bool {
	op := storage.Op(call.Verb)
	switch kind {
	case exhausted:
		return op == storage.Create || op == storage.Expand || op == storage.CreateSnapshot
	case untilDetached:
		return x.caps.Attach && x.caps.Online && (op == storage.Expand || op == storage.Modify)
	case untilDeleted:
		return fits(kind, call) && slices.ContainsFunc(later, func(c api.Call) bool { return c.Verb == string(storage.Delete) })
	}
	return fits(kind, call)
}

// pairs chooses pairs of faults of two calls.
func pairs(s *story, single []fault, n int) [][]fault {
	var all [][]fault
	source := random(s, 0)
	for range n {
		if len(single) < 2 {
			break
		}
		a, b := single[source.Intn(len(single))], single[source.Intn(len(single))]
		if a.call > b.call {
			a, b = b, a
		}
		if a.call != b.call {
			all = append(all, []fault{a, b})
		}
	}
	return all
}

// random returns a source of random numbers that depends on the story and the seed only.
func random(s *story, seed int64) *rand.Rand {
	for _, c := range s.name {
		seed = seed*31 + int64(c)
	}
	return rand.New(rand.NewSource(seed))
}
