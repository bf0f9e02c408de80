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

var tables = flag.String("tables", "", "tables to play instead of those in testdata: files, divided by commas")

// tableCase is a case of any table: what it is called, and how its play differs from what it expects.
type tableCase struct {
	name string
	play func() ([]string, error)
}

// readTable reads the cases of a table; those about matching are in files with match in their names.
func readTable(t *testing.T, file string) []tableCase {
	t.Helper()
	var cases []tableCase
	if strings.Contains(filepath.Base(file), "match") {
		read, err := conformance.ReadLines[conformance.MatchCase](located(file))
		require.NoError(t, err)
		for _, c := range read {
			cases = append(cases, tableCase{c.Kind + "/" + c.Group + "/" + c.Name, c.Play})
		}
		return cases
	}
	read, err := conformance.ReadLines[conformance.TableCase](located(file))
	require.NoError(t, err)
	for _, c := range read {
		cases = append(cases, tableCase{c.Group + "/" + c.Name, func() ([]string, error) {
			outcome, err := c.Play()
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
			diffs, err := c.play()
			switch {
			case err != nil:
				t.Errorf("%s: %v", c.name, err)
			case len(diffs) > 0:
				t.Errorf("%s: -expected +played:\n%s", c.name, diffs[0])
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
