package sidecars

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/volsim/volsim/csi/internal/testdriver"
)

// sidecars are the packages of the programs. The directory SIDECARS may have their binaries.
var sidecars = []string{
	"github.com/kubernetes-csi/external-attacher/v4/cmd/csi-attacher",
	"github.com/kubernetes-csi/external-provisioner/v6/cmd/csi-provisioner",
	"github.com/kubernetes-csi/external-resizer/v2/cmd/csi-resizer",
	"github.com/kubernetes-csi/external-snapshotter/v8/cmd/csi-snapshotter",
	"github.com/kubernetes-csi/external-snapshotter/v8/cmd/snapshot-controller",
}

// replaced are the controllers of volsim in whose place the sidecars are.
var replaced = []string{
	"external-provisioner/" + testdriver.Name, "external-attacher/" + testdriver.Name, "external-resizer/" + testdriver.Name,
	"csi-snapshotter/" + testdriver.Name, "snapshot-controller",
}

// build returns the binary of a package, built in a directory of its module unless it exists.
func build(t *testing.T, bin, dir, pkg string) string {
	t.Helper()
	file := filepath.Join(bin, path.Base(pkg))
	if _, err := os.Stat(file); err == nil {
		return file
	}
	cmd := exec.Command("go", "build", "-o", file, pkg)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return file
}

// process is a running program.
type process struct {
	t    *testing.T
	name string
	log  string
	stop func()
}

// start runs a program until the end of the test. Its output is logged if the test fails.
func start(t *testing.T, program string, args ...string) *process {
	t.Helper()
	p := &process{t: t, name: filepath.Base(program), log: filepath.Join(t.TempDir(), "log")}
	log, err := os.Create(p.log)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	p.stop = sync.OnceFunc(func() {
		cancel()
		_ = cmd.Wait() // it was killed
		_ = log.Close()
	})
	t.Cleanup(func() {
		p.stop()
		if t.Failed() {
			lines := strings.Split(p.output(), "\n")
			t.Logf("%s:\n%s", p.name, strings.Join(lines[max(0, len(lines)-40):], "\n"))
		}
	})
	return p
}

func (p *process) output() string {
	data, err := os.ReadFile(p.log)
	require.NoError(p.t, err)
	return string(data)
}

// newDriver starts a CSI driver and returns it with its socket.
func newDriver(t *testing.T) (*testdriver.Driver, string) {
	t.Helper()
	return driverIn(t, "")
}

// driverIn is newDriver with a zone for its nodes; "" is a driver without topology.
func driverIn(t *testing.T, zone string) (*testdriver.Driver, string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "csi") // paths of sockets are short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "csi.sock")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	server := grpc.NewServer()
	driver := testdriver.New()
	driver.Zone = zone
	driver.Register(server, "n1")
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return driver, socket
}

// serve starts volsim serve and returns its kubeconfig.
func serve(t *testing.T, bin string) string {
	t.Helper()
	config := filepath.Join(t.TempDir(), "volsim.yaml")
	start(t, build(t, bin, "../../../..", "./cmd/volsim"), "serve", "--kubeconfig", config, "--nodes", "n1", "--driver", testdriver.Name, "--time", "10x",
		"--without", strings.Join(replaced, ","))
	require.Eventually(t, func() bool {
		data, err := os.ReadFile(config)
		return err == nil && len(data) > 0
	}, time.Minute, 50*time.Millisecond)
	return config
}
