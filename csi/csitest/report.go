package csitest

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/volsim/volsim/trace"
)

// Report is what a test of a driver found.
type Report struct {
	// Driver is the name of the driver and its version.
	Driver string
	// Shard is Config.Shard: the share of the stories that this report is about, "" for all.
	Shard string `json:",omitempty"`
	// Findings are what the driver does wrong, the most frequent ones first.
	Findings []Finding
	// Stories are the stories that ran, in order.
	Stories []StoryResult
	// Skipped are the stories that did not run, because the driver or the configuration lacks something.
	Skipped []Skipped
	// Kubernetes lists known faults of Kubernetes itself that occurred. The driver is not to blame for them.
	Kubernetes []string
	// Runs is the number of runs, Calls that of all calls to the driver.
	Runs, Calls int

	found int // runs with a finding
}

// StoryResult is the result of one story.
type StoryResult struct {
	Story string // its name
	About string // what happens in it
	Runs  int
	// Failed is the number of runs in which the driver did something wrong.
	Failed int
	// Stopped: not all runs were made, because the last ones failed and showed nothing new.
	Stopped bool
	// Incomplete says why the run without faults ended early although nothing was found that the driver does wrong, "" if it did not. Such a story
	// has not passed.
	Incomplete string
}

// Skipped is a story that did not run.
type Skipped struct {
	Story, About string
	Missing      string // what the driver or the configuration lacks
}

// Finding is one thing that the driver does wrong.
type Finding struct {
	Kind   string // what sort of mistake, such as repeat-fails
	Method string // the RPC, such as NodeStageVolume; "" if no single one is wrong
	// Section is the section of the CSI specification that requires otherwise, and Requirement what it requires.
	Section, Requirement string
	// Detail is what the driver does.
	Detail string
	// Calls are the shortest story that shows it.
	Calls []CallText
	// Why says why Kubernetes makes the last call.
	Why []Reason
	// Story and Replay are the run that shows it: Config.Replay.
	Story, Replay string
	// Recorded are the calls of the shortest story with their replies, for Config.Recorded; "" if the driver did not answer at the start.
	Recorded string `json:",omitempty"`
	// Runs is the number of runs that show it.
	Runs int

	trace  *trace.Trace // of the run; nil if the finding is from another process
	at     time.Time    // when the run shows it
	about  string       // what tells it from other findings of its kind and method, "" for nothing
	causes []cause      // other findings that may be why each run shows it
}

// Reason is a rule of Kubernetes that leads to a call.
type Reason struct {
	Rule string // its ID in docs/rules
	Text string // in words
}

// CallText is a call in words.
type CallText struct {
	Actor   string // who makes it, such as external-attacher or kubelet/n1
	Method  string
	Request string // as JSON
	Reply   string // as JSON, or the error
	Note    string // what went wrong on the way, "" for nothing
}

// add adds the flaws of a run.
func (r *Report) add(rec *recording, flaws []flaw) {
	r.Runs++
	for _, s := range rec.steps {
		if s.Call != nil {
			r.Calls++
		}
	}
	for _, text := range rec.known {
		if !slices.Contains(r.Kubernetes, text) {
			r.Kubernetes = append(r.Kubernetes, text)
		}
	}
	if len(flaws) > 0 {
		r.found++
	}
	for i, f := range flaws {
		if i > 0 && slices.ContainsFunc(flaws[:i], f.same) {
			continue
		}
		at := slices.IndexFunc(r.Findings, func(g Finding) bool { return g.Kind == string(f.kind) && g.Method == f.method && g.about == f.about })
		if at < 0 {
			r.Findings = append(r.Findings, newFinding(rec, f))
			continue
		}
		known := &r.Findings[at]
		known.Runs++
		if len(known.causes) > 0 && len(causes(f)) == 0 {
			other := newFinding(rec, f)
			other.Runs = known.Runs
			*known = other
			continue
		}
		if len(known.Calls) <= fewCalls || known.Runs > maxShrinks || len(known.causes) == 0 && len(causes(f)) > 0 {
			continue
		}
		if shorter := newFinding(rec, f); len(shorter.Calls) < len(known.Calls) {
			shorter.Runs = known.Runs
			*known = shorter
		}
	}
}

const (
	fewCalls   = 5  // a story of so few calls is short enough
	maxShrinks = 10 // runs of a finding that are tried for a shorter story
)

func newFinding(rec *recording, f flaw) Finding {
	steps := shrink(rec, f)
	section, text := requirement(f)
	at := time.Time{}
	for _, s := range steps {
		if s.Call != nil && s.Call.At.After(at) {
			at = s.Call.At
		}
	}
	return Finding{trace: rec.trace, at: at, about: f.about, causes: causes(f), Kind: string(f.kind), Method: f.method, Section: section, Requirement: text, Detail: f.detail, Calls: callTexts(steps),
		Why: why(rec.caps, f, steps), Story: rec.plan.story.name, Replay: rec.plan.String(), Recorded: record(rec, f, steps), Runs: 1}
}

// unasked returns an error, with what is missing, if no story ran and nothing was found; nil otherwise, and for the report of one shard.
func (r *Report) unasked() error {
	if len(r.Stories) > 0 || len(r.Findings) > 0 || r.Shard != "" {
		return nil
	}
	var missing []string
	for _, s := range r.Skipped {
		if text := "no " + s.Missing; !slices.Contains(missing, text) {
			missing = append(missing, text)
		}
	}
	return errors.New("no story was asked: " + strings.Join(missing, "; "))
}

func (r *Report) finish() {
	r.Findings = withoutConsequences(r.Findings)
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return cmp.Compare(b.Runs, a.Runs) })
	slices.Sort(r.Kubernetes)
}
