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
		status, out, errOut := shell("", "sweep", "-q", "--seeds", "1..60", file)
		require.Zero(t, status, errOut)
		require.Contains(t, out, file+": 60 seeds of 1..60: 2 outcomes, 0 invariants violated\n")
		require.Contains(t, out, "phase=Bound")
		require.Contains(t, out, "phase=Pending")
		require.Contains(t, out, "replay: volsim run --seed ")
		for _, cores := range []string{"1", "7"} {
			_, again, _ := shell("", "sweep", "-q", "--seeds", "1..60", "--cores", cores, file)
			require.Equal(t, out, again)
		}
	})
	t.Run("shards merged are the whole", func(t *testing.T) {
		_, whole, _ := shell("", "sweep", "-q", "-o", "json", "--seeds", "1..50", file)
		var files []string
		for _, shard := range []string{"0/3", "1/3"} {
			status, out, errOut := shell("", "sweep", "-q", "-o", "json", "--seeds", "1..50", "--shard", shard, file)
			require.Zero(t, status, errOut)
			files = append(files, write(t, dir, strings.Replace(shard, "/", "-", 1), out))
		}
		status, _, errOut := shell("", append([]string{"sweep", "--merge"}, files...)...)
		require.Equal(t, exitFailed, status)
		require.Equal(t, "volsim: missing shards [2] of 3; run them and merge again\n", errOut)
		t.Setenv(jobIndex, "2")
		_, last, _ := shell("", "sweep", "-q", "-o", "json", "--seeds", "1..50", "--shard", "job/3", file)
		status, merged, errOut := shell(last, append([]string{"sweep", "-o", "json", "--merge", "-"}, files...)...)
		require.Zero(t, status, errOut)
		require.Equal(t, whole, merged)
	})
	t.Run("runs that fail", func(t *testing.T) {
		failing := strings.Replace(sweepRace, "-- both", "expect pvc/data phase=Bound\n-- both", 1)
		status, out, errOut := shell(failing, "sweep", "-q", "--seeds", "1..40", "-")
		require.Equal(t, exitFailed, status)
		require.Regexp(t, `^volsim: stdin: \d+ of 40 runs failed\n$`, errOut)
		require.Contains(t, out, "\nline 3 failed in ")
		status, _, errOut = shell("seeds 1..40 some\n"+failing, "sweep", "-q", "-")
		require.Zero(t, status, errOut)
	})
	t.Run("a manifest", func(t *testing.T) {
		status, out, errOut := shell(sweepVolume+"---\n"+runClaim, "sweep", "-q", "--seeds", "1..5", "-")
		require.Zero(t, status, errOut)
		require.Contains(t, out, "kubernetes.io/host-path: 0 volumes, 0 deleted")
	})
}

func TestSweepExhaustive(t *testing.T) {
	model := write(t, t.TempDir(), "model.yaml", sweepVolume+"---\n"+runClaim)
	status, out, errOut := shell("", "sweep", "-q", "--exhaustive", "--max-runs", "200", "-o", "json", model)
	require.Zero(t, status, errOut)
	var report explorationReport
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	require.False(t, report.Finished)
	require.Equal(t, "200 runs", report.Bounded)
	require.NotEmpty(t, report.Outcomes)

	status, out, errOut = shell("", "sweep", "-q", "--exhaustive", "--max-runs", "200", "--without", "kubelet", model)
	require.Zero(t, status, errOut)
	require.Contains(t, out, "not finished, stopped at 200 runs")
	_, replay, found := strings.Cut(out, "replay: volsim sweep --choices ")
	require.True(t, found)
	choices, rest, _ := strings.Cut(replay, " --without kubelet "+model+"\n")
	wanted, _, _ := strings.Cut(rest, "\n\noutcome")
	trace := filepath.Join(t.TempDir(), "trace")
	status, out, errOut = shell(choices, "sweep", "--choices", "-", "--trace", trace, "--without", "kubelet", model)
	require.Zero(t, status, errOut)
	require.Contains(t, out, strings.TrimSuffix(wanted, "\n"))
	data, err := os.ReadFile(trace)
	require.NoError(t, err)
	require.Contains(t, string(data), "PersistentVolumeClaim/default/data")
}

// sweepSmall is sweepRace with only the controllers that it needs.
const sweepSmall = "config without=kubelet,kube-scheduler,attachdetach-controller,ephemeral-volume-controller,garbage-collector," +
	"pod-garbage-collector-controller,persistentvolume-expander-controller,volumeattributesclass-protection-controller,recycler-pod-runner," +
	"pv-protection-controller,pvc-protection-controller\n" + sweepRace

// TestSweepExhaustiveScript: a script runs in every order, and the output has a command that repeats each.
func TestSweepExhaustiveScript(t *testing.T) {
	dir := t.TempDir()
	failing := write(t, dir, "failing.txtar", strings.Replace(sweepSmall, "-- both", "expect pvc/data phase=Bound\nadvance 20s\n-- both", 1))
	status, out, errOut := shell("", "sweep", "-q", "--exhaustive", failing)
	require.Equal(t, exitFailed, status)
	require.Regexp(t, "^volsim: "+failing+": runs failed, for example outcome [0-9a-f]{8}\n$", errOut)
	require.Contains(t, out, failing+": finished: ")
	require.Contains(t, out, ": 2 outcomes, 0 invariants violated\n")
	_, line, found := strings.Cut(out, "\nline 4 failed in ")
	require.True(t, found)
	_, command, _ := strings.Cut(line, "replay: volsim ")
	command, _, _ = strings.Cut(command, "\n")
	trace := filepath.Join(dir, "trace")
	status, _, errOut = shell("", append(strings.Fields(command), "-q", "--trace", trace)...)
	require.Equal(t, exitFailed, status)
	require.Contains(t, errOut, "failing.txtar:4: expect pvc/data phase=Bound: phase is Pending")
	data, err := os.ReadFile(trace)
	require.NoError(t, err)
	require.Contains(t, string(data),
		"BIND-058 PersistentVolumeClaim/default/data: synchronizing unbound PersistentVolumeClaim: no volume found")

	for _, choices := range []string{"0,0", "0 0", write(t, dir, "choices", "0\n0\n")} {
		status, out, errOut = shell("", "run", "--choices", choices, failing)
		require.NotContains(t, errOut, "choices")
		require.Contains(t, out, "as chosen", status)
	}
	alone := strings.Replace(sweepSmall, sweepVolume+"---\n", "", 1)
	status, out, _ = shell(alone, "sweep", "-q", "--exhaustive", "--until", "20s", "-")
	require.Zero(t, status)
	require.Regexp(t, `replay: volsim run --choices [0-9,]+ --until 20s -\n`, out)
	model := write(t, dir, "model.yaml", runClaim)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--choices", "0", "--seed", "1", failing}, "--choices and --seed are mutually exclusive"},
		{[]string{"--choices", "0", failing, failing}, "invalid --choices: want one script, got 2"},
		{[]string{"--choices", "0", model}, "invalid --choices for a manifest; use volsim sweep --choices"},
		{[]string{"--choices", "-", "-"}, "standard input is already used for the script"},
		{[]string{"--choices", filepath.Join(dir, "none"), failing}, "none: no such file"},
		{[]string{"--choices", failing, failing}, `choice 1 is "config": want a number from 0 on`},
	} {
		status, _, errOut := shell("now\n", append([]string{"run"}, tt.args...)...)
		require.NotZero(t, status)
		oneLine(t, errOut)
		require.Contains(t, errOut, tt.want)
	}
	some := write(t, dir, "some.txtar",
		"seeds 1..9\n"+strings.Replace(sweepSmall, "-- both", "some expect pvc/data phase=Pending\nsome expect pvc/data phase=Lost\n-- both", 1))
	status, out, errOut = shell("", "sweep", "-q", "--exhaustive", some)
	require.Equal(t, exitFailed, status)
	require.Contains(t, errOut, "some.txtar:6: some expect pvc/data phase=Lost: holds in no order")
	require.Regexp(t, `line 5 held in \d+ runs: some expect pvc/data phase=Pending; replay: volsim run --choices [0-9,]+ `, out)
	some = write(t, dir, "alone.txtar",
		"seeds 1..9\n"+strings.Replace(alone, "-- both", "some expect pvc/data phase=Pending\nsome expect pvc/data phase=Lost\n-- both", 1))
	status, out, errOut = shell("", "sweep", "-q", "--exhaustive", "-o", "json", some)
	require.Zero(t, status, errOut)
	var report explorationReport
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	require.True(t, report.Finished)
	require.Len(t, report.Some, 2)
}

func TestSweepMistakes(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "race.txtar", sweepRace)
	model := write(t, dir, "model.yaml", runClaim)
	t.Setenv(jobIndex, "")
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		want   string
	}{
		{"nothing", nil, exitUsage, "missing FILE argument"},
		{"two scripts", []string{file, file}, exitUsage, "too many arguments: want one script, got 2"},
		{"no seeds", []string{file}, exitUsage, "has no line seeds; use --seeds FROM..TO"},
		{"no range", []string{"--seeds", "5", file}, exitUsage, `invalid --seeds "5": want FROM..TO`},
		{"a range that runs backwards", []string{"--seeds", "5..1", file}, exitUsage, "the smaller seed first"},
		{"a shard too many", []string{"--seeds", "1..5", "--shard", "3/3", file}, exitUsage, "I from 0 to N-1"},
		{"no Job", []string{"--seeds", "1..5", "--shard", "job/3", file}, exitUsage, jobIndex + " is not set"},
		{"two ways", []string{"--seeds", "1..5", "--exhaustive", model}, exitUsage,
			"--seeds, --exhaustive, --choices and --merge are mutually exclusive"},
		{"a flag of another way", []string{"--seeds", "1..5", "--no-prune", file}, exitUsage, "invalid --no-prune: not supported in this mode"},
		{"a format that does not exist", []string{"-o", "xml", file}, exitUsage, `invalid -o "xml": want text or json`},
		{"a script has its own setup", []string{"--exhaustive", "--without", "kubelet", file}, exitUsage,
			"invalid --without for a script; use config without=... in the script"},
		{"a script starts its controllers", []string{"--exhaustive", "--starting", file}, exitUsage, "invalid --starting for a script"},
		{"no such controller", []string{"--exhaustive", "--without", "nobody", model}, exitUsage, `invalid --without: "nobody": there is no such controller; there are `},
		{"a script that is wrong", []string{"--seeds", "1..5", write(t, dir, "x.txtar", "now\nconquer\n")}, exitFailed, "x.txtar:2: conquer: "},
		{"choices that are none", []string{"--choices", file, model}, exitFailed, `choice 1 is "apply": want a number from 0 on`},
		{"a merge of something else", []string{"--merge", file}, exitFailed, "line 1 is not a line of volsim sweep"},
		{"a file that is not there", []string{"--merge", filepath.Join(dir, "none")}, exitFailed, "none: no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, _, errOut := shell("", append([]string{"sweep"}, tt.args...)...)
			require.Equal(t, tt.status, status, errOut)
			oneLine(t, errOut)
			require.Contains(t, errOut, tt.want)
		})
	}
}
