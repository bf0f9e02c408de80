package script

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/internal/core/engine"
)

// Options control a run. The zero value runs the script as it is written.
type Options struct {
	// Seed replaces all seeds that the script names; nil keeps them.
	Seed *int64
	// Choose replaces all seeds: it becomes volsim.Config.Choose, and the script runs once. Nil keeps the seeds.
	Choose func(n int) int
	// Update collects the outputs that cmp and trace would compare with files; Result.Archive contains them.
	Update bool
	// Continue runs the remaining lines after a failed expectation. By default the first failure ends the run.
	Continue bool
	// Until advances virtual time after the last line to this long after the start; zero does not.
	Until time.Duration
	// Out receives each command and its output; nil discards them.
	Out io.Writer
	// Log, when set, sets LogV and LogModules of volsim.Config; Result.Log contains the log.
	Log *LogOptions
	// Server makes the API server of a cluster, for scripts with config server=true. With nil such scripts fail.
	Server func(*volsim.Cluster) Server
	// Standard adds the components that make the objects of a real cluster, by name; with nil scripts with config standard-objects fail.
	Standard func(c *volsim.Cluster, names []string) error
	// Policies lets the admission policies of a cluster take effect; with nil they have none.
	Policies func(*volsim.Cluster)
	// Quiet: the caller does not read the output of reading commands, nor the comments and the archive of the Result, so they are not made where no
	// line checks them.
	Quiet bool
	// Remains, if not nil, serve this run and others before and after it. Then no cluster may be used after its Close.
	Remains *engine.Remains
	// Progress is called before each command, and regularly while virtual time passes; nil reports nothing.
	Progress func(Progress)
}

// LogOptions choose the lines of a log: volsim.Config.LogV and LogModules.
type LogOptions struct {
	V       int
	Modules string
}

// Progress describes how far a run is.
type Progress struct {
	Line    int
	Seed    int64
	Seeds   int           // number of seeds to run
	Elapsed time.Duration // virtual time since the start
}

// Result describes a run.
type Result struct {
	// Cluster is the cluster of Seed at the end of the run; nil if it could not be created.
	Cluster *volsim.Cluster
	// Seed is the seed of the reported run: the first that failed or, where one success is enough, that succeeded; else the first with
	// which a line with the prefix some held; else the last.
	Seed int64
	// Chosen is true if Options.Choose determined the order instead of a seed.
	Chosen bool
	// Start is the virtual time at which the run began.
	Start time.Time
	// Seeds lists the seeds that the script ran with; Succeeded those of them without a failure.
	Seeds, Succeeded []int64
	// Some lists, for each line with the prefix some, the seeds with which it held.
	Some []SomeSeeds
	// Commands lists the executed lines of the reported run.
	Commands []Command
	// Failures lists the lines that failed, in order.
	Failures []*Error
	// Log is the log of the reported run, if Options.Log is set.
	Log      []byte
	comments []paragraph // of the script
	// Archive is the script with updated files; Updated is true if any file changed.
	Archive []byte
	Updated bool
}

// SomeSeeds lists the seeds with which a line held.
type SomeSeeds struct {
	Line    int     `json:"line"`
	Command string  `json:"command"`
	Seeds   []int64 `json:"seeds"`
}

// Command is an executed line.
type Command struct {
	Line    int           `json:"line"`
	Command string        `json:"command"`
	From    time.Duration `json:"-"` // virtual time since the start, before the command
	At      time.Duration `json:"-"` // virtual time since the start, after the command
	Seq     uint64        `json:"-"` // number of the newest entry of the trace before the command
	Expects bool          `json:"-"` // it is an expectation
	Output  string        `json:"output,omitempty"`
	Error   string        `json:"error,omitempty"` // why it failed, whether expected or not
}

// Run runs a script, once for each seed. The Result is never nil; if the script failed, the error joins Result.Failures.
func Run(s *Script, opts Options) (*Result, error) {
	return newBatch(s, opts).run()
}

func newBatch(s *Script, opts Options) *batch {
	return &batch{script: s, opts: opts, someSeeds: make(map[int][]int64), updates: make(map[string]string)}
}

// batch runs one script with all its seeds.
type batch struct {
	script    *Script
	opts      Options
	result    Result
	someSeeds map[int][]int64   // by line with the prefix some: the seeds with which it held
	updates   map[string]string // files as they should be
}

// seeds returns the range of seeds to run.
func (b *batch) seeds() seeds {
	switch {
	case b.opts.Seed != nil:
		return seeds{from: *b.opts.Seed, to: *b.opts.Seed}
	case b.opts.Choose != nil || b.script.seeds == nil:
		return seeds{from: b.script.seed, to: b.script.seed}
	}
	return *b.script.seeds
}

// count records the seed of a finished run and reports whether the run succeeded.
func (b *batch) count(r *runner) (ok bool) {
	b.result.Seeds = append(b.result.Seeds, r.seed)
	if ok = len(r.failures) == 0; ok {
		b.result.Succeeded = append(b.result.Succeeded, r.seed)
	}
	return ok
}

func (b *batch) run() (*Result, error) {
	all := b.seeds()
	var reported *runner
	for seed := all.from; seed <= all.to; seed++ {
		r := &runner{batch: b, script: b.script, seed: seed, seeds: all.count()}
		if all.count() == 1 {
			r.out = b.opts.Out
		}
		r.run()
		ok := b.count(r)
		// Where one success is enough and all runs fail, the run that got farthest is the most informative.
		switch {
		case reported == nil, all.some && (ok || r.reached() > reported.reached()), !all.some && (!ok || reported.interest() == dull || r.interest() > reported.interest()):
			reported.close()
			reported = r
		default:
			r.close()
		}
		if ok == all.some {
			break
		}
		if seed == all.to { // seed++ would overflow for the largest seed
			break
		}
	}
	b.finish(reported, all)
	return &b.result, joined(b.result.Failures)
}

// The kinds of runs that pass, the most interesting last.
const (
	dull    = iota
	rare    // a line with the prefix some holds
	telling // it violates an invariant, as expected
)

// interest returns which run of several seeds to report if all pass.
func (r *runner) interest() int {
	switch {
	case r.cluster != nil && len(r.cluster.Violations()) > 0:
		return telling
	case r.some:
		return rare
	}
	return dull
}

// finish fills the result from the reported run.
func (b *batch) finish(r *runner, all seeds) {
	result := &b.result
	result.Cluster, result.Seed, result.Start, result.Commands, result.Failures = r.cluster, r.seed, r.start, r.commands, r.failures
	result.Log = r.log.Bytes()
	result.Chosen = b.opts.Choose != nil
	if !b.opts.Quiet {
		result.comments = b.script.paragraphs()
	}
	many := all.count() > 1
	if many && b.opts.Out != nil {
		for _, text := range r.transcript {
			io.WriteString(b.opts.Out, text)
		}
	}
	for _, f := range result.Failures {
		switch {
		case many && all.some:
			f.Err = fmt.Errorf("no seed of %s passes; seed %d got farthest: %w", all, r.seed, f.Err)
		case many:
			f.Err = fmt.Errorf("with seed %d: %w", r.seed, f.Err)
		}
	}
	b.collectSomeSeeds(many)
	if !b.opts.Quiet {
		b.finishArchive()
	}
}

// collectSomeSeeds fills Result.Some and reports lines with the prefix some that held with no seed.
func (b *batch) collectSomeSeeds(many bool) {
	for _, st := range b.script.statements {
		if !st.someSeed {
			continue
		}
		b.result.Some = append(b.result.Some, SomeSeeds{Line: st.line, Command: st.text, Seeds: b.someSeeds[st.line]})
		if many && len(b.someSeeds[st.line]) == 0 && len(b.result.Failures) == 0 {
			err := &Error{File: b.script.Name, Line: st.line, Command: st.text, Err: fmt.Errorf("does not hold with any seed of %s", b.script.seeds)}
			b.result.Failures = append(b.result.Failures, err)
		}
	}
}

func (b *batch) finishArchive() {
	archive := txtar.Archive{Comment: b.script.archive.Comment}
	for _, f := range b.script.archive.Files {
		if data, ok := b.updates[f.Name]; ok && data != string(f.Data) {
			f.Data = []byte(data)
			b.result.Updated = true
		}
		archive.Files = append(archive.Files, f)
	}
	b.result.Archive = txtar.Format(&archive)
}

func joined(failures []*Error) error {
	var errs []error
	for _, f := range failures {
		errs = append(errs, f)
	}
	return errors.Join(errs...)
}

// Summary returns the outcome of the run in one line, such as "ok: 121 seeds passed. Line 33 ("data deleted") held for 4 seeds, e.g. --seed
// 6."
func (r *Result) Summary() string {
	var text strings.Builder
	switch failures := len(r.Failures); {
	case failures == 1:
		text.WriteString("1 failure")
	case failures > 1:
		fmt.Fprintf(&text, "%d failures", failures)
	default:
		text.WriteString("ok")
	}
	if len(r.Seeds) == 1 {
		if r.Cluster != nil {
			fmt.Fprintf(&text, ", %s", r.position())
		}
		return text.String()
	}
	if n := len(r.Succeeded); n == len(r.Seeds) {
		fmt.Fprintf(&text, ": %d seeds passed.", n)
	} else {
		fmt.Fprintf(&text, ": %d of %d seeds passed.", n, len(r.Seeds))
	}
	for _, s := range r.Some {
		if len(s.Seeds) > 0 {
			fmt.Fprintf(&text, " Line %d (%q) held for %s, e.g. --seed %d.", s.Line, someExpectation(s.Command),
				count(len(s.Seeds), "seed"), s.Seeds[0])
		}
	}
	if r.Cluster != nil {
		fmt.Fprintf(&text, " (Output above: %s.)", r.position())
	}
	return text.String()
}

// position returns the seed of the reported run and how far it came.
func (r *Result) position() string {
	return fmt.Sprintf("%s, %s of virtual time", r.order(), r.Cluster.Now().Sub(r.Start))
}

func (r *Result) order() string {
	if r.Chosen {
		return "order as chosen"
	}
	return fmt.Sprintf("seed %d", r.Seed)
}

// Order describes the order of the reported run, such as "seed 6, with which line 33 holds".
func (r *Result) Order() string {
	if len(r.Seeds) == 1 {
		return r.order()
	}
	if len(r.Failures) > 0 {
		return fmt.Sprintf("%s, which fails in line %d; %d of %d seeds passed", r.order(), r.Failures[0].Line, len(r.Succeeded), len(r.Seeds))
	}
	var rarest *SomeSeeds
	for i := range r.Some {
		if s := &r.Some[i]; slices.Contains(s.Seeds, r.Seed) && (rarest == nil || len(s.Seeds) < len(rarest.Seeds)) {
			rarest = s
		}
	}
	if rarest != nil {
		return fmt.Sprintf("%s, with which line %d (%q) holds, as with %d of %d seeds", r.order(), rarest.Line, someExpectation(rarest.Command),
			len(rarest.Seeds), len(r.Seeds))
	}
	return fmt.Sprintf("%s of %d", r.order(), len(r.Seeds))
}

// someExpectation returns a line without its prefix some.
func someExpectation(command string) string {
	return strings.TrimSpace(strings.TrimPrefix(command, "some "))
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
