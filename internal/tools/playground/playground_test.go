package playground_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/tools/playground"
	"github.com/volsim/volsim/internal/tools/script"
)

const claim = `# A claim takes a volume.
apply -f objects.yaml
advance 30s
expect pvc/data phase=Bound
-- objects.yaml --
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv1}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /data}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  storageClassName: ""
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
`

// ask sends a request and decodes the answer.
func ask[T any](t *testing.T, s *playground.Server, method string, args map[string]any) T {
	t.Helper()
	raw, err := json.Marshal(args)
	require.NoError(t, err)
	out, err := s.Handle(method, raw)
	require.NoError(t, err, method)
	var answer T
	require.NoError(t, json.Unmarshal(out, &answer), string(out))
	return answer
}

type loaded struct {
	Problems []script.Problem
	State    *struct {
		Text, Summary string
		Times         []int64
		Seqs          []uint64
		Lines         []int
		Failures      []script.Problem
		Commands      []struct {
			Line   int
			Output string
		}
	}
}

type viewed struct {
	Tick, Ticks int
	Offset      string
	Tables      []struct {
		Kind string
		Rows []struct {
			Object, Tone string
			Cells        []string
		}
	}
}

func load(t *testing.T, s *playground.Server, run, text string) loaded {
	t.Helper()
	answer := ask[loaded](t, s, "load", map[string]any{"run": run, "text": text})
	require.Empty(t, answer.Problems)
	return answer
}

// phases returns the cell STATUS of each object at a moment.
func phases(v viewed) map[string]string {
	all := map[string]string{}
	for _, table := range v.Tables {
		for _, row := range table.Rows {
			all[row.Object] = row.Tone
		}
	}
	return all
}

func TestRun(t *testing.T) {
	s := playground.New()
	answer := load(t, s, "a", claim)
	require.Empty(t, answer.State.Failures)
	require.Contains(t, answer.State.Summary, "ok")
	end := len(answer.State.Times) - 1
	require.EqualValues(t, 30e9, answer.State.Times[end])
	last := ask[viewed](t, s, "view", map[string]any{"run": "a", "tick": end})
	require.Equal(t, map[string]string{"pvc/default/data": "good", "pv/pv1": "good"}, phases(last))
	require.Equal(t, "+30s", last.Offset)
	begin := ask[viewed](t, s, "view", map[string]any{"run": "a", "tick": 0})
	require.Empty(t, begin.Tables, "nothing exists at the beginning")
	now := ask[string](t, s, "explain", map[string]any{"run": "a", "tick": end, "object": "pvc/data"})
	require.Contains(t, now, "pvc/default/data is Bound")
	// Early in the run the claim was not bound.
	for i, seq := range answer.State.Seqs {
		if seq > 0 && answer.State.Lines[i] == 3 {
			require.NotContains(t, ask[string](t, s, "explain", map[string]any{"run": "a", "tick": i, "object": "pvc/data"}), "is Bound")
			break
		}
	}
	require.Contains(t, ask[string](t, s, "object", map[string]any{"run": "a", "tick": end, "object": "pv/pv1"}), "kind: PersistentVolume")
}

// The page reads lists. A list without members is [], not null.
func TestEmptyLists(t *testing.T) {
	s := playground.New()
	for _, text := range []string{"settle\n", "# nothing\n", claim} {
		for _, call := range []struct{ method, args string }{
			{"check", fmt.Sprintf(`{"text":%q}`, text)},
			{"load", fmt.Sprintf(`{"run":"a","text":%q}`, text)},
			{"view", `{"run":"a","tick":0}`},
			{"complete", fmt.Sprintf(`{"text":%q,"offset":0}`, text)},
		} {
			out, err := s.Handle(call.method, []byte(call.args))
			require.NoError(t, err, call.method)
			require.NotContains(t, string(out), "null", "%q: %s", text, call.method)
		}
	}
}

// One more line at the end gives the same run as a script that has it.
func TestDo(t *testing.T) {
	s := playground.New()
	load(t, s, "a", claim)
	more := ask[loaded](t, s, "do", map[string]any{"run": "a", "line": "delete pvc/data"})
	more = ask[loaded](t, s, "do", map[string]any{"run": "a", "line": "step 3"})
	again := load(t, s, "b", more.State.Text)
	require.Equal(t, again.State.Times, more.State.Times)
	require.Equal(t, again.State.Seqs, more.State.Seqs)
	require.Equal(t, again.State.Commands, more.State.Commands)
	traces := [2]string{}
	for i, run := range []string{"a", "b"} {
		traces[i] = ask[string](t, s, "export", map[string]any{"run": run, "format": "trace"})
	}
	require.Equal(t, traces[1], traces[0])
	_, err := s.Handle("do", []byte(`{"run":"a","line":"delete pcv/data"}`))
	require.ErrorContains(t, err, "pcv")
}

func TestProblems(t *testing.T) {
	s := playground.New()
	text := "aply -f x.yaml\nadvance 5\nsettle\nexpect pvc/data fase=Bound\n"
	problems := ask[[]script.Problem](t, s, "check", map[string]any{"text": text})
	require.Len(t, problems, 3)
	for i, line := range []int{1, 2, 4} {
		require.Equal(t, line, problems[i].Line, problems[i].Text)
	}
	for text, want := range map[string]string{
		"":                 "the script has no commands",
		"# a comment\n":    "the script has no commands",
		"kubectl get po\n": "unknown command kubectl",
		"config server=true\nrequest GET /version\n": "server=true",
	} {
		problems = ask[loaded](t, s, "load", map[string]any{"run": "a", "text": text}).Problems
		require.Len(t, problems, 1, text)
		require.Equal(t, 1, problems[0].Line, text)
		require.Contains(t, problems[0].Text, want)
	}
	manifest := "apply -f x.yaml\n-- x.yaml --\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a}\nspec:\n  storageClas: fast\n"
	problems = ask[[]script.Problem](t, s, "check", map[string]any{"text": manifest})
	require.Len(t, problems, 1)
	require.Greater(t, problems[0].Line, 2)
	require.Equal(t, 7, problems[0].Line)
	// All lines that a text names are lines of the script, while it is read and when a request fails.
	manifest = strings.Replace(manifest, "spec:", "spec:\n  accessModes: [RWO]", 1)
	problems = ask[[]script.Problem](t, s, "check", map[string]any{"text": manifest})
	require.Equal(t, 7, problems[0].Line)
	require.Contains(t, problems[0].Text, "; line 8: spec.storageClas: ")
	manifest = strings.Replace(claim, "accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: 1Gi}}", "accessModes: [ReadWriteOnce]\n  volumeMode: Block", 1)
	manifest = strings.Replace(manifest, "capacity: {storage: 1Gi}\n  accessModes: [ReadWriteOnce]", "capacity: {}\n  nodeAffinity: {}", 1)
	failed := load(t, s, "a", manifest).State.Failures
	require.Len(t, failed, 1)
	require.Equal(t, 9, failed[0].Line)
	require.Contains(t, failed[0].Text, "; spec.capacity is in line 10")
	answer := ask[loaded](t, s, "load", map[string]any{"run": "a", "text": text})
	require.Len(t, answer.Problems, 3)
	require.Nil(t, answer.State)
}

// Up to the moment of a fork both futures have the same trace, at every moment of every lesson.
func TestFork(t *testing.T) {
	files, err := filepath.Glob("../../../examples/*/lesson.txtar")
	require.NoError(t, err)
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			s := playground.New()
			a := load(t, s, "a", string(text))
			whole := ask[string](t, s, "export", map[string]any{"run": "a", "format": "trace"})
			for n := range 6 {
				tick := (n + 1) * len(a.State.Times) / 7
				forked := ask[string](t, s, "fork", map[string]any{"run": "a", "tick": tick})
				b := load(t, s, "b", forked)
				end := len(b.State.Seqs) - 1
				require.Equal(t, a.State.Seqs[tick], b.State.Seqs[end], "tick %d", tick)
				part := ask[string](t, s, "export", map[string]any{"run": "b", "format": "trace"})
				require.Equal(t, whole[:min(len(part), len(whole))], part, "tick %d", tick)
				rest := ask[string](t, s, "fork", map[string]any{"run": "a", "tick": tick, "rest": true})
				require.Empty(t, ask[[]script.Problem](t, s, "check", map[string]any{"text": rest}), rest)
			}
		})
	}
}

func TestComplete(t *testing.T) {
	s := playground.New()
	const setup = "backend disk.example.com\nnode add n1 zone=a\n"
	for _, row := range []struct{ text, want, not string }{
		{"adv", "advance", ""},
		{"expect p", "pvc", ""},
		{"expect pvc/data ph", "phase=", "attached="},
		{"expect pvc data ", "gone", ""},
		{"expect pvc/data phase=B", "phase=Bound", "phase=Running"},
		{"some expect pvc/data ", "volume=", ""},
		{"expect ", "write", ""},
		{"expect write pv/pv1 ", "rule=", ""},
		{"expect write actor=", "actor=kube-scheduler", ""},
		{"expect event ", "po", "gone"},
		{setup + "expect backend ", "disk.example.com", "pvc"},
		{setup + "expect backend disk.example.com ", "problems=", ""},
		{"scale ", "deploy", "pvc"},
		{"scale deploy/web ", "--replicas=", "pvc"},
		{"rollout ", "restart", "pvc"},
		{"rollout restart ", "sts", "pvc"},
		{"rollout undo ds/web --", "--to-revision=", "--timeout="},
		{setup + "drain ", "n1", "pvc"},
		{setup + "drain n1 --", "--force", ""},
		{setup + "taint node ", "n1", "zone=a"},
		{"fault ", "api", "pvc"},
		{"fault api ", "update-status", ""},
		{"fault api update-status ", "pv", "api"},
		{"fault api update pv ", "error=", ""},
		{"fault api update pv error=", "error=Conflict", ""},
		{"fault api update pv error=Conflict ", "once", ""},
		{setup + "fault backend ", "disk.example.com", ""},
		{setup + "fault backend disk.example.com ", "Attach", "attached="},
		{setup + "fault node ", "n1", "pvc"},
		{setup + "fault node n1 ", "poweroff", "attached="},
		{"node ", "add", "pvc"},
		{setup + "crash ", "external-attacher/disk.example.com", "pvc"},
		{"config ", "seed=", "pvc"},
		{"config lag", "lag.", ""},
		{"backend disk.example.com ", "quota=", "pvc"},
		{"delete ", "job", ""},
		{"delete pvc ", "-f", "capacity="},
		{"delete pvc/data --", "", "capacity="},
		{"get ", "all", ""},
		{"set IMAGE pvc/data ", "volume", ""},
		{"exit ", "pod/", "pvc"},
		{"exit pod/web ", "Failed", ""},
		{"wait pod/web -", "--for=", ""},
		{"apply ", "-f", "pvc"},
		{"apply -f ", "later.yaml", "pvc"},
		{"settle ", "", "pvc"},
		{"apply -f x\n-- x --\nki", "kind:", ""},
		{"apply -f x\n-- x --\nkind: Per", "PersistentVolumeClaim", ""},
		{"apply -f x\n-- x --\nkind: PersistentVolumeClaim\nspec:\n  access", "accessModes:", ""},
		{"apply -f x\n-- x --\nkind: Pod\nspec:\n  containers:\n  - na", "name:", ""},
	} {
		answer := ask[struct {
			From    int
			Options []struct{ Label string }
		}](t, s, "complete", map[string]any{"text": row.text, "rest": "\nsettle\n-- later.yaml --\nkind: Pod\n"})
		var labels []string
		for _, o := range answer.Options {
			labels = append(labels, o.Label)
		}
		if row.want != "" {
			assert.Contains(t, labels, row.want, row.text)
		}
		if row.not != "" {
			assert.NotContains(t, labels, row.not, row.text)
		}
	}
}

func TestTry(t *testing.T) {
	s := playground.New()
	type outcome struct {
		OK      bool
		Problem string
	}
	require.True(t, ask[outcome](t, s, "try", map[string]any{"text": claim, "seed": 3}).OK)
	wrong := ask[outcome](t, s, "try", map[string]any{"text": claim, "seed": 3, "goal": "expect pvc/data phase=Lost"})
	require.False(t, wrong.OK)
	require.Contains(t, wrong.Problem, "Bound")
	load(t, s, "a", claim)
	lines := []string{"expect pvc/data phase=Bound", "expect pv/pv1 claim=default/data"}
	require.Equal(t, []string{"", ""}, ask[[]string](t, s, "holds", map[string]any{"run": "a", "lines": lines}))
}

func TestDump(t *testing.T) {
	s := playground.New()
	text, err := os.ReadFile("../../../cmd/volsim/testdata/waiting-claims.yaml")
	require.NoError(t, err)
	type answer struct{ Text string }
	got := ask[answer](t, s, "dump", map[string]any{"text": string(text), "objects": "pod/shop/search-0"})
	require.Contains(t, got.Text, "pod/shop/search-0 is Pending")
	got = ask[answer](t, s, "dump", map[string]any{"text": string(text), "steps": "nothing"})
	require.Contains(t, got.Text, "No data is lost through this change")
}

// TestWithoutEffect: the summary of a run names the kinds of its objects that have no effect in the page.
func TestWithoutEffect(t *testing.T) {
	const policy = `apply -f policy.yaml
-- policy.yaml --
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints: {resourceRules: [{operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"]}]}
  validations: [{expression: "false"}]
`
	for text, want := range map[string]string{claim: "ok, seed 0, 30s of virtual time", policy: "ok, seed 0, 0s of virtual time; stored without effect: ValidatingAdmissionPolicy"} {
		s := playground.New()
		got := ask[loaded](t, s, "load", map[string]any{"run": "a", "text": text})
		require.Equal(t, want, got.State.Summary)
	}
}

// A line cannot be added after a line that failed: the script would not do it.
func TestDoAfterFailure(t *testing.T) {
	s := playground.New()
	answer := load(t, s, "a", "node add n1\ndelete pvc nope\nget pods\n")
	require.Len(t, answer.State.Failures, 1)
	_, err := s.Handle("do", []byte(`{"run":"a","line":"advance 1m"}`))
	require.EqualError(t, err, "correct line 2 first: it failed, and the script ends there")
	load(t, s, "a", "node add n1\n")
	require.Len(t, ask[loaded](t, s, "do", map[string]any{"run": "a", "line": "delete pvc nope"}).State.Failures, 1)
	_, err = s.Handle("do", []byte(`{"run":"a","line":"advance 1m"}`))
	require.ErrorContains(t, err, "correct line 2 first")
}

// The table of Nodes shows machines without power and without a network, which the objects do not show.
func TestMachines(t *testing.T) {
	s := playground.New()
	answer := load(t, s, "a", `node add n1 n2 n3
settle
fault node n1 poweroff
fault node n2 partition
fault node n3 stop-kubelet
advance 1s
fault node n1 start
fault node n2 heal
fault node n3 start
`)
	got := map[int][]string{}
	for i, line := range answer.State.Lines {
		for _, table := range ask[viewed](t, s, "view", map[string]any{"run": "a", "tick": i}).Tables {
			if table.Kind != "Node" {
				continue
			}
			got[line] = nil
			for _, r := range table.Rows {
				if len(r.Cells) == 6 {
					got[line] = append(got[line], r.Cells[5])
				}
			}
		}
	}
	require.Equal(t, map[int][]string{
		1: nil, 2: nil, 3: {"no power", "", ""}, 4: {"no power", "cut off", ""}, 5: {"no power", "cut off", "kubelet down"},
		6: {"no power", "cut off", "kubelet down"}, 7: {"", "cut off", "kubelet down"}, 8: {"", "", "kubelet down"}, 9: nil,
	}, got)
}

// An object that is being deleted is not shown as good.
func TestTerminating(t *testing.T) {
	s := playground.New()
	load(t, s, "a", claim)
	answer := ask[loaded](t, s, "do", map[string]any{"run": "a", "line": "delete pv/pv1 --wait=false"})
	last := ask[viewed](t, s, "view", map[string]any{"run": "a", "tick": len(answer.State.Times) - 1})
	require.Equal(t, map[string]string{"pvc/default/data": "good", "pv/pv1": "waiting"}, phases(last))
}
