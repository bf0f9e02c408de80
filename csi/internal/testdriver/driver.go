package testdriver

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	volsimcsi "github.com/volsim/volsim/csi"
)

// Name is the name of the driver, as GetPluginInfo returns it.
const Name = "test.csi.volsim.dev"

// Driver is the driver with its storage system and its nodes. It is safe for concurrent use.
type Driver struct {
	// AttachLimit is the number of volumes that can be attached to a node; 0 is no limit.
	AttachLimit int64
	// Zone is where all nodes and volumes are; "" is a driver without topology.
	Zone string
	// Zones are the zones of nodes that are not in Zone, by node.
	Zones map[string]string
	// Offline: volumes are expanded only while they are not published.
	Offline bool
	// MountGroup: the driver has VOLUME_MOUNT_GROUP.
	MountGroup bool
	// OnNode: volumes grow in NodeExpandVolume only; the controller does not expand them.
	OnNode bool
	// SlowSnapshots is the number of replies in which a new snapshot is not ready.
	SlowSnapshots int
	// Problem is a problem of all volumes; "" means that they are healthy.
	Problem string
	// Slow is how long, in real time, the storage system takes for each change.
	Slow time.Duration

	bugs []Bug

	mu        sync.Mutex
	created   int
	volumes   []*volume // in order of creation
	nodes     map[string]*node
	taken     int         // snapshots and groups
	snapshots []*snapshot // in order of creation
	groups    []*group    // in order of creation

	process int // counts restarts

	// What the driver has in memory.
	busy  map[string]bool   // volumes with a call in progress, by ID or name, and by node
	names map[string]string // IDs by name, for CreateForgetsNames and SnapshotForgetsNames
	known map[string]bool   // volumes that were attached since the driver started, for AttachForgetsContext
	login map[string]string // the first secrets, for SecretsCached
}

// volume is a volume of the storage system.
type volume struct {
	id, name     string
	size         int64 // bytes
	usable       int64 // bytes that the file system has; 0 before it is formatted
	parameters   map[string]string
	mutable      map[string]string
	capabilities []*csi.VolumeCapability
	attached     []attachment
	data         string
	readOnlyOn   string   // node on which the volume was made read-only, for PublishReadOnlyForAll
	wasOn        []string // nodes to which it was attached, for ListPublishedStale
	answers      int      // to CreateVolume
	context      map[string]string
	source       string // ID of the volume whose copy it is; "" for none
	copied       bool   // its file system is that of its source, and may have to grow
	from         *csi.VolumeContentSource
	zone         string
	hidden       bool   // DeleteVolume was interrupted, for DeleteRecordsEarly
	unusable     bool   // CreateVolume was interrupted, for CreateAgainEarly
	recordedSize int64  // of an interrupted ControllerExpandVolume, for ExpandRecordsEarly
	recorded     string // node of an interrupted ControllerPublishVolume, for AttachRecordsEarly
}

// attachment is a volume attached to a node.
type attachment struct {
	node       string
	readOnly   bool
	capability *csi.VolumeCapability
}

// node is a node, with the mounts of its kernel and its files.
type node struct {
	id     string
	gone   bool // the storage system does not know the node any more
	mounts []Mount
	files  map[string]string // data written to paths where nothing is mounted
	staged map[string]bool   // in memory: IDs of staged volumes, for UnstageForgets
	asked  int               // how often NodeGetInfo was called
	marked map[string]bool   // on the disk: IDs of staged volumes, for StageTrustsFile and DetachRefusesStaged
}

// Mount is a mount in the kernel of a node.
type Mount struct {
	Node     string // ID of the node
	Path     string // where the volume is mounted
	Volume   string // ID of the volume
	Block    bool   // a device, and not a file system
	ReadOnly bool
	Options  string // such as "rw,noatime,gid=1000"

	capability *csi.VolumeCapability
	staging    bool
	inline     bool // a volume that lives as long as its mount
	token      string
}

// New returns a driver without volumes, which makes the given mistakes.
func New(bugs ...Bug) *Driver {
	return &Driver{bugs: bugs, nodes: map[string]*node{}, busy: map[string]bool{}, names: map[string]string{}, known: map[string]bool{}}
}

// Register registers the services of the driver with a gRPC server, for the node with that ID. The Controller service is the same for all.
func (d *Driver) Register(s grpc.ServiceRegistrar, node string) {
	csi.RegisterIdentityServer(s, identityServer{d: d})
	csi.RegisterControllerServer(s, &controllerServer{d: d})
	csi.RegisterNodeServer(s, &nodeServer{d: d, id: node})
	csi.RegisterGroupControllerServer(s, groupServer{d: d})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.node(node)
}

// Reset removes all volumes and mounts, and brings back nodes that are gone.
func (d *Driver) Reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.process++
	d.created, d.volumes, d.busy, d.names, d.known = 0, nil, map[string]bool{}, map[string]string{}, map[string]bool{}
	d.taken, d.snapshots, d.groups, d.login = 0, nil, nil, nil
	for id := range d.nodes {
		d.nodes[id] = newNode(id)
	}
}

// Restart loses what the driver has in memory.
func (d *Driver) Restart() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.process++
	d.busy, d.names, d.known, d.login = map[string]bool{}, map[string]string{}, map[string]bool{}, nil
	if d.has(CreateRestartReusesIDs) {
		d.created = 0
	}
	for _, n := range d.nodes {
		n.staged = map[string]bool{}
	}
}

// Reboot loses the mounts of a node, and what the driver has in memory there.
func (d *Driver) Reboot(node string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.node(node)
	n.mounts, n.staged = nil, map[string]bool{}
	for key := range d.busy {
		if strings.HasPrefix(key, node+" ") {
			delete(d.busy, key)
		}
	}
}

// RemoveNode removes the node from the storage system, as when its virtual machine is deleted. Its attachments end.
func (d *Driver) RemoveNode(node string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.node(node)
	n.gone, n.mounts, n.staged = true, nil, map[string]bool{}
	for _, v := range d.volumes {
		v.detach(node)
	}
}

// Mounts returns the mounts of all nodes, by node and path. A path that is mounted twice is listed twice.
func (d *Driver) Mounts() []Mount {
	d.mu.Lock()
	defer d.mu.Unlock()
	var mounts []Mount
	for _, n := range d.nodes {
		mounts = append(mounts, n.mounts...)
	}
	slices.SortStableFunc(mounts, func(a, b Mount) int {
		return strings.Compare(a.Node+" "+a.Path, b.Node+" "+b.Path)
	})
	return mounts
}

// Write writes data to a path on a node, as a container does: to the volume mounted there, else to the disk of the node.
func (d *Driver) Write(node, path, data string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.node(node)
	m := n.mountAt(path)
	switch v := d.byID(m.volumeID()); {
	case m == nil, m.inline:
		n.files[path] = data
	case m.ReadOnly, v != nil && v.readOnlyOn == node:
		return fmt.Errorf("write %s on node %s: read-only file system", path, node)
	case v == nil || v.attachedTo(node) == nil:
		return fmt.Errorf("write %s on node %s: input/output error", path, node)
	default:
		v.data = data
		d.share(v)
	}
	return nil
}

// Read reads what was written to a path on a node.
func (d *Driver) Read(node, path string) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.node(node)
	m := n.mountAt(path)
	if m == nil {
		return n.files[path], nil
	}
	if m.inline {
		return n.files[path], nil
	}
	v := d.byID(m.Volume)
	if v == nil || v.attachedTo(node) == nil {
		return "", fmt.Errorf("read %s on node %s: input/output error", path, node)
	}
	return v.data, nil
}

func newNode(id string) *node {
	return &node{id: id, files: map[string]string{}, staged: map[string]bool{}, marked: map[string]bool{}}
}

func (d *Driver) node(id string) *node {
	if d.nodes[id] == nil {
		d.nodes[id] = newNode(id)
	}
	return d.nodes[id]
}

// nodeName returns the node with an ID; NodeIDChanges adds a number to it.
func (d *Driver) nodeName(id string) string {
	name, _, _ := strings.Cut(id, "#")
	return name
}

func (d *Driver) has(b Bug) bool { return slices.Contains(d.bugs, b) }

func (d *Driver) byID(id string) *volume {
	for _, v := range d.volumes {
		if v.id == id && !v.hidden {
			return v
		}
	}
	return nil
}

// zoneOf returns the zone of a node, "" without topology.
func (d *Driver) zoneOf(node string) string {
	if zone, ok := d.Zones[node]; ok {
		return zone
	}
	return d.Zone
}

// shortName is the number of bytes of names in the storage system, for CreateTruncatesNames.
const shortName = 4

func (d *Driver) byName(name string) *volume {
	for _, v := range d.volumes {
		if v.name == name || d.has(CreateTruncatesNames) && len(name) > shortName && strings.HasPrefix(v.name, name[:shortName]) {
			return v
		}
	}
	return nil
}

// begin marks a call on the volume as running, and locks the driver. While one runs, others get Aborted.
func (d *Driver) begin(key string) (end func(), err error) {
	d.mu.Lock()
	if d.busy[key] {
		d.mu.Unlock()
		if d.has(BusyInternal) {
			return nil, status.Errorf(codes.Internal, "volume %s is busy", key)
		}
		return nil, status.Errorf(codes.Aborted, "an operation on volume %s is in progress", key)
	}
	busy := d.busy
	busy[key] = true
	return func() {
		delete(busy, key)
		d.mu.Unlock()
	}, nil
}

// leak locks a volume again after an interrupted call (LockLeaks).
func (d *Driver) leak(ctx context.Context, key string, end func()) func() {
	if !d.has(LockLeaks) && !d.has(StageLockLeaks) {
		return end
	}
	return func() {
		busy := d.busy
		end()
		if ctx.Err() != nil {
			d.mu.Lock()
			defer d.mu.Unlock()
			busy[key] = true
		}
	}
}

// pause lets other calls run in the middle of this one, where a driver waits for its storage system.
func (d *Driver) pause(ctx context.Context) {
	process := d.process
	d.mu.Unlock()
	defer func() {
		if d.mu.Lock(); d.process != process {
			runtime.Goexit() // the process was killed during the call
		}
	}()
	time.Sleep(d.Slow)
	volsimcsi.Pause(ctx)
}

func (v *volume) attachedTo(node string) *attachment {
	for i := range v.attached {
		if v.attached[i].node == node {
			return &v.attached[i]
		}
	}
	return nil
}

func (v *volume) detach(node string) {
	v.attached = slices.DeleteFunc(v.attached, func(a attachment) bool { return a.node == node })
}

// mountAt returns the topmost mount at the path, nil if there is none.
func (n *node) mountAt(path string) *Mount {
	for i := len(n.mounts) - 1; i >= 0; i-- {
		if n.mounts[i].Path == path {
			return &n.mounts[i]
		}
	}
	return nil
}

// unmount removes the topmost mount at the path.
func (n *node) unmount(path string) {
	for i := len(n.mounts) - 1; i >= 0; i-- {
		if n.mounts[i].Path == path {
			n.mounts = slices.Delete(n.mounts, i, i+1)
			return
		}
	}
}

func (m *Mount) volumeID() string {
	if m == nil {
		return ""
	}
	return m.Volume
}

// required returns an error if a field is empty. fields are pairs of a name and a value.
func (d *Driver) required(fields ...string) error {
	if d.has(ArgumentsMissing) {
		return nil
	}
	return required(fields...)
}

func required(fields ...string) error {
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i+1] == "" {
			return status.Errorf(codes.InvalidArgument, "%s is missing", fields[i])
		}
	}
	return nil
}

// logIn returns an error if the secrets of a request are wrong.
func (d *Driver) logIn(secrets map[string]string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.has(SecretsCached) {
		if d.login == nil && len(secrets) > 0 {
			d.login = secrets
		}
		secrets = d.login
	}
	for _, value := range secrets {
		if strings.HasSuffix(value, "-wrong") {
			return status.Error(codes.Unauthenticated, "the storage system rejects the secrets")
		}
	}
	return nil
}

// mountOptions returns the options of a mount.
func (d *Driver) mountOptions(c *csi.VolumeCapability, readOnly bool) string {
	options := []string{"rw"}
	if readOnly {
		options[0] = "ro"
	}
	if !d.has(MountIgnoresOptions) {
		options = append(options, c.GetMount().GetMountFlags()...)
	}
	if group := c.GetMount().GetVolumeMountGroup(); group != "" && !d.has(PublishIgnoresGroup) {
		options = append(options, "gid="+group)
	}
	return strings.Join(options, ",")
}

func sameCapability(a, b *csi.VolumeCapability) bool { return proto.Equal(a, b) }

// manyNodes reports whether the access mode allows more than one node.
func manyNodes(c *csi.VolumeCapability) bool {
	switch c.GetAccessMode().GetMode() {
	case csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER, csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY,
		csi.VolumeCapability_AccessMode_MULTI_NODE_SINGLE_WRITER:
		return true
	}
	return false
}
