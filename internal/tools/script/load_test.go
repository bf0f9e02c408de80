package script_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/tools/script"
)

// TestLoadDump: load continues from a dump, at its time, with its storage systems, nodes and running pods. A command can act on all of it.
func TestLoadDump(t *testing.T) {
	data, err := os.ReadFile("../../../cmd/volsim/testdata/running.yaml")
	require.NoError(t, err)
	begin := "-- dump.yaml --\n" + string(data)
	for _, tt := range []struct{ name, lines string }{
		{"at the time of the dump", "load -f dump.yaml\nadvance 1h\nget pods -A\n"},
		{"with an earlier start", "config start=2026-11-20T08:00:00Z\nload -f dump.yaml\nadvance 1h\nget pods -A\n"},
		{"with a driver of its own", "backend ebs.csi.aws.com\nload -f dump.yaml\nadvance 1h\nget pods -A\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := script.Parse("x.txtar", []byte(tt.lines+begin))
			require.NoError(t, err)
			var out strings.Builder
			result, err := script.Run(s, script.Options{Out: &out})
			require.NoError(t, err)
			defer result.Cluster.Close()
			for _, never := range []string{"Rebooted", "FailedMount", "<invalid>"} {
				require.NotContains(t, out.String(), never)
			}
			require.Regexp(t, `db-0 +1/1 +Running +0 +26h`, out.String())
		})
	}
	for _, tt := range []struct{ lines, want string }{
		{"load -f dump.yaml\nload -f dump.yaml\n", "x.txtar:2: load -f dump.yaml: a script loads one dump; name all its files in one line: load -f FILE -f FILE"},
		{"set f dump.yaml\nload -f $f\n", "file names that are not variables"},
	} {
		s, err := script.Parse("x.txtar", []byte(tt.lines+begin))
		if err == nil {
			_, err = script.Run(s, script.Options{})
		}
		require.ErrorContains(t, err, tt.want)
	}
}
