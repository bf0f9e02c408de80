package report_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/tools/dump"
	"github.com/volsim/volsim/internal/tools/predict"
	"github.com/volsim/volsim/internal/tools/report"
)

// TestAsked: dumps with a question each. The comments at the top of a file are its rules, the objects to explain (ask) or the steps to predict
// (predict), texts of the answer in their order (says), and texts that it must not have (never).
func TestAsked(t *testing.T) {
	files, err := filepath.Glob("testdata/asked/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			want := comments(string(data))
			require.NotEmpty(t, want["rule"])
			require.NotEmpty(t, want["says"])
			d, err := dump.Read(data)
			require.NoError(t, err)
			var text strings.Builder
			if steps := want["predict"]; len(steps) > 0 {
				writePredicted(t, &text, d, steps[0])
			} else {
				asked, err := report.Select("default", false, false, strings.Fields(strings.Join(want["ask"], " ")))
				require.NoError(t, err)
				answer, err := report.Explain(d, asked, dump.Options{Now: noon}, 10*time.Minute, 0, nil)
				require.NoError(t, err)
				require.NoError(t, answer.WriteText(&text))
			}
			rest := text.String()
			for _, says := range want["says"] {
				at := strings.Index(rest, says)
				require.GreaterOrEqual(t, at, 0, "%q is missing or too early in\n%s", says, text.String())
				rest = rest[at+len(says):]
			}
			for _, never := range want["never"] {
				require.NotContains(t, text.String(), never)
			}
		})
	}
}

func writePredicted(t *testing.T, text *strings.Builder, d *dump.Dump, line string) {
	t.Helper()
	steps, err := predict.Parse(strings.Fields(line), os.ReadFile)
	require.NoError(t, err)
	p, err := predict.Predict(d, steps, predict.Options{Options: dump.Options{Now: noon}})
	require.NoError(t, err)
	require.NoError(t, report.WritePrediction(text, p))
}

// comments returns the values of the comments at the top of a dump, by name.
func comments(text string) map[string][]string {
	found := map[string][]string{}
	for line := range strings.Lines(text) {
		comment, ok := strings.CutPrefix(strings.TrimSpace(line), "# ")
		if !ok {
			return found
		}
		name, value, _ := strings.Cut(comment, ": ")
		found[name] = append(found[name], value)
	}
	return found
}
