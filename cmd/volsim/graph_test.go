package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const graphManifest = `apiVersion: v1
kind: PersistentVolume
metadata: {name: pv}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /a}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: default}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", resources: {requests: {storage: 1Gi}}}
`

const recordingFolder = "../../internal/proof/conformance/testdata"

func TestGraph(t *testing.T) {
	for _, tt := range []struct {
		name, stdin string
		args        []string
		want        []string
	}{
		{"a manifest, volumes", graphManifest, []string{"graph", "-"}, []string{
			"stateDiagram-v2\n", "    [*] --> Pending: user ×1\n", "    Available --> Bound: MATCH-020 ×1\n"}},
		{"a manifest, claims", graphManifest, []string{"graph", "-", "--kind", "pvc"}, []string{"    Pending --> Bound: MATCH-020 ×1\n"}},
		{"DOT", graphManifest, []string{"graph", "-", "-o", "dot"}, []string{
			"digraph \"PersistentVolume\" {\n", "  \"Available\" -> \"Bound\" [label=\"MATCH-020 ×1\", penwidth=1];\n"}},
		{"a recording", "", []string{"graph", "--recordings", recordingFolder + "/pv-racy.jsonl.gz"}, []string{"    Available --> Bound: "}},
		{"a recording and a manifest", graphManifest,
			[]string{"graph", "-", "--kind", "PVC", "--recordings", recordingFolder + "/pv-racy.jsonl.gz"}, []string{"    Pending --> Bound: "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, out, errOut := shell(tt.stdin, tt.args...)
			require.Zero(t, status, errOut)
			for _, want := range tt.want {
				require.Contains(t, out, want)
			}
		})
	}
}

func TestGraphErrors(t *testing.T) {
	for _, tt := range []struct {
		name, stdin string
		args        []string
		status      int
		want        string
	}{
		{"nothing to observe", "", []string{"graph"}, exitUsage, "missing FILE argument or --recordings"},
		{"another kind", "", []string{"graph", "--kind", "pod", "-"}, exitUsage, `invalid --kind "pod": want pv or pvc`},
		{"another output", "", []string{"graph", "-o", "svg", "-"}, exitUsage, `invalid -o "svg": want mermaid or dot`},
		{"no such file", "", []string{"graph", "nobody.txtar"}, exitFailed, "nobody.txtar: no such file or directory"},
		{"no such recording", "", []string{"graph", "--recordings", "nobody.jsonl.gz"}, exitFailed, "nobody.jsonl.gz: no such file or directory"},
		{"a folder without recordings", "", []string{"graph", "--recordings", "."}, exitFailed, "directory contains no recording"},
		{"not a recording", "", []string{"graph", "--recordings", "graph.go"}, exitFailed, "graph.go: gzip: invalid header"},
		{"a script that fails", "expect claim data phase=Bound\n", []string{"graph", "-"}, exitFailed,
			"stdin:1: expect claim data phase=Bound: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, out, errOut := shell(tt.stdin, tt.args...)
			require.Equal(t, tt.status, status)
			require.Empty(t, out)
			require.Contains(t, errOut, tt.want)
		})
	}
}
