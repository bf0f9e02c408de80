package volsim_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadme: each Go snippet of README.md is part of a test, and the script is one that a test runs. So all of them work.
func TestReadme(t *testing.T) {
	read := func(file string) string {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		return string(data)
	}
	tests := read("example_test.go") + read("controller/example_test.go") + read("volsimtest/volsimtest_test.go") +
		read("volsimtest/scripts_test.go")
	script := read("volsimtest/testdata/lost-reply.txtar")
	require.Regexp(t, "(?s)^# volsim\n[^`]*```sh\ngo run ./examples/lifecycle .*\ngo test ./... [^`]*```", read("README.md"),
		"the first two commands")
	found := map[string]int{}
	for _, block := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(read("README.md"), -1) {
		language, text := block[1], block[2]
		found[language]++
		switch language {
		case "go":
			require.True(t, strings.Contains(tests, text), "no test contains\n%s", text)
		case "":
			require.Equal(t, script, text)
		}
	}
	require.Equal(t, map[string]int{"go": 5, "": 1, "sh": 6, "console": 1}, found)
}

// TestPackageComments: a file that a doc.go names exists, in its folder or, with a path, in the repository.
func TestPackageComments(t *testing.T) {
	named := regexp.MustCompile(`(?:[a-z_]+/)*[a-z][a-z0-9_]*\.go\b`)
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "doc.go" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, name := range named.FindAllString(string(data), -1) {
			if name == "shared_informer.go" { // of client-go
				continue
			}
			_, here := os.Stat(filepath.Join(filepath.Dir(path), name))
			_, there := os.Stat(name)
			if here != nil && there != nil {
				t.Errorf("%s names %s, which does not exist", path, name)
			}
		}
		return nil
	}))
}
