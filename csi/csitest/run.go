package csitest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

// recording is everything that one run shows of the driver. The evaluation reads nothing else, so it can be repeated without the driver.
type recording struct {
	plan   plan
	caps   capabilities
	nodes  map[string]string // names of the nodes, by their IDs
	steps  []step
	calls  []api.Call      // of the control plane, that faults can hit
	missed []string        // goals of the story that were not reached
	known  []string        // faults of Kubernetes itself
	before map[string]bool // IDs of volumes that the driver had before the run, and of snapshots with the prefix "snapshot "
	broken bool            // the driver did not answer a call
	cut    string          // why the story ended early, "" if it did not
	trace  *trace.Trace    // of the cluster
	gone   error           // the driver did not answer when the run began
	err    error           // the run could not start or continue
}

// step is a call, or something else that happened. Exactly one of the pointers is set.
type step struct {
	Call   *csi.Call
	Actor  string     // who made the call
	Crash  bool       // the caller crashed and did not save the reply
	Event  *event     // something that happens to a node
	Listed *inventory // what the driver lists
	Access *access    // a container reads or writes
	Stats  *stats     // the size of a file system
	Audit  *audit     // with Call: volsim made the call itself
}

// event is something that happens to a node.
type event struct {
	Node string
	Gone bool // it is removed from the storage system; else it reboots
}

// inventory is what the driver has.
type inventory struct {
	Volumes   []*spec.ListVolumesResponse_Entry
	Listed    bool // the driver can list its volumes
	Published bool // the list has the nodes to which volumes are attached
	Mounts    []Mount
	Mounted   bool // Mounts were read
	Snapshots []*spec.Snapshot
	Counted   bool // Snapshots were listed
}

// access is a read or a write of a container.
type access struct {
	Node, Path string
	Volume     string // volume_id
	Write      bool
	Data       string
	Err        error
}

// stats is a reply to NodeGetVolumeStats, with the size of the volume as Kubernetes knows it.
type stats struct {
	Node, Path, Volume string
	Total              int64
}

// run is one run of a story.
type run struct {
	cfg     *Config
	plan    plan
	cluster *volsim.Cluster
	driver  *csi.Driver
	rec     *recording
	prefix  string // of the names of objects
	nodes   []string

	stalled api.Call // a call that continues, and of which no repetition reaches the driver
	stalls  int      // how many repetitions of it are still to come
	pending []pending
	callers map[int]pending // who made a call, by its Seq
	merged  int             // calls that are in rec.steps
	reboots []string        // nodes that reboot as soon as the event that runs has ended
	stopped bool            // a goal was not reached, so the story does not continue
}

// execute runs a plan. The context limits the start only.
func execute(cfg *Config, p plan, number int) *recording {
	r := &run{cfg: cfg, plan: p, rec: &recording{plan: p, nodes: map[string]string{}, before: map[string]bool{}}, nodes: cfg.nodes(), callers: map[int]pending{}}
	if cfg.Reset != nil {
		if err := cfg.Reset(); err != nil {
			r.rec.err = fmt.Errorf("reset the driver: %w", err)
			return r.rec
		}
	} else {
		r.prefix = fmt.Sprintf("r%d-", number)
	}
	if r.rec.err = r.start(); r.rec.err != nil {
		return r.rec
	}
	defer r.cluster.Close()
	p.story.run(r)
	r.finish()
	r.rec.trace = r.cluster.Trace()
	return r.rec
}

func (r *run) start() error {
	ctx, cancel := context.WithTimeout(context.Background(), maxStart)
	defer cancel()
	driver, err := connect(ctx, csi.Config{Controller: r.cfg.Controller, Nodes: r.cfg.Nodes, Limit: r.cfg.Limit, Inject: r.onWire,
		Restart: r.cfg.Restart, Reboot: r.onReboot, Root: r.cfg.Root})
	if err != nil {
		r.rec.gone = err
		return err
	}
	r.driver, r.rec.caps = driver, capabilitiesOf(driver)
	config := volsim.Config{Seed: r.plan.seed, Backends: []storage.Backend{driver}, Injector: injector{r}, Check: check.All()}
	if r.plan.seed != 0 {
		config.Latency = 5 * time.Millisecond
	}
	if r.cluster, err = volsim.New(config); err != nil {
		return err
	}
	driver.Clock = r.cluster.Now
	if r.rec.caps.List {
		entries, err := r.list()
		if err != nil {
			r.rec.gone = fmt.Errorf("list the volumes of the driver: %w", err)
			return r.rec.gone
		}
		for _, entry := range entries {
			r.rec.before[entry.GetVolume().GetVolumeId()] = true
		}
	}
	if err := r.startSnapshots(); err != nil {
		return err
	}
	r.rec.caps.Limit = r.cfg.limit
	object := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driver.Name()}, Spec: storagev1.CSIDriverSpec{AttachRequired: new(r.rec.caps.Attach)}}
	if r.plan.story.object != nil {
		r.plan.story.object(&object.Spec)
	}
	objects := []api.Object{object}
	if len(r.cfg.Secrets) > 0 {
		objects = append(objects, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: commonSecret}, StringData: r.cfg.Secrets})
	}
	for _, name := range r.nodes {
		objects = append(objects, fake.Node(name))
	}
	if err := r.cluster.Create(objects...); err != nil {
		return err
	}
	return r.cluster.Settle()
}

// injector is asked before each call of the control plane. It counts the calls, and decides about those that the plan names.
type injector struct{ r *run }

// Inject implements api.Injector.
func (i injector) Inject(call api.Call) api.Fault {
	r := i.r
	if call.Target != r.driver.Name() {
		return api.Fault{}
	}
	r.rec.calls = append(r.rec.calls, call)
	p := pending{call: call}
	defer func() { r.pending = append(r.pending, p) }()
	kind := r.plan.at(len(r.rec.calls))
	if r.stalls > 0 && call.Key == r.stalled.Key {
		r.stalls--
		switch {
		case call != r.stalled:
			r.stalls = 0
		case kind == "":
			kind = "undelivered"
		}
	}
	switch kind {
	case "":
	case crash:
		p.crash = true
		return api.Fault{Crash: true, Effect: true, Restart: time.Second}
	case reboot:
		if call.Node != "" && strings.HasPrefix(call.Actor, "kubelet/") {
			r.reboots = append(r.reboots, call.Node)
		}
	case stalled:
		p.wire = kind
		r.stalled, r.stalls = call, maxStalls
	default:
		p.wire = kind
	}
	return api.Fault{}
}

// maxStalls is how many repetitions of a stalled call do not reach the driver.
const maxStalls = 8

// pending is a call of the control plane that the driver has not got yet.
type pending struct {
	call  api.Call
	wire  string // fault of the wire
	crash bool   // the caller crashes after the call
}

// methods are the operations of backends, by the RPC that carries them out.
var methods = map[string]storage.Op{
	"CreateVolume": storage.Create, "DeleteVolume": storage.Delete, "ControllerPublishVolume": storage.Attach,
	"ControllerUnpublishVolume": storage.Detach, "ControllerExpandVolume": storage.Expand, "ControllerModifyVolume": storage.Modify,
	"NodeStageVolume": storage.Stage, "NodeUnstageVolume": storage.Unstage, "NodePublishVolume": storage.Publish,
	"NodeUnpublishVolume": storage.Unpublish, "NodeExpandVolume": storage.NodeExpand,
	"CreateVolumeGroupSnapshot": storage.CreateGroupSnapshot, "DeleteVolumeGroupSnapshot": storage.DeleteGroupSnapshot,
	"CreateSnapshot": storage.CreateSnapshot, "DeleteSnapshot": storage.DeleteSnapshot, "ListSnapshots": storage.GetSnapshot,
}

// onWire returns the fault of the wire for a call.
func (r *run) onWire(call csi.Call) csi.Fault {
	if r.broken() {
		return csi.Fault{Kind: csi.NotDelivered}
	}
	i := slices.IndexFunc(r.pending, func(p pending) bool {
		return p.call.Verb == string(methods[call.Method]) && p.call.Key == keyOf(call) && (call.Node == "" || p.call.Node == call.Node)
	})
	if i < 0 {
		return csi.Fault{}
	}
	p := r.pending[i]
	r.pending = slices.Delete(r.pending, i, i+1)
	r.callers[call.Seq] = p
	return wire[p.wire]
}

// broken reports whether the driver did not answer a call. Then the run ends, because a driver that hangs costs real time.
func (r *run) broken() bool {
	if r.rec.broken {
		return true
	}
	calls := r.driver.Calls()
	for _, c := range calls[max(0, len(calls)-2):] {
		r.rec.broken = r.rec.broken || slices.ContainsFunc(c.Replies, func(reply csi.Reply) bool { return reply.Broken })
	}
	return r.rec.broken
}

func (r *run) onReboot(node string) {
	r.record(step{Event: &event{Node: node}})
	if r.cfg.Reboot != nil {
		r.cfg.Reboot(node)
	}
}

// record adds a step after the calls so far.
func (r *run) record(s step) {
	r.merge()
	r.rec.steps = append(r.rec.steps, s)
}

// merge adds the new calls to the steps. Open calls may change until the end of the run.
func (r *run) merge() {
	n := len(r.driver.Calls())
	for ; r.merged < n; r.merged++ {
		r.rec.steps = append(r.rec.steps, step{Call: &csi.Call{Seq: r.merged + 1}})
	}
}

// finish ends the run: it delivers open calls, compares once more, and completes the recording.
func (r *run) finish() {
	r.merge()
	var open []int
	for _, c := range r.driver.Calls() {
		if c.Open {
			open = append(open, c.Seq)
		}
	}
	r.driver.Finish()
	// A call that met no other one is executed now.
	for _, seq := range open {
		i := slices.IndexFunc(r.rec.steps, func(s step) bool { return s.Call != nil && s.Call.Seq == seq })
		late := r.rec.steps[i]
		r.rec.steps = append(slices.Delete(r.rec.steps, i, i+1), late)
	}
	r.compare()
	calls := r.driver.Calls()
	for i := range r.rec.steps {
		s := &r.rec.steps[i]
		if s.Call == nil {
			continue
		}
		c := calls[s.Call.Seq-1]
		if s.Audit != nil {
			s.Call, s.Actor = &c, auditor
			continue
		}
		s.Call, s.Actor, s.Crash = &c, r.callers[c.Seq].call.Actor, r.callers[c.Seq].crash
		if c.Method != "NodeGetInfo" {
			continue
		}
		for _, reply := range c.Replies {
			if info, ok := reply.Message.(*spec.NodeGetInfoResponse); ok {
				r.rec.nodes[info.GetNodeId()] = c.Node
			}
		}
	}
	for _, v := range r.cluster.Violations() {
		if v.Forced != "" && strings.Contains(v.Forced, "MNT-450") {
			text := strings.ReplaceAll(v.Text, v.Volume+" of "+v.Backend, "a volume") // one line for all volumes
			r.rec.known = append(r.rec.known, text+" (forced: "+v.Forced+")")
		}
	}
	slices.Sort(r.rec.known)
	r.rec.known = slices.Compact(r.rec.known)
}

// compare records what the driver has now.
func (r *run) compare() {
	if r.rec.err != nil {
		return
	}
	in := &inventory{}
	if r.rec.caps.List {
		entries, err := r.list()
		if err == nil {
			in.Volumes, in.Listed, in.Published = entries, true, r.rec.caps.ListPublished
		}
	}
	if r.cfg.Mounts != nil {
		in.Mounts, in.Mounted = r.cfg.Mounts(), true
	}
	r.compareSnapshots(in)
	r.record(step{Listed: in})
}

// list asks the driver for its volumes, within Config.Limit.
func (r *run) list() ([]*spec.ListVolumesResponse_Entry, error) {
	ctx, cancel := context.WithTimeout(context.Background(), r.cfg.Limit)
	defer cancel()
	type result struct {
		entries []*spec.ListVolumesResponse_Entry
		err     error
	}
	done := make(chan result, 1)
	// A driver in the same process need not return when ctx ends.
	go func() {
		entries, err := listPages(ctx, spec.NewControllerClient(r.cfg.Controller))
		done <- result{entries, err}
	}()
	select {
	case all := <-done:
		return all.entries, all.err
	case <-ctx.Done():
		return nil, fmt.Errorf("the driver did not reply within %v of real time", r.cfg.Limit)
	}
}

// maxListed is the number of pages after which a list ends.
const maxListed = 100000

func listPages(ctx context.Context, client spec.ControllerClient) ([]*spec.ListVolumesResponse_Entry, error) {
	var entries []*spec.ListVolumesResponse_Entry
	token := ""
	for range maxListed {
		reply, err := client.ListVolumes(ctx, &spec.ListVolumesRequest{StartingToken: token})
		if err != nil {
			return nil, err
		}
		entries = append(entries, reply.GetEntries()...)
		if token = reply.GetNextToken(); token == "" {
			return entries, nil
		}
	}
	return nil, fmt.Errorf("the list does not end after %d pages", maxListed)
}

// conn returns the connection to the driver on a node.
func (r *run) conn(node string) csi.Conn {
	if c, ok := r.cfg.Nodes[node]; ok {
		return c
	}
	return r.cfg.Controller
}

// capabilities are those of the driver that stories need.
type capabilities struct {
	Driver                                                                                               string // name and version
	Limit                                                                                                int32  // volumes per node; not positive: none
	Create, Attach, Stage, Expand, NodeExpand, Modify, List, ListPublished, Stats, SingleNodeMultiWriter bool
	GetVolume, GetCapacity, Condition, NodeCondition, Topology, MountGroup                               bool
	Snapshot, ListSnapshots, Clone, Group                                                                bool
	Online, Offline                                                                                      bool // expansion
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
	if _, err := d.NodeInfo(node); err != nil {
		return capabilities{}, fmt.Errorf("ask the driver about node %s: %w", node, err)
	}
	caps.Limit = d.AttachLimit(node)
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
