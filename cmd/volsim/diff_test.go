package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

const diffFlaky = "../../internal/tools/rundiff/testdata/flaky.txtar"

func TestDiff(t *testing.T) {
	dir := t.TempDir()
	small := write(t, dir, "small.yaml", runClaim)
	broken := write(t, dir, "broken.txtar", "backend disk.example.com\nexpect pvc/data phase=Bound\nadvance 1s\n")
	whole := write(t, dir, "whole.txtar", "backend disk.example.com\nadvance 1s\n")
	for _, tt := range []struct {
		name   string
		stdin  string
		args   []string
		status int
		want   []string
	}{
		{"one script, two seeds, the same", "", []string{whole, "--seed-b", "3"}, 0,
			[]string{"--- " + whole + ": ok, seed 0", "+++ " + whole + ": ok, seed 3", "no difference"}},
		{"two scripts", "", []string{diffFlaky, whole}, 1,
			[]string{"- pvc/default/data\n", "storage calls with different counts", "traces diverge at +0s"}},
		{"nothing but objects", "", []string{diffFlaky, whole, "--only", "objects"}, 1, []string{"- sc/fast\n"}},
		{"a script that fails", "", []string{broken, whole}, 1,
			[]string{"failed: " + broken + `:2: expect pvc/data phase=Bound: persistentvolumeclaims "data" not found`,
				": 1 failure, seed 0, 1s of virtual time"}},
		{"a manifest and the standard input", runClaim + "  volumeMode: Block\n", []string{small, "-", "--only", "objects"}, 1,
			[]string{"  pvc/default/data\n    spec.volumeMode Filesystem -> Block\n"}},
		{"until", "", []string{whole, whole, "--until", "1h"}, 0, []string{"ok, seed 0, 1h0m0s of virtual time"}},
		{"two dumps", "", []string{"-f", "../../internal/tools/rundiff/testdata/one.yaml", "-f",
			"../../internal/tools/rundiff/testdata/other.yaml"}, 1, []string{"    metadata.deletionTimestamp none -> "}},
		{"one dump twice", "", []string{"-f", "testdata/released.yaml", "-f", "testdata/released.yaml"}, 0, []string{"no difference"}},
		{"one dump, continued", "",
			[]string{"-f", "testdata/released.yaml", "-f", "testdata/released.yaml", "--until", "1m", "--seed-a", "2", "--seed-b", "2"}, 0,
			[]string{"seed 2, 1m0s later"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, out, errOut := shell(tt.stdin, append([]string{"diff"}, tt.args...)...)
			require.Equal(t, tt.status, status, out+errOut)
			require.NotContains(t, errOut, "exit status")
			for _, want := range tt.want {
				require.Contains(t, out, want)
			}
		})
	}
}

func TestDiffJSON(t *testing.T) {
	status, out, errOut := shell(runClaim, "diff", diffFlaky, "-", "-o", "json")
	require.Equal(t, 1, status, errOut)
	require.Empty(t, errOut)
	var got struct {
		Same    bool
		Objects []struct{ Name, OnlyIn string }
		Calls   []struct {
			What string
			A, B int
		}
		Divergence *struct{ At string }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	require.False(t, got.Same)
	require.Equal(t, "sc/fast", got.Objects[0].Name)
	require.Equal(t, "a", got.Objects[0].OnlyIn)
	require.Zero(t, got.Calls[0].B)
	require.Equal(t, "+0s", got.Divergence.At)
}

func TestDiffErrors(t *testing.T) {
	dir := t.TempDir()
	script := write(t, dir, "a.txtar", "advance 1s\n")
	write(t, dir, "b.txtar", "advance 1s\n")
	malformed := write(t, dir, "c.txt", "conquer\n")
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"nothing", nil, "missing FILE argument"},
		{"three", []string{script, script, script}, "too many arguments: want at most 2, got 3"},
		{"one", []string{script}, "missing second FILE, --seed-a or --seed-b"},
		{"one dump", []string{"-f", "testdata/released.yaml"}, "invalid number of -f: want 2, got 1"},
		{"dumps and scripts", []string{script, "-f", "a", "-f", "b"}, "-f and FILE arguments are mutually exclusive"},
		{"seeds of dumps", []string{"-f", "a", "-f", "b", "--seed-a", "1"}, "--seed-a and --seed-b have no effect on dumps without --until"},
		{"the standard input twice", []string{"-", "-"}, "standard input can be read only once"},
		{"the standard input with two seeds", []string{"-", "--seed-b", "1"}, "standard input can be read only once"},
		{"an output", []string{script, script, "-o", "yaml"}, `invalid -o "yaml": want text or json`},
		{"a part", []string{script, script, "--only", "colours"}, `invalid --only "colours": want objects, events, calls or trace`},
		{"backwards", []string{script, script, "--until", "-1s"}, "invalid --until -1s: must not be negative"},
		{"a file that is not there", []string{script, "nobody.txtar"}, "nobody.txtar: no such file or directory"},
		{"a dump that is not there", []string{"-f", "nobody.yaml", "-f", "nobody.yaml"}, "nobody.yaml: no such file or directory"},
		{"no dump", []string{"-f", script, "-f", script}, "a.txtar:1: read dump: "},
		{"a folder of scripts", []string{dir, script}, "directory contains 2 scripts; name one"},
		{"a script that cannot be read", []string{script, malformed}, "c.txt:1: conquer: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, out, errOut := shell("", append([]string{"diff"}, tt.args...)...)
			require.Equal(t, exitUsage, status, "as with diff, trouble is 2")
			require.Empty(t, out)
			oneLine(t, errOut)
			require.Contains(t, errOut, tt.want)
		})
	}
}
