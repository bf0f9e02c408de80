package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestServeFeatureGates: the gates are in the script of the run, and a name without a gate is an error.
func TestServeFeatureGates(t *testing.T) {
	flags := serveFlags{gates: "CrossNamespaceVolumeDataSource=true"}
	text, _, err := flags.script(time.Unix(0, 0).UTC())
	require.NoError(t, err)
	require.Contains(t, text, "\nconfig feature-gates=CrossNamespaceVolumeDataSource=true\n")

	var out, errOut bytes.Buffer
	require.Equal(t, exitUsage, execute([]string{"serve", "--feature-gates", "VolumeHealth=true"}, nil, &out, &errOut))
	require.Contains(t, errOut.String(), `invalid --feature-gates: "VolumeHealth" is not a feature gate that is simulated; these are: CSIVolumeHealth, CrossNamespaceVolumeDataSource`)
}

// TestServeMistakes: what is wrong with an option.
func TestServeMistakes(t *testing.T) {
	for _, tt := range []struct{ option, value, want string }{
		{"--without", "kube-schedule", `invalid --without: "kube-schedule": there is no such controller; did you mean "kube-scheduler"`},
		{"--driver", "my disk", `invalid --driver: "my disk": want the name of a CSI driver, such as disk.example.com`},
		{"--driver", "disk.example.com@n1", "invalid --driver: disk.example.com@n1: there is no node n1; add it to --nodes"},
	} {
		var out, errOut bytes.Buffer
		require.Equal(t, exitUsage, execute([]string{"serve", "--record", "none", tt.option, tt.value}, nil, &out, &errOut), errOut.String())
		require.Contains(t, errOut.String(), tt.want)
		require.Empty(t, out.String())
	}
}

// TestServe serves a cluster, reads a node from it and advances its clock.
func TestServe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	cmd, out := newServe(), &bytes.Buffer{}
	cmd.SetOut(out)
	flags := serveFlags{listen: "127.0.0.1:0", kubeconfig: file, nodes: []string{"n1"}, drivers: []string{"disk.example.com"}, time: "manual"}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- flags.run(ctx, cmd) }()
	require.Eventually(t, func() bool {
		data, err := os.ReadFile(file)
		return err == nil && len(data) > 0
	}, 30*time.Second, 10*time.Millisecond)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(data), "server: ")
	url, _, _ := strings.Cut(rest, "\n")
	get := func(path string) string {
		resp, err := http.Get(url + path)
		require.NoError(t, err)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return string(text)
	}
	require.Contains(t, get("/api/v1/nodes/n1"), `"kind":"Node"`)
	require.Contains(t, get("/api/v1/namespaces/default"), `"kind":"Namespace"`)
	require.Contains(t, get("/api/v1/namespaces/shop"), `namespaces \"shop\" not found`)

	now := func(args ...string) time.Time {
		var out, errOut bytes.Buffer
		require.Zero(t, execute(append([]string{"clock"}, append(args, "--kubeconfig", file)...), nil, &out, &errOut), errOut.String())
		at, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(out.String()))
		require.NoError(t, err)
		return at
	}
	require.Equal(t, 5*time.Second, -now("now").Sub(now("advance", "5s")))
	cancel()
	require.NoError(t, <-ended)
	require.Contains(t, out.String(), "try: kubectl --kubeconfig "+file+" get nodes")
}
