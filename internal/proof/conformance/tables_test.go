package conformance_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/proof/conformance"
)

var tables = flag.String("tables", "", "tables to run instead of those in testdata: comma-separated files")

// tableCase is a case of any table: its name, and the differences of a run from its expectation.
type tableCase struct {
	name string
	run  func() ([]string, error)
}

// readTable reads the cases of a table; files with match in their names contain cases of matching.
func readTable(t *testing.T, file string) []tableCase {
	t.Helper()
	var cases []tableCase
	if strings.Contains(filepath.Base(file), "match") {
		read, err := conformance.ReadLines[conformance.MatchCase](located(file))
		require.NoError(t, err)
		for _, c := range read {
			cases = append(cases, tableCase{c.Kind + "/" + c.Group + "/" + c.Name, c.Run})
		}
		return cases
	}
	read, err := conformance.ReadLines[conformance.TableCase](located(file))
	require.NoError(t, err)
	for _, c := range read {
		cases = append(cases, tableCase{c.Group + "/" + c.Name, func() ([]string, error) {
			outcome, err := c.Run()
			return c.Check(outcome), err
		}})
	}
	return cases
}

func TestTables(t *testing.T) {
	for _, file := range filesOf(t, *tables, true) {
		cases := readTable(t, file)
		passed := 0
		for _, c := range cases {
			diffs, err := c.run()
			switch {
			case err != nil:
				t.Errorf("%s: %v", c.name, err)
			case len(diffs) > 0:
				t.Errorf("%s: -expected +observed:\n%s", c.name, diffs[0])
			default:
				passed++
			}
		}
		fmt.Printf("tables %s: passed %d of %d\n", file, passed, len(cases))
		if passed != len(cases) {
			t.Errorf("%s: %d of %d failed", file, len(cases)-passed, len(cases))
		}
	}
}
