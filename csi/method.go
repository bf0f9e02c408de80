package csi

import (
	"fmt"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// rpcMethod is a method of CSI.
type rpcMethod struct {
	name string // such as NodeStageVolume
	full string // such as /csi.v1.Node/NodeStageVolume
	// request and reply are the types of the messages.
	request, reply protoreflect.MessageType
}

// rpcMethods are the methods of all services without streams, by the name of the request.
var rpcMethods = allMethods()

func allMethods() map[protoreflect.FullName]rpcMethod {
	methods := map[protoreflect.FullName]rpcMethod{}
	services := (&spec.GetPluginInfoRequest{}).ProtoReflect().Descriptor().ParentFile().Services()
	for i := range services.Len() {
		service := services.Get(i)
		for j := range service.Methods().Len() {
			m := service.Methods().Get(j)
			reply, err := protoregistry.GlobalTypes.FindMessageByName(m.Output().FullName())
			request, requestErr := protoregistry.GlobalTypes.FindMessageByName(m.Input().FullName())
			if err != nil || requestErr != nil || m.IsStreamingServer() {
				continue
			}
			methods[m.Input().FullName()] = rpcMethod{string(m.Name()), fmt.Sprintf("/%s/%s", service.FullName(), m.Name()), request, reply}
		}
	}
	return methods
}

// methodOf returns the method that a request is for.
func methodOf(request proto.Message) (rpcMethod, error) {
	m, ok := rpcMethods[request.ProtoReflect().Descriptor().FullName()]
	if !ok {
		return m, fmt.Errorf("make a call with a %T: it is no request of CSI", request)
	}
	return m, nil
}

// volumeOf returns the volume that a request is about: its volume_id, its source_volume_id, or the name if it creates a volume; else "".
func volumeOf(request proto.Message) string {
	if r, ok := request.(*spec.CreateVolumeRequest); ok {
		return r.GetName()
	}
	return first(request, "volume_id", "source_volume_id")
}

// snapshotIn returns the snapshot or group snapshot that a request is about: its ID, or the name if it is created; else "".
func snapshotIn(request proto.Message) string {
	switch r := request.(type) {
	case *spec.CreateSnapshotRequest:
		return r.GetName()
	case *spec.CreateVolumeGroupSnapshotRequest:
		return r.GetName()
	}
	return first(request, "snapshot_id", "group_snapshot_id")
}

// first returns the first of the fields that a request has.
func first(request proto.Message, fields ...protoreflect.Name) string {
	m := request.ProtoReflect()
	for _, name := range fields {
		if f := m.Descriptor().Fields().ByName(name); f != nil && f.Kind() == protoreflect.StringKind && !f.IsList() {
			return m.Get(f).String()
		}
	}
	return ""
}

// call makes a call and returns its reply. node is that of the kubelet, "" for a sidecar.
func call[R proto.Message](d *Driver, node string, request proto.Message) (R, error) {
	var none R
	reply, err := d.Call(node, request)
	if err != nil {
		return none, err
	}
	return reply.(R), nil
}
