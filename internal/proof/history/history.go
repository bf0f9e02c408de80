// Package history generates random histories of a cluster: actions of users, faults, and the passing of time. The source of choices is a
// parameter, so that property tests, which shrink, and runs by seed, which are fast, share the same steps.
package history

import (
	"time"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/fake"
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

// SettleTime is the virtual time after the last fault within which everything that can be bound is bound: the longest backoff of an
// operation (2m2s), the retries of keys that injected faults delayed, and some resyncs.
const SettleTime = 10 * time.Minute

// CleanupTime is the virtual time after SettleTime within which storage that is no longer used is deleted.
const CleanupTime = 10 * time.Minute
