package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/tools/explore"
	"github.com/volsim/volsim/internal/tools/script"
)

// sweepFlags holds the flags of sweep.
type sweepFlags struct {
	seeds, shard, output string
	cores                int
	merge, quiet         bool

	exhaustive, noPrune, starting bool
	maxRuns, maxChoices           int
	without                       []string
	until                         time.Duration
	choices, trace                string
}

// jobIndex is the environment variable that Kubernetes sets in each pod of an Indexed Job.
const jobIndex = "JOB_COMPLETION_INDEX"

func newSweep() *cobra.Command {
	var f sweepFlags
	cmd := &cobra.Command{
		Use:   "sweep FILE.txtar | FILE.yaml | - | --merge FILE...",
		Short: "Run a script in many orders and report all outcomes",
		Long: `Run a script with many seeds, on all cores, and report each distinct outcome with its frequency and a seed that shows it, the lines that
failed, and the violated invariants with the shortest trace. All invariants are checked unless the script selects some (config check or
watch). The report does not depend on the number of cores.

--shard I/N runs every Nth seed, and -o json writes a report that --merge joins with others; --shard job/N takes I from ` + jobIndex + `.
See examples/sweep.

--exhaustive runs a script or a manifest in every order, up to a bound, on all cores. Each state is explored once, and equivalent orders are
run once; no outcome is lost (docs/explore.md explains why). Findings include the choices that lead to them, for
volsim run --choices or, for a manifest, volsim sweep --choices.

The exit status is 1 if runs failed, or if an invariant was violated that no forced action explains. With -o json it is 1 only if the sweep
itself failed.`,
		Example: `  volsim sweep --seeds 1..2000 race.txtar
  volsim sweep --seeds 1..100000 --shard 2/16 -o json race.txtar > 2.jsonl
  volsim sweep --merge *.jsonl
  volsim sweep --exhaustive small.txtar
  volsim sweep --exhaustive --without kube-scheduler,kubelet model.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.seeds, "seeds", "", "range of seeds FROM..TO; default is the line seeds of the script")
	fs.StringVar(&f.shard, "shard", "0/1", "I/N: run shard I of N, counted from 0; job/N: shard $"+jobIndex)
	fs.StringVarP(&f.output, "output", "o", "text", "output format: text or json")
	fs.IntVar(&f.cores, "cores", 0, "number of concurrent runs; 0 is one per core")
	fs.BoolVar(&f.merge, "merge", false, "merge reports that shards wrote with -o json")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "suppress progress")
	fs.BoolVar(&f.exhaustive, "exhaustive", false, "run a script or a manifest in every order")
	fs.BoolVar(&f.noPrune, "no-prune", false, "with --exhaustive: run equivalent orders too")
	fs.IntVar(&f.maxRuns, "max-runs", explore.DefaultMaxRuns, "with --exhaustive: maximum number of runs")
	fs.IntVar(&f.maxChoices, "max-choices", 0, "with --exhaustive: maximum number of explored choices per run; 0 is unlimited")
	fs.StringSliceVar(&f.without, "without", nil,
		"with --exhaustive or --choices and a manifest: controllers that do not run; kubelet means the kubelets of all nodes")
	durationVar(fs, &f.until, "until", 0,
		"with --exhaustive or --choices: advance virtual time by this after a manifest has settled, or to this long after the start of a script")
	fs.BoolVar(&f.starting, "starting", false,
		"with --exhaustive or --choices and a manifest: controllers start while the objects are created, not before")
	fs.StringVar(&f.choices, "choices", "", "run once with these choices (printed by --exhaustive) or those in this file; - is standard input")
	fs.StringVar(&f.trace, "trace", "", "with --choices: write the trace to this file; - is standard output")
	return cmd
}

func (f *sweepFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.check(cmd, args); err != nil {
		return usageError{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
	}
	ballast := make([]byte, ballastSize)
	defer runtime.KeepAlive(ballast)
	switch {
	case f.merge:
		return f.runMerge(cmd, args)
	case f.exhaustive:
		return f.runExhaustive(cmd, args[0])
	case f.choices != "":
		return f.runChoices(cmd, args[0])
	}
	return f.runSeeds(cmd, args[0])
}

// ballastSize is the size of memory that stays unused, so that garbage collections are rare although little memory is in use: most of what a run
// allocates lives as long as the run.
const ballastSize = 8 << 20

func (f *sweepFlags) check(cmd *cobra.Command, args []string) error {
	modes := 0
	for _, name := range []string{"merge", "exhaustive", "choices", "seeds"} {
		if cmd.Flags().Changed(name) {
			modes++
		}
	}
	if modes > 1 {
		return errors.New("--seeds, --exhaustive, --choices and --merge are mutually exclusive")
	}
	explores := f.exhaustive || f.choices != ""
	for _, flag := range []struct {
		name    string
		allowed bool
	}{
		{"no-prune", f.exhaustive}, {"max-runs", f.exhaustive}, {"max-choices", f.exhaustive},
		{"without", explores}, {"until", explores}, {"starting", explores}, {"trace", f.choices != ""}, {"shard", !explores && !f.merge},
		{"cores", f.choices == "" && !f.merge},
	} {
		if cmd.Flags().Changed(flag.name) && !flag.allowed {
			return fmt.Errorf("invalid --%s: not supported in this mode", flag.name)
		}
	}
	switch {
	case len(args) == 0:
		return errors.New("missing FILE argument")
	case len(args) > 1 && !f.merge:
		return fmt.Errorf("too many arguments: want one script, got %d", len(args))
	case f.output != "text" && f.output != "json":
		return fmt.Errorf("invalid -o %q: want text or json", f.output)
	case f.cores < 0 || f.maxRuns < 1 || f.maxChoices < 0 || f.until < 0:
		return errors.New("invalid --cores, --max-runs, --max-choices or --until: must not be negative, and --max-runs at least 1")
	}
	return nil
}

// readSeeds reads FROM..TO.
func readSeeds(text string) (from, to int64, err error) {
	first, last, _ := strings.Cut(text, "..")
	from, err1 := strconv.ParseInt(first, 10, 64)
	to, err2 := strconv.ParseInt(last, 10, 64)
	if err1 != nil || err2 != nil || from < 0 || to < from || to == math.MaxInt64 {
		return 0, 0, fmt.Errorf("invalid --seeds %q: want FROM..TO, the smaller seed first, such as 1..2000", text)
	}
	return from, to, nil
}

// readShard reads I/N.
func readShard(text string) (shard, shards int, err error) {
	first, last, _ := strings.Cut(text, "/")
	if first == "job" {
		first = os.Getenv(jobIndex)
		if first == "" {
			return 0, 0, fmt.Errorf("invalid --shard %q: %s is not set; run in a pod of an Indexed Job", text, jobIndex)
		}
	}
	shard, err1 := strconv.Atoi(first)
	shards, err2 := strconv.Atoi(last)
	if err1 != nil || err2 != nil || shard < 0 || shard >= shards {
		return 0, 0, fmt.Errorf("invalid --shard %q: want I/N with I from 0 to N-1, such as 0/3", text)
	}
	return shard, shards, nil
}

func (f *sweepFlags) runSeeds(cmd *cobra.Command, arg string) error {
	shard, shards, err := readShard(f.shard)
	if err != nil {
		return usageError{err}
	}
	name, data, err := readInput(cmd.InOrStdin(), arg)
	if err != nil {
		return err
	}
	script, err := readSweepScript(name, data)
	if err != nil {
		return err
	}
	noteManifest(cmd.ErrOrStderr(), name, data)
	seeds := f.seeds
	if seeds == "" {
		seeds = script.Range
	}
	if seeds == "" {
		return usageError{fmt.Errorf("missing seeds: %s has no line seeds; use --seeds FROM..TO", name)}
	}
	from, to, err := readSeeds(seeds)
	if err != nil {
		return usageError{err}
	}
	sweep := &explore.Sweep{
		Script: name, Sum: explore.Outcome(data).ID(), From: from, To: to, Shards: shards, Done: []int{shard}, Some: script.Some,
		Chosen: script.Chosen,
	}
	progress := f.progress(cmd.ErrOrStderr())
	err = runShard(sweep, shard, f.workers(), func() (*explore.Script, error) { return readSweepScript(name, data) }, func() {
		progress(func() string {
			return fmt.Sprintf("%s: %d of %d seeds, %d outcomes", name, sweep.Runs, sweep.Count(shard), len(sweep.Outcomes))
		})
	})
	if err != nil {
		return err
	}
	return f.report(cmd.OutOrStdout(), sweep)
}

// runShard runs the seeds of a shard concurrently, each in a cluster of its own. The result does not depend on which run ends first.
func runShard(sweep *explore.Sweep, shard, workers int, read func() (*explore.Script, error), counted func()) error {
	seeds := make(chan int64, workers) // a worker that is done need not wait for the next seed
	var group sync.WaitGroup
	var mutex sync.Mutex
	var failure error
	for range workers {
		// Each worker has its own script, because a script is not safe for concurrent use.
		script, err := read()
		if err != nil {
			close(seeds)
			group.Wait()
			return err
		}
		group.Go(func() {
			defer script.Close()
			for seed := range seeds {
				report, err := runSeed(script, seed)
				mutex.Lock()
				if err != nil {
					failure = errors.Join(failure, err)
				}
				sweep.Add(report)
				sweep.Runs++
				counted()
				mutex.Unlock()
			}
		})
	}
	sweep.Seeds(shard, func(seed int64) bool {
		seeds <- seed
		return true
	})
	close(seeds)
	group.Wait()
	return failure
}

// runSeed runs one seed. It returns a panic of the run as an error with the seed, so that other runs continue.
func runSeed(script *explore.Script, seed int64) (report explore.Report, err error) {
	defer func() {
		r := recover()
		if p, ok := r.(*engine.Panic); ok {
			r = p.Value
		}
		if r != nil {
			err = fmt.Errorf("run with seed %d panicked: %v", seed, r)
		}
	}()
	return script.RunSeed(seed), nil
}

func (f *sweepFlags) workers() int {
	if f.cores > 0 {
		return f.cores
	}
	return runtime.GOMAXPROCS(0)
}

// progress returns a function that writes the progress, unless --quiet is given.
func (f *sweepFlags) progress(w io.Writer) func(text func() string) {
	next := time.Now().Add(progressInterval)
	return func(text func() string) {
		if f.quiet || time.Now().Before(next) {
			return
		}
		next = time.Now().Add(progressInterval)
		fmt.Fprintf(w, "volsim: %s\n", text())
	}
}

func (f *sweepFlags) runMerge(cmd *cobra.Command, args []string) error {
	var streams []io.Reader
	for _, arg := range args {
		if arg == "-" {
			streams = append(streams, cmd.InOrStdin())
			continue
		}
		file, err := os.Open(arg)
		if err != nil {
			return fileError(arg, err)
		}
		defer file.Close()
		streams = append(streams, file)
	}
	sweep, err := explore.Merge(streams...)
	if err != nil {
		return fmt.Errorf("merge: %w", err)
	}
	found := f.report(cmd.OutOrStdout(), sweep)
	if missing := sweep.Missing(); len(missing) > 0 {
		return fmt.Errorf("missing shards %v of %d; run them and merge again", missing, sweep.Shards)
	}
	return found
}

// stdin is the name of standard input in reports.
const stdin = "stdin"

// readInput reads a file or standard input.
func readInput(in io.Reader, arg string) (name string, data []byte, err error) {
	if arg == "-" {
		data, err = io.ReadAll(in)
		return stdin, data, err
	}
	if data, err = os.ReadFile(arg); err != nil {
		return "", nil, fileError(arg, err)
	}
	return arg, data, nil
}

func readSweepScript(name string, data []byte) (*explore.Script, error) {
	read := explore.ReadScript
	if script.IsManifest(name, data) {
		read = func(name string, data []byte) (*explore.Script, error) {
			return explore.ReadManifests(name, script.File{Name: name, Data: data})
		}
	}
	s, err := read(name, data)
	if err == nil {
		s.Policies = followPolicies
	}
	return s, err
}
