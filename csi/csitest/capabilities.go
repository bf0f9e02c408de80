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
)

// capabilities are those of the driver that stories need.
type capabilities struct {
	Driver                                                                                               string // name and version
	Limit                                                                                                int32  // volumes per node; not positive: none
	Create, Attach, Stage, Expand, NodeExpand, Modify, List, ListPublished, Stats, SingleNodeMultiWriter bool
	GetVolume, GetCapacity, Condition, NodeCondition, Topology, MountGroup                               bool
	Snapshot, ListSnapshots, Clone, Group                                                                bool
	Online, Offline                                                                                      bool // expansion
	Remote                                                                                               bool `json:",omitempty"` // in another process
}

func capabilitiesOf(d *csi.Driver) capabilities {
	controller, node := d.HasController, d.HasNode
	// By name, because the Go package of version 1.13 of the specification has no VOLUME_CONDITION.
	controllerCondition, condition := spec.ControllerServiceCapability_RPC_Type_value["VOLUME_CONDITION"]
	nodeCondition := spec.NodeServiceCapability_RPC_Type_value["VOLUME_CONDITION"]
	return capabilities{
		Driver:        strings.TrimSpace(d.Name() + " " + d.Version()),
		Create:        controller(spec.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME),
		Attach:        controller(spec.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME),
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
	caps, node := capabilitiesOf(d), cfg.nodes()[0]
	first, err := d.NodeInfo(node)
	if err != nil {
		return capabilities{}, fmt.Errorf("ask the driver about node %s: %w", node, err)
	}
	caps.Limit = d.AttachLimit(node)
	if !caps.Topology {
		return caps, nil
	}
	for _, name := range cfg.nodes()[1:] {
		other, err := d.NodeInfo(name)
		if err != nil {
			return capabilities{}, fmt.Errorf("ask the driver about node %s: %w", name, err)
		}
		if !maps.Equal(first.Topology, other.Topology) {
			cfg.far, cfg.topology = append(cfg.far, name), slices.Sorted(maps.Keys(first.Topology))
		}
	}
	return caps, nil
}

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
