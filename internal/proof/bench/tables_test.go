package bench

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/volsim/volsim/internal/proof/conformance"
)

// BenchmarkTables plays all cases of the tables that Kubernetes keeps for its PersistentVolume controller, once, and compares what comes
// out: what a test run of the author of these tables takes, reading them included.
func BenchmarkTables(b *testing.B) {
	files, err := filepath.Glob("../conformance/testdata/tables-*.jsonl.gz")
	must(b, err)
	cases := 0
	for b.Loop() {
		cases = 0
		for _, file := range files {
			if strings.Contains(file, "match") {
				cases += playTable(b, file, func(c *conformance.MatchCase) ([]string, error) { return c.Play() })
				continue
			}
			cases += playTable(b, file, func(c *conformance.TableCase) ([]string, error) {
				outcome, err := c.Play()
				return c.Check(outcome), err
			})
		}
	}
	if cases == 0 {
		b.Fatalf("there are no cases in %q", files)
	}
	b.ReportMetric(float64(cases), "cases")
}

func playTable[T any](b *testing.B, file string, play func(*T) ([]string, error)) int {
	b.Helper()
	cases, err := conformance.ReadLines[T](file)
	must(b, err)
	for i := range cases {
		diffs, err := play(&cases[i])
		must(b, err)
		if len(diffs) > 0 {
			b.Fatalf("%s, case %d: %s", file, i, diffs[0])
		}
	}
	return len(cases)
}
