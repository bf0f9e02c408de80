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

	"github.com/volsim/volsim/internal/tools/explore"
	"github.com/volsim/volsim/internal/tools/script"
)

// sweepFlags are what the command sweep was asked for.
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

// jobIndex is set in each pod of an Indexed Job of Kubernetes.
const jobIndex = "JOB_COMPLETION_INDEX"

func newSweep() *cobra.Command {
	var f sweepFlags
	cmd := &cobra.Command{
		Use:   "sweep FILE.txtar | FILE.yaml | - | --merge FILE...",
		Short: "Play a script in many orders, and tell what it can come to",
		Long: `Sweep plays a script once with each of many seeds, on all cores, and reports the distinct outcomes with how often each came and one seed that
shows it, the lines that failed, and the invariants that did not hold with the shortest trace that leads there. Unless the script says which
invariants are watched (config check or watch), all are. The report is the same whatever the number of cores.

With --shard I/N it plays every Nth seed, with -o json it writes lines that --merge joins; --shard job/N takes I from ` + jobIndex + `.
See examples/sweep.

With --exhaustive a script or a manifest is played in every order there is, up to a bound. What follows from a state is explored once, and of
orders that make no difference one is played; nothing is missed by that, as go doc github.com/volsim/volsim/internal/tools/explore explains. What is found is
shown with the choices that lead there, for volsim run --choices or, of a manifest, volsim sweep --choices.

The exit status is 1 when runs failed or an invariant did not hold that nobody forced. With -o json findings are data: it is then 1 only if
the sweep itself did not end.`,
		Example: `  volsim sweep --seeds 1..2000 race.txtar
  volsim sweep --seeds 1..100000 --shard 2/16 -o json race.txtar > 2.jsonl
  volsim sweep --merge *.jsonl
  volsim sweep --exhaustive small.txtar
  volsim sweep --exhaustive --without kube-scheduler,kubelet world.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.seeds, "seeds", "", "FROM..TO; the seeds of the script itself unless given")
	fs.StringVar(&f.shard, "shard", "0/1", "I/N: play share I of N, counted from 0; job/N: share $"+jobIndex)
	fs.StringVarP(&f.output, "output", "o", "text", "text or json")
	fs.IntVar(&f.cores, "cores", 0, "how many runs go on at once; 0 is one for each core")
	fs.BoolVar(&f.merge, "merge", false, "join what shards wrote with -o json")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "tell no progress")
	fs.BoolVar(&f.exhaustive, "exhaustive", false, "play a script or a manifest in every order")
	fs.BoolVar(&f.noPrune, "no-prune", false, "with --exhaustive: play every order, also those that make no difference")
	fs.IntVar(&f.maxRuns, "max-runs", explore.DefaultMaxRuns, "with --exhaustive: make at most so many runs")
	fs.IntVar(&f.maxChoices, "max-choices", 0, "with --exhaustive: explore at most so many choices of a run; 0 is all")
	fs.StringSliceVar(&f.without, "without", nil, "with --exhaustive and --choices of a manifest: controllers that do not run; kubelet is those of all nodes")
	fs.DurationVar(&f.until, "until", 0, "with --exhaustive and --choices: let so much time pass after the controllers have settled or, for a script, go on to this long after the start")
	fs.BoolVar(&f.starting, "starting", false, "with --exhaustive and --choices of a manifest: controllers start as the objects are created, not before")
	fs.StringVar(&f.choices, "choices", "", "play once with these choices, as --exhaustive printed them, or those in this file; - is the standard input")
	fs.StringVar(&f.trace, "trace", "", "with --choices: write the trace to this file, - for the standard output")
	return cmd
}

func (f *sweepFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.check(cmd, args); err != nil {
		return usageError{fmt.Errorf("%w: see %s --help", err, cmd.CommandPath())}
	}
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

func (f *sweepFlags) check(cmd *cobra.Command, args []string) error {
	modes := 0
	for _, name := range []string{"merge", "exhaustive", "choices", "seeds"} {
		if cmd.Flags().Changed(name) {
			modes++
		}
	}
	if modes > 1 {
		return errors.New("--seeds, --exhaustive, --choices and --merge do not go together")
	}
	worlds := f.exhaustive || f.choices != ""
	for _, flag := range []struct {
		name string
		goes bool
	}{
		{"no-prune", f.exhaustive}, {"max-runs", f.exhaustive}, {"max-choices", f.exhaustive},
		{"without", worlds}, {"until", worlds}, {"starting", worlds}, {"trace", f.choices != ""}, {"shard", !worlds && !f.merge}, {"cores", !worlds && !f.merge},
	} {
		if cmd.Flags().Changed(flag.name) && !flag.goes {
			return fmt.Errorf("--%s does not go with this kind of sweep", flag.name)
		}
	}
	switch {
	case len(args) == 0:
		return errors.New("it is not said what to sweep")
	case len(args) > 1 && !f.merge:
		return fmt.Errorf("one script at a time: these are %d", len(args))
	case f.output != "text" && f.output != "json":
		return fmt.Errorf("-o %s: there are text and json", f.output)
	case f.cores < 0 || f.maxRuns < 1 || f.maxChoices < 0 || f.until < 0:
		return errors.New("--cores, --max-runs, --max-choices and --until are not negative, and --max-runs is at least 1")
	}
	return nil
}

// readSeeds reads FROM..TO.
func readSeeds(text string) (from, to int64, err error) {
	first, last, _ := strings.Cut(text, "..")
	from, err1 := strconv.ParseInt(first, 10, 64)
	to, err2 := strconv.ParseInt(last, 10, 64)
	if err1 != nil || err2 != nil || from < 0 || to < from || to == math.MaxInt64 {
		return 0, 0, fmt.Errorf("--seeds %s: write FROM..TO, the smaller seed first, as 1..2000", text)
	}
	return from, to, nil
}

// readShard reads I/N.
func readShard(text string) (shard, shards int, err error) {
	first, last, _ := strings.Cut(text, "/")
	if first == "job" {
		first = os.Getenv(jobIndex)
		if first == "" {
			return 0, 0, fmt.Errorf("--shard %s: %s is not set: this is no pod of an Indexed Job", text, jobIndex)
		}
	}
	shard, err1 := strconv.Atoi(first)
	shards, err2 := strconv.Atoi(last)
	if err1 != nil || err2 != nil || shard < 0 || shard >= shards {
		return 0, 0, fmt.Errorf("--shard %s: write I/N with I from 0 to N-1, as 0/3", text)
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
	seeds := f.seeds
	if seeds == "" {
		seeds = script.Range
	}
	if seeds == "" {
		return usageError{fmt.Errorf("%s has no line of seeds: say with --seeds FROM..TO which to play", name)}
	}
	from, to, err := readSeeds(seeds)
	if err != nil {
		return usageError{err}
	}
	sweep := &explore.Sweep{
		Script: name, Sum: explore.Outcome(data).ID(), From: from, To: to, Shards: shards, Done: []int{shard}, Some: script.Some, Chosen: script.Chosen,
	}
	progress := f.progress(cmd.ErrOrStderr())
	err = playAll(sweep, shard, f.workers(), func() (*explore.Script, error) { return readSweepScript(name, data) }, func() {
		progress(func() string {
			return fmt.Sprintf("%s: %d of %d seeds, %d outcomes", name, sweep.Runs, sweep.Count(shard), len(sweep.Outcomes))
		})
	})
	if err != nil {
		return err
	}
	return f.report(cmd.OutOrStdout(), sweep)
}

// playAll plays the seeds of a shard, each in a cluster of its own, several at once. Counting does not depend on who comes first.
func playAll(sweep *explore.Sweep, shard, workers int, read func() (*explore.Script, error), counted func()) error {
	seeds := make(chan int64)
	var group sync.WaitGroup
	var mutex sync.Mutex
	var failure error
	for range workers {
		// Each worker has a script of its own, so that none needs to be safe for two.
		script, err := read()
		if err != nil {
			close(seeds)
			group.Wait()
			return err
		}
		group.Go(func() {
			for seed := range seeds {
				report, err := playSeed(script, seed)
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

// playSeed plays one seed. A panic in a run is told with its seed: the other runs go on.
func playSeed(script *explore.Script, seed int64) (report explore.Report, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the run with seed %d panicked: %v", seed, r)
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

// progress tells now and then how far it is.
func (f *sweepFlags) progress(w io.Writer) func(text func() string) {
	next := time.Now().Add(patience)
	return func(text func() string) {
		if f.quiet || time.Now().Before(next) {
			return
		}
		next = time.Now().Add(patience)
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
			return fileProblem(arg, err)
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
		return fmt.Errorf("shards %v of %d are missing: play them, and merge again", missing, sweep.Shards)
	}
	return found
}

// stdin is what the standard input is called.
const stdin = "stdin"

// readInput reads a file, or the standard input.
func readInput(in io.Reader, arg string) (name string, data []byte, err error) {
	if arg == "-" {
		data, err = io.ReadAll(in)
		return stdin, data, err
	}
	if data, err = os.ReadFile(arg); err != nil {
		return "", nil, fileProblem(arg, err)
	}
	return arg, data, nil
}

func readSweepScript(name string, data []byte) (*explore.Script, error) {
	if script.IsManifest(name, data) {
		return explore.ReadManifests(name, script.File{Name: name, Data: data})
	}
	return explore.ReadScript(name, data)
}
