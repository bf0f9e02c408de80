package explore

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// race ends before the claim is synced again, so the outcome shows which object came first.
const race = `# A volume and a claim at the same time.
seeds 1..60
apply -f both.yaml
advance 1s
some expect pvc/data phase=Bound
some expect pvc/data phase=Pending
-- both.yaml --
` + one

func sweep(t *testing.T, text string, from, to int64, shard, shards int) *Sweep {
	t.Helper()
	script, err := ReadScript("x.txtar", []byte(text))
	require.NoError(t, err)
	s := &Sweep{Script: "x.txtar", Sum: Outcome(text).ID(), From: from, To: to, Shards: shards, Done: []int{shard}}
	s.Seeds(shard, func(seed int64) bool {
		s.Add(script.RunSeed(seed))
		s.Runs++
		return true
	})
	require.Equal(t, s.Count(shard), s.Runs)
	return s
}

func written(t *testing.T, s *Sweep) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, s.WriteJSON(&out))
	return out.String()
}

func TestSweep(t *testing.T) {
	s := sweep(t, race, 1, 60, 0, 1)
	require.Len(t, s.Outcomes, 2)
	bound, pending := s.Outcomes[0], s.Outcomes[1]
	if !strings.Contains(string(bound.Outcome), "phase=Bound") {
		bound, pending = pending, bound
	}
	require.Contains(t, string(bound.Outcome), "PersistentVolume/only claim=default/data finalizer=kubernetes.io/pv-protection phase=Bound")
	require.Contains(t, string(pending.Outcome), "PersistentVolumeClaim/default/data finalizer=kubernetes.io/pvc-protection phase=Pending")
	require.Equal(t, 60, bound.Count+pending.Count)
	require.Empty(t, s.Failed)
	require.Equal(t, []Line{
		{Line: 5, Command: "some expect pvc/data phase=Bound", Count: bound.Count, Seed: bound.Seed},
		{Line: 6, Command: "some expect pvc/data phase=Pending", Count: pending.Count, Seed: pending.Seed},
	}, s.Report.Some)
}

// TestMerge checks that joined shards equal the whole sweep byte for byte, in any order and with repetitions.
func TestMerge(t *testing.T) {
	whole := written(t, sweep(t, race, 1, 50, 0, 1))
	var shards []string
	for i := range 3 {
		shards = append(shards, written(t, sweep(t, race, 1, 50, i, 3)))
	}
	merge := func(parts ...string) (*Sweep, error) {
		var streams []io.Reader
		for _, p := range parts {
			streams = append(streams, strings.NewReader(p))
		}
		return Merge(streams...)
	}
	for _, order := range [][]string{
		{shards[0], shards[1], shards[2]}, {shards[2], shards[0], shards[1]}, {shards[1] + shards[0] + shards[2]},
		{shards[0], shards[1], shards[0], shards[2]}, {strings.TrimSuffix(shards[0], "\n") + "\n\n" + shards[0], shards[1], shards[2]},
	} {
		s, err := merge(order...)
		require.NoError(t, err)
		require.Equal(t, whole, written(t, s))
	}
	t.Run("some are missing", func(t *testing.T) {
		s, err := merge(shards[2], shards[0])
		require.NoError(t, err)
		require.False(t, s.Complete())
		require.Equal(t, []int{1}, s.Missing())
		again, err := merge(written(t, s), shards[1])
		require.NoError(t, err)
		require.Equal(t, whole, written(t, again), "what was merged can be merged")
	})
	t.Run("one breaks off", func(t *testing.T) {
		cut := shards[1][:strings.LastIndex(strings.TrimSpace(shards[1]), "\n")+1]
		s, err := merge(shards[0], cut, shards[2])
		require.NoError(t, err)
		require.Equal(t, []int{1}, s.Missing())
		s, err = merge(shards[0], cut+shards[1], shards[2])
		require.NoError(t, err)
		require.Equal(t, whole, written(t, s), "its work was done again")
	})
	for _, tt := range []struct {
		name  string
		parts []string
		want  string
	}{
		{"nothing", []string{""}, "no complete shard"},
		{"no JSON", []string{"hello\n"}, "line 1 is not a line of volsim sweep"},
		{"another thing", []string{`{"type":"outcome"}` + "\n"}, "precedes the first line of a sweep"},
		{"an unknown line", []string{whole[:strings.Index(whole, "\n")+1] + `{"type":"hello"}`}, `"hello" is not a line of a sweep`},
		{"impossible shards", []string{`{"type":"sweep","sweep":{"shards":0}}`}, "invalid sweep"},
		{"a shard too many", []string{strings.Replace(shards[0], `"done":[0]`, `"done":[3]`, 1)}, "invalid shard 3 of 3"},
		{"another sweep", []string{shards[0], written(t, sweep(t, race, 1, 9, 1, 3))}, "different sweeps"},
		{"another script", []string{shards[0], written(t, sweep(t, race+"\n", 1, 50, 1, 3))}, "different sweeps"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := merge(tt.parts...)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestReadScript(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       Script
		outcome    string // part of that of seed 1
	}{
		{"seeds", "seeds 3..9 some\nnow\n", Script{Range: "3..9", Some: true}, ""},
		{"invariants of its own", "config seed=3 watch=one-writer\nbackend disk.example.com\n", Script{Chosen: true},
			"disk.example.com: 0 volumes, 0 deleted"},
		{"the storage is read before a stop", "backend disk.example.com\nstop\nexpect pv/a phase=Bound\n", Script{},
			"disk.example.com: 0 volumes"},
		{"an expectation that fails does not end it", "backend disk.example.com\n\nexpect pv/a phase=Bound\n", Script{},
			"disk.example.com: 0 volumes, 0 deleted\nfailed: line 3: expect pv/a phase=Bound: persistentvolumes \"a\" not found"},
		{"a command that fails does", "backend disk.example.com\ndelete pv/a\n", Script{}, "failed: line 2: delete pv/a: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := ReadScript("x.txtar", []byte(tt.text))
			require.NoError(t, err)
			require.Equal(t, tt.want, Script{Range: s.Range, Some: s.Some, Chosen: s.Chosen})
			r := s.RunSeed(1)
			require.Len(t, r.Outcomes, 1)
			require.Contains(t, string(r.Outcomes[0].Outcome), tt.outcome)
		})
	}
	_, err := ReadScript("x.txtar", []byte("now\nconquer\n"))
	require.ErrorContains(t, err, "x.txtar:2: conquer: ")
}
