package script_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/volsim/volsim/internal/tools/script"
)

// TestScrambled runs the lines of all scripts in random order, over the files of one of them. Hardly anything is as expected then, but
// every failure is one of a line, and nothing panics.
func TestScrambled(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	var archives []*txtar.Archive
	var lines []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		archive := txtar.Parse(data)
		archives = append(archives, archive)
		for line := range strings.Lines(string(archive.Comment)) {
			first, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			if first != "" && first != "#" && first != "config" && first != "seeds" && first != "backend" && first != "stop" {
				lines = append(lines, line)
			}
		}
	}
	commands := 0
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 60 {
		archive := archives[random.IntN(len(archives))]
		text := fmt.Sprintf("config seed=%d watch=all\nbackend disk.example.com lenient\nnode add n1 n2\n", n)
		for range 40 {
			line := lines[random.IntN(len(lines))]
			// A command that fails must not end the run; an expectation does not. Lines about files of other scripts cannot be read.
			for _, variant := range []string{"? " + line, line} {
				if _, err := parsed(archive, text+variant); err == nil {
					text += variant
					break
				}
			}
		}
		s, err := parsed(archive, text)
		require.NoError(t, err)
		result, err := script.Run(s, script.Options{Continue: true})
		if err != nil {
			require.NotEmpty(t, result.Failures)
			for _, failure := range result.Failures {
				require.Positive(t, failure.Line)
				require.True(t, strings.HasPrefix(failure.Error(), "x.txtar:"), failure)
			}
		}
		require.NotNil(t, result.Cluster)
		result.Cluster.Close()
		commands += len(result.Commands)
	}
	require.Greater(t, commands, 1000)
}

func parsed(archive *txtar.Archive, text string) (*script.Script, error) {
	return script.Parse("x.txtar", txtar.Format(&txtar.Archive{Comment: []byte(text), Files: archive.Files}))
}
