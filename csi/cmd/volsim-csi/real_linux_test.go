package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/volsim/volsim/csi/csitest"
	"github.com/volsim/volsim/csi/internal/testdriver"
)

// Mounts are read with their nodes, and with the read-only ones.
func TestVisibleMounts(t *testing.T) {
	table := strings.Join([]string{
		"22 1 0:20 / / rw - ext4 /dev/root rw",
		"24 23 0:22 / /srv/csi/n1/a rw,relatime shared:1 - tmpfs none rw",
		"25 24 0:23 / /srv/csi/n2/a\\040b ro,relatime - tmpfs none rw",
		"26 22 0:24 / /srv/csi2/n1 rw - tmpfs none rw",
	}, "\n")
	require.Equal(t, []csitest.Mount{{Node: "n1", Path: "/srv/csi/n1/a", Options: "rw,relatime,rw"},
		{Node: "n2", Path: "/srv/csi/n2/a b", ReadOnly: true, Options: "ro,relatime,rw"}},
		visibleMounts(strings.NewReader(table), "/srv/csi"))
	var stdout, stderr bytes.Buffer
	require.Equal(t, failed, run([]string{"test", "--endpoint", serve(t), "--mounts"}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "give it as --dir DIR")
}

// mounter makes the mounts of a test driver real: each volume is a directory. It handles one call at a time, as a driver must for one volume:
// a call whose connection has broken may still run when the kubelet repeats it, and both would mount.
type mounter struct {
	backing  string
	leaves   bool // NodeUnpublishVolume leaves the mount
	mu       sync.Mutex
	failures []error
}

func (m *mounter) intercept(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	reply, err := next(ctx, request)
	if err != nil {
		return reply, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	// A canceled call mounts nothing: the call that reverses it may have been answered by now.
	if err := ctx.Err(); err != nil {
		return nil, grpcstatus.FromContextError(err).Err()
	}
	switch r := request.(type) {
	case *spec.NodeStageVolumeRequest:
		m.bind(filepath.Join(m.backing, r.GetVolumeId()), r.GetStagingTargetPath(), false)
	case *spec.NodePublishVolumeRequest:
		m.bind(r.GetStagingTargetPath(), r.GetTargetPath(), r.GetReadonly())
	case *spec.NodeUnpublishVolumeRequest:
		if !m.leaves {
			m.release(r.GetTargetPath())
		}
	case *spec.NodeUnstageVolumeRequest:
		m.release(r.GetStagingTargetPath())
	}
	return reply, nil
}

func (m *mounter) note(err error) {
	if err != nil {
		m.failures = append(m.failures, err)
	}
}

// bind mounts a directory at a path, unless something is mounted there.
func (m *mounter) bind(from, to string, readOnly bool) {
	m.note(os.MkdirAll(from, 0o750))
	m.note(os.MkdirAll(to, 0o750))
	table, err := os.ReadFile(mountTable)
	m.note(err)
	if strings.Contains(string(table), " "+to+" ") {
		return
	}
	m.note(syscall.Mount(from, to, "", syscall.MS_BIND, ""))
	if readOnly {
		m.note(syscall.Mount("", to, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	}
}

// release unmounts a path and removes it.
func (m *mounter) release(path string) {
	// Nothing may be mounted. A mount that another process is looking at would be busy, so it is detached.
	_ = syscall.Unmount(path, syscall.MNT_DETACH)
	if err := os.Remove(path); !os.IsNotExist(err) {
		m.note(err)
	}
}

// With --mounts, mounts and data of a driver that mounts are compared, and nothing stays mounted.
func TestRealMounts(t *testing.T) {
	try := t.TempDir()
	if !leave(t, try) {
		t.Log("this user cannot mount; only the table is tested")
		return
	}
	_, err := unmountBelow(try)
	require.NoError(t, err)
	for _, leaves := range []bool{false, true} {
		dir, m := t.TempDir(), &mounter{backing: t.TempDir(), leaves: leaves}
		socket := filepath.Join(t.TempDir(), "csi.sock")
		l, err := net.Listen("unix", socket)
		require.NoError(t, err)
		server := grpc.NewServer(grpc.UnaryInterceptor(m.intercept))
		testdriver.New().Register(server, "n1")
		go func() { _ = server.Serve(l) }()
		t.Cleanup(server.Stop)
		var stdout, stderr bytes.Buffer
		status := run([]string{"test", "--endpoint", "unix://" + socket, "--dir", dir, "--mounts", "--stories", "restart-pod,read-only", "--seeds", "0", "--pairs", "0",
			"--json", filepath.Join(t.TempDir(), "report.json")}, &stdout, &stderr)
		if leaves {
			require.Equal(t, found, status)
			require.Contains(t, stdout.String(), "is still mounted, and the replies say that it is not")
			require.Contains(t, stdout.String(), "section NodeUnpublishVolume")
		} else {
			require.Equal(t, passed, status, "%s", &stdout)
			require.Empty(t, m.failures)
		}
		require.Empty(t, left(t, dir))
	}
}
