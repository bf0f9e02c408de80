package rundiff_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/core/manifests"
	"github.com/volsim/volsim/internal/tools/dump"
	"github.com/volsim/volsim/internal/tools/rundiff"
	"github.com/volsim/volsim/internal/tools/script"
)

var update = flag.Bool("update", false, "update the expected differences")

// runOf runs a script, changed by replacing text in it.
func runOf(t *testing.T, file string, seed int64, replace ...string) rundiff.Run {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	s, err := script.Parse(file, []byte(strings.NewReplacer(replace...).Replace(string(data))))
	require.NoError(t, err)
	result, _ := script.Run(s, script.Options{Seed: &seed, Continue: true})
	require.NotNil(t, result.Cluster)
	t.Cleanup(result.Cluster.Close)
	run := rundiff.Of(file+": "+result.Summary(), result.Cluster, result.Start)
	for _, failure := range result.Failures {
		run.Failures = append(run.Failures, failure.Error())
	}
	return run
}

// dumped returns the state in a dump.
func dumped(t *testing.T, file string) rundiff.Run {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	d, err := dump.Read(data)
	require.NoError(t, err)
	return rundiff.Run{Name: file, Objects: d.Objects}
}

// continued returns the run of the cluster of a dump after a minute.
func continued(t *testing.T, file string, replace ...string) rundiff.Run {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	d, err := dump.Read([]byte(strings.NewReplacer(replace...).Replace(string(data))))
	require.NoError(t, err)
	c, err := d.Start(dump.Options{})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	start := c.Now()
	require.NoError(t, c.Advance(time.Minute))
	return rundiff.Of(file, c.Cluster, start)
}

func compare(t *testing.T, a, b rundiff.Run, parts ...rundiff.Part) *rundiff.Difference {
	t.Helper()
	d, err := rundiff.Compare(a, b, parts...)
	require.NoError(t, err)
	return d
}

func text(t *testing.T, d *rundiff.Difference) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, d.WriteText(&out))
	return out.String()
}

// seedOf returns the first seed with which the script fails, or does not.
func seedOf(t *testing.T, fails bool) int64 {
	t.Helper()
	for seed := range int64(50) {
		if run := runOf(t, "race.txtar", seed); (len(run.Failures) > 0) == fails {
			return seed
		}
	}
	t.Fatal("the race has one outcome")
	return 0
}

func TestGolden(t *testing.T) {
	for _, tt := range []struct {
		name string
		a, b rundiff.Run
	}{
		{"seeds", runOf(t, "race.txtar", seedOf(t, false)), runOf(t, "race.txtar", seedOf(t, true))},
		{"fault", runOf(t, "flaky.txtar", 0), runOf(t, "flaky.txtar", 0, "fault ", "# fault ", "2Gi", "3Gi")},
		{"clusters", dumped(t, "one.yaml"), dumped(t, "other.yaml")},
		{"backwards", dumped(t, "other.yaml"), dumped(t, "one.yaml")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := compare(t, tt.a, tt.b)
			require.False(t, d.Same)
			got := text(t, d)
			require.Equal(t, got, text(t, compare(t, tt.a, tt.b)), "the same bytes again")
			file := filepath.Join("testdata", tt.name+".txt")
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), got)
		})
	}
}

func TestSame(t *testing.T) {
	for _, tt := range []struct {
		name string
		a, b rundiff.Run
	}{
		{"one script run twice", runOf(t, "flaky.txtar", 0), runOf(t, "flaky.txtar", 0)},
		{"another start", runOf(t, "flaky.txtar", 0), runOf(t, "flaky.txtar", 0, "config ", "config start=2027-05-05T00:00:00Z ")},
		{"one failure twice", runOf(t, "race.txtar", seedOf(t, true)), runOf(t, "race.txtar", seedOf(t, true))},
		{"another cluster with the same in it", continued(t, "one.yaml"),
			continued(t, "one.yaml", strings.Repeat("1", 64), strings.Repeat("2", 64), "1111-", "3333-", "2026-01", "2026-03")},
		{"one dump twice", dumped(t, "one.yaml"), dumped(t, "one.yaml")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := compare(t, tt.a, tt.b)
			require.True(t, d.Same, text(t, d))
			require.Nil(t, d.Divergence)
			require.Nil(t, d.Reordered)
			require.Contains(t, text(t, d), "\nno difference\n")
		})
	}
}

// TestOrder creates the same objects at the same time in another order.
func TestOrder(t *testing.T) {
	a := runOf(t, "order.txtar", 0)
	b := runOf(t, "order.txtar", 0, "-f first -f second", "-f second -f first")
	d := compare(t, a, b)
	require.True(t, d.Same, text(t, d))
	require.Nil(t, d.Divergence)
	require.Equal(t, "create StorageClass/first: created", d.Reordered.Text)
	require.Contains(t, text(t, d), "order of simultaneous entries differs from entry ")
	// An hour later one of the two is deleted.
	d = compare(t, a, runOf(t, "order.txtar", 0, "-f first -f second", "-f second -f first", "delete sc/first", "delete sc/second"))
	require.False(t, d.Same)
	require.NotNil(t, d.Reordered)
	require.Equal(t, "+1h0m0s", d.Divergence.At)
}

func TestParts(t *testing.T) {
	a, b := runOf(t, "flaky.txtar", 0), runOf(t, "flaky.txtar", 0, "fault ", "# fault ", "1Gi", "2Gi")
	for _, part := range rundiff.Parts() {
		t.Run(string(part), func(t *testing.T) {
			d := compare(t, a, b, part)
			require.False(t, d.Same)
			require.Equal(t, part == rundiff.Objects, len(d.Objects) > 0)
			require.Equal(t, part == rundiff.Events, len(d.Events) > 0)
			require.Equal(t, part == rundiff.Calls, len(d.Calls) > 0)
			require.Equal(t, part == rundiff.Trace, d.Divergence != nil)
		})
	}
}

func TestParting(t *testing.T) {
	d := compare(t, runOf(t, "flaky.txtar", 0), runOf(t, "flaky.txtar", 0, "fault ", "# fault "))
	first := func(entries []rundiff.Entry) rundiff.Entry {
		for _, e := range entries {
			if e.Only {
				return e
			}
		}
		t.Fatal("nothing is marked")
		return rundiff.Entry{}
	}
	require.Contains(t, first(d.Divergence.A).Text, "fault at disk.example.com Create")
	require.Contains(t, first(d.Divergence.B).Text, "disk.example.com Create")
	require.Equal(t, first(d.Divergence.A).At, d.Divergence.At)
	require.Contains(t, []string{d.Divergence.A[2].Rule, d.Divergence.A[3].Rule}, "XPROV-013f",
		"the decision before it is there with its rule")
}

func TestJSON(t *testing.T) {
	data, err := json.Marshal(compare(t, dumped(t, "one.yaml"), dumped(t, "other.yaml")))
	require.NoError(t, err)
	var got struct {
		Same    bool
		Objects []struct {
			Name, NameInB, OnlyIn string
			Fields                []struct {
				Path string
				A, B any
			}
		}
		Events []rundiff.Count
	}
	require.NoError(t, json.Unmarshal(data, &got))
	require.False(t, got.Same)
	require.Equal(t, []rundiff.Count{{What: "Warning FailedMount pod/shop/web: no volume pvc-11111111-1111-4111-8111-111111111111", A: 3,
		B: 4}}, got.Events)
	va := got.Objects[len(got.Objects)-1]
	require.Equal(t, "va/csi-"+strings.Repeat("1", 64), va.Name)
	require.Equal(t, "va/csi-"+strings.Repeat("2", 64), va.NameInB)
	require.Equal(t, "status.attached", va.Fields[0].Path)
	require.Equal(t, true, va.Fields[0].A)
	require.Equal(t, false, va.Fields[0].B)
}

// TestFields compares one object with a changed one.
func TestFields(t *testing.T) {
	const node = "apiVersion: v1\nkind: Node\nmetadata: {name: n1, uid: a, resourceVersion: \"1\", generation: 1}\n"
	for _, tt := range []struct{ name, a, b, want string }{
		{"versions are passed over", "", "", ""},
		{"a field that is new", "", "spec: {unschedulable: true}", "spec.unschedulable none -> true"},
		{"a field that is gone", "spec: {podCIDR: x}", "", "spec.podCIDR x -> none"},
		{"a key that is no word", "", "spec: {}\nstatus: {capacity: {example.com/a: 1}}", `status.capacity[example.com/a] none -> "1"`},
		{"the value of a time", "spec: {taints: [{key: a, timeAdded: \"2026-01-01T00:00:00Z\"}]}",
			"spec: {taints: [{key: a, timeAdded: \"2026-02-01T00:00:00Z\"}]}", ""},
		{"a time that is there", "spec: {taints: [{key: a}]}", "spec: {taints: [{key: a, timeAdded: \"2026-02-01T00:00:00Z\"}]}",
			`spec.taints[a].timeAdded none -> "(a time)"`},
		{"a list in another order", "spec: {taints: [{key: a, value: v}, {key: b}]}", "spec: {taints: [{key: b}, {key: a, value: w}]}",
			"spec.taints[a].value v -> w"},
		{"a list with keys that are not unique", "spec: {taints: [{key: a, value: v}, {key: a, value: w}]}",
			"spec: {taints: [{key: a, value: v}, {key: a, value: u}]}", "spec.taints[1].value w -> u"},
		{"such a list that is longer", "spec: {taints: [{key: a}, {key: a}]}", "spec: {taints: [{key: a}]}",
			`spec.taints [{"effect":"","key":"a"},{"effect":"","key":"a"}] -> [{"effect":"","key":"a"}]`},
		{"a set", "status: {volumesInUse: [a, b]}", "status: {volumesInUse: [b, a]}", ""},
		{"a list of words", "spec: {podCIDRs: [a, b]}", "spec: {podCIDRs: [b, a]}", `spec.podCIDRs ["a","b"] -> ["b","a"]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			other := strings.NewReplacer("uid: a", "uid: b", `"1"`, `"7"`, "generation: 1", "generation: 2").Replace(node)
			var runs [2]rundiff.Run
			for i, manifest := range []string{node + tt.a, other + tt.b} {
				objs, err := manifests.Read([]byte(manifest))
				require.NoError(t, err)
				runs[i].Objects = objs
			}
			d := compare(t, runs[0], runs[1])
			require.Equal(t, tt.want == "", d.Same, text(t, d))
			require.Contains(t, text(t, d), tt.want)
		})
	}
}
