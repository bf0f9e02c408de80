package volsimtest

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

// RunScripts runs each script that matches a pattern as a subtest of its name: RunScripts(t, "testdata/*.txtar"). A pattern without a
// match fails the test. With the flag -update-scripts it writes the files that cmp and trace compare with, instead of comparing.
func RunScripts(t *testing.T, patterns ...string) {
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
		t.Run(strings.TrimSuffix(filepath.ToSlash(file), ".txtar"), func(t *testing.T) { runScript(t, file) })
	}
}

func runScript(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parse := script.Parse
	if *update {
		parse = script.ParseToUpdate
	}
	s, err := parse(file, data)
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
		t.Logf("%s is updated: review the changes", file)
	}
}
