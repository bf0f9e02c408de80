package csi

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Conn is a connection to the services of a driver: what Dial or Serve returns, or any other client connection.
type Conn = grpc.ClientConnInterface

// Dial returns a connection to the unix socket of a driver process, such as unix:///run/disk/csi.sock. The socket is opened by the first
// call, and again after the driver closes it. Dial returns an error for an endpoint that is no absolute path of a unix socket.
func Dial(endpoint string) (*grpc.ClientConn, error) {
	path := strings.TrimPrefix(strings.TrimPrefix(endpoint, "unix:"), "//")
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("dial %q: no absolute path of a unix socket; write it like unix:///run/disk/csi.sock", endpoint)
	}
	return grpc.NewClient("unix://"+path, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy())
}

// Server serves a driver in the same process, without a socket.
type Server struct {
	mu      sync.Mutex
	methods map[string]method
}

type method struct {
	service any
	handler grpc.MethodHandler
}

// Serve returns a connection to services in the same process. register registers them, as with a *grpc.Server:
//
//	csi.Serve(func(s grpc.ServiceRegistrar) { spec.RegisterIdentityServer(s, driver); … })
//
// A request is copied. A panic of the driver is an error of the call with code Internal, as is a reply that gRPC cannot send.
func Serve(register func(grpc.ServiceRegistrar)) *Server {
	s := &Server{}
	s.Restart(register)
	return s
}

// Restart replaces the services, as a new process of the driver does. Calls that run continue in the old ones.
func (s *Server) Restart(register func(grpc.ServiceRegistrar)) {
	r := registrar{}
	if register != nil {
		register(r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.methods = r
}

type registrar map[string]method

// RegisterService implements grpc.ServiceRegistrar.
func (r registrar) RegisterService(desc *grpc.ServiceDesc, service any) {
	for _, m := range desc.Methods {
		r["/"+desc.ServiceName+"/"+m.MethodName] = method{service, m.Handler}
	}
}

// Invoke implements [Conn].
func (s *Server) Invoke(ctx context.Context, name string, request, reply any, _ ...grpc.CallOption) (err error) {
	s.mu.Lock()
	m, ok := s.methods[name]
	s.mu.Unlock()
	if !ok {
		return status.Errorf(codes.Unimplemented, "unknown method %s", name)
	}
	defer func() {
		if value := recover(); value != nil {
			err = brokenError{status.Newf(codes.Internal, "the driver panicked: %v", value)}
		}
	}()
	decode := func(into any) error {
		proto.Merge(into.(proto.Message), request.(proto.Message))
		return nil
	}
	out, err := m.handler(m.service, ctx, decode, nil)
	if _, ok := status.FromError(err); !ok {
		err = status.FromContextError(err).Err() // as a gRPC server does
	}
	if err != nil {
		return err
	}
	message, ok := out.(proto.Message)
	if !ok || !message.ProtoReflect().IsValid() {
		return brokenError{status.New(codes.Internal, "the driver returned neither a reply nor an error")}
	}
	if _, err := proto.Marshal(message); err != nil { // a gRPC server cannot send it, for a string that is not UTF-8
		return brokenError{status.Newf(codes.Internal, "the driver sent garbage: grpc: error while marshaling: %v", err)}
	}
	proto.Merge(reply.(proto.Message), message)
	return nil
}

// brokenError is the error of a call that the driver did not answer.
type brokenError struct{ status *status.Status }

// Error formats the error as gRPC does.
func (e brokenError) Error() string { return e.status.Err().Error() }

// GRPCStatus returns code and message.
func (e brokenError) GRPCStatus() *status.Status { return e.status }

// NewStream implements [Conn]. The services that Kubernetes calls have no streams.
func (s *Server) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, errors.New("open a stream: a driver in the same process has none")
}
