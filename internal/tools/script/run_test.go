package script_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/internal/tools/script"
)

func parse(t *testing.T, text string) *script.Script {
	t.Helper()
	s, err := script.Parse("x.txtar", []byte(text))
	require.NoError(t, err)
	return s
}

// raced is a script whose outcome depends on the order of events.
const raced = `apply -f both
advance 1s
-- both --
apiVersion: v1
kind: PersistentVolume
metadata: {name: only}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /tmp/only}
---
` + claim

func lines(head, tail string) string {
	before, files, _ := strings.Cut(raced, "-- both --")
	return head + before + tail + "\n-- both --" + files
}

func TestSeeds(t *testing.T) {
	t.Run("each must succeed", func(t *testing.T) {
		result, err := script.Run(parse(t, lines("seeds 1..40 each\n", "expect pvc/data phase=Bound")), script.Options{})
		require.ErrorContains(t, err, "with seed ")
		require.ErrorContains(t, err, "phase is Pending, want Bound")
		require.Equal(t, result.Seeds[len(result.Seeds)-1], result.Seed, "the first failure ends it")
		require.Len(t, result.Succeeded, len(result.Seeds)-1)
		require.Contains(t, result.Summary(), "1 failure")
	})
	t.Run("one is enough", func(t *testing.T) {
		result, err := script.Run(parse(t, lines("seeds 1..40 some\n", "expect pvc/data phase=Pending")), script.Options{})
		require.NoError(t, err)
		require.Equal(t, []int64{result.Seed}, result.Succeeded)
		claim, err := result.Cluster.Claims.Get("default/data")
		require.NoError(t, err)
		require.Equal(t, "Pending", string(claim.Status.Phase), "the cluster is that of the seed")
	})
	t.Run("no seed passes", func(t *testing.T) {
		result, err := script.Run(parse(t, lines("seeds 1..5 some\n", "expect pvc/data gone")), script.Options{})
		require.ErrorContains(t, err, "no seed of 1..5 passes; seed 1 got farthest")
		require.Len(t, result.Seeds, 5)
		require.Empty(t, result.Succeeded)
	})
	t.Run("lines that hold with some seeds", func(t *testing.T) {
		result, err := script.Run(parse(t, lines("seeds 1..40\n", "some expect pvc/data phase=Bound\nsome expect pvc/data phase=Pending")),
			script.Options{})
		require.NoError(t, err)
		require.Len(t, result.Some, 2)
		require.Len(t, result.Seeds, len(result.Some[0].Seeds)+len(result.Some[1].Seeds))
		require.Contains(t, result.Summary(), "ok: 40 seeds passed. Line 4 (\"expect pvc/data phase=Bound\") held for ")
		require.Contains(t, result.Summary(), " Line 5 (\"expect pvc/data phase=Pending\") held for ")
	})
	t.Run("a line that holds with no seed", func(t *testing.T) {
		_, err := script.Run(parse(t, lines("seeds 1..5\n", "some expect pvc/data gone")), script.Options{})
		require.EqualError(t, err, "x.txtar:4: some expect pvc/data gone: does not hold with any seed of 1..5")
	})
	t.Run("the caller's seed wins", func(t *testing.T) {
		seed := int64(7)
		result, err := script.Run(parse(t, lines("seeds 1..5\n", "some expect pvc/data gone")), script.Options{Seed: &seed})
		require.NoError(t, err)
		require.Equal(t, []int64{7}, result.Seeds)
	})
	t.Run("the script's seed", func(t *testing.T) {
		result, err := script.Run(parse(t, lines("config seed=9\n", "")), script.Options{})
		require.NoError(t, err)
		require.Equal(t, int64(9), result.Seed)
	})
}

func TestOptions(t *testing.T) {
	t.Run("update", func(t *testing.T) {
		const text = "get pv\ncmp stdout want\ntrace write trace\n-- want --\nold\n-- trace --\nold\n"
		result, err := script.Run(parse(t, text), script.Options{Update: true})
		require.NoError(t, err)
		require.True(t, result.Updated)
		require.Equal(t, "get pv\ncmp stdout want\ntrace write trace\n-- want --\nNo resources found\n-- trace --\n", string(result.Archive))
		again, err := script.Run(parse(t, string(result.Archive)), script.Options{})
		require.NoError(t, err)
		require.False(t, again.Updated)
	})
	t.Run("update to two outputs", func(t *testing.T) {
		_, err := script.Run(parse(t, "get pv\ncmp stdout want\nnow\ncmp stdout want\n-- want --\n"), script.Options{Update: true})
		require.ErrorContains(t, err, "x.txtar:4: cmp stdout want: update want: the script compares it with two different outputs")
	})
	t.Run("continue", func(t *testing.T) {
		s := parse(t, "expect pv/a gone\nexpect pv/a phase=Bound\nexpect pv/b phase=Bound\ndelete pv/a\nexpect pv/c phase=Bound")
		result, err := script.Run(s, script.Options{Continue: true})
		require.Error(t, err)
		require.Len(t, result.Failures, 3, "an action that fails ends it all the same")
	})
	t.Run("until", func(t *testing.T) {
		result, err := script.Run(parse(t, "advance 5s"), script.Options{Until: time.Hour})
		require.NoError(t, err)
		require.Equal(t, time.Hour, result.Cluster.Now().Sub(result.Start))
	})
	t.Run("out and commands", func(t *testing.T) {
		var out bytes.Buffer
		result, err := script.Run(parse(t, "# A heading.\nadvance 5s\nget pv\n! get pv/a"), script.Options{Out: &out})
		require.NoError(t, err)
		require.Equal(t, "# A heading.\n> advance 5s\n> get pv\nNo resources found\n> ! get pv/a\n[persistentvolumes \"a\" not found]\n",
			out.String())
		require.Equal(t, script.Command{Line: 3, Command: "get pv", From: 5 * time.Second, At: 5 * time.Second,
			Seq: result.Cluster.Trace().Seq(), Output: "No resources found\n"}, result.Commands[1])
	})
	t.Run("a blank line before a heading that follows a command", func(t *testing.T) {
		var out bytes.Buffer
		_, err := script.Run(parse(t, "# A.\n# B.\n\n# C.\nconfig seed=1\n# D.\n# E.\nadvance 5s\nget pv\n\n# F."), script.Options{Out: &out})
		require.NoError(t, err)
		require.Equal(t, "# A.\n# B.\n# C.\n> config seed=1\n\n# D.\n# E.\n> advance 5s\n> get pv\nNo resources found\n\n# F.\n", out.String())
	})
	t.Run("out of the seed that is shown", func(t *testing.T) {
		var out bytes.Buffer
		_, err := script.Run(parse(t, "seeds 1..9\nget pv"), script.Options{Out: &out})
		require.NoError(t, err)
		require.Equal(t, "> seeds 1..9\n> get pv\nNo resources found\n", out.String())
	})
	t.Run("progress", func(t *testing.T) {
		var seen []script.Progress
		_, err := script.Run(parse(t, "seeds 1..2\nadvance 5s\nnow"),
			script.Options{Progress: func(p script.Progress) { seen = append(seen, p) }})
		require.NoError(t, err)
		require.Equal(t, []script.Progress{{Line: 2, Seed: 1, Seeds: 2}, {Line: 3, Seed: 1, Seeds: 2, Elapsed: 5 * time.Second},
			{Line: 2, Seed: 2, Seeds: 2}, {Line: 3, Seed: 2, Seeds: 2, Elapsed: 5 * time.Second}}, seen)
	})
}

// TestViolation shows that a violated invariant fails the line at which it shows, and that "watch" only notes it.
func TestViolation(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "stuck.txtar"))
	require.NoError(t, err)
	text := string(data)
	require.Contains(t, text, "watch=")
	_, err = script.Run(parse(t, text), script.Options{})
	require.NoError(t, err)
	_, err = script.Run(parse(t, strings.Replace(text, "watch=", "check=", 1)), script.Options{})
	require.ErrorContains(t, err, "x.txtar:10: advance 10m: invariant deleted-pods-go violated: pod default/web still exists")
}

// TestDeterminism runs every script twice: the output is byte-identical.
func TestDeterminism(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		var outs [2]bytes.Buffer
		for i := range outs {
			result, err := script.Run(parse(t, string(data)), script.Options{Out: &outs[i]})
			require.NoError(t, err, file)
			require.NoError(t, result.Cluster.Trace().WriteText(&outs[i]))
		}
		require.Equal(t, outs[0].String(), outs[1].String(), file)
	}
}

// TestAdvance runs the same history by commands and by the methods of the cluster.
func TestAdvance(t *testing.T) {
	for _, seed := range []int64{0, 1, 2} {
		result, err := script.Run(parse(t, strings.Replace(raced, "advance 1s", "advance 1s\nadvance 0s\nadvance 2h", 1)),
			script.Options{Seed: &seed})
		require.NoError(t, err)
		c, err := volsim.New(volsim.Config{Seed: seed})
		require.NoError(t, err)
		_, manifest, _ := strings.Cut(raced, "-- both --\n")
		require.NoError(t, c.Apply([]byte(manifest)))
		for _, d := range []time.Duration{time.Second, 0, 2 * time.Hour} {
			require.NoError(t, c.Advance(d))
		}
		require.Equal(t, c.Now(), result.Cluster.Now())
		var want, got bytes.Buffer
		require.NoError(t, c.Trace().WriteText(&want))
		require.NoError(t, result.Cluster.Trace().WriteText(&got))
		require.Equal(t, want.String(), got.String())
	}
}

// An expectation accepts the controllers of a cluster as actors.
func TestActorsOfExpectations(t *testing.T) {
	s, err := script.Parse("x.txtar", []byte("backend disk.example.com\nnode add n1\nsettle\n"))
	require.NoError(t, err)
	result, err := script.Run(s, script.Options{})
	require.NoError(t, err)
	for _, name := range append(result.Cluster.Controllers(), "user", "kubelet/n1", "machine/n1") {
		_, err := script.Parse("x.txtar", []byte("expect write count=0 actor="+name))
		require.NoError(t, err, name)
	}
}
