package mount

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/kubeletdefs"
	"github.com/volsim/volsim/mount/internal/plugin"
	"github.com/volsim/volsim/mount/internal/volumes"
	"github.com/volsim/volsim/storage"
)

// runtime runs the containers of a node. They run even while the kubelet does not.
type runtime struct {
	node     *Node
	running  map[types.UID]*container
	accesses [][]Access
}

// container represents all containers of a pod.
type container struct {
	pod     *corev1.Pod
	volumes []containerVolume
	groups  []int64
	exit    corev1.PodPhase // "" while they run
	// load is what they do, begin the time from which its RunFor counts.
	load  kubeletdefs.Workload
	begin time.Time
	// stopping says that housekeeping is stopping them, because their pod is gone.
	stopping bool
	// ends fires when they exit by themselves, again when they use their volumes next.
	ends, again *engine.Timer
	access      func(*engine.Process) // uses the volumes
	workload    string                // its name
}

// containerVolume is a volume in the containers.
type containerVolume struct {
	name, id string
	data     storage.DataHolder
	readOnly bool
}

// Access is one access of a container to the data of a volume.
type Access struct {
	// Pod is the pod of the container.
	Pod storage.PodRef
	// Volume is the ID of the volume in its backend.
	Volume string
	// Wrote is true for a write, false for a read.
	Wrote bool
	// Data is the content that was written or found.
	Data storage.Write
	// Err is the reason why the access failed, nil if it succeeded.
	Err error
}

func newRuntime(n *Node) *runtime { return &runtime{node: n, running: map[types.UID]*container{}} }

func (r *runtime) list() []*container {
	list := make([]*container, 0, len(r.running))
	for _, uid := range sorted(r.running) {
		list = append(list, r.running[uid])
	}
	return list
}

// runs reports whether containers of the pod run.
func (r *runtime) runs(uid types.UID) bool {
	c, ok := r.running[uid]
	return ok && c.exit == ""
}

// start starts the containers of a pod.
func (r *runtime) start(c *container) {
	r.add(c)
	if c.load.Read || c.load.Write {
		r.node.nodeActor.Go(c.workload, c.access)
	}
}

// resume adds containers that already run: what they do at their start is over.
func (r *runtime) resume(c *container) {
	r.add(c)
	r.useLater(c)
}

// add adds the containers of a pod and schedules their exit.
func (r *runtime) add(c *container) {
	r.running[c.pod.UID] = c
	c.load, c.begin = kubeletdefs.WorkloadOf(c.pod), r.node.nodeActor.Engine().Now()
	if c.load.Read || c.load.Write || c.load.Every > 0 {
		c.workload, c.access = "workload of "+c.pod.Name, func(p *engine.Process) { r.use(p, c) }
	}
	r.exitLater(c)
}

// exitLater schedules the exit of containers.
func (r *runtime) exitLater(c *container) {
	if c.load.RunFor > 0 {
		left := c.begin.Add(c.load.RunFor).Sub(r.node.nodeActor.Engine().Now())
		c.ends = r.node.nodeActor.After(max(left, 0), "end of "+c.pod.Name, func(*engine.Process) { r.exit(c, c.load.ExitPhase()) })
	}
}

// podChanged lets a running pod end at another time or in another way. So a pod that an operator made can end, whose annotations only the
// operator knew when its containers started.
func (r *runtime) podChanged(pod *corev1.Pod) {
	c, ok := r.running[pod.UID]
	if !ok || c.exit != "" {
		return
	}
	load := kubeletdefs.WorkloadOf(pod)
	if load.RunFor == c.load.RunFor && load.Phase == c.load.Phase {
		return
	}
	if c.ends != nil {
		c.ends.Stop()
	}
	c.load.RunFor, c.load.Phase = load.RunFor, load.Phase
	r.exitLater(c)
}

// use reads and writes the volumes of a pod, and schedules the next access in the background.
func (r *runtime) use(p *engine.Process, c *container) {
	if r.running[c.pod.UID] != c || c.exit != "" {
		return
	}
	for _, v := range c.volumes {
		if v.data == nil {
			continue
		}
		if c.load.Read {
			found, err := v.data.Read(v.id, plugin.PodRef(c.pod), r.node.name)
			r.recordAccess(p, c, v, false, found, err)
		}
		if c.load.Write && !v.readOnly {
			written, err := v.data.Write(v.id, plugin.PodRef(c.pod), r.node.name, p.Now())
			r.recordAccess(p, c, v, true, written, err)
		}
	}
	r.useLater(c)
}

// useLater schedules the next access, if the workload repeats it.
func (r *runtime) useLater(c *container) {
	if c.load.Every > 0 {
		c.again = r.node.nodeActor.Background(c.load.Every, c.workload, c.access)
	}
}

// accessesAtOnce is the length of a list of accesses. One list of all would be copied whenever it grows, and an access takes 200 bytes.
const accessesAtOnce = 8

func (r *runtime) recordAccess(p *engine.Process, c *container, v containerVolume, wrote bool, data storage.Write, err error) {
	if p.Tracing() {
		p.Decide("", c.pod, accessText(v.id, wrote, data, err))
	}
	last := len(r.accesses) - 1
	if last < 0 || len(r.accesses[last]) == cap(r.accesses[last]) {
		r.accesses = append(r.accesses, make([]Access, 0, accessesAtOnce))
		last++
	}
	r.accesses[last] = append(r.accesses[last], Access{Pod: plugin.PodRef(c.pod), Volume: v.id, Wrote: wrote, Data: data, Err: err})
}

// accessText describes an access to a volume. Formatting it with verbs takes four allocations more.
func accessText(id string, wrote bool, data storage.Write, err error) string {
	verb := "reads "
	if wrote {
		verb = "writes "
	}
	if err != nil {
		return verb + id + ": " + err.Error()
	}
	return verb + id + ": version " + strconv.Itoa(data.Version)
}

// exit makes the containers of a pod exit by themselves. The kubelet notices at once if it runs.
func (r *runtime) exit(c *container, phase corev1.PodPhase) {
	if r.running[c.pod.UID] != c || c.exit != "" {
		return
	}
	c.stop()
	c.exit = phase
	if k := r.node.kubelet; k != nil {
		if w, ok := k.workers[c.pod.UID]; ok {
			w.end(phase)
		}
	}
}

// remove removes the containers of a pod, running or not.
func (r *runtime) remove(uid types.UID) {
	if c, ok := r.running[uid]; ok {
		c.stop()
		delete(r.running, uid)
	}
}

// clear removes all containers.
func (r *runtime) clear() {
	for _, c := range r.list() {
		r.remove(c.pod.UID)
	}
}

func (c *container) stop() {
	if c.ends != nil {
		c.ends.Stop()
	}
	if c.again != nil {
		c.again.Stop()
	}
}

// supplementalGroups returns the groups that volumes add to the containers of a pod (MNT-386).
func supplementalGroups(pod *corev1.Pod, specs []*volumes.Spec) []int64 {
	var listed, groups []int64
	if context := pod.Spec.SecurityContext; context != nil {
		listed = context.SupplementalGroups
	}
	for _, spec := range specs {
		// MNT-386: a value that is not a number is ignored.
		gid, err := strconv.ParseInt(spec.GID(), 10, 64)
		if err == nil && !slices.Contains(listed, gid) && !slices.Contains(groups, gid) {
			groups = append(groups, gid)
		}
	}
	return groups
}
