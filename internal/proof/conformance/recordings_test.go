package conformance_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/proof/conformance"
)

var recordings = flag.String("recordings", "", "recordings to run instead of those in testdata: comma-separated files")

// racySeeds is how many runs of a racy scenario must all end in one of its outcomes.
const racySeeds = 50

// filesOf returns the files that a flag names, else those in testdata.
func filesOf(t *testing.T, given string, tables bool) []string {
	t.Helper()
	if given != "" {
		return strings.Split(given, ",")
	}
	all, err := filepath.Glob("testdata/*.jsonl.gz")
	require.NoError(t, err)
	var files []string
	for _, file := range all {
		if strings.HasPrefix(filepath.Base(file), "tables-") == tables {
			files = append(files, file)
		}
	}
	require.NotEmpty(t, files)
	return files
}

// located returns the path of a file that may be named relative to the module root.
func located(file string) string {
	if _, err := os.Stat(file); err == nil || filepath.IsAbs(file) {
		return file
	}
	return filepath.Join("..", "..", file)
}

// recorded is a scenario of any recording.
type recorded struct {
	name, about string
	racy        bool
	// run runs it, and returns the differences from the recording.
	run func(conformance.Options) ([]string, error)
}

// readRecording reads a file of scenarios of either sort.
func readRecording(t *testing.T, file string) []recorded {
	t.Helper()
	nodes, err := conformance.AboutNodes(located(file))
	require.NoError(t, err)
	var all []recorded
	if nodes {
		scenarios, err := conformance.ReadLines[conformance.NodeScenario](located(file))
		require.NoError(t, err)
		for _, s := range scenarios {
			all = append(all, recorded{s.Name, s.Family, false, func(opts conformance.Options) ([]string, error) {
				got, err := s.Run(opts)
				return s.Check(got), err
			}})
		}
		return all
	}
	scenarios, err := conformance.ReadLines[conformance.Scenario](located(file))
	require.NoError(t, err)
	for _, s := range scenarios {
		all = append(all, recorded{s.Name, s.Description, s.Racy, func(opts conformance.Options) ([]string, error) {
			got, err := s.Run(opts)
			return s.Check(got), err
		}})
	}
	return all
}

func TestRecordings(t *testing.T) {
	for _, file := range filesOf(t, *recordings, false) {
		scenarios := readRecording(t, file)
		passed := 0
		for _, s := range scenarios {
			seeds := 1
			if s.racy {
				seeds = racySeeds
			}
			ok := true
			for seed := range seeds {
				ok = ok && passes(t, s, shuffled(seed))
			}
			if ok {
				passed++
			}
		}
		fmt.Printf("recordings %s: passed %d of %d\n", file, passed, len(scenarios))
		if passed != len(scenarios) {
			t.Errorf("%s: %d of %d failed", file, len(scenarios)-passed, len(scenarios))
		}
	}
}

// passes runs a scenario, and reports its first difference.
func passes(t *testing.T, s recorded, opts conformance.Options) bool {
	t.Helper()
	diffs, err := s.run(opts)
	if err != nil {
		t.Errorf("%s with %+v: %v", s.name, opts, err)
		return false
	}
	if len(diffs) > 0 {
		t.Errorf("%s with %+v (%s): -recorded +observed:\n%s", s.name, opts, s.about, diffs[0])
		return false
	}
	return true
}

// TestRecordingsSeedsOfNodes runs node scenarios with other seeds and start times.
func TestRecordingsSeedsOfNodes(t *testing.T) {
	for _, file := range filesOf(t, *recordings, false) {
		if nodes, err := conformance.AboutNodes(located(file)); err != nil || !nodes {
			require.NoError(t, err)
			continue
		}
		for i, s := range readRecording(t, file) {
			for n := range nodeSeedsEach {
				passes(t, s, conformance.Options{Seed: int64(1 + i*nodeSeedsEach + n)})
			}
		}
	}
}

const nodeSeedsEach = 3

// TestRecordingsSeeds runs scenarios without races with other seeds, at other times of the resync period, and with resyncs of all
// objects.
//
// States and Events must equal the recording with every seed. The order of writes that 30 recorded runs had in common is likely, but
// another may be legal: when a volume and a claim that names it are created together, the volume may be Available for a moment or not,
// and in some scenario all runs happened to agree. So the recorded order must be that of most seeds.
func TestRecordingsSeeds(t *testing.T) {
	for _, file := range filesOf(t, *recordings, false) {
		if nodes, err := conformance.AboutNodes(located(file)); err != nil || nodes {
			require.NoError(t, err)
			continue
		}
		each := readRecording(t, file)
		scenarios, err := conformance.ReadLines[conformance.Scenario](located(file))
		require.NoError(t, err)
		for i, s := range scenarios {
			if s.Racy {
				continue
			}
			passes(t, each[i], conformance.Options{NoSkipping: true})
			otherWrites := 0
			for n := range seedsEach {
				// Each scenario gets its own seeds, so that more seeds are tried.
				opts := shuffled(1 + i*seedsEach + n)
				opts.NoSkipping = n%2 == 1
				got, err := s.Run(opts)
				require.NoError(t, err, s.Name)
				if diffs := conformance.Compare(conformance.WithoutWrites(s.Observations), got); len(diffs) > 0 {
					t.Errorf("%s with %+v (%s): -recorded +observed:\n%s", s.Name, opts, s.Description, diffs[0])
				} else if len(s.Check(got)) > 0 {
					otherWrites++
				}
			}
			if otherWrites > seedsEach/2 {
				t.Errorf("%s: %d of %d seeds have other writes than recorded", s.Name, otherWrites, seedsEach)
			}
		}
	}
}

const seedsEach = 5

// latencies are those of the recorded runs.
var latencies = []time.Duration{time.Millisecond, 3 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond,
	100 * time.Millisecond}

// shuffled returns the options for a seed: in order and without latency for seed zero. With other seeds API calls take time, as in the
// recorded runs. Without latency a controller could be starved for longer than others need to read and write, and would miss intermediate
// states, which happened in no recorded run.
func shuffled(seed int) conformance.Options {
	if seed == 0 {
		return conformance.Options{}
	}
	return conformance.Options{Seed: int64(seed), Latency: latencies[seed%len(latencies)]}
}
