package csitest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/csi/internal/replies"
)

// capabilities are those of the driver that stories need.
type capabilities struct {
	Driver                                                                                               string // name and version
	Limit                                                                                                int32  // volumes per node; not positive: none
	Create, Attach, Stage, Expand, NodeExpand, Modify, List, ListPublished, Stats, SingleNodeMultiWriter bool
	GetVolume, GetCapacity, Condition, NodeCondition, Topology, MountGroup, ReadOnly                     bool
	Snapshot, ListSnapshots, Clone, Group                                                                bool
	Online, Offline                                                                                      bool  // expansion
	Remote                                                                                               bool  `json:",omitempty"` // in another process
	Size                                                                                                 int64 `json:",omitempty"` // bytes of a volume
	NoController                                                                                         bool  `json:",omitempty"` // no CONTROLLER_SERVICE
}

func capabilitiesOf(d *csi.Driver) capabilities {
	controller, node := d.HasController, d.HasNode
	// By name, because the Go package of version 1.13 of the specification has no VOLUME_CONDITION.
	controllerCondition, condition := spec.ControllerServiceCapability_RPC_Type_value["VOLUME_CONDITION"]
	nodeCondition := spec.NodeServiceCapability_RPC_Type_value["VOLUME_CONDITION"]
	return capabilities{
		Driver:        strings.TrimSpace(d.Name() + " " + d.Version()),
		NoController:  !d.HasPlugin(spec.PluginCapability_Service_CONTROLLER_SERVICE),
		Create:        controller(spec.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME),
		Attach:        controller(spec.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME),
		ReadOnly:      controller(spec.ControllerServiceCapability_RPC_PUBLISH_READONLY),
		Expand:        controller(spec.ControllerServiceCapability_RPC_EXPAND_VOLUME),
		Modify:        controller(spec.ControllerServiceCapability_RPC_MODIFY_VOLUME),
		List:          controller(spec.ControllerServiceCapability_RPC_LIST_VOLUMES),
		ListPublished: controller(spec.ControllerServiceCapability_RPC_LIST_VOLUMES_PUBLISHED_NODES),
		GetVolume:     controller(spec.ControllerServiceCapability_RPC_GET_VOLUME),
		GetCapacity:   controller(spec.ControllerServiceCapability_RPC_GET_CAPACITY),
		Condition:     condition && controller(spec.ControllerServiceCapability_RPC_Type(controllerCondition)),
		NodeCondition: condition && node(spec.NodeServiceCapability_RPC_Type(nodeCondition)),
		MountGroup:    node(spec.NodeServiceCapability_RPC_VOLUME_MOUNT_GROUP),
		Topology:      d.HasPlugin(spec.PluginCapability_Service_VOLUME_ACCESSIBILITY_CONSTRAINTS),
		Online:        d.HasExpansion(spec.PluginCapability_VolumeExpansion_ONLINE),
		Offline:       d.HasExpansion(spec.PluginCapability_VolumeExpansion_OFFLINE),
		Snapshot:      controller(spec.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT),
		ListSnapshots: controller(spec.ControllerServiceCapability_RPC_LIST_SNAPSHOTS),
		Clone:         controller(spec.ControllerServiceCapability_RPC_CLONE_VOLUME),
		Group:         d.HasGroup(spec.GroupControllerServiceCapability_RPC_CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT),
		Stage:         node(spec.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME),
		NodeExpand:    node(spec.NodeServiceCapability_RPC_EXPAND_VOLUME),
		Stats:         node(spec.NodeServiceCapability_RPC_GET_VOLUME_STATS),
		SingleNodeMultiWriter: controller(spec.ControllerServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER) &&
			node(spec.NodeServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER),
	}
}

// errNoDriver is the error for an endpoint that nothing serves.
var errNoDriver = errors.New("nothing serves the endpoint of the driver")

// unreachable reports whether nothing serves the socket.
func unreachable(err error) bool {
	return status.Code(err) == codes.Unavailable && strings.Contains(err.Error(), "while dialing")
}

// ask asks the driver for its capabilities. It returns errNoDriver if there is none.
func ask(cfg *Config) (capabilities, error) {
	ctx, cancel := context.WithTimeout(context.Background(), maxStart)
	defer cancel()
	d, err := csi.New(ctx, csi.Config{Controller: cfg.Controller, Nodes: cfg.Nodes, Limit: cfg.Limit})
	if unreachable(err) {
		return capabilities{}, fmt.Errorf("%w: %w", errNoDriver, err)
	}
	if err != nil {
		return capabilities{}, err
	}
	caps, names := capabilitiesOf(d), cfg.nodes()
	var infos []*spec.NodeGetInfoResponse
	for _, name := range names {
		info, err := askNode(d, name)
		if err != nil {
			return capabilities{}, err
		}
		if i := slices.IndexFunc(infos, func(other *spec.NodeGetInfoResponse) bool { return other.GetNodeId() == info.GetNodeId() }); i >= 0 {
			return capabilities{}, &startError{kind: invalid, method: "NodeGetInfo", calls: []CallText{nodeInfoText(names[i], infos[i]), nodeInfoText(name, info)},
				text: fmt.Sprintf("the replies to NodeGetInfo of driver %s on nodes %s and %s have the same node_id %q", d.Name(), names[i], name, info.GetNodeId()),
				required: "node_id MUST contain enough information to uniquely identify this node vs all other nodes; each node of the test needs a Node service of " +
					"its own (Config.Nodes, --node)"}
		}
		infos = append(infos, info)
	}
	caps.Limit = d.AttachLimit(names[0])
	if !caps.Topology {
		return caps, nil
	}
	first := infos[0].GetAccessibleTopology().GetSegments()
	for i, name := range names {
		if !maps.Equal(first, infos[i].GetAccessibleTopology().GetSegments()) {
			cfg.far, cfg.topology = append(cfg.far, name), slices.Sorted(maps.Keys(first))
		}
	}
	return caps, nil
}

// askNode asks the driver about a node. The error says what is wrong with the reply.
func askNode(d *csi.Driver, node string) (*spec.NodeGetInfoResponse, error) {
	_, err := d.NodeInfo(node)
	calls := d.Calls()
	reply := calls[len(calls)-1].Replies[0]
	if unreachable(err) {
		return nil, fmt.Errorf("%w: node %s: %w", errNoDriver, node, err)
	}
	e := &startError{kind: invalid, method: "NodeGetInfo"}
	switch {
	case reply.Broken:
		e.kind, e.text = broken, fmt.Sprintf("the driver does not answer when a run begins: NodeGetInfo on node %s: %v", node, err)
		_, e.required = requirement(flaw{kind: broken})
	case err != nil:
		e.kind, e.required = stuck, registers
		e.text = fmt.Sprintf("NodeGetInfo answers code %s: %s on node %s", reply.Status.Code(), reply.Status.Message(), node)
	}
	info, _ := reply.Message.(*spec.NodeGetInfoResponse)
	e.calls = []CallText{nodeInfoText(node, info)}
	if err != nil {
		e.calls[0].Reply = err.Error()
		return nil, e
	}
	if e.text, e.required = replies.NodeInfo(info); e.text != "" {
		e.text = invalidNode(d.Name(), node, e.text)
		return nil, e
	}
	return info, nil
}

// nodeInfoText describes a call of NodeGetInfo.
func nodeInfoText(node string, info *spec.NodeGetInfoResponse) CallText {
	return CallText{Actor: kubelet + node, Method: "NodeGetInfo", Request: "{}", Reply: compact(info)}
}

// invalidNode says what is wrong with a reply to NodeGetInfo.
func invalidNode(driver, node, text string) string {
	return fmt.Sprintf("the reply to NodeGetInfo of driver %s on node %s has %s", driver, node, text)
}

// registers says what happens without NodeGetInfo.
const registers = "a kubelet calls NodeGetInfo when the driver registers; no pod on a node can use a volume before it succeeds there"

// startError says why no cluster can use the driver, with the calls that show it.
type startError struct {
	kind                   flawKind
	method, text, required string
	calls                  []CallText
}

// Error returns what is wrong.
func (e *startError) Error() string { return e.text }

// maxStart is the real time within which a driver reports its capabilities.
const maxStart = 30 * time.Second

// connect connects to the driver. If nothing serves the socket, it tries again until Config.Limit: the driver may be about to start again.
func connect(ctx context.Context, cfg csi.Config) (*csi.Driver, error) {
	for end := time.Now().Add(cfg.Limit); ; time.Sleep(50 * time.Millisecond) {
		d, err := csi.New(ctx, cfg)
		if !unreachable(err) || time.Now().After(end) {
			return d, err
		}
	}
}
