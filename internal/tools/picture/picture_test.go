package picture_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"html"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/tools/picture"
	"github.com/volsim/volsim/internal/tools/picture/samples"
	"github.com/volsim/volsim/trace"
)

var update = flag.Bool("update", false, "update the golden files")

// draw returns the page of a sample.
func draw(t *testing.T, sample func() (picture.Run, error)) (picture.Run, string) {
	t.Helper()
	run, err := sample()
	require.NoError(t, err)
	var page bytes.Buffer
	require.NoError(t, picture.Write(&page, run))
	return run, page.String()
}

// between returns the text between two marks, the first of which occurs once.
func between(t *testing.T, page, begin, end string) string {
	t.Helper()
	require.Equal(t, 1, strings.Count(page, begin), begin)
	_, rest, _ := strings.Cut(page, begin)
	inner, _, found := strings.Cut(rest, end)
	require.True(t, found, end)
	return inner
}

const dataBegins = `<script type="application/json" id="data">`

func dataOf(t *testing.T, page string) string { return between(t, page, dataBegins, "</script>") }

func TestWriteGolden(t *testing.T) {
	_, page := draw(t, samples.Bind)
	var got bytes.Buffer
	require.NoError(t, json.Indent(&got, []byte(dataOf(t, page)), "", " "))
	const file = "testdata/bind.json"
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, got.Bytes(), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(string(want), got.String()), "-want +got")
}

func TestWriteIsDeterministic(t *testing.T) {
	for name, sample := range map[string]func() (picture.Run, error){"failover": samples.Failover, "hostile": samples.Hostile} {
		_, first := draw(t, sample)
		run, second := draw(t, sample)
		require.True(t, first == second, "%s: two runs of the same differ", name)
		var third bytes.Buffer
		require.NoError(t, picture.Write(&third, run))
		require.True(t, first == third.String(), "%s: two pictures of one run differ", name)
	}
}

// The page refers to nothing outside of itself, and its policy allows nothing else to load or run.
func TestWriteIsSelfContained(t *testing.T) {
	_, page := draw(t, samples.Failover)
	shell := strings.Replace(page, dataOf(t, page), "", 1)
	require.Empty(t,
		regexp.MustCompile(`(?i)https?:|//[a-z]+\.|@import|\burl\(|<link|<iframe|<object|fetch\(|XMLHttpRequest|WebSocket|innerHTML|eval\(`).FindString(shell))
	policy := between(t, page, `http-equiv="Content-Security-Policy" content="`, `"`)
	require.Contains(t, policy, "default-src 'none'")
	require.NotContains(t, policy, "unsafe")
	for _, part := range []string{between(t, page, "<style>", "</style>"), between(t, page, "<script>", "</script>")} {
		sum := sha256.Sum256([]byte(part))
		require.Contains(t, policy, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
}

func TestWriteEscapes(t *testing.T) {
	run, page := draw(t, samples.Hostile)
	require.Equal(t, 2, strings.Count(page, "<script"), "the data and the program")
	require.Equal(t, 2, strings.Count(page, "</script"))
	require.Equal(t, html.EscapeString(run.Title), between(t, page, "<title>", "</title>"))
	data := dataOf(t, page)
	require.False(t, strings.ContainsAny(data, "<>&\u2028\u2029"))
	var read struct {
		Title string
		Texts []string
		Lanes []struct {
			Versions []struct{ Full map[string]any }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(data), &read))
	require.Equal(t, run.Title, read.Title)
	require.Contains(t, read.Texts, "quota </script><script>alert('error')</script> & more")
	var annotations []any
	for _, lane := range read.Lanes {
		for _, v := range lane.Versions {
			if meta, ok := v.Full["metadata"].(map[string]any); ok && meta["annotations"] != nil {
				annotations = append(annotations, meta["annotations"].(map[string]any)["markup"])
			}
		}
	}
	require.Contains(t, annotations, "</script><script>alert('annotation')</script><!--")
}

// The page of two thousand objects is small enough for a browser.
func TestWriteManyObjects(t *testing.T) {
	_, page := draw(t, func() (picture.Run, error) { return samples.Many(500) })
	var read struct{ Lanes []struct{ Kind string } }
	require.NoError(t, json.Unmarshal([]byte(dataOf(t, page)), &read))
	require.GreaterOrEqual(t, len(read.Lanes), 2000)
	require.Less(t, len(page), 15<<20)
}

func TestWriteRefuses(t *testing.T) {
	err := picture.Write(&bytes.Buffer{}, picture.Run{Title: "none"})
	require.ErrorIs(t, err, picture.ErrNoTrace)
	require.EqualError(t, err, `picture of "none": the run has no trace; do not set volsim.Config.TraceLimit to a negative number`)
	run, err := samples.Bind()
	require.NoError(t, err)
	require.ErrorIs(t, picture.Write(full{}, run), errFull)
}

var errFull = errors.New("the disk is full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWriteOfNothing(t *testing.T) {
	var page bytes.Buffer
	require.NoError(t, picture.Write(&page, picture.Run{Trace: &trace.Trace{}}))
	require.Contains(t, page.String(), "<title>volsim</title>")
	var read struct {
		Span  int64
		Lanes []any
	}
	require.NoError(t, json.Unmarshal([]byte(dataOf(t, page.String())), &read))
	require.Zero(t, read.Span)
	require.Empty(t, read.Lanes)
}

// read is the part of a document that the tests check.
type read struct {
	Start   string
	Span    int64
	Texts   []string
	Phases  []struct{ Name, Tone string }
	Rules   []struct{ ID, File, Text string }
	Lanes   []readLane
	Entries struct {
		Time                   []int64
		Type, Lane, Rule, Head []int
		Also                   map[int][]int
		Because, Until         map[int]int
	}
}

type readLane struct {
	Kind, Name, Label string
	Bars              []int64
	Versions          []readVersion
	Related           []int
}

type readVersion struct {
	Entry int
	Full  map[string]any
	Base  *int
	Gone  bool
	Ops   [][]any
}

func readData(t *testing.T, page string) read {
	t.Helper()
	var r read
	require.NoError(t, json.Unmarshal([]byte(dataOf(t, page)), &r))
	return r
}

// doc builds a version as the page does.
func (r read) doc(t *testing.T, lane, n int) map[string]any {
	t.Helper()
	v := r.Lanes[lane].Versions[n]
	var before map[string]any
	switch {
	case v.Gone:
		return nil
	case v.Full != nil:
		return v.Full
	case v.Base != nil:
		before = r.doc(t, *v.Base, 0)
	default:
		before = r.doc(t, lane, n-1)
	}
	data, err := json.Marshal(before)
	require.NoError(t, err)
	var root any
	require.NoError(t, json.Unmarshal(data, &root))
	for _, op := range v.Ops {
		root = edited(root, op[0].([]any), op[1:])
	}
	return root.(map[string]any)
}

// edited sets the value at the path, or removes it if there is no value.
func edited(at any, path, value []any) any {
	if len(path) == 0 {
		return value[0]
	}
	switch at := at.(type) {
	case map[string]any:
		key := path[0].(string)
		if len(path) == 1 && len(value) == 0 {
			delete(at, key)
		} else {
			at[key] = edited(at[key], path[1:], value)
		}
	case []any:
		i := int(path[0].(float64))
		at[i] = edited(at[i], path[1:], value)
	}
	return at
}

// Each version in the page is the complete object that was written.
func TestWriteKeepsEveryVersion(t *testing.T) {
	for name, sample := range map[string]func() (picture.Run, error){
		"failover": samples.Failover, "hostile": samples.Hostile, "many": func() (picture.Run, error) { return samples.Many(12) },
	} {
		run, page := draw(t, sample)
		r := readData(t, page)
		place := map[api.Ref]int{}
		for i, lane := range r.Lanes {
			place[api.Ref{Kind: api.Kind(lane.Kind), Key: lane.Name}] = i
		}
		next, checked := map[int]int{}, 0
		for e := range run.Trace.Entries() {
			if e.Type != trace.Write || e.Err != nil || e.Old == e.New {
				continue
			}
			lane := place[e.Object]
			var want map[string]any
			if e.New != nil {
				data, err := json.Marshal(e.New)
				require.NoError(t, err)
				require.NoError(t, json.Unmarshal(data, &want))
			}
			require.Empty(t, cmp.Diff(want, r.doc(t, lane, next[lane])), "%s: %s, version %d", name, e.Object, next[lane])
			next[lane]++
			checked++
		}
		require.NotZero(t, checked)
		for i, lane := range r.Lanes {
			require.Len(t, lane.Versions, next[i], "%s: %s %s", name, lane.Kind, lane.Name)
		}
	}
}

// A trace with a limit lacks its beginning: an object starts with the version before its first recorded write.
func TestWriteOfATraceWithoutItsBeginning(t *testing.T) {
	c, err := volsim.New(volsim.Config{TraceLimit: 4})
	require.NoError(t, err)
	require.NoError(t, c.Create(fake.Volume("pv", "1Gi"), fake.Claim("data", "1Gi")))
	require.NoError(t, c.Advance(time.Second))
	require.NoError(t, c.Patch(fake.Claim("data", "1Gi"), `{"metadata":{"labels":{"a":"b"}}}`))
	var page bytes.Buffer
	require.NoError(t, picture.Write(&page, picture.Run{Trace: c.Trace(), Start: engine.DefaultStart}))
	r := readData(t, page.String())
	for i, lane := range r.Lanes {
		if lane.Kind != "PersistentVolumeClaim" || len(lane.Versions) == 0 {
			continue
		}
		require.Equal(t, -1, lane.Versions[0].Entry)
		require.Equal(t, "data", r.doc(t, i, 0)["metadata"].(map[string]any)["name"])
		require.Equal(t, int64(0), lane.Bars[0], "it was there from the start")
		require.Equal(t, int64(-1), lane.Bars[3])
		return
	}
	t.Fatal("the claim has no versions")
}
