package csi_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// process is a driver behind a unix socket.
type process struct {
	t      *testing.T
	path   string
	server *grpc.Server
}

// run starts the process. A nil disk is a server of another protocol version.
func (p *process) run(d *disk) {
	p.t.Helper()
	_ = os.Remove(p.path)
	listener, err := net.Listen("unix", p.path)
	require.NoError(p.t, err)
	p.server = grpc.NewServer()
	if d != nil {
		d.register(p.server)
	}
	go func(s *grpc.Server) { _ = s.Serve(listener) }(p.server)
}

func newProcess(t *testing.T, d *disk) *process {
	p := &process{t: t, path: filepath.Join(t.TempDir(), "csi.sock")}
	p.run(d)
	t.Cleanup(func() { p.server.Stop() })
	return p
}

func (p *process) dial() *grpc.ClientConn {
	conn, err := csi.Dial("unix://" + p.path)
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// The driver behind a socket is killed and restarted during each call of a life, with an endpoint per node.
func TestSocket(t *testing.T) {
	for _, kind := range []csi.FaultKind{"", csi.KilledBefore, csi.KilledDuring, csi.KilledAfter, csi.Overlap} {
		for _, method := range []string{"CreateVolume", "NodeStageVolume", "NodeExpandVolume"} {
			d := newDisk("n1")
			controller, node := newProcess(t, d), newProcess(t, d)
			driver, err := csi.New(context.Background(), csi.Config{
				Controller: controller.dial(), Nodes: map[string]csi.Conn{"n1": node.dial()}, Inject: on(method, csi.Fault{Kind: kind}),
				Restart: func(name string) error {
					p := controller
					if name == "n1" {
						p = node
					}
					p.server.Stop()
					p.run(d)
					return nil
				},
			})
			require.NoError(t, err)
			c, err := volsim.New(volsim.Config{Backends: []storage.Backend{driver}})
			require.NoError(t, err)
			require.NoError(t, c.Create(fake.Node("n1"), fake.Class("fast", "disk.example.com", fake.Expandable())))
			require.NoError(t, life(c), "%s %s", kind, method)
			driver.Finish()
			require.Equal(t, "volumes [], attached map[], staged 0", d.state(), "%s %s", kind, method)
			c.Close()
		}
	}
}

// What is no driver of this version gives an error, at the begin and later.
func TestBrokenSocket(t *testing.T) {
	create := func(driver *csi.Driver) error {
		_, err := driver.Create(storage.CreateRequest{Name: "a", Size: 1})
		return err
	}
	t.Run("another version", func(t *testing.T) {
		_, err := csi.New(context.Background(), csi.Config{Controller: newProcess(t, nil).dial()})
		require.Equal(t, codes.Unimplemented, status.Code(err))
	})
	t.Run("no socket", func(t *testing.T) {
		conn, err := csi.Dial(filepath.Join(t.TempDir(), "none.sock"))
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err = csi.New(ctx, csi.Config{Controller: conn})
		require.Error(t, err)
		_, err = csi.Dial("tcp://127.0.0.1:1")
		require.ErrorContains(t, err, "no absolute path of a unix socket")
	})
	t.Run("socket closed", func(t *testing.T) {
		p := newProcess(t, newDisk("n1"))
		driver, err := csi.New(context.Background(), csi.Config{Controller: p.dial(), Limit: 300 * time.Millisecond})
		require.NoError(t, err)
		p.server.Stop()
		require.Contains(t, []storage.Code{storage.Unavailable, storage.DeadlineExceeded}, storage.CodeOf(create(driver)))
		p.run(newDisk("n1"))
		require.Eventually(t, func() bool { return create(driver) == nil }, 10*time.Second, 50*time.Millisecond)
	})
	t.Run("garbage", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "csi.sock")
		listener, err := net.Listen("unix", path)
		require.NoError(t, err)
		defer listener.Close()
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\n\r\nthis is no gRPC\n"))
				_ = conn.Close()
			}
		}()
		conn, err := csi.Dial("unix://" + path)
		require.NoError(t, err)
		defer conn.Close()
		_, err = csi.New(context.Background(), csi.Config{Controller: conn, Limit: time.Second})
		require.Error(t, err)
	})
}

// With Root, paths are below the directory of the node, and the directories that a kubelet creates exist.
func TestRoot(t *testing.T) {
	root := t.TempDir()
	d := newDisk("n1")
	driver, err := csi.New(context.Background(), csi.Config{Controller: csi.Serve(d.register), Root: root})
	require.NoError(t, err)
	req := storage.NodeRequest{ID: "v", Node: "n1", StagingPath: "/var/lib/kubelet/plugins/x/globalmount", TargetPath: "/var/lib/kubelet/pods/p/mount"}
	require.NoError(t, driver.Stage(req))
	require.NoError(t, driver.Publish(req))
	require.DirExists(t, filepath.Join(root, "n1", req.StagingPath))
	require.DirExists(t, filepath.Dir(filepath.Join(root, "n1", req.TargetPath)))
	require.NoDirExists(t, filepath.Join(root, "n1", req.TargetPath))
	require.NoError(t, driver.Unpublish(req))
	require.NoError(t, driver.Unstage(req))
	require.NoDirExists(t, filepath.Join(root, "n1", req.StagingPath))
}
