package requests

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/volsim/volsim/csi/internal/testdriver"
)

// Driver is a driver behind a unix socket, with the requests that it got. Two recorders give the same replies to the same calls.
type Driver struct {
	Path string
	Conn *grpc.ClientConn

	mu       sync.Mutex
	requests map[string]proto.Message // the last one of each method
	answers  map[string]proto.Message // replies that do not depend on the requests, by method; nil for a driver that executes calls
}

// NewDriver starts a driver.
func NewDriver(t *testing.T, tt *Case) *Driver {
	t.Helper()
	d := testdriver.New()
	d.Zone = tt.zone
	return start(t, d, tt.mountGroup)
}

// NewStub starts a driver with the capabilities of that of the stories. It executes no calls: Replay says how it answers.
func NewStub(t *testing.T) *Driver {
	t.Helper()
	r := start(t, NewStoryDriver(), false)
	r.Replay("", nil)
	return r
}

// Replay forgets all requests, and makes the driver answer calls of one method with a reply. A nil reply is an error; other methods have
// empty replies.
func (r *Driver) Replay(method string, reply proto.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = map[string]proto.Message{}
	r.answers = map[string]proto.Message{"NodeStageVolume": &spec.NodeStageVolumeResponse{}, "NodeUnstageVolume": &spec.NodeUnstageVolumeResponse{},
		"NodePublishVolume": &spec.NodePublishVolumeResponse{}, "NodeUnpublishVolume": &spec.NodeUnpublishVolumeResponse{}, method: reply}
}

func start(t *testing.T, d *testdriver.Driver, mountGroup bool) *Driver {
	t.Helper()
	r := &Driver{Path: filepath.Join(t.TempDir(), "csi.sock"), requests: map[string]proto.Message{}}
	listener, err := net.Listen("unix", r.Path)
	require.NoError(t, err)
	server := grpc.NewServer(grpc.UnaryInterceptor(
		func(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			r.mu.Lock()
			method := info.FullMethod[strings.LastIndex(info.FullMethod, "/")+1:]
			r.requests[method] = proto.Clone(request.(proto.Message))
			answer, fixed := r.answers[method]
			r.mu.Unlock()
			switch {
			case fixed && answer == nil:
				return nil, status.Error(codes.OutOfRange, "the driver of the story rejected this")
			case fixed:
				return answer, nil
			}
			reply, err := next(ctx, request)
			if capabilities, ok := reply.(*spec.NodeGetCapabilitiesResponse); ok && mountGroup {
				capabilities.Capabilities = append(capabilities.Capabilities, &spec.NodeServiceCapability{Type: &spec.NodeServiceCapability_Rpc{
					Rpc: &spec.NodeServiceCapability_RPC{Type: spec.NodeServiceCapability_RPC_VOLUME_MOUNT_GROUP}}})
			}
			return reply, err
		}))
	d.Register(server, "n1")
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	r.Conn, err = grpc.NewClient("unix://"+r.Path, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Conn.Close() })
	return r
}

// Request returns the last request of a method; nil if there was none.
func (r *Driver) Request(method string) proto.Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.requests[method]
}
