package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/tools/predict"
)

// TestPredictDocument: the commands in docs/predict.md and README.md print the output below them.
func TestPredictDocument(t *testing.T) {
	t.Run("predict.md", func(t *testing.T) { testConsole(t, "../../docs/predict.md", 5) })
	t.Run("README.md", func(t *testing.T) { testConsole(t, "../../README.md", 1) })
}

// testConsole runs the commands of a document, and compares the output or, with -update-answers, writes it.
func testConsole(t *testing.T, file string, commands int) {
	const fence = "```console\n$ volsim "
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	parts := strings.Split(string(data), fence)
	require.Len(t, parts, commands+1)
	current := parts[0]
	for _, part := range parts[1:] {
		line, rest, _ := strings.Cut(part, "\n")
		_, after, found := strings.Cut("\n"+rest, "\n```\n")
		require.True(t, found, line)
		status, out, errOut := shell("", strings.Fields(strings.ReplaceAll(line, "cmd/volsim/", ""))...)
		require.Zero(t, status, errOut)
		current += fence + line + "\n" + errOut + out + "```\n" + after
	}
	if *updateAnswers {
		require.NoError(t, os.WriteFile(file, []byte(current), 0o644))
		return
	}
	require.Equal(t, current, string(data))
}

// The examples in the help are command lines that can be understood.
func TestExamplesInHelp(t *testing.T) {
	var steps []string
	for _, cmd := range newRoot().Commands() {
		if name := cmd.Name(); name != "explain" && name != "predict" {
			continue
		}
		require.NotEmpty(t, cmd.Example)
		for _, line := range strings.Split(cmd.Example, "\n") {
			if fields := strings.Fields(line); len(fields) > 0 && fields[0] == "volsim" {
				if fields[2] != "--cluster" {
					require.Equal(t, []string{cmd.Name(), "-f", "dump.yaml"}, fields[1:4])
				}
				if _, words, ok := strings.Cut(line, " -- "); ok {
					steps = append(steps, words)
				}
			}
		}
	}
	require.Len(t, steps, 7)
	t.Chdir("testdata/policies")
	for _, words := range steps {
		_, err := predict.Parse(strings.Fields(strings.ReplaceAll(words, "'", "")), os.ReadFile)
		require.NoError(t, err, words)
	}
}
