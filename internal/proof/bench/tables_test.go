package bench

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/volsim/volsim/internal/proof/conformance"
)

// BenchmarkTables runs all cases of Kubernetes' own tests of its PersistentVolume controller once, and compares the results, including
// reading the files.
func BenchmarkTables(b *testing.B) {
	files, err := filepath.Glob("../conformance/testdata/tables-*.jsonl.gz")
	must(b, err)
	cases := 0
	for b.Loop() {
		cases = 0
		for _, file := range files {
			if strings.Contains(file, "match") {
				cases += runTable(b, file, func(c *conformance.MatchCase) ([]string, error) { return c.Run() })
				continue
			}
			cases += runTable(b, file, func(c *conformance.TableCase) ([]string, error) {
				outcome, err := c.Run()
				return c.Check(outcome), err
			})
		}
	}
	if cases == 0 {
		b.Fatalf("there are no cases in %q", files)
	}
	b.ReportMetric(float64(cases), "cases")
}

func runTable[T any](b *testing.B, file string, run func(*T) ([]string, error)) int {
	b.Helper()
	cases, err := conformance.ReadLines[T](file)
	must(b, err)
	for i := range cases {
		diffs, err := run(&cases[i])
		must(b, err)
		if len(diffs) > 0 {
			b.Fatalf("%s, case %d: %s", file, i, diffs[0])
		}
	}
	return len(cases)
}
