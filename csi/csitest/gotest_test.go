package csitest

import (
	"go/format"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/csi/internal/testdriver"
)

// The Go test of a finding is formatted, compiles, and has what Config needs to show the finding again, with and without the driver.
func TestWriteGoTest(t *testing.T) {
	cfg := testConfig(testdriver.StageAgainFails)
	cfg.Replay = "life lost@3"
	report, err := Check(cfg)
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, report.WriteGoTest(&b, "driver_test"))
	text := b.String()
	formatted, err := format.Source([]byte(text))
	require.NoError(t, err)
	require.True(t, string(formatted) == text, "the file is not formatted")
	_, err = parser.ParseFile(token.NewFileSet(), "finding_test.go", text, parser.AllErrors)
	require.NoError(t, err)
	for _, part := range []string{
		"package driver_test\n", "// NodeStageVolume answers code Internal: ", "// CSI specification, section NodeStageVolume: the operation MUST be idempotent",
		"func TestNodeStageVolumeRepeatFails(t *testing.T) {", "csitest.Run(t, csitest.Config{", `Replay: "life lost@3"`, "Recorded: `{",
	} {
		require.Contains(t, text, part)
	}
	require.LessOrEqual(t, strings.Count(text, `{"Call":`), maxCalls)

	require.EqualError(t, (&Report{}).WriteGoTest(&b, "driver_test"),
		"write a Go test: no finding of this test has a run; there is nothing to replay")
	_, err = Check(Config{Replay: "life", Recorded: "{"})
	require.ErrorContains(t, err, "read Config.Recorded: ")
}

// A text that Go cannot write raw is quoted.
func TestLiteral(t *testing.T) {
	for _, text := range []string{"plain\ntext", "a `quoted` word"} {
		unquoted, err := strconv.Unquote(literal(text))
		require.NoError(t, err)
		require.Equal(t, text, unquoted)
	}
}
