package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const sweepVolume = "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: only}\nspec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /tmp/a}}\n"

const sweepRace = "apply -f both\nadvance 1s\n-- both --\n" + sweepVolume + "---\n" + runClaim

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "race.txtar", sweepRace)
	t.Run("both outcomes, whatever the number of cores", func(t *testing.T) {
		status, out, errOut := play("", "sweep", "-q", "--seeds", "1..60", file)
		require.Zero(t, status, errOut)
		require.Contains(t, out, file+": 60 seeds of 1..60: 2 outcomes, 0 invariants violated\n")
		require.Contains(t, out, "phase=Bound")
		require.Contains(t, out, "phase=Pending")
		require.Contains(t, out, "replay: volsim run --seed ")
		for _, cores := range []string{"1", "7"} {
			_, again, _ := play("", "sweep", "-q", "--seeds", "1..60", "--cores", cores, file)
			require.Equal(t, out, again)
		}
	})
	t.Run("shards merged are the whole", func(t *testing.T) {
		_, whole, _ := play("", "sweep", "-q", "-o", "json", "--seeds", "1..50", file)
		var files []string
		for _, shard := range []string{"0/3", "1/3"} {
			status, out, errOut := play("", "sweep", "-q", "-o", "json", "--seeds", "1..50", "--shard", shard, file)
			require.Zero(t, status, errOut)
			files = append(files, write(t, dir, strings.Replace(shard, "/", "-", 1), out))
		}
		status, _, errOut := play("", append([]string{"sweep", "--merge"}, files...)...)
		require.Equal(t, exitFailed, status)
		require.Equal(t, "volsim: shards [2] of 3 are missing: play them, and merge again\n", errOut)
		t.Setenv(jobIndex, "2")
		_, last, _ := play("", "sweep", "-q", "-o", "json", "--seeds", "1..50", "--shard", "job/3", file)
		status, merged, errOut := play(last, append([]string{"sweep", "-o", "json", "--merge", "-"}, files...)...)
		require.Zero(t, status, errOut)
		require.Equal(t, whole, merged)
	})
	t.Run("runs that fail", func(t *testing.T) {
		failing := strings.Replace(sweepRace, "-- both", "expect pvc/data phase=Bound\n-- both", 1)
		status, out, errOut := play(failing, "sweep", "-q", "--seeds", "1..40", "-")
		require.Equal(t, exitFailed, status)
		require.Regexp(t, `^volsim: stdin: \d+ of 40 runs failed\n$`, errOut)
		require.Contains(t, out, "\nline 3 failed in ")
		status, _, errOut = play("seeds 1..40 some\n"+failing, "sweep", "-q", "-")
		require.Zero(t, status, errOut)
	})
	t.Run("a manifest", func(t *testing.T) {
		status, out, errOut := play(sweepVolume+"---\n"+runClaim, "sweep", "-q", "--seeds", "1..5", "-")
		require.Zero(t, status, errOut)
		require.Contains(t, out, "kubernetes.io/host-path: 0 volumes, 0 deleted")
	})
}

func TestSweepExhaustive(t *testing.T) {
	world := write(t, t.TempDir(), "world.yaml", sweepVolume+"---\n"+runClaim)
	status, out, errOut := play("", "sweep", "-q", "--exhaustive", "--max-runs", "200", "-o", "json", world)
	require.Zero(t, status, errOut)
	var report explorationReport
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	require.False(t, report.Finished)
	require.Equal(t, "200 runs", report.Bounded)
	require.NotEmpty(t, report.Outcomes)

	status, out, errOut = play("", "sweep", "-q", "--exhaustive", "--max-runs", "200", "--without", "kubelet", world)
	require.Zero(t, status, errOut)
	require.Contains(t, out, "not finished, ended by its bound of 200 runs")
	_, replay, found := strings.Cut(out, "replay: echo ")
	require.True(t, found)
	choices, rest, _ := strings.Cut(replay, " | volsim sweep --choices - --without kubelet "+world+"\n")
	wanted, _, _ := strings.Cut(rest, "\n\noutcome")
	trace := filepath.Join(t.TempDir(), "trace")
	status, out, errOut = play(choices, "sweep", "--choices", "-", "--trace", trace, "--without", "kubelet", world)
	require.Zero(t, status, errOut)
	require.Contains(t, out, strings.TrimSuffix(wanted, "\n"))
	data, err := os.ReadFile(trace)
	require.NoError(t, err)
	require.Contains(t, string(data), "PersistentVolumeClaim/default/data")
}

func TestSweepMistakes(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "race.txtar", sweepRace)
	world := write(t, dir, "world.yaml", runClaim)
	t.Setenv(jobIndex, "")
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		want   string
	}{
		{"nothing", nil, exitUsage, "it is not said what to sweep"},
		{"two scripts", []string{file, file}, exitUsage, "one script at a time"},
		{"no seeds", []string{file}, exitUsage, "has no line of seeds"},
		{"no range", []string{"--seeds", "5", file}, exitUsage, "write FROM..TO"},
		{"a range that runs backwards", []string{"--seeds", "5..1", file}, exitUsage, "the smaller seed first"},
		{"a shard too many", []string{"--seeds", "1..5", "--shard", "3/3", file}, exitUsage, "I from 0 to N-1"},
		{"no Job", []string{"--seeds", "1..5", "--shard", "job/3", file}, exitUsage, jobIndex + " is not set"},
		{"two ways", []string{"--seeds", "1..5", "--exhaustive", world}, exitUsage, "do not go together"},
		{"a flag of another way", []string{"--seeds", "1..5", "--no-prune", file}, exitUsage, "--no-prune does not go with"},
		{"a format that does not exist", []string{"-o", "xml", file}, exitUsage, "there are text and json"},
		{"a script in every order", []string{"--exhaustive", file}, exitFailed, "it is a script"},
		{"no such controller", []string{"--exhaustive", "--without", "nobody", world}, exitFailed, `Without names "nobody"`},
		{"a script that is wrong", []string{"--seeds", "1..5", write(t, dir, "x.txtar", "now\nconquer\n")}, exitFailed, "x.txtar:2: conquer: "},
		{"choices that are none", []string{"--choices", file, world}, exitFailed, "choices are numbers"},
		{"a merge of something else", []string{"--merge", file}, exitFailed, "line 1 is no line of volsim sweep"},
		{"a file that is not there", []string{"--merge", filepath.Join(dir, "none")}, exitFailed, "none: no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, _, errOut := play("", append([]string{"sweep"}, tt.args...)...)
			require.Equal(t, tt.status, status, errOut)
			oneLine(t, errOut)
			require.Contains(t, errOut, tt.want)
		})
	}
}
