package csitest

import (
	"encoding/json"
	"testing"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/csi/internal/testdriver"
)

// The reports of all shards together are the report of the whole test.
func TestShards(t *testing.T) {
	test := func(shard string) *Report {
		cfg := testConfig(testdriver.StageAgainFails, testdriver.DetachAgainFails)
		cfg.Shard, cfg.Seeds, cfg.Pairs, cfg.every = shard, -1, -1, 5
		cfg.Stories = []string{"life", "move", "two-pods", "queries", "expand-online"}
		report, err := Check(cfg)
		require.NoError(t, err)
		return report
	}
	whole := test("")
	require.NotEmpty(t, whole.Findings)
	first, second, third := test("0/3"), test("1/3"), test("2/3")
	merged, err := Merge(third, first, second, first)
	require.NoError(t, err)
	require.Equal(t, whole.Stories, merged.Stories)
	require.Equal(t, whole.Driver, merged.Driver)
	require.Equal(t, []int{whole.Runs, whole.Calls}, []int{merged.Runs, merged.Calls})
	require.Equal(t, kinds(whole), kinds(merged))

	_, err = Merge(first, third)
	require.EqualError(t, err, "merge reports: missing shards 1/3; run them and merge again")
	_, err = Merge()
	require.EqualError(t, err, "merge reports: no report; give those of all shards")
	_, err = Merge(whole)
	require.EqualError(t, err, `merge reports: shard ""; use I/N with I from 0 to N-1, such as 0/4`)
	_, err = Merge(first, &Report{Shard: "1/2"})
	require.EqualError(t, err, "merge reports: shard 1/2 is of another test; the first one has 3 shards")
	_, err = Merge(first, &Report{Shard: "1/3", Driver: "other"})
	require.ErrorContains(t, err, `merge reports: shard 1/3 is of driver "other", the first one of "`)
	for _, shard := range []string{"4", "-1/4", "4/4", "a/b"} {
		cfg := testConfig()
		cfg.Shard = shard
		_, err := Check(cfg)
		require.ErrorContains(t, err, `Config.Shard "`+shard+`"; use I/N`)
	}
}

// A cause is one finding, also if shards show it in different ways, and their reports were written as JSON.
func TestShardsOneCause(t *testing.T) {
	test := func(shard string) *Report {
		cfg := testConfig(testdriver.StageAgainMountsTwice)
		cfg.Shard, cfg.Seeds, cfg.Pairs, cfg.Stories = shard, -1, -1, []string{"life", "pod-cancelled"}
		report, err := Check(cfg)
		require.NoError(t, err)
		text, err := json.Marshal(report)
		require.NoError(t, err)
		read := &Report{}
		require.NoError(t, json.Unmarshal(text, read))
		return read
	}
	merged, err := Merge(test("0/2"), test("1/2"))
	require.NoError(t, err)
	require.Len(t, merged.Findings, 1, "%v", merged.Findings)
	require.Equal(t, "NodeStageVolume", merged.Findings[0].Method)
}

// A shard whose driver does not start is merged with the others.
func TestShardsOfNoDriver(t *testing.T) {
	test := func(shard string, change func(any)) *Report {
		cfg := testConfig()
		cfg.Controller = altered{cfg.Controller, change}
		cfg.Shard, cfg.Seeds, cfg.Pairs, cfg.every, cfg.Stories = shard, -1, -1, 1000, []string{"life", "queries"}
		report, err := Check(cfg)
		require.NoError(t, err)
		return report
	}
	right, wrong := func(any) {}, change(func(r *spec.GetPluginInfoResponse) { r.Name = "" })
	for _, reports := range [][]*Report{{test("0/2", wrong), test("1/2", wrong)}, {test("0/2", right), test("1/2", wrong)}, {test("0/2", wrong), test("1/2", right)}} {
		merged, err := Merge(reports...)
		require.NoError(t, err)
		require.Len(t, merged.Findings, 1)
		require.Equal(t, reports[0].Driver+reports[1].Driver, merged.Driver)
		require.Len(t, append(names(merged.Stories), skippedNames(merged.Skipped)...), 2)
	}
}

// kinds returns what the findings of a report are about, and the number of runs.
func kinds(r *Report) map[string]int {
	all := map[string]int{}
	for _, f := range r.Findings {
		all[f.Kind+" "+f.Method] = f.Runs
	}
	return all
}
