package script

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/volsim/volsim"
)

// Options say how a script is played. The zero value plays it as it says.
type Options struct {
	// Seed takes the place of all seeds that the script names; nil leaves them.
	Seed *int64
	// Choose, when set, takes the place of all seeds: it is volsim.Config.Choose. The script is then played once.
	Choose func(n int) int
	// Update has cmp and trace write the files that they would compare with; Result.Archive has them.
	Update bool
	// Continue plays on after an expectation that failed. Otherwise the first failure ends the run.
	Continue bool
	// Until has time go on, after the last line, to that much after the start; zero does not.
	Until time.Duration
	// Out gets what a person would have seen: commands and their output. Nil is nobody.
	Out io.Writer
	// Progress is called before each command, and now and then while time passes; nil is nobody.
	Progress func(Progress)
}

// Progress says how far a run is.
type Progress struct {
	Line    int
	Seed    int64
	Seeds   int           // how many are to be played
	Elapsed time.Duration // virtual time since the start
}

// Result is what came of a run.
type Result struct {
	// Cluster is that of Seed, as it was at the end; nil if none could be made.
	Cluster *volsim.Cluster
	// Seed is the seed of the run that is shown: the first that failed or, where one success is enough, that succeeded; else the last.
	Seed int64
	// Chosen is true if the order was that of Options.Choose, and no seed's.
	Chosen bool
	// Start is the virtual time at which the run began.
	Start time.Time
	// Seeds are all seeds that were played, Succeeded those of them with which every line did as it should.
	Seeds, Succeeded []int64
	// Some says, for each line with the prefix some, with which seeds it held.
	Some []SomeSeeds
	// Commands are the lines that were played, of the run that is shown.
	Commands []Command
	// Failures are the lines that failed, in order.
	Failures []*Error
	// Archive is the script with the files that were updated; Updated is true if any differs from what it was.
	Archive []byte
	Updated bool
}

// SomeSeeds says with which seeds a line held.
type SomeSeeds struct {
	Line    int     `json:"line"`
	Command string  `json:"command"`
	Seeds   []int64 `json:"seeds"`
}

// Command is a line that was played.
type Command struct {
	Line    int           `json:"line"`
	Command string        `json:"command"`
	At      time.Duration `json:"-"` // virtual time since the start, after the command
	Output  string        `json:"output,omitempty"`
	Error   string        `json:"error,omitempty"` // what it failed with, wanted or not
}

// Run plays a script. The Result is there also when it failed; the error then joins its Failures.
func Run(s *Script, opts Options) (*Result, error) {
	return newBatch(s, opts).run()
}

func newBatch(s *Script, opts Options) *batch {
	return &batch{script: s, opts: opts, held: make(map[int][]int64), updates: make(map[string]string)}
}

// batch is a run with all its seeds.
type batch struct {
	script  *Script
	opts    Options
	result  Result
	held    map[int][]int64   // by line of a some: with which seeds it held
	updates map[string]string // files as they should be
}

// seeds are those to be played.
func (b *batch) seeds() seeds {
	switch {
	case b.opts.Seed != nil:
		return seeds{from: *b.opts.Seed, to: *b.opts.Seed}
	case b.opts.Choose != nil || b.script.seeds == nil:
		return seeds{from: b.script.seed(), to: b.script.seed()}
	}
	return *b.script.seeds
}

// count counts a run, and reports whether it succeeded.
func (b *batch) count(p *player) (ok bool) {
	b.result.Seeds = append(b.result.Seeds, p.seed)
	if ok = len(p.failures) == 0; ok {
		b.result.Succeeded = append(b.result.Succeeded, p.seed)
	}
	return ok
}

func (b *batch) run() (*Result, error) {
	all := b.seeds()
	var show *player
	for seed := all.from; seed <= all.to; seed++ {
		p := &player{batch: b, script: b.script, seed: seed, seeds: all.count()}
		if all.count() == 1 {
			p.out = b.opts.Out
		}
		p.play()
		ok := b.count(p)
		// Of runs that fail where one success is enough, the one that got farthest says most.
		if show == nil || !all.some || ok || p.reached() > show.reached() {
			show.close()
			show = p
		} else {
			p.close()
		}
		if ok == all.some {
			break
		}
		if seed == all.to { // the largest seed there is has none behind it
			break
		}
	}
	b.finish(show, all)
	return &b.result, joined(b.result.Failures)
}

// finish makes the result of the run that is shown.
func (b *batch) finish(p *player, all seeds) {
	r := &b.result
	r.Cluster, r.Seed, r.Start, r.Commands, r.Failures = p.cluster, p.seed, p.start, p.commands, p.failures
	r.Chosen = b.opts.Choose != nil
	many := all.count() > 1
	if many && b.opts.Out != nil {
		for _, text := range p.transcript {
			io.WriteString(b.opts.Out, text)
		}
	}
	for _, f := range r.Failures {
		switch {
		case many && all.some:
			f.Err = fmt.Errorf("with none of the seeds %s everything holds; seed %d came farthest: %w", all, p.seed, f.Err)
		case many:
			f.Err = fmt.Errorf("with seed %d: %w", p.seed, f.Err)
		}
	}
	b.finishSome(many)
	b.finishArchive()
}

// finishSome looks for lines that should have held with some seed.
func (b *batch) finishSome(many bool) {
	for _, st := range b.script.statements {
		if !st.some {
			continue
		}
		b.result.Some = append(b.result.Some, SomeSeeds{Line: st.line, Command: st.text, Seeds: b.held[st.line]})
		if many && len(b.held[st.line]) == 0 && len(b.result.Failures) == 0 {
			err := &Error{File: b.script.Name, Line: st.line, Command: st.text, Err: fmt.Errorf("with none of the seeds %s it holds", b.script.seeds)}
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

// Summary says in one line what came of the run.
func (r *Result) Summary() string {
	var text strings.Builder
	switch {
	case len(r.Failures) == 1:
		text.WriteString("1 failure")
	case len(r.Failures) > 1:
		fmt.Fprintf(&text, "%d failures", len(r.Failures))
	default:
		text.WriteString("ok")
	}
	if len(r.Seeds) > 1 {
		fmt.Fprintf(&text, ", %d of %d seeds played succeeded", len(r.Succeeded), len(r.Seeds))
	}
	if r.Cluster != nil {
		order := fmt.Sprintf("seed %d", r.Seed)
		if r.Chosen {
			order = "as chosen"
		}
		fmt.Fprintf(&text, ", %s, %s of virtual time", order, r.Cluster.Now().Sub(r.Start))
	}
	for _, s := range r.Some {
		if len(r.Seeds) > 1 && len(s.Seeds) > 0 {
			fmt.Fprintf(&text, "; line %d held with %d seeds, first %d", s.Line, len(s.Seeds), s.Seeds[0])
		}
	}
	return text.String()
}
