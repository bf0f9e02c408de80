package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/volsim/volsim/csi/internal/testdriver"
)

// serve serves a test driver on a unix socket and returns its endpoint.
func serve(t *testing.T, bugs ...testdriver.Bug) string {
	t.Helper()
	return serveWith(t, nil, bugs...)
}

// serveWith is serve with an interceptor of the calls.
func serveWith(t *testing.T, interceptor grpc.UnaryServerInterceptor, bugs ...testdriver.Bug) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "csi.sock")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(func(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if interceptor != nil {
			return interceptor(ctx, request, info, next)
		}
		return next(ctx, request)
	}))
	testdriver.New(bugs...).Register(server, "n1")
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	return "unix://" + path
}

// unnamed is an interceptor for a driver without a name.
func unnamed(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	reply, err := next(ctx, request)
	if info, ok := reply.(*spec.GetPluginInfoResponse); ok {
		info.Name = ""
	}
	return reply, err
}

func TestCommand(t *testing.T) {
	junit := filepath.Join(t.TempDir(), "report.xml")
	picture, goTest := filepath.Join(t.TempDir(), "picture.html"), filepath.Join(t.TempDir(), "finding_test.go")
	object, other := filepath.Join(t.TempDir(), "driver.yaml"), filepath.Join(t.TempDir(), "node.yaml")
	require.NoError(t, os.WriteFile(object, []byte("apiVersion: storage.k8s.io/v1\nkind: CSIDriver\nspec: {volumeLifecycleModes: [Ephemeral]}\n"), 0o600))
	require.NoError(t, os.WriteFile(other, []byte("kind: CSINode\n"), 0o600))
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		stdout string
		stderr string
	}{
		{"a correct driver", []string{"test", "--endpoint", serve(t), "--stories", "life,move", "--seeds", "1", "--pairs", "0", "--junit", junit}, passed,
			"passed: life", "runs"},
		{"a wrong driver", []string{"test", "--endpoint", serve(t, testdriver.StageAgainFails), "--replay", "life lost@3", "--html", picture,
			"--gotest", goTest}, found,
			"section NodeStageVolume: the operation MUST be idempotent", ""},
		{"a wrong start", []string{"test", "--endpoint", serveWith(t, unnamed), "--html", filepath.Join(t.TempDir(), "no.html"),
			"--gotest", filepath.Join(t.TempDir(), "no_test.go")}, found, "the reply to GetPluginInfo has an empty name", ""},
		{"a story that needs another flag", []string{"test", "--endpoint", serve(t), "--stories", "node-reboots"}, failed,
			"not asked: node-reboots", "no story was asked: no Config.Reboot (--reboot)"},
		{"no driver", []string{"test", "--endpoint", "unix:///nothing/csi.sock"}, failed, "", "connection error"},
		{"no endpoint", []string{"test"}, failed, "", "give --endpoint"},
		{"a wrong node", []string{"test", "--endpoint", serve(t), "--node", "n1"}, failed, "", "name=value"},
		{"a CSIDriver object", []string{"test", "--endpoint", serve(t), "--stories", "inline", "--seeds", "0", "--pairs", "0", "--inline-read-only", "--csidriver", object},
			passed, "passed: inline", ""},
		{"another object", []string{"test", "--endpoint", serve(t), "--csidriver", other}, failed, "", `kind "CSINode"; use a file with one CSIDriver`},
		{"an unknown flag", []string{"test", "--story", "life"}, failed, "", "volsim-csi: flag provided but not defined: -story; volsim-csi test --help lists the flags\n"},
		{"an unknown story", []string{"test", "--endpoint", serve(t), "--stories", "life, lives"}, failed, "", `no story "lives"; csitest.Stories and volsim csi stories`},
		{"spaces between stories", []string{"test", "--endpoint", serve(t), "--stories", "life, restart-pod", "--seeds", "0", "--pairs", "0", "--limit", "9s"}, passed,
			"passed: life, restart-pod", ""},
		{"a replay of a story", []string{"test", "--endpoint", serve(t), "--stories", "life", "--replay", "life"}, failed, "", "omit --stories"},
		{"no time", []string{"test", "--endpoint", serve(t), "--limit", "0s"}, failed, "", "--limit 0s: no time for a call"},
		{"a file in no directory", []string{"test", "--endpoint", serve(t), "--junit", "/nonexistent/a.xml"}, failed, "", "write the report: open /nonexistent/"},
		{"a restart that fails", []string{"test", "--endpoint", serve(t), "--stories", "life", "--pairs", "0", "--restart", "echo no such unit; exit 1"}, failed, "",
			"restart the driver: run \"echo no such unit; exit 1\": exit status 1"},
		{"a reboot that fails", []string{"test", "--endpoint", serve(t), "--stories", "node-reboots", "--reboot", "false"}, failed, "",
			"reboot node n1: run \"false\": exit status 1"},
		{"the stories", []string{"stories"}, passed, "life ", ""},
		{"no command", nil, failed, "", "volsim-csi test"},
		{"an unknown command", []string{"check"}, failed, "", `unknown command "check"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			require.Equal(t, tt.status, run(tt.args, &stdout, &stderr), "%s\n%s", &stdout, &stderr)
			require.Contains(t, stdout.String(), tt.stdout)
			require.Contains(t, stderr.String(), tt.stderr)
		})
	}
	t.Run("commands for nodes", func(t *testing.T) {
		nodes := filepath.Join(t.TempDir(), "nodes")
		var stdout, stderr bytes.Buffer
		status := run([]string{"test", "--endpoint", serve(t), "--stories", "node-reboots,modify", "--seeds", "0", "--pairs", "0", "--attribute", "iops=1000",
			"--reboot", "echo $NODE >> " + nodes}, &stdout, &stderr)
		require.Contains(t, []int{passed, found}, status, "the driver does not lose its mounts: %s", &stderr) // it has no such command
		require.NotContains(t, stdout.String(), "not asked")
		rebooted, err := os.ReadFile(nodes)
		require.NoError(t, err)
		require.Contains(t, string(rebooted), "n1")
	})
	t.Run("a restart", func(t *testing.T) {
		nodes := filepath.Join(t.TempDir(), "nodes")
		var stdout, stderr bytes.Buffer
		require.Equal(t, passed, run([]string{"test", "--endpoint", serve(t), "--replay", "life killed-before@2 killed-after@4", "--restart", "echo at $NODE. >> " + nodes},
			&stdout, &stderr), "%s", &stdout)
		restarted, err := os.ReadFile(nodes)
		require.NoError(t, err)
		require.Equal(t, "at .\nat n1.\n", string(restarted))
		require.Equal(t, failed, run([]string{"test", "--endpoint", serve(t), "--reset", "false"}, &stdout, &stderr))
		require.Contains(t, stderr.String(), `run "false"`)
	})
	t.Run("root", func(t *testing.T) {
		defer func() { geteuid = os.Geteuid }()
		args := []string{"test", "--endpoint", serve(t), "--replay", "life"}
		for user, want := range map[int]string{0: "warning: running as root; the driver mounts what the stories ask for below ", 1000: ""} {
			geteuid = func() int { return user }
			var stdout, stderr bytes.Buffer
			require.Equal(t, passed, run(append(args, "--dir", t.TempDir()), &stdout, &stderr))
			require.Contains(t, stderr.String(), want)
			require.Equal(t, user == 0, bytes.Contains(stderr.Bytes(), []byte("warning")))
			require.Equal(t, passed, run(args, &stdout, &stderr))
			require.Equal(t, user == 0, bytes.Contains(stderr.Bytes(), []byte("below /var/lib/kubelet; use --dir DIR for other paths\n")))
		}
	})
	page, err := os.ReadFile(picture)
	require.NoError(t, err)
	require.Contains(t, string(page), "is already mounted, although the volume already is as requested")
	test, err := os.ReadFile(goTest)
	require.NoError(t, err)
	require.Contains(t, string(test), "func TestNodeStageVolumeRepeatFails(t *testing.T) {")
	report, err := os.ReadFile(junit)
	require.NoError(t, err)
	require.Contains(t, string(report), `<testcase name="life"`)
}
