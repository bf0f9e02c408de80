// Package history makes up random histories of a cluster: what users do, what goes wrong, how time passes. Whoever chooses is a
// parameter, so that the same moves serve property tests, which shrink, and runs by seed, which are fast.
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

// Choose picks a number from 0 to n-1.
type Choose func(n int) int

// Options say what may happen. The zero value is users who leave pointers alone, and no faults.
type Options struct {
	Steps int
	// Meddling has users edit what controllers own: claimRef, finalizers, annotations.
	Meddling bool
	// Faults has API calls and backend calls fail, wait and lose their replies, and controllers crash.
	Faults bool
	// Whole has time pass in spans only, never event by event, so that the same choices mean the same to runs whose events differ.
	Whole bool
	// Writes has API faults hit writes only, so that the same choices mean the same to runs that read more or less often.
	Writes bool
	// Nodes has pods run on two nodes; with Faults, these stop, reboot, lose the network and are taken out of service.
	Nodes bool
	// Growth has classes whose volumes can be expanded, and users who ask for more, and for less again; with Faults, expansions fail.
	Growth bool
}

// The nodes of a history with Options.Nodes.
var nodes = []string{"n1", "n2"}

// The backends of every history.
const (
	InTree = "kubernetes.io/mock-storage"
	Driver = "disk.example.com"
)

// Config is the configuration of a cluster for a history. The backends in it keep what happened to the data.
func Config(seed int64) (volsim.Config, []*fake.Memory) {
	inTree := fake.InTree(InTree, fake.Lenient())
	nfs := fake.NFS()
	driver := fake.CSI(Driver)
	return volsim.Config{Seed: seed, Backends: []storage.Backend{inTree, nfs, driver}},
		[]*fake.Memory{inTree.Memory, nfs.Memory, driver}
}

// Play makes moves on the cluster. What the API server refuses is part of history; an error means that the cluster itself is wrong.
// Each call to moved follows a move.
func Play(c *volsim.Cluster, choose Choose, opts Options, moved func() error) error {
	p := &player{Cluster: c, choose: choose, opts: opts}
	moves := []func() error{
		p.createVolume, p.createVolume, p.createClaim, p.createClaim, p.createClaim, p.createClass,
		p.deleteClaim, p.deleteVolume, p.createPod, p.deletePod, p.changePolicy,
		p.wait, p.wait, p.run, p.run,
	}
	if opts.Meddling {
		moves = append(moves, p.clearClaimRef, p.clearUID, p.dropFinalizers, p.dropAnnotation, p.selectNode)
	}
	if opts.Faults {
		moves = append(moves, p.failAPI, p.failBackend, p.crash)
	}
	if opts.Nodes {
		for _, name := range nodes {
			if err := c.Create(fake.Node(name)); err != nil {
				return err
			}
		}
		moves = append(moves, p.createPod, p.createDatabase, p.createDatabase, p.createDatabase, p.deletePodGracefully, p.wait)
		if opts.Faults {
			moves = append(moves, p.breakNode, p.mendNode, p.condemnNode)
		}
	}
	if opts.Growth {
		moves = append(moves, p.changeRequest, p.changeRequest, p.changeRequest)
		if opts.Faults {
			moves = append(moves, p.failExpansion, p.failExpansion)
		}
	}
	for range opts.Steps {
		if err := moves[choose(len(moves))](); err != nil {
			return err
		}
		if moved != nil {
			if err := moved(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Calm ends all faults, starts what has crashed and lets d pass.
func Calm(c *volsim.Cluster, d time.Duration) error {
	c.Faults.Clear()
	for _, name := range c.Controllers() {
		if err := c.Restart(name); err != nil {
			return err
		}
	}
	for _, name := range nodes {
		node, err := c.Node(name)
		if err != nil {
			continue // there is no such node in this history
		}
		node.Partition(false)
		node.Start()
		if err := condemn(c, name, false); err != nil {
			return err
		}
	}
	return c.Advance(d)
}

// condemn taints a node as out of service, so that its volumes are detached by force, or takes the taint away.
func condemn(c *volsim.Cluster, node string, outOfService bool) error {
	patch := `{"spec":{"taints":null}}`
	if outOfService {
		patch = `{"spec":{"taints":[{"key":"` + corev1.TaintNodeOutOfService + `","effect":"NoExecute"}]}}`
	}
	return c.Patch(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, patch)
}

type player struct {
	*volsim.Cluster
	choose Choose
	opts   Options
	pods   int
}

func pick[T any](choose Choose, from ...T) T { return from[choose(len(from))] }

func (p *player) chance(oneIn int) bool { return p.choose(oneIn) == oneIn-1 }

// try takes the outcome of an API call by a user: a refusal is nothing special.
func (p *player) try(error) error { return nil }

func (p *player) size() string { return pick(p.choose, "1Gi", "2Gi", "3Gi", "5Gi", "5Gi", "10Gi") }
func (p *player) modes() []string {
	if p.opts.Nodes {
		// With both modes a volume goes to any number of nodes, and drivers are told that only one may write.
		return pick(p.choose, []string{"RWO"}, []string{"RWO"}, []string{"RWX"}, []string{"ROX"}, []string{"RWOP"})
	}
	return pick(p.choose, []string{"RWO"}, []string{"RWO"}, []string{"RWO", "ROX"}, []string{"RWX"}, []string{"RWO", "RWX"})
}
func (p *player) class() string {
	return pick(p.choose, "", "", "static", "fast", "late", "external", "external-late")
}
func (p *player) volume() string { return pick(p.choose, "pv1", "pv2", "pv3", "pv4", "pv5") }
func (p *player) claim() string {
	return pick(p.choose, "default/c1", "default/c2", "default/c3", "other/c1")
}

func (p *player) createVolume() error {
	opts := []fake.Option{
		fake.Modes(p.modes()...), fake.InClass(p.class()),
		fake.Policy(pick(p.choose, corev1.PersistentVolumeReclaimRetain, corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRecycle)),
	}
	name := p.volume()
	switch p.choose(3) {
	case 0:
		opts = append(opts, fake.NFSSource("nfs.example.com", "/"+name))
	case 1:
		opts = append(opts, fake.CSISource(Driver, name))
	}
	if p.chance(5) {
		opts = append(opts, fake.ForClaim(p.claim()))
	}
	if p.chance(8) {
		opts = append(opts, fake.Block())
	}
	if p.chance(3) {
		opts = append(opts, fake.Labels("tier", "gold"))
	}
	return p.try(p.Create(fake.Volume(name, p.size(), opts...)))
}

func (p *player) createClaim() error {
	opts := []fake.Option{fake.Modes(p.modes()...)}
	if p.chance(4) {
		opts = append(opts, fake.NoClass())
	} else {
		opts = append(opts, fake.InClass(p.class()))
	}
	if p.chance(6) {
		opts = append(opts, fake.VolumeName(p.volume()))
	}
	if p.chance(8) {
		opts = append(opts, fake.Block())
	}
	if p.chance(6) {
		opts = append(opts, fake.Selector("tier", "gold"))
	}
	return p.try(p.Create(fake.Claim(p.claim(), p.size(), opts...)))
}

func (p *player) createClass() error {
	var opts []fake.Option
	if p.opts.Growth {
		opts = append(opts, fake.Expandable())
	}
	switch p.choose(5) {
	case 0:
		return p.try(p.Create(fake.Class("fast", InTree, opts...)))
	case 1:
		return p.try(p.Create(fake.Class("late", InTree, append(opts, fake.WaitForFirstConsumer())...)))
	case 2:
		return p.try(p.Create(fake.Class("external", Driver, opts...)))
	case 3:
		return p.try(p.Create(fake.Class("external-late", Driver, append(opts, fake.WaitForFirstConsumer())...)))
	}
	return p.try(p.Create(fake.Class("default", InTree, append(opts, fake.Default())...)))
}

func (p *player) deleteClaim() error {
	namespace, name := objects.SplitKey(p.claim())
	return p.try(p.Delete(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}))
}

// anyVolume is one of those that exist, provisioned ones included; nil if there is none.
func (p *player) anyVolume() *corev1.PersistentVolume {
	volumes := p.Volumes.List()
	if len(volumes) == 0 {
		return nil
	}
	return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: volumes[p.choose(len(volumes))].Name}}
}

func (p *player) onVolume(fn func(pv *corev1.PersistentVolume) error) error {
	if pv := p.anyVolume(); pv != nil {
		return p.try(fn(pv))
	}
	return nil
}

func (p *player) onClaim(patch string) error {
	namespace, name := objects.SplitKey(p.claim())
	return p.try(p.Patch(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}, patch))
}

func (p *player) deleteVolume() error {
	return p.onVolume(func(pv *corev1.PersistentVolume) error { return p.Delete(pv) })
}

func (p *player) changePolicy() error {
	policy := pick(p.choose, "Retain", "Delete", "Recycle")
	return p.onVolume(func(pv *corev1.PersistentVolume) error {
		return p.Patch(pv, `{"spec":{"persistentVolumeReclaimPolicy":"`+policy+`"}}`)
	})
}

func (p *player) clearClaimRef() error {
	return p.onVolume(func(pv *corev1.PersistentVolume) error { return p.Patch(pv, `{"spec":{"claimRef":null}}`) })
}

func (p *player) clearUID() error {
	return p.onVolume(func(pv *corev1.PersistentVolume) error { return p.Patch(pv, `{"spec":{"claimRef":{"uid":null}}}`) })
}

func (p *player) dropFinalizers() error {
	return p.onVolume(func(pv *corev1.PersistentVolume) error { return p.Patch(pv, `{"metadata":{"finalizers":null}}`) })
}

func (p *player) dropAnnotation() error {
	return p.onClaim(`{"metadata":{"annotations":{"` + pick(p.choose, "pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller") + `":null}}}`)
}

func (p *player) selectNode() error {
	return p.onClaim(`{"metadata":{"annotations":{"volume.kubernetes.io/selected-node":"n1"}}}`)
}

func (p *player) createPod() error {
	p.pods++
	_, claim := objects.SplitKey(p.claim())
	opts := []fake.Option{fake.Claims(claim)}
	if !p.chance(3) {
		opts = append(opts, fake.OnNode(p.node()))
	}
	if p.chance(3) {
		opts = append(opts, fake.Annotations("volsim.dev/write-every", "30s"))
	} else if p.chance(4) {
		opts = append(opts, fake.Annotations("volsim.dev/run-for", "20s"))
	}
	return p.try(p.Create(fake.Pod(fmt.Sprintf("default/p%d", p.pods%4), opts...)))
}

// createDatabase makes a pod with a disk that only one node can have, and the disk if there is none.
func (p *player) createDatabase() error {
	p.pods++
	n := p.choose(2)
	claim, disk := fmt.Sprintf("db%d", n), fmt.Sprintf("disk%d", n)
	class := ""
	if p.opts.Growth {
		// What is to grow has to have a class that allows it.
		class = "external"
		_ = p.try(p.Create(fake.Class(class, Driver, fake.Expandable())))
	}
	_ = p.try(p.Create(fake.Volume(disk, "1Gi", fake.CSISource(Driver, disk), fake.ForClaim("default/"+claim), fake.InClass(class))))
	_ = p.try(p.Create(fake.Claim(claim, "1Gi", fake.VolumeName(disk), fake.InClass(class))))
	opts := []fake.Option{fake.Claims(claim)}
	if !p.chance(3) {
		opts = append(opts, fake.OnNode(p.node()))
	}
	return p.try(p.Create(fake.Pod(fmt.Sprintf("default/p%d", p.pods%4), opts...)))
}

func (p *player) deletePod() error {
	pods := p.Pods.List()
	if len(pods) == 0 {
		return nil
	}
	if p.opts.Nodes && !p.opts.Faults {
		return p.deletePodGracefully() // by force a pod goes while its volumes are mounted
	}
	now := int64(0)
	pod := pods[p.choose(len(pods))]
	return p.try(p.DeleteWith(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}},
		api.DeleteOptions{GracePeriodSeconds: &now}))
}

func (p *player) node() string { return nodes[p.choose(len(nodes))] }

func (p *player) deletePodGracefully() error {
	pods := p.Pods.List()
	if len(pods) == 0 {
		return nil
	}
	pod := pods[p.choose(len(pods))]
	return p.try(p.Delete(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}))
}

func (p *player) breakNode() error {
	name := p.node()
	what := p.choose(4)
	node, err := p.Node(name)
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

func (p *player) mendNode() error {
	name := p.node()
	node, err := p.Node(name)
	if err != nil {
		return err
	}
	node.Partition(false)
	node.Start()
	return condemn(p.Cluster, name, false)
}

// condemnNode gives a node up, as an administrator does that cannot reach it: the node is tainted, and its pods are deleted by force.
func (p *player) condemnNode() error {
	node, now := p.node(), int64(0)
	if !p.chance(3) {
		n, err := p.Node(node)
		if err != nil {
			return err
		}
		n.Partition(true)
	}
	for _, pod := range p.Pods.List() {
		if pod.Spec.NodeName == node {
			_ = p.try(p.DeleteWith(pod, api.DeleteOptions{GracePeriodSeconds: &now}))
		}
	}
	return condemn(p.Cluster, node, true)
}

func (p *player) wait() error {
	return p.Advance(pick(p.choose, time.Millisecond, 600*time.Millisecond, 4*time.Second, 15*time.Second, 40*time.Second))
}

// run lets a few events happen, so that the next move falls into the middle of something.
func (p *player) run() error {
	if p.opts.Whole {
		return p.wait()
	}
	for range 1 + p.choose(12) {
		if !p.Step() {
			break
		}
	}
	return nil
}

func (p *player) failAPI() error {
	verbs := []string{"update", "update-status", "create", "delete", "get", "patch"}
	if p.opts.Writes {
		verbs = slices.DeleteFunc(verbs, func(verb string) bool { return verb == "get" })
	}
	verb := pick(p.choose, verbs...)
	match := fake.Match{Target: api.APIServer, Verb: verb}
	times := 1 + p.choose(3)
	err := fmt.Errorf("the server is not able to handle the request")
	switch p.choose(3) {
	case 0:
		p.Faults.Fail(match, err).Times(times)
	case 1:
		p.Faults.Lose(match, err).Times(times)
	default:
		p.Faults.Slow(match, 3*time.Second).Times(times)
	}
	return p.Faults.Err()
}

func (p *player) failBackend() error {
	match := fake.Match{Target: pick(p.choose, InTree, Driver, "kubernetes.io/nfs")}
	err := storage.Errorf(pick(p.choose, storage.Internal, storage.Unavailable, storage.DeadlineExceeded), "storage is broken")
	times := 1 + p.choose(3)
	if p.chance(2) {
		p.Faults.Lose(match, err).Times(times)
	} else {
		p.Faults.Add(match, api.Fault{Err: err, Delay: pick(p.choose, 0, time.Second, time.Minute)}).Times(times)
	}
	return p.Faults.Err()
}

func (p *player) crash() error {
	var names []string
	for _, name := range p.Controllers() {
		// What a machine does when it stops is more than that its containers end: breakNode.
		if !strings.HasPrefix(name, actors.Node("")) {
			names = append(names, name)
		}
	}
	name := names[p.choose(len(names))]
	if err := p.Crash(name); err != nil {
		return err
	}
	if p.chance(2) {
		return p.Restart(name)
	}
	return nil
}

// Patience is the virtual time within which everything that can be bound is bound once nothing goes wrong any more: the longest
// backoff of an operation (2 min 2 s), the retries of keys that a few injected faults have delayed, and some resyncs.
const Patience = 10 * time.Minute

// Leftovers is the virtual time after Patience within which what nobody wants any more is gone.
const Leftovers = 10 * time.Minute
