package conformance_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/conformance"
)

var recordings = flag.String("recordings", "", "recordings to play instead of those in testdata: files, divided by commas")

// racySeeds is how many runs of a racy scenario must all end in one of its outcomes.
const racySeeds = 50

// filesOf are the files that a flag names, else those in testdata that a table's name begins or does not begin.
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

func TestRecordings(t *testing.T) {
	for _, file := range filesOf(t, *recordings, false) {
		scenarios, err := conformance.ReadLines[conformance.Scenario](file)
		require.NoError(t, err)
		passed := 0
		for _, s := range scenarios {
			seeds := 1
			if s.Racy {
				seeds = racySeeds
			}
			ok := true
			for seed := range seeds {
				ok = ok && passes(t, s, conformance.Options{Seed: int64(seed)})
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

// passes plays a scenario, and reports its first difference.
func passes(t *testing.T, s conformance.Scenario, opts conformance.Options) bool {
	t.Helper()
	got, err := s.Play(opts)
	if err != nil {
		t.Errorf("%s with %+v: %v", s.Name, opts, err)
		return false
	}
	if diffs := s.Check(got); len(diffs) > 0 {
		t.Errorf("%s with %+v (%s): -recorded +played:\n%s", s.Name, opts, s.Description, diffs[0])
		return false
	}
	return true
}

// TestRecordingsSeeds plays what happens the same way every time in other orders, at other moments of the resync period, and with
// resyncs that look at every object. Nothing of what was recorded may change.
func TestRecordingsSeeds(t *testing.T) {
	for _, file := range filesOf(t, *recordings, false) {
		scenarios, err := conformance.ReadLines[conformance.Scenario](file)
		require.NoError(t, err)
		for i, s := range scenarios {
			if s.Racy {
				continue
			}
			passes(t, s, conformance.Options{FullResync: true})
			for n := range int64(seedsEach) {
				// Scenarios get seeds of their own, so that more of them are tried.
				passes(t, s, conformance.Options{Seed: 1 + int64(i)*seedsEach + n, FullResync: n%2 == 1, Latency: latencies[n%5]})
			}
		}
	}
}

const seedsEach = 8

var latencies = []time.Duration{time.Millisecond, 3 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond, 100 * time.Millisecond}
