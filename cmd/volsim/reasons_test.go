package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/proof/reasons"
	"github.com/volsim/volsim/internal/tools/report"
)

// TestReasons asks the command about the reasons that package explain is tested with, each in a dump.
func TestReasons(t *testing.T) {
	file := filepath.Join(t.TempDir(), "dump.yaml")
	for name, rows := range reasons.Tables() {
		t.Run(name, func(t *testing.T) {
			for _, row := range rows {
				t.Run(row.Rule+" "+row.Name, func(t *testing.T) {
					require.NoError(t, os.WriteFile(file, row.Dump(t), 0o600))
					status, out, errOut := shell("", "explain", "-f", file, "--ahead", "0s", "--now",
						reasons.Now.Format("2006-01-02T15:04:05Z"), "-o", "json", row.Ask)
					require.Zero(t, status, errOut)
					var got report.Answer
					require.NoError(t, json.Unmarshal([]byte(out), &got))
					require.Len(t, got.Explanations, 1)
					row.Command().CheckAnswer(t, got.Explanations[0])
				})
			}
		})
	}
}

// Objects that wait for each other are explained once: none is omitted because the other one's explanation contains it.
func TestExplainAllKeepsCircles(t *testing.T) {
	for _, row := range reasons.PodsWithoutANode() {
		if row.Name != "SCHED-102: no local volume is left" {
			continue
		}
		status, out, errOut := shell(string(row.Dump(t)), "explain", "-f", "-", "--ahead", "0s")
		require.Zero(t, status, errOut)
		require.True(t, strings.HasPrefix(out, "pod/default/p has no phase\n"), out)
		require.Equal(t, 1, strings.Count(out, "pod/default/p has no phase\n"), out)
		require.Equal(t, 1, strings.Count(out, "pvc/default/data is "), out)
		return
	}
	t.Fatal("row not found")
}
