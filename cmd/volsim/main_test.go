package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shell runs one command line as a shell would.
func shell(stdin string, args ...string) (status int, out, errOut string) {
	var stdout, stderr bytes.Buffer
	status = execute(args, strings.NewReader(stdin), &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

func TestVersion(t *testing.T) {
	status, out, errOut := shell("", "version")
	require.Zero(t, status, errOut)
	require.Contains(t, out, "Kubernetes v1.36.3: ")
	_, flag, _ := shell("", "--version")
	require.Equal(t, out, flag)
}

// TestOneDash: flags may be spelled as those of Go's own commands are.
func TestOneDash(t *testing.T) {
	const script = "../../examples/sweep/race.txtar"
	status, want, errOut := shell("", "sweep", "--quiet", "--seeds=1..20", "--shard", "0/2", "-o", "json", script)
	require.Zero(t, status, errOut)
	require.NotEmpty(t, want)
	for _, args := range [][]string{
		{"sweep", "-quiet", "-seeds=1..20", "-shard", "0/2", "-o", "json", script},
		{"sweep", "-q", "-seeds", "1..20", "-shard=0/2", "-output=json", script},
		{"sweep", "-q", "-seeds", "1..20", "-shard=0/2", "-ojson", "--", script},
	} {
		status, out, errOut := shell("", args...)
		require.Zero(t, status, errOut)
		require.Equal(t, want, out, args)
	}
	status, _, errOut = shell("", "sweep", "-conquer", script)
	require.Equal(t, exitUsage, status)
	require.Contains(t, errOut, "-conquer")
	status, _, errOut = shell("", "version", "--", "-quiet")
	require.Equal(t, exitUsage, status)
	require.Contains(t, errOut, `"-quiet"`)
}

func TestUsageErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{name: "a command that does not exist", args: []string{"conquer"}, want: `unknown command "conquer" for "volsim"`},
		{name: "a flag that does not exist", args: []string{"version", "--conquer"}, want: "unknown flag: --conquer"},
		{name: "an argument too many", args: []string{"version", "now"}, want: `unknown command "now" for "volsim version"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, out, errOut := shell("", tt.args...)
			require.Equal(t, exitUsage, status)
			require.Empty(t, out)
			require.Contains(t, errOut, tt.want)
			require.Equal(t, 1, strings.Count(errOut, "\n"), "one line")
		})
	}
}
