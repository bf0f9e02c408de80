package specdriver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/volsim/volsim/csi"
)

// Options are what the specification leaves open. The zero value is a driver with all capabilities that this package has.
type Options struct {
	NoAttach    bool              // no PUBLISH_UNPUBLISH_VOLUME: every node reaches every volume
	NoStage     bool              // no STAGE_UNSTAGE_VOLUME
	NoMounts    bool              // volumes are devices only
	NoDevices   bool              // volumes are file systems only
	OneNode     bool              // no MULTI_NODE access modes
	MultiWriter bool              // SINGLE_NODE_MULTI_WRITER
	OneTarget   bool              // a SINGLE_NODE_WRITER volume has one target_path
	Unlisted    bool              // neither LIST_VOLUMES nor LIST_SNAPSHOTS
	PageSize    int               // largest page of lists, whatever max_entries is; 0 is no limit
	Bare        bool              // replies lack all optional fields
	Smallest    int64             // bytes of the smallest volume
	Step        int64             // volumes have a multiple of this size
	Wait        bool              // calls of a volume wait for each other; else the later one gets Aborted
	RollBack    bool              // a cancelled call takes no effect
	NotFound    bool              // calls that undo something give NotFound for volumes that do not exist, where the specification allows it
	Expansion   string            // "online", "offline", "node" for NodeExpandVolume only, or "none"; "" is "online"
	Zones       map[string]string // zones of nodes; nil is a driver without topology
	BelowStage  bool              // file systems are mounted at a directory below staging_target_path
	Limit       int64             // volumes of a node; 0 is no limit
	Parameters  bool              // unknown parameters are ignored
	Shared      bool              // NodeGetVolumeStats has the size of the file system in which all volumes are directories
	NoSnapshots bool              // no CREATE_DELETE_SNAPSHOT and no CLONE_VOLUME
	Linked      bool              // a volume with snapshots cannot be deleted
	Copies      bool              // a snapshot cannot be deleted while a volume exists that was created from it
	InlineOnly  bool              // no Controller service: volumes are in pods
}

// Driver is the driver with its storage system and its nodes. It is safe for concurrent use.
type Driver struct {
	o         Options
	mu        sync.Mutex
	locks     map[string]chan struct{}
	number    int
	volumes   map[string]*volume
	snapshots map[string]*snapshot
	nodes     map[string]*node
}

type volume struct {
	id, name   string
	size       int64
	grown      int64 // bytes of the file system, 0 without one
	zone       string
	create     *spec.CreateVolumeRequest
	users      map[string]*spec.ControllerPublishVolumeRequest // by node_id
	data       string
	attributes map[string]string
}

type snapshot struct {
	id, name, volume string
	size             int64
	data             string
	seconds          int64
}

type node struct {
	name, id string
	gone     bool
	staged   map[string]*spec.NodeStageVolumeRequest   // by path
	targets  map[string]*spec.NodePublishVolumeRequest // by path
}

// Mount is a mount of a node.
type Mount struct {
	Node, Path string
	ReadOnly   bool
	Options    string
}

// New returns a driver without volumes.
func New(o Options, nodes ...string) *Driver {
	d := &Driver{o: o, nodes: map[string]*node{}}
	for _, name := range nodes {
		d.nodes[name] = &node{name: name, id: "i-0" + name}
	}
	d.Reset()
	return d
}

// Controller registers what the controller process serves: Identity and Controller.
func (d *Driver) Controller(s grpc.ServiceRegistrar) {
	spec.RegisterIdentityServer(s, identity{d: d})
	if !d.o.InlineOnly {
		spec.RegisterControllerServer(s, controller{d: d})
	}
}

// Node registers what the process on a node serves: Identity and Node.
func (d *Driver) Node(name string) func(grpc.ServiceRegistrar) {
	return func(s grpc.ServiceRegistrar) {
		spec.RegisterIdentityServer(s, identity{d: d})
		spec.RegisterNodeServer(s, nodeServer{d: d, n: d.nodes[name]})
	}
}

// Reset removes all volumes, snapshots and mounts.
func (d *Driver) Reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.locks, d.volumes, d.snapshots = map[string]chan struct{}{}, map[string]*volume{}, map[string]*snapshot{}
	for _, n := range d.nodes {
		n.gone, n.staged, n.targets = false, map[string]*spec.NodeStageVolumeRequest{}, map[string]*spec.NodePublishVolumeRequest{}
	}
}

// Restart loses what is in memory: the locks.
func (d *Driver) Restart() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.locks = map[string]chan struct{}{}
}

// Reboot loses the mounts of a node.
func (d *Driver) Reboot(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.nodes[name].staged, d.nodes[name].targets = map[string]*spec.NodeStageVolumeRequest{}, map[string]*spec.NodePublishVolumeRequest{}
}

// Remove removes a node from the storage system.
func (d *Driver) Remove(name string) {
	d.Reboot(name)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.nodes[name].gone = true
	for _, v := range d.volumes {
		delete(v.users, d.nodes[name].id)
	}
}

// below returns where the file system of a staged volume is mounted.
func (d *Driver) below(r *spec.NodeStageVolumeRequest) string {
	if d.o.BelowStage {
		return r.GetStagingTargetPath() + "/" + r.GetVolumeId()
	}
	return r.GetStagingTargetPath()
}

// Mounts returns the mounts of all nodes. A device is mounted at its target only.
func (d *Driver) Mounts() []Mount {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []Mount
	for _, n := range d.nodes {
		for _, r := range n.staged {
			if r.GetVolumeCapability().GetBlock() == nil {
				all = append(all, Mount{Node: n.name, Path: d.below(r), Options: options(r.GetVolumeCapability())})
			}
		}
		for path, r := range n.targets {
			m := Mount{Node: n.name, Path: path, ReadOnly: r.GetReadonly(), Options: "rw"}
			if !d.o.BelowStage {
				m.Options = options(r.GetVolumeCapability())
			}
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b Mount) int { return strings.Compare(a.Node+a.Path, b.Node+b.Path) })
	return all
}

// options returns the options of a mount.
func options(c *spec.VolumeCapability) string {
	all := append([]string{"rw"}, c.GetMount().GetMountFlags()...)
	if group := c.GetMount().GetVolumeMountGroup(); group != "" {
		all = append(all, "gid="+group)
	}
	return strings.Join(all, ",")
}

// at returns the volume that a container finds at a path.
func (d *Driver) at(name, path string) (*volume, bool, error) {
	r, ok := d.nodes[name].targets[path]
	if !ok {
		return nil, false, fmt.Errorf("%s on node %s: nothing is mounted", path, name)
	}
	v := d.volumes[r.GetVolumeId()]
	if v == nil || !d.o.NoAttach && v.users[d.nodes[name].id] == nil {
		return nil, false, fmt.Errorf("%s on node %s: input/output error", path, name)
	}
	return v, r.GetReadonly(), nil
}

// Write writes as a container does.
func (d *Driver) Write(name, path, data string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	v, readOnly, err := d.at(name, path)
	switch {
	case err != nil:
		return err
	case readOnly:
		return fmt.Errorf("%s on node %s: read-only file system", path, name)
	}
	v.data = data
	return nil
}

// Read reads as a container does.
func (d *Driver) Read(name, path string) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v, _, err := d.at(name, path)
	if err != nil {
		return "", err
	}
	return v.data, nil
}

// lock begins a call about something, and locks the driver.
func (d *Driver) lock(ctx context.Context, key string) (unlock func(), err error) {
	d.mu.Lock()
	for d.locks[key] != nil {
		held := d.locks[key]
		d.mu.Unlock()
		if !d.o.Wait {
			return nil, status.Errorf(codes.Aborted, "an operation for %s is pending", key)
		}
		select {
		case <-held:
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
		d.mu.Lock()
	}
	own, locks := make(chan struct{}), d.locks
	locks[key] = own
	return func() {
		delete(locks, key)
		close(own)
		d.mu.Unlock()
	}, nil
}

// work is where the storage system works, and other calls run. It returns an error for a call that is cancelled and rolled back.
func (d *Driver) work(ctx context.Context) error {
	d.mu.Unlock()
	csi.Pause(ctx)
	d.mu.Lock()
	if d.o.RollBack && ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	return nil
}

func missing(fields ...string) error {
	for i := 0; i < len(fields); i += 2 {
		if fields[i+1] == "" {
			return status.Errorf(codes.InvalidArgument, "%s is required", fields[i])
		}
	}
	return nil
}

// check returns an error for a capability that volumes of this driver cannot have.
func (d *Driver) check(all ...*spec.VolumeCapability) error {
	if len(all) == 0 || all[0] == nil {
		return status.Error(codes.InvalidArgument, "a volume capability is required")
	}
	for _, c := range all {
		switch {
		case c.GetAccessType() == nil || c.GetAccessMode() == nil:
			return status.Error(codes.InvalidArgument, "access_type and access_mode are required")
		case c.GetAccessMode().GetMode() == spec.VolumeCapability_AccessMode_UNKNOWN:
			return status.Error(codes.InvalidArgument, "the mode of access_mode is required")
		case d.o.NoMounts && c.GetMount() != nil, d.o.NoDevices && c.GetBlock() != nil:
			return status.Errorf(codes.InvalidArgument, "access type %T is not supported", c.GetAccessType())
		case d.o.OneNode && manyNodes(c):
			return status.Errorf(codes.InvalidArgument, "access mode %v is not supported", c.GetAccessMode().GetMode())
		}
	}
	return nil
}

func manyNodes(c *spec.VolumeCapability) bool {
	return strings.HasPrefix(c.GetAccessMode().GetMode().String(), "MULTI_NODE")
}
