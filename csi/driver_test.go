package csi_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// start returns a cluster with one node whose storage is the driver.
func start(t *testing.T, d *disk, inject func(csi.Call) csi.Fault) (*volsim.Cluster, *csi.Driver) {
	t.Helper()
	driver, err := csi.New(context.Background(), csi.Config{Controller: csi.Serve(d.register), Inject: inject})
	require.NoError(t, err)
	c, err := volsim.New(volsim.Config{Backends: []storage.Backend{driver}})
	require.NoError(t, err)
	driver.Clock = c.Now
	require.NoError(t, c.Create(fake.Node("n1"), fake.Class("fast", "disk.example.com")))
	return c, driver
}

// A volume is created, used by a pod and deleted; each step is a call with a reply.
func TestLifeOfVolume(t *testing.T) {
	d := newDisk("n1")
	c, driver := start(t, d, nil)
	require.NoError(t, c.Create(fake.Claim("data", "1Gi", fake.InClass("fast")), fake.Pod("web", fake.Claims("data"))))
	require.NoError(t, c.Advance(2*time.Minute))
	pod, _ := c.Pods.Get("default/web")
	require.EqualValues(t, "Running", pod.Status.Phase)
	require.NoError(t, c.Delete(pod))
	require.NoError(t, c.Advance(5*time.Minute))
	claim, _ := c.Claims.Get("default/data")
	require.NoError(t, c.Delete(claim))
	require.NoError(t, c.Advance(10*time.Minute))
	require.Equal(t, []string{
		"NodeGetInfo", "CreateVolume", "ControllerPublishVolume", "NodeStageVolume", "NodePublishVolume", "NodeUnpublishVolume",
		"NodeUnstageVolume",
		"ControllerUnpublishVolume", "DeleteVolume",
	}, methods(driver.Calls()))
	require.Equal(t, "volumes [], attached map[], staged 0", d.state())
	for i, call := range driver.Calls() {
		require.Equal(t, i+1, call.Seq)
		require.False(t, call.At.IsZero())
		require.Len(t, call.Replies, 1)
		require.NotNil(t, call.Replies[0].Message, call.Method)
	}
}

// exit ends the goroutine, as t.FailNow of a driver's own test does.
func exit() { runtime.Goexit() }

// wrapped is a connection of the user's own. It does not pass headers on.
type wrapped struct{ csi.Conn }

func (w wrapped) Invoke(ctx context.Context, method string, request, reply any, _ ...grpc.CallOption) error {
	return w.Conn.Invoke(ctx, method, request, reply)
}

// An error that a connection of the user's own returns is the answer of the driver.
func TestWrappedConnection(t *testing.T) {
	d := newDisk("n1")
	driver, err := csi.New(context.Background(), csi.Config{Controller: wrapped{csi.Serve(d.register)}})
	require.NoError(t, err)
	_, err = driver.Call("", &spec.ControllerGetVolumeRequest{VolumeId: "none"})
	require.Error(t, err)
	reply := driver.Calls()[0].Replies[0]
	require.False(t, reply.Broken)
	require.Equal(t, codes.Unimplemented, reply.Status.Code())
}
