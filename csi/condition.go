package csi

import (
	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/volsim/volsim/storage"
)

// NodeCondition implements storage.ConditionReporter with NodeGetVolumeStats.
func (d *Driver) NodeCondition(req storage.NodeRequest) (problem string, err error) {
	reply, err := call[*spec.NodeGetVolumeStatsResponse](d, req.Node, &spec.NodeGetVolumeStatsRequest{
		VolumeId: req.ID, VolumePath: d.path(req.Node, req.TargetPath),
	})
	if err != nil {
		return "", err
	}
	return problemOf(reply), nil
}

// GetCondition implements storage.ConditionReporter with ControllerGetVolume.
func (d *Driver) GetCondition(id string) (problem string, err error) {
	reply, err := call[*spec.ControllerGetVolumeResponse](d, "", &spec.ControllerGetVolumeRequest{VolumeId: id})
	if err != nil {
		return "", err
	}
	return problemOf(reply.GetStatus()), nil
}

// ListConditions implements storage.ConditionReporter with ListVolumes.
func (d *Driver) ListConditions() (problems map[string]string, err error) {
	problems = map[string]string{}
	err = d.listVolumes(func(entry *spec.ListVolumesResponse_Entry) {
		problems[entry.GetVolume().GetVolumeId()] = problemOf(entry.GetStatus())
	})
	return problems, err
}

// listVolumes calls fn for each entry of ListVolumes.
func (d *Driver) listVolumes(fn func(*spec.ListVolumesResponse_Entry)) error {
	seen := map[string]bool{}
	for token := ""; ; {
		list, err := call[*spec.ListVolumesResponse](d, "", &spec.ListVolumesRequest{StartingToken: token})
		if err != nil {
			return err
		}
		for _, entry := range list.GetEntries() {
			fn(entry)
		}
		switch token = list.GetNextToken(); {
		case token == "":
			return nil
		case seen[token]:
			return storage.Errorf(storage.Internal, "ListVolumes returned the token %q twice", token)
		}
		seen[token] = true
	}
}

// problemOf returns what the volume_condition of a message says. It goes by name, because the Go package of version 1.13 of the
// specification has no such field.
func problemOf(m proto.Message) string {
	field := func(m protoreflect.Message, name protoreflect.Name) protoreflect.Value {
		if f := m.Descriptor().Fields().ByName(name); f != nil && m.IsValid() && m.Has(f) {
			return m.Get(f)
		}
		return protoreflect.Value{}
	}
	condition := field(m.ProtoReflect(), "volume_condition")
	if !condition.IsValid() || !field(condition.Message(), "abnormal").IsValid() {
		return ""
	}
	if message := field(condition.Message(), "message"); message.IsValid() {
		return message.String()
	}
	return "abnormal, and the driver does not say why" // the specification requires a message
}

// conditions reports whether controller and nodes have VOLUME_CONDITION.
func (d *Driver) conditions() (controller, node bool) {
	inController, ok := spec.ControllerServiceCapability_RPC_Type_value["VOLUME_CONDITION"]
	controller = ok && d.controller[spec.ControllerServiceCapability_RPC_Type(inController)]
	inNode, ok := spec.NodeServiceCapability_RPC_Type_value["VOLUME_CONDITION"]
	return controller, ok && d.node[spec.NodeServiceCapability_RPC_Type(inNode)]
}
