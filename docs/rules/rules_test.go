package rules_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/docs/rules"
)

var mention = regexp.MustCompile(`\b(?:API|BIND|MATCH|PROV|RECL|PROT|EPH|EXP|VAC|XPROV|ATT|MNT|SCHED)-[0-9]{3}[a-z]?(?:\.[A-Za-z]+)?\b`)

// TestRules: each rule of the catalogue is held by code and by a test, or left out with its reason; and nothing names a rule that
// is not there.
func TestRules(t *testing.T) {
	code, tests := mentions(t)
	leftOut := rules.LeftOut()
	known := map[string]bool{}
	for _, rule := range rules.All() {
		known[rule.ID] = true
		reason, out := leftOut[rule.ID]
		switch {
		case out && len(reason) < 10:
			t.Errorf("%s is left out without a reason", rule.ID)
		case out:
		case !held(code, rule.ID):
			t.Errorf("%s (%s) is held by no code", rule.ID, rule.File)
		case !held(tests, rule.ID):
			t.Errorf("%s (%s) is held by no test", rule.ID, rule.File)
		}
	}
	require.Greater(t, len(known), 400, "the catalogue was not read")
	for id := range leftOut {
		require.True(t, known[id], "left-out.md names %s, which is no rule", id)
	}
	for _, named := range []map[string]string{code, tests} {
		for id, file := range named {
			if !known[id] && !isFamily(known, id) {
				t.Errorf("%s names %s, which is no rule", file, id)
			}
		}
	}
}

// held reports whether a rule is named; API-030.PV also by naming its family, API-030.
func held(in map[string]string, id string) bool {
	if _, ok := in[id]; ok {
		return true
	}
	family, _, dotted := strings.Cut(id, ".")
	_, ok := in[family]
	return dotted && ok
}

// isFamily reports whether the ID stands for several rules with letters: BIND-059 for BIND-059a and so on.
func isFamily(known map[string]bool, id string) bool {
	for k := range known {
		if strings.HasPrefix(k, id) {
			return true
		}
	}
	return false
}

// mentions maps the IDs named in the project's Go files to one file that names each.
func mentions(t *testing.T) (code, tests map[string]string) {
	t.Helper()
	code, tests = map[string]string{}, map[string]string{}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "testdata" || file == filepath.Join(root, "docs")) {
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

func TestGet(t *testing.T) {
	rule, ok := rules.Get("MATCH-017")
	require.True(t, ok)
	require.Equal(t, "binder.md", rule.File)
	require.Contains(t, rule.Text, "phase = Available")
	_, ok = rules.Get("MATCH-999")
	require.False(t, ok)

	rule, _ = rules.Get("BIND-003")
	require.Contains(t, rule.Text, "its UID is either empty or\n", "a paragraph goes on")
	rule, _ = rules.Get("ATT-064")
	require.Contains(t, rule.Text, "| yes | no | yes | no | force detach | no |", "it announces a table")
	require.NotContains(t, rule.Text, "Consequence")
}
