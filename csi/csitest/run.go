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
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

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
	kept    []string        // snapshots that the driver deletes after the volumes that were created from them
	stopped bool            // a goal was not reached, so the story does not continue
	pauses  int             // before repetitions of calls, with Config.paced
	paused  time.Duration   // real time of the pauses
}

// execute runs a plan. The context limits the start only.
func execute(cfg *Config, p plan, number int) *recording {
	r := &run{cfg: cfg, plan: p, rec: &recording{plan: p, nodes: map[string]string{}, before: map[string]bool{}, left: map[string]int{}}, nodes: cfg.nodes(), callers: map[int]pending{}}
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
	if cfg.Reset == nil {
		cfg.leaves(r.rec)
	}
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
	r.rec.caps.Remote, r.rec.caps.Size = r.cfg.remote(), int64(r.cfg.Size)<<30
	config := volsim.Config{Seed: r.plan.seed, Backends: []storage.Backend{driver}, Injector: injector{r}, Check: check.All()}
	if r.plan.seed != 0 {
		config.Latency = 5 * time.Millisecond
	}
	if r.cluster, err = volsim.New(config); err != nil {
		return err
	}
	driver.Clock = r.cluster.Now
	maps.Copy(r.rec.left, r.cfg.left)
	r.rec.caps.List = r.rec.caps.List && !r.cfg.unlisted
	r.rec.caps.ListSnapshots = r.rec.caps.ListSnapshots && !r.cfg.endless
	if r.rec.caps.List {
		entries, err := r.list()
		if err != nil {
			r.rec.gone = fmt.Errorf("list the volumes of the driver: %w", err)
			return r.rec.gone
		}
		listed := map[string]int{}
		for _, entry := range entries {
			r.rec.before[entry.GetVolume().GetVolumeId()] = true
			for _, node := range entry.GetStatus().GetPublishedNodeIds() {
				listed[node]++
			}
		}
		for node, n := range listed {
			r.rec.left[node] = max(r.rec.left[node], n)
		}
	}
	if err := r.startSnapshots(); err != nil {
		return err
	}
	if r.cfg.Mounts != nil {
		for _, m := range r.cfg.Mounts() {
			r.rec.before[mountKey(m)] = true
		}
	}
	r.rec.caps.Limit = r.cfg.limit
	object := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driver.Name()}}
	if r.cfg.CSIDriver != nil {
		r.cfg.CSIDriver.DeepCopyInto(&object.Spec)
	}
	object.Spec.AttachRequired = new(r.rec.caps.Attach)
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
	if err := r.cluster.Settle(); err != nil {
		r.stopped, r.rec.unsettled, r.rec.cut, r.rec.missed = true, err, err.Error(), []string{registration}
	}
	return nil
}

// registration is the goal that is not reached if the cluster does not settle before the story begins.
const registration = "the registration of the driver"

// kubelet is the beginning of the actor of a kubelet, before the name of its node.
const kubelet = "kubelet/"

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
		switch { // calls that no fault can hit have no caller
		case s.Actor != "":
		case c.Node != "":
			s.Actor = kubelet + c.Node
		case c.Method == "ListVolumes":
			s.Actor = "external-attacher"
		}
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
		switch {
		case err == nil:
			in.Volumes, in.Listed, in.Published = entries, true, r.rec.caps.ListPublished
		case !slices.Contains(transient, status.Code(err)) && (status.Code(err) != codes.Unknown || errors.Is(err, errEndless)):
			in.Failed = err.Error()
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
	return pages(r.cfg.Limit, func(ctx context.Context, token string) ([]*spec.ListVolumesResponse_Entry, string, error) {
		reply, err := spec.NewControllerClient(r.cfg.Controller).ListVolumes(ctx, &spec.ListVolumesRequest{StartingToken: token})
		return reply.GetEntries(), reply.GetNextToken(), err
	})
}

// conn returns the connection to the driver on a node.
func (r *run) conn(node string) csi.Conn {
	if c, ok := r.cfg.Nodes[node]; ok {
		return c
	}
	return r.cfg.Controller
}
