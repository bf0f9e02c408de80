package graph_test

import (
	"bytes"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/tools/graph"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

var update = flag.Bool("update", false, "update the golden files")

// lives is a run in which one volume is retained, one is recycled, and a claim loses its volume.
func lives(t *testing.T) *trace.Trace {
	t.Helper()
	c, err := volsim.New(volsim.Config{Backends: []storage.Backend{fake.NFS()}})
	require.NoError(t, err)
	settle := func(err error) {
		t.Helper()
		require.NoError(t, err)
		require.NoError(t, c.Advance(time.Minute))
	}
	retained := fake.Volume("retained", "1Gi")
	recycled := fake.Volume("recycled", "2Gi", fake.NFSSource("s", "/"), fake.Policy(corev1.PersistentVolumeReclaimRecycle))
	settle(c.Create(retained, recycled))
	small, large := fake.Claim("small", "1Gi"), fake.Claim("large", "2Gi")
	settle(c.Create(small, large))
	settle(c.Delete(large))
	settle(c.Delete(small))
	settle(c.Delete(retained))
	settle(c.Create(fake.Claim("large", "2Gi")))
	settle(c.Delete(recycled))
	settle(c.Patch(recycled, `{"metadata":{"finalizers":null}}`))
	return c.Trace()
}

func TestMachine(t *testing.T) {
	trace := lives(t)
	for _, tt := range []struct {
		rule, name string
		kind       api.Kind
		want       graph.Transition
	}{
		{"BIND-062", "an unused volume is available", api.PersistentVolume, graph.Transition{From: "Pending", To: "Available", Count: 2}},
		{"MATCH-020", "a volume that fits is bound", api.PersistentVolume, graph.Transition{From: "Available", To: "Bound", Count: 3}},
		{"BIND-064", "a volume whose claim is gone is released", api.PersistentVolume, graph.Transition{From: "Bound", To: "Released", Count: 2}},
		{"RECL-065", "a volume that was scrubbed is available", api.PersistentVolume,
			graph.Transition{From: "Released", To: "Available", Count: 1}},
		{"PROT-011", "a volume may go when it is not bound", api.PersistentVolume, graph.Transition{From: "Released", To: graph.None, Count: 1}},
		{"MATCH-020", "a claim is bound", api.PersistentVolumeClaim, graph.Transition{From: "Pending", To: "Bound", Count: 3}},
		{"PROT-023", "a claim may go when no pod uses it", api.PersistentVolumeClaim, graph.Transition{From: "Bound", To: graph.None, Count: 2}},
		{"BIND-060b", "a claim without its volume is lost", api.PersistentVolumeClaim, graph.Transition{From: "Bound", To: "Lost", Count: 1}},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			m := graph.NewMachine(tt.kind)
			m.Observe(trace)
			tt.want.Reason = tt.rule
			require.Contains(t, m.Transitions(), tt.want)
		})
	}
}

func TestMachineCountsRunsTogether(t *testing.T) {
	trace := lives(t)
	once, twice := graph.NewMachine(api.PersistentVolume), graph.NewMachine(api.PersistentVolume)
	once.Observe(trace)
	twice.Observe(trace)
	twice.Observe(nil)
	twice.Observe(trace)
	require.Equal(t, []string{"Pending", "Available", "Bound", "Released"}, once.Phases())
	want := once.Transitions()
	for i := range want {
		want[i].Count *= 2
	}
	require.Equal(t, want, twice.Transitions())
}

func TestMachineOfOtherKinds(t *testing.T) {
	m := graph.NewMachine(api.Pod)
	m.Observe(lives(t))
	require.Empty(t, m.Transitions())
	require.NotContains(t, graph.Kinds(), api.Pod)
}

func TestWrite(t *testing.T) {
	trace := lives(t)
	for _, kind := range graph.Kinds() {
		m := graph.NewMachine(kind)
		m.Observe(trace)
		var mermaid, dot bytes.Buffer
		require.NoError(t, m.WriteMermaid(&mermaid))
		require.NoError(t, m.WriteDOT(&dot))
		golden(t, "testdata/"+string(kind)+".mermaid", mermaid.Bytes())
		golden(t, "testdata/"+string(kind)+".dot", dot.Bytes())
	}
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, got, 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

// An actor may have any name, and no name can end a label.
func TestWriteKeepsLabelsWhole(t *testing.T) {
	trace := &trace.Trace{}
	e, err := engine.New(engine.Config{Trace: trace})
	require.NoError(t, err)
	_, err = e.NewActor("a \"b\"; c: <d>\n\\", func(a *engine.Actor) {
		a.Go("create", func(p *engine.Process) {
			_, err := p.API().Volumes.Create(p, fake.Volume("pv", "1Gi"))
			require.NoError(t, err)
		})
	})
	require.NoError(t, err)
	require.NoError(t, e.Settle(time.Minute))
	m := graph.NewMachine(api.PersistentVolume)
	m.Observe(trace)
	var mermaid, dot bytes.Buffer
	require.NoError(t, m.WriteMermaid(&mermaid))
	require.NoError(t, m.WriteDOT(&dot))
	require.Contains(t, mermaid.String(), `[*] --> Pending: a "b"#59; c#58; #lt;d#gt; \ ×1`+"\n")
	require.Contains(t, dot.String(), `begin -> "Pending" [label="a \"b\"; c: <d>\n\\ ×1", penwidth=1];`)
}
