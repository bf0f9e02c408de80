package rules_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/tools/rules"
)

var mention = regexp.MustCompile(`\b` + rules.IDPattern)

// folder has the Markdown files of the catalogue.
var folder = filepath.Join("..", "..", "..", "docs", "rules")

// TestCatalogue checks that the generated catalogue has the rules of the Markdown files, with their texts.
func TestCatalogue(t *testing.T) {
	want, err := rules.Read(os.DirFS(folder))
	require.NoError(t, err)
	got := rules.All()
	for i := range min(len(want), len(got)) {
		require.Equal(t, want[i], got[i], "catalogue.jsonl is out of date: run go generate ./internal/tools/rules")
	}
	require.Equal(t, len(want), len(got), "catalogue.jsonl is out of date: run go generate ./internal/tools/rules")
}

// TestRules checks that code and a test name each rule, or left-out.md gives the reason why not; and that nothing names a rule that does
// not exist.
func TestRules(t *testing.T) {
	code, tests := mentions(t)
	all, err := rules.Read(os.DirFS(folder))
	require.NoError(t, err)
	known, notSimulated := map[string]bool{}, 0
	for _, rule := range all {
		known[rule.ID] = true
		if rule.NotSimulated != "" {
			notSimulated++
		}
		switch {
		case rule.NotSimulated != "" && len(rule.NotSimulated) < 10:
			t.Errorf("%s is not simulated, without a reason", rule.ID)
		case rule.NotSimulated != "":
		case !names(code, rule.ID):
			t.Errorf("%s (%s): no code names it", rule.ID, rule.File)
		case !names(tests, rule.ID):
			t.Errorf("%s (%s): no test names it", rule.ID, rule.File)
		}
	}
	require.Greater(t, len(known), 400, "the catalogue was not read")
	t.Logf("%d of %d rules are implemented and tested", len(known)-notSimulated, len(known))
	for _, named := range []map[string]string{code, tests} {
		for id, file := range named {
			if !known[id] && !isFamily(known, id) {
				t.Errorf("%s names %s, which no file of docs/rules defines", file, id)
			}
		}
	}
}

// TestRead checks the errors of Read.
func TestRead(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	_, err := rules.Read(fstest.MapFS{"binder.md": file("| BIND-001 | binds |\n")})
	require.ErrorIs(t, err, fs.ErrNotExist, "left-out.md is missing")
	_, err = rules.Read(fstest.MapFS{"binder.md": file("| BIND-001 | binds |\n"), "left-out.md": file("| BIND-002 | a remark |\n")})
	require.ErrorContains(t, err, "left-out.md names BIND-002, which no file defines")
	found, err := rules.Read(fstest.MapFS{"binder.md": file("| BIND-001 | binds |\n"), "left-out.md": file("| BIND-001 | a remark |\n")})
	require.NoError(t, err)
	require.Equal(t, []rules.Rule{{ID: "BIND-001", File: "binder.md", Text: "| BIND-001 | binds |", NotSimulated: "a remark"}}, found)
}

// names reports whether a rule is named; API-030.PV also by naming its family, API-030.
func names(in map[string]string, id string) bool {
	if _, ok := in[id]; ok {
		return true
	}
	family, _, dotted := strings.Cut(id, ".")
	_, ok := in[family]
	return dotted && ok
}

// isFamily reports whether the ID covers several rules with letters: BIND-059 covers BIND-059a and so on.
func isFamily(known map[string]bool, id string) bool {
	for k := range known {
		if strings.HasPrefix(k, id) {
			return true
		}
	}
	return false
}

// mentions returns the IDs that Go files name outside and inside tests, each with one file that names it.
func mentions(t *testing.T) (code, tests map[string]string) {
	t.Helper()
	code, tests = map[string]string{}, map[string]string{}
	root := filepath.Join("..", "..", "..")
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "testdata" || sameFolder(file, ".")) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(file, ".go") {
			return nil
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		named := code
		if strings.HasSuffix(file, "_test.go") {
			named = tests
		}
		for _, id := range mention.FindAllString(string(data), -1) {
			named[id] = file
		}
		return nil
	})
	require.NoError(t, err)
	return code, tests
}

// sameFolder reports whether two paths are one folder: this package names rules as examples only.
func sameFolder(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

func TestGet(t *testing.T) {
	rule, ok := rules.Get("MATCH-017")
	require.True(t, ok)
	require.Equal(t, "binder.md", rule.File)
	require.Contains(t, rule.Text, "phase = Available")
	_, ok = rules.Get("MATCH-999")
	require.False(t, ok)

	rule, _ = rules.Get("BIND-003")
	require.Contains(t, rule.Text, "its UID is either empty or\n", "a paragraph continues")
	rule, _ = rules.Get("ATT-064")
	require.Contains(t, rule.Text, "| yes | no | yes | no | force detach | no |", "it announces a table")
	require.NotContains(t, rule.Text, "Consequence")
}
