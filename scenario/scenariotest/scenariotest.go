// Package scenariotest plays scripts as Go tests.
//
//	func TestScripts(t *testing.T) { scenariotest.Run(t, "testdata/*.txtar") }
package scenariotest

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/volsim/volsim/internal/tools/script"
)

var update = flag.Bool("update-scripts", false, "write the files that scripts compare outputs with")

// Run plays each script that a pattern finds as a subtest of its name. A pattern without a file fails the test. With the flag
// -update-scripts the files that cmp and trace compare with are written instead of compared.
func Run(t *testing.T, patterns ...string) {
	t.Helper()
	var files []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatalf("pattern %s: %v", pattern, err)
		}
		if len(found) == 0 {
			t.Fatalf("pattern %s: there is no such script", pattern)
		}
		files = append(files, found...)
	}
	slices.Sort(files)
	for _, file := range slices.Compact(files) {
		t.Run(strings.TrimSuffix(filepath.ToSlash(file), ".txtar"), func(t *testing.T) { play(t, file) })
	}
}

// Updating reports whether the flag -update-scripts was given.
func Updating() bool { return *update }

func play(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := script.Parse(file, data)
	if err != nil {
		t.Fatal(err)
	}
	var transcript bytes.Buffer
	result, err := script.Run(s, script.Options{Update: *update, Continue: true, Out: &transcript})
	if result.Cluster != nil {
		defer result.Cluster.Close()
	}
	if err != nil {
		t.Fatalf("%v\n\n%s", err, transcript.String())
	}
	if result.Updated {
		if err := os.WriteFile(file, result.Archive, 0o644); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s is updated: read what changed", file)
	}
}
