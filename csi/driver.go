package csi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/protobuf/proto"

	"github.com/volsim/volsim/csi/internal/replies"
	"github.com/volsim/volsim/storage"
)

// Config configures a Driver.
type Config struct {
	// Controller serves Identity and Controller, and Node for the nodes that Nodes does not list. It may be nil for a driver without a
	// controller.
	Controller Conn
	// Nodes serve Identity and Node, by the name of the node.
	Nodes map[string]Conn
	// Limit is how long a call may take in real time. Its error has code DeadlineExceeded. Zero is 10 s; negative is no limit.
	Limit time.Duration
	// Inject decides for each call what goes wrong at the wire; nil injects nothing. The call has neither Replies nor Err yet.
	Inject func(Call) Fault
	// Restart kills the driver process and starts it again, for the faults KilledBefore, KilledDuring and KilledAfter. node is that of the
	// call, "" for the controller. It returns when the driver serves again. If it is nil, those faults only reset the connection.
	Restart func(node string) error
	// Root is a directory for the volumes of all nodes: paths in requests are below Root/NAME OF THE NODE, and the directories that a kubelet
	// creates are created there. By default, "", paths are those of a kubelet, and nothing is created.
	Root string
	// Replay takes the place of the driver: its replies are the answers to the same calls in the same order, and its faults are those of the
	// calls. Controller, Nodes, Inject and Restart are not used. A call that differs from the recording fails with code Internal.
	Replay *Recording
	// Reboot is called when a node reboots, after which nothing is staged or published there. Nil does nothing.
	Reboot func(node string)
}

// Driver is a CSI driver as the storage of a cluster. Its methods are called by the cluster, one at a time.
type Driver struct {
	// Clock returns the virtual time, for Call.At: the method Now of the cluster. It may be set after the cluster is created.
	Clock func() time.Time

	cfg        Config
	name       string
	version    string
	plugin     map[spec.PluginCapability_Service_Type]bool
	expansion  map[spec.PluginCapability_VolumeExpansion_Type]bool
	controller map[spec.ControllerServiceCapability_RPC_Type]bool
	node       map[spec.NodeServiceCapability_RPC_Type]bool
	group      map[spec.GroupControllerServiceCapability_RPC_Type]bool
	infos      map[string]*spec.NodeGetInfoResponse // by node, the last replies
	// topologyKeys are those of the first node, none for a driver without topology.
	topologyKeys []string
	setup        []Call            // of New
	names        map[string]string // of created volumes, by their volume_id
	snapshots    map[string]string // names of snapshots and group snapshots, by their IDs
	calls        []Call
	open         []openCall
	restarted    map[Conn]bool // connections that were used after the last restart of the driver; nil: it was not restarted
}

var _ interface {
	storage.Provisioner
	storage.Attacher
	storage.Stager
	storage.Publisher
	storage.Expander
	storage.NodeExpander
	storage.Modifier
	storage.Snapshotter
	storage.SnapshotLister
	storage.GroupSnapshotter
	storage.Rebooter
	storage.AttachLimiter
	storage.NodeDescriber
	storage.PublishedLister
	storage.ConditionReporter
	storage.Describer
} = &Driver{}

// New asks a driver for its name and its capabilities. ctx limits how long that may take.
func New(ctx context.Context, cfg Config) (*Driver, error) {
	d := &Driver{
		cfg:        cfg,
		plugin:     map[spec.PluginCapability_Service_Type]bool{},
		expansion:  map[spec.PluginCapability_VolumeExpansion_Type]bool{},
		controller: map[spec.ControllerServiceCapability_RPC_Type]bool{},
		node:       map[spec.NodeServiceCapability_RPC_Type]bool{},
		group:      map[spec.GroupControllerServiceCapability_RPC_Type]bool{},
		infos:      map[string]*spec.NodeGetInfoResponse{},
		names:      map[string]string{},
		snapshots:  map[string]string{},
	}
	if cfg.Limit == 0 {
		d.cfg.Limit = defaultLimit
	}
	controller, node := "", ""
	if names := slices.Sorted(maps.Keys(cfg.Nodes)); len(names) > 0 {
		node = names[0]
	}
	switch {
	case cfg.Replay != nil:
	case cfg.Controller == nil && node == "":
		return nil, errors.New("connect to a CSI driver: no connection; set Config.Controller or Config.Nodes")
	case cfg.Controller == nil:
		controller = node
	}
	if err := d.identify(ctx, controller); err != nil {
		return nil, err
	}
	return d, d.describeNode(ctx, node)
}

// defaultLimit is the default of Config.Limit.
const defaultLimit = 10 * time.Second

// ask makes a call before the cluster begins. It has no fault.
func ask[R proto.Message](ctx context.Context, d *Driver, node string, request proto.Message) (R, error) {
	var none R
	method, err := methodOf(request)
	if err != nil {
		return none, err
	}
	at := len(d.setup)
	c := Call{Seq: at + 1, Method: method.name, Node: node, Request: request}
	switch {
	case d.cfg.Replay == nil:
		c.Replies = []Reply{d.wait(ctx, d.start(rpc{rpcMethod: method, node: node, request: request}, false))}
	case at < len(d.cfg.Replay.Setup) && d.cfg.Replay.Setup[at].Method == c.Method:
		c = d.cfg.Replay.Setup[at]
	default:
		return none, fmt.Errorf("replay: the recording does not begin with %s", c.Method)
	}
	message, err := c.Replies[0].result()
	c.Err = err
	d.setup = append(d.setup, c)
	if err != nil {
		return none, err
	}
	return message.(R), nil
}

// identify reads the name and the capabilities of the controller.
func (d *Driver) identify(ctx context.Context, node string) error {
	info, err := ask[*spec.GetPluginInfoResponse](ctx, d, node, &spec.GetPluginInfoRequest{})
	switch {
	case err != nil:
		return fmt.Errorf("ask the driver for its name: %w", err)
	case replies.PluginInfo(info) != nil:
		return fmt.Errorf("ask the driver for its name: %w", replies.PluginInfo(info))
	}
	d.name, d.version = info.GetName(), info.GetVendorVersion()
	plugin, err := ask[*spec.GetPluginCapabilitiesResponse](ctx, d, node, &spec.GetPluginCapabilitiesRequest{})
	if err != nil {
		return fmt.Errorf("ask driver %s for its capabilities: %w", d.name, err)
	}
	for _, c := range plugin.GetCapabilities() {
		d.plugin[c.GetService().GetType()] = true
		d.expansion[c.GetVolumeExpansion().GetType()] = true
	}
	if !d.plugin[spec.PluginCapability_Service_CONTROLLER_SERVICE] {
		return nil
	}
	controller, err := ask[*spec.ControllerGetCapabilitiesResponse](ctx, d, node, &spec.ControllerGetCapabilitiesRequest{})
	if err != nil {
		return fmt.Errorf("ask driver %s for the capabilities of its controller: %w", d.name, err)
	}
	for _, c := range controller.GetCapabilities() {
		d.controller[c.GetRpc().GetType()] = true
	}
	if !d.plugin[spec.PluginCapability_Service_GROUP_CONTROLLER_SERVICE] {
		return nil
	}
	group, err := ask[*spec.GroupControllerGetCapabilitiesResponse](ctx, d, node, &spec.GroupControllerGetCapabilitiesRequest{})
	if err != nil {
		return fmt.Errorf("ask driver %s for the capabilities of its group controller: %w", d.name, err)
	}
	for _, c := range group.GetCapabilities() {
		d.group[c.GetRpc().GetType()] = true
	}
	return nil
}

// describeNode reads the capabilities and the topology of a node.
func (d *Driver) describeNode(ctx context.Context, node string) error {
	capabilities, err := ask[*spec.NodeGetCapabilitiesResponse](ctx, d, node, &spec.NodeGetCapabilitiesRequest{})
	if err != nil {
		return fmt.Errorf("ask driver %s for the capabilities of its nodes: %w", d.name, err)
	}
	for _, c := range capabilities.GetCapabilities() {
		d.node[c.GetRpc().GetType()] = true
	}
	if !d.plugin[spec.PluginCapability_Service_VOLUME_ACCESSIBILITY_CONSTRAINTS] {
		return nil
	}
	info, err := ask[*spec.NodeGetInfoResponse](ctx, d, node, &spec.NodeGetInfoRequest{})
	if err != nil {
		return fmt.Errorf("ask driver %s for the topology of a node: %w", d.name, err)
	}
	d.topologyKeys = slices.Sorted(maps.Keys(info.GetAccessibleTopology().GetSegments()))
	return nil
}

// Name returns the name of the driver.
func (d *Driver) Name() string { return d.name }

// Version returns the vendor_version of the driver.
func (d *Driver) Version() string { return d.version }

// Calls returns all calls so far, in the order in which they were made. Calls that only read capabilities are not among them.
func (d *Driver) Calls() []Call { return slices.Clone(d.calls) }

// HasController reports whether the controller has the capability.
func (d *Driver) HasController(c spec.ControllerServiceCapability_RPC_Type) bool {
	return d.controller[c]
}

// HasNode reports whether nodes have the capability.
func (d *Driver) HasNode(c spec.NodeServiceCapability_RPC_Type) bool { return d.node[c] }

// HasGroup reports whether the group controller has the capability.
func (d *Driver) HasGroup(c spec.GroupControllerServiceCapability_RPC_Type) bool { return d.group[c] }

// HasPlugin reports whether the driver has the service.
func (d *Driver) HasPlugin(c spec.PluginCapability_Service_Type) bool { return d.plugin[c] }

// HasExpansion reports whether the driver has the capability to expand volumes: ONLINE, while they are published, or OFFLINE.
func (d *Driver) HasExpansion(c spec.PluginCapability_VolumeExpansion_Type) bool {
	return d.expansion[c]
}

// Capabilities implements storage.Describer.
func (d *Driver) Capabilities() storage.Capabilities {
	c := storage.Capabilities{
		MountGroup:            d.node[spec.NodeServiceCapability_RPC_VOLUME_MOUNT_GROUP],
		WithoutClone:          !d.controller[spec.ControllerServiceCapability_RPC_CLONE_VOLUME],
		SingleNodeMultiWriter: d.multiWriter(),
		PublishReadOnly:       d.controller[spec.ControllerServiceCapability_RPC_PUBLISH_READONLY],
		TopologyKeys:          d.topologyKeys,
	}
	without := func(has bool, ops ...storage.Op) {
		if !has {
			c.Without = append(c.Without, ops...)
		}
	}
	without(d.controller[spec.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME], storage.Create, storage.Delete)
	without(d.controller[spec.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME], storage.Attach, storage.Detach)
	without(d.node[spec.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME], storage.Stage, storage.Unstage)
	without(d.controller[spec.ControllerServiceCapability_RPC_EXPAND_VOLUME], storage.Expand)
	without(d.node[spec.NodeServiceCapability_RPC_EXPAND_VOLUME], storage.NodeExpand)
	without(d.controller[spec.ControllerServiceCapability_RPC_MODIFY_VOLUME], storage.Modify)
	without(d.controller[spec.ControllerServiceCapability_RPC_GET_CAPACITY], storage.GetCapacity)
	without(d.controller[spec.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT], storage.CreateSnapshot, storage.DeleteSnapshot)
	without(d.controller[spec.ControllerServiceCapability_RPC_LIST_SNAPSHOTS], storage.GetSnapshot)
	without(d.group[spec.GroupControllerServiceCapability_RPC_CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT],
		storage.CreateGroupSnapshot, storage.DeleteGroupSnapshot, storage.GetGroupSnapshot)
	controller, node := d.conditions()
	without(node && d.node[spec.NodeServiceCapability_RPC_GET_VOLUME_STATS], storage.NodeCondition)
	without(controller && d.controller[spec.ControllerServiceCapability_RPC_GET_VOLUME], storage.GetCondition)
	without(controller && d.controller[spec.ControllerServiceCapability_RPC_LIST_VOLUMES], storage.ListConditions)
	return c
}
