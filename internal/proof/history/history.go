// Package history generates random histories of a cluster: actions of users, faults, and the passing of time. The source of choices is a
// parameter, so that property tests, which shrink, and runs by seed, which are fast, share the same steps.
package history

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// Choose returns a number from 0 to n-1.
type Choose func(n int) int

// Options select the steps of a history. With the zero value, users edit only their own fields, and there are no faults.
type Options struct {
	// Steps is the number of steps.
	Steps int
	// UserEdits adds edits by users of fields that controllers own: claimRef, finalizers, annotations.
	UserEdits bool
	// Faults adds API calls and backend calls that fail, take long or lose their replies, and crashes of controllers.
	Faults bool
	// SpansOnly advances time in spans, never event by event, so that the same choices mean the same in runs whose events differ.
	SpansOnly bool
	// WritesOnly limits API faults to writes, so that the same choices mean the same in runs that read more or less often.
	WritesOnly bool
	// Nodes adds pods on two nodes; with Faults, nodes stop, reboot, lose the network and are taken out of service.
	Nodes bool
	// Growth adds classes whose volumes can be expanded, and requests for other sizes; with Faults, expansions fail.
	Growth bool
}

// The nodes of a history with Options.Nodes.
var nodes = []string{"n1", "n2"}

// The backends of every history.
const (
	InTree = "kubernetes.io/mock-storage"
	Driver = "disk.example.com"
)

// Config returns the configuration of a cluster for a history, and its backends, which record what happened to the data.
func Config(seed int64) (volsim.Config, []*fake.Memory) {
	inTree := fake.InTree(InTree, fake.Lenient())
	nfs := fake.NFS()
	driver := fake.CSI(Driver)
	return volsim.Config{Seed: seed, Backends: []storage.Backend{inTree, nfs, driver}},
		[]*fake.Memory{inTree.Memory, nfs.Memory, driver}
}

// Run takes random steps in the cluster, and calls afterStep, unless it is nil, after each. A request that the API server rejects is part
// of the history; an error means that the cluster itself is wrong.
func Run(c *volsim.Cluster, choose Choose, opts Options, afterStep func() error) error {
	r := &runner{Cluster: c, choose: choose, opts: opts}
	steps := []func() error{
		r.createVolume, r.createVolume, r.createClaim, r.createClaim, r.createClaim, r.createClass,
		r.deleteClaim, r.deleteVolume, r.createPod, r.deletePod, r.changePolicy,
		r.wait, r.wait, r.stepEvents, r.stepEvents,
	}
	if opts.UserEdits {
		steps = append(steps, r.clearClaimRef, r.clearUID, r.dropFinalizers, r.dropAnnotation, r.selectNode)
	}
	if opts.Faults {
		steps = append(steps, r.failAPI, r.failBackend, r.crash)
	}
	if opts.Nodes {
		for _, name := range nodes {
			if err := c.Create(fake.Node(name)); err != nil {
				return err
			}
		}
		steps = append(steps, r.createPod, r.createDatabase, r.createDatabase, r.createDatabase, r.deletePodGracefully, r.wait)
		if opts.Faults {
			steps = append(steps, r.breakNode, r.repairNode, r.giveUpNode)
		}
	}
	if opts.Growth {
		steps = append(steps, r.changeRequest, r.changeRequest, r.changeRequest)
		if opts.Faults {
			steps = append(steps, r.failExpansion, r.failExpansion)
		}
	}
	for range opts.Steps {
		if err := steps[choose(len(steps))](); err != nil {
			return err
		}
		if afterStep != nil {
			if err := afterStep(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Recover ends all faults, restarts crashed controllers and nodes, and advances time by d.
func Recover(c *volsim.Cluster, d time.Duration) error {
	c.Faults.Clear()
	for _, name := range c.Controllers() {
		if err := c.Restart(name); err != nil {
			return err
		}
	}
	for _, name := range nodes {
		node, err := c.Node(name)
		if err != nil {
			continue // this history has no nodes
		}
		node.Partition(false)
		node.Start()
		if err := setOutOfService(c, name, false); err != nil {
			return err
		}
	}
	return c.Advance(d)
}

// setOutOfService taints a node as out of service, so that its volumes are detached by force, or removes the taint.
func setOutOfService(c *volsim.Cluster, node string, outOfService bool) error {
	patch := `{"spec":{"taints":null}}`
	if outOfService {
		patch = `{"spec":{"taints":[{"key":"` + corev1.TaintNodeOutOfService + `","effect":"NoExecute"}]}}`
	}
	return c.Patch(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, patch)
}

type runner struct {
	*volsim.Cluster
	choose Choose
	opts   Options
	pods   int
}

func pick[T any](choose Choose, from ...T) T { return from[choose(len(from))] }

func (r *runner) oneIn(n int) bool { return r.choose(n) == n-1 }

// try ignores the error of a user's API call: a rejected request is part of the history.
func (r *runner) try(error) error { return nil }

func (r *runner) size() string { return pick(r.choose, "1Gi", "2Gi", "3Gi", "5Gi", "5Gi", "10Gi") }
func (r *runner) modes() []string {
	if r.opts.Nodes {
		// No RWO together with RWX: such a volume is attached to any number of nodes, but the driver is asked for a single writer.
		return pick(r.choose, []string{"RWO"}, []string{"RWO"}, []string{"RWX"}, []string{"ROX"}, []string{"RWOP"})
	}
	return pick(r.choose, []string{"RWO"}, []string{"RWO"}, []string{"RWO", "ROX"}, []string{"RWX"}, []string{"RWO", "RWX"})
}
func (r *runner) class() string {
	return pick(r.choose, "", "", "static", "fast", "late", "external", "external-late")
}
func (r *runner) volume() string { return pick(r.choose, "pv1", "pv2", "pv3", "pv4", "pv5") }
func (r *runner) claim() string {
	return pick(r.choose, "default/c1", "default/c2", "default/c3", "other/c1")
}

func (r *runner) createVolume() error {
	opts := []fake.Option{
		fake.Modes(r.modes()...), fake.InClass(r.class()),
		fake.Policy(pick(r.choose, corev1.PersistentVolumeReclaimRetain, corev1.PersistentVolumeReclaimDelete,
			corev1.PersistentVolumeReclaimRecycle)),
	}
	name := r.volume()
	switch r.choose(3) {
	case 0:
		opts = append(opts, fake.NFSSource("nfs.example.com", "/"+name))
	case 1:
		opts = append(opts, fake.CSISource(Driver, name))
	}
	if r.oneIn(5) {
		opts = append(opts, fake.ForClaim(r.claim()))
	}
	if r.oneIn(8) {
		opts = append(opts, fake.Block())
	}
	if r.oneIn(3) {
		opts = append(opts, fake.Labels("tier", "gold"))
	}
	return r.try(r.Create(fake.Volume(name, r.size(), opts...)))
}

func (r *runner) createClaim() error {
	opts := []fake.Option{fake.Modes(r.modes()...)}
	if r.oneIn(4) {
		opts = append(opts, fake.NoClass())
	} else {
		opts = append(opts, fake.InClass(r.class()))
	}
	if r.oneIn(6) {
		opts = append(opts, fake.VolumeName(r.volume()))
	}
	if r.oneIn(8) {
		opts = append(opts, fake.Block())
	}
	if r.oneIn(6) {
		opts = append(opts, fake.Selector("tier", "gold"))
	}
	return r.try(r.Create(fake.Claim(r.claim(), r.size(), opts...)))
}

func (r *runner) createClass() error {
	var opts []fake.Option
	if r.opts.Growth {
		opts = append(opts, fake.Expandable())
	}
	switch r.choose(5) {
	case 0:
		return r.try(r.Create(fake.Class("fast", InTree, opts...)))
	case 1:
		return r.try(r.Create(fake.Class("late", InTree, append(opts, fake.WaitForFirstConsumer())...)))
	case 2:
		return r.try(r.Create(fake.Class("external", Driver, opts...)))
	case 3:
		return r.try(r.Create(fake.Class("external-late", Driver, append(opts, fake.WaitForFirstConsumer())...)))
	}
	return r.try(r.Create(fake.Class("default", InTree, append(opts, fake.Default())...)))
}

func (r *runner) deleteClaim() error {
	namespace, name := objects.SplitKey(r.claim())
	return r.try(r.Delete(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}))
}

// anyVolume returns a volume that exists, also a provisioned one; nil if there is none.
func (r *runner) anyVolume() *corev1.PersistentVolume {
	volumes := r.Volumes.List()
	if len(volumes) == 0 {
		return nil
	}
	return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: volumes[r.choose(len(volumes))].Name}}
}

func (r *runner) onVolume(fn func(pv *corev1.PersistentVolume) error) error {
	if pv := r.anyVolume(); pv != nil {
		return r.try(fn(pv))
	}
	return nil
}

func (r *runner) onClaim(patch string) error {
	namespace, name := objects.SplitKey(r.claim())
	return r.try(r.Patch(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}, patch))
}

func (r *runner) deleteVolume() error {
	return r.onVolume(func(pv *corev1.PersistentVolume) error { return r.Delete(pv) })
}

func (r *runner) changePolicy() error {
	policy := pick(r.choose, "Retain", "Delete", "Recycle")
	return r.onVolume(func(pv *corev1.PersistentVolume) error {
		return r.Patch(pv, `{"spec":{"persistentVolumeReclaimPolicy":"`+policy+`"}}`)
	})
}

func (r *runner) clearClaimRef() error {
	return r.onVolume(func(pv *corev1.PersistentVolume) error { return r.Patch(pv, `{"spec":{"claimRef":null}}`) })
}

func (r *runner) clearUID() error {
	return r.onVolume(func(pv *corev1.PersistentVolume) error { return r.Patch(pv, `{"spec":{"claimRef":{"uid":null}}}`) })
}

func (r *runner) dropFinalizers() error {
	return r.onVolume(func(pv *corev1.PersistentVolume) error { return r.Patch(pv, `{"metadata":{"finalizers":null}}`) })
}

func (r *runner) dropAnnotation() error {
	return r.onClaim(`{"metadata":{"annotations":{"` +
		pick(r.choose, "pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller") + `":null}}}`)
}

func (r *runner) selectNode() error {
	return r.onClaim(`{"metadata":{"annotations":{"volume.kubernetes.io/selected-node":"n1"}}}`)
}

func (r *runner) createPod() error {
	r.pods++
	_, claim := objects.SplitKey(r.claim())
	opts := []fake.Option{fake.Claims(claim)}
	if !r.oneIn(3) {
		opts = append(opts, fake.OnNode(r.node()))
	}
	if r.oneIn(3) {
		opts = append(opts, fake.Annotations("volsim.dev/write-every", "30s"))
	} else if r.oneIn(4) {
		opts = append(opts, fake.Annotations("volsim.dev/run-for", "20s"))
	}
	return r.try(r.Create(fake.Pod(fmt.Sprintf("default/p%d", r.pods%4), opts...)))
}

// createDatabase creates a pod with a disk that allows one node only, and the disk if it does not exist.
func (r *runner) createDatabase() error {
	r.pods++
	n := r.choose(2)
	claim, disk := fmt.Sprintf("db%d", n), fmt.Sprintf("disk%d", n)
	class := ""
	if r.opts.Growth {
		// Only a class can allow expansion.
		class = "external"
		_ = r.try(r.Create(fake.Class(class, Driver, fake.Expandable())))
	}
	_ = r.try(r.Create(fake.Volume(disk, "1Gi", fake.CSISource(Driver, disk), fake.ForClaim("default/"+claim), fake.InClass(class))))
	_ = r.try(r.Create(fake.Claim(claim, "1Gi", fake.VolumeName(disk), fake.InClass(class))))
	opts := []fake.Option{fake.Claims(claim)}
	if !r.oneIn(3) {
		opts = append(opts, fake.OnNode(r.node()))
	}
	return r.try(r.Create(fake.Pod(fmt.Sprintf("default/p%d", r.pods%4), opts...)))
}

func (r *runner) deletePod() error {
	pods := r.Pods.List()
	if len(pods) == 0 {
		return nil
	}
	if r.opts.Nodes && !r.opts.Faults {
		return r.deletePodGracefully() // a forced deletion removes a pod whose volumes are still mounted
	}
	now := int64(0)
	pod := pods[r.choose(len(pods))]
	return r.try(r.DeleteWith(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}},
		api.DeleteOptions{GracePeriodSeconds: &now}))
}

func (r *runner) node() string { return nodes[r.choose(len(nodes))] }

func (r *runner) deletePodGracefully() error {
	pods := r.Pods.List()
	if len(pods) == 0 {
		return nil
	}
	pod := pods[r.choose(len(pods))]
	return r.try(r.Delete(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}))
}

func (r *runner) breakNode() error {
	name := r.node()
	what := r.choose(4)
	node, err := r.Node(name)
	if err != nil {
		return err
	}
	switch what {
	case 0:
		node.Stop()
	case 1:
		node.PowerOff()
	case 2:
		node.PowerOff()
		node.Start()
	default:
		node.Partition(true)
	}
	return nil
}

func (r *runner) repairNode() error {
	name := r.node()
	node, err := r.Node(name)
	if err != nil {
		return err
	}
	node.Partition(false)
	node.Start()
	return setOutOfService(r.Cluster, name, false)
}

// giveUpNode taints a node as out of service and deletes its pods by force, as an administrator does with a node that cannot be reached.
func (r *runner) giveUpNode() error {
	node, now := r.node(), int64(0)
	if !r.oneIn(3) {
		n, err := r.Node(node)
		if err != nil {
			return err
		}
		n.Partition(true)
	}
	for _, pod := range r.Pods.List() {
		if pod.Spec.NodeName == node {
			_ = r.try(r.DeleteWith(pod, api.DeleteOptions{GracePeriodSeconds: &now}))
		}
	}
	return setOutOfService(r.Cluster, node, true)
}

func (r *runner) wait() error {
	return r.Advance(pick(r.choose, time.Millisecond, 600*time.Millisecond, 4*time.Second, 15*time.Second, 40*time.Second))
}

// stepEvents runs a few events, so that the next step happens in the middle of the controllers' work.
func (r *runner) stepEvents() error {
	if r.opts.SpansOnly {
		return r.wait()
	}
	for range 1 + r.choose(12) {
		if !r.Step() {
			break
		}
	}
	return nil
}

func (r *runner) failAPI() error {
	verbs := []string{"update", "update-status", "create", "delete", "get", "patch"}
	if r.opts.WritesOnly {
		verbs = slices.DeleteFunc(verbs, func(verb string) bool { return verb == "get" })
	}
	verb := pick(r.choose, verbs...)
	match := fake.Match{Target: api.APIServer, Verb: verb}
	times := 1 + r.choose(3)
	err := fmt.Errorf("the server is not able to handle the request")
	switch r.choose(3) {
	case 0:
		r.Faults.Fail(match, err).Times(times)
	case 1:
		r.Faults.Lose(match, err).Times(times)
	default:
		r.Faults.Slow(match, 3*time.Second).Times(times)
	}
	return r.Faults.Err()
}

func (r *runner) failBackend() error {
	match := fake.Match{Target: pick(r.choose, InTree, Driver, "kubernetes.io/nfs")}
	err := storage.Errorf(pick(r.choose, storage.Internal, storage.Unavailable, storage.DeadlineExceeded), "storage is broken")
	times := 1 + r.choose(3)
	if r.oneIn(2) {
		r.Faults.Lose(match, err).Times(times)
	} else {
		r.Faults.Add(match, api.Fault{Err: err, Delay: pick(r.choose, 0, time.Second, time.Minute)}).Times(times)
	}
	return r.Faults.Err()
}

func (r *runner) crash() error {
	var names []string
	for _, name := range r.Controllers() {
		// breakNode stops nodes: that does more than a crash.
		if !strings.HasPrefix(name, actors.Node("")) {
			names = append(names, name)
		}
	}
	name := names[r.choose(len(names))]
	if err := r.Crash(name); err != nil {
		return err
	}
	if r.oneIn(2) {
		return r.Restart(name)
	}
	return nil
}

// SettleTime is the virtual time after the last fault within which everything that can be bound is bound: the longest backoff of an
// operation (2m2s), the retries of keys that injected faults delayed, and some resyncs.
const SettleTime = 10 * time.Minute

// CleanupTime is the virtual time after SettleTime within which storage that is no longer used is deleted.
const CleanupTime = 10 * time.Minute
