package advice

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/objname"
	"github.com/volsim/volsim/internal/tools/dump"
)

// Danger is how much a way endangers data and running pods. A higher value is more dangerous.
type Danger int

// The dangers.
const (
	// Safe: no data and no running pod is affected.
	Safe Danger = iota
	// Skips: what a component would clean up stays.
	Skips
	// Reuses: the claim gets a volume that has the data of an earlier claim, or starts without the data that it asked for.
	Reuses
	// Stops: a running pod is stopped.
	Stops
	// Deletes: a claim that is being deleted goes, and its volume with it.
	Deletes
	// Corrupts: two nodes may write to a volume.
	Corrupts
)

var dangers = [...]string{"no danger to data", "skips a cleanup", "mind the data", "stops a pod", "deletes data", "may corrupt data"}

// String returns the danger in words.
func (d Danger) String() string { return dangers[d] }

// MarshalText returns String.
func (d Danger) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Way is a change that helps.
type Way struct {
	// Does says what the change is.
	Does string `json:"does"`
	// Danger ranks it, and Risk says what can go wrong; "" is nothing.
	Danger Danger `json:"danger"`
	Risk   string `json:"risk,omitempty"`
	// Commands to type. It is empty for a repair outside of the API, such as starting a driver or adding a node.
	Commands []Command `json:"commands,omitempty"`
	// Result of the simulation: "pod/shop/db-0 is Running after 3s".
	Result string `json:"result"`

	assume []string     // the repair outside of the API
	node   *corev1.Node // that is added
	likely bool         // the user probably meant this
	byHand bool         // storage that someone has to create outside of Kubernetes
	ends   bool         // the pod is deleted, because another one does its work
}

// effort ranks ways of the same danger: a repair of what is broken first, then the correction of a mistyped name, then few commands, then those
// that need new objects, then those that need a new node, then those that need new storage.
func (w *Way) effort() int {
	if w.likely {
		return 0
	}
	effort := len(w.Commands)
	if w.node != nil {
		effort += 4
	}
	if w.byHand {
		effort += 4
	}
	for _, command := range w.Commands {
		if command.Manifest != "" {
			effort += 2
		}
	}
	return effort
}

// limit is how long a way may take in the simulation, and tried is how many ways are simulated for one object.
const (
	limit = 15 * time.Minute
	tried = 12
)

// Budget limits the work of Find: the number of simulated events, such as a request or a sync of a controller, and of loaded objects. It
// decreases as Find works, and several calls may share one. At zero, Find simulates no further way.
type Budget int

// NoLimit is a budget that no search exhausts.
const NoLimit = Budget(math.MaxInt)

// Exhausted reports that Find ended early, or that the next one finds nothing.
func (b *Budget) Exhausted() bool { return *b <= 0 }

// Find returns the ways after which a pod runs, a claim is bound and as large as it requests, or an object that is being deleted is gone, the
// least dangerous first. It returns none for other objects, and for one that reaches that state without a change.
func Find(d *dump.Dump, opts dump.Options, ref api.Ref, budget *Budget) ([]Way, error) {
	if opts.Now.IsZero() {
		opts.Now = d.Newest()
	}
	if budget.Exhausted() {
		return nil, nil
	}
	c, err := budget.start(d, opts)
	if err != nil {
		return nil, err
	}
	g, ok := goalOf(c, ref)
	if !ok || g.done(c) {
		return nil, nil
	}
	p := &proposer{cluster: c, snapshot: c.Snapshot()}
	p.propose(ref)
	if budget.until(c, g) || budget.Exhausted() {
		return nil, nil
	}
	slices.SortStableFunc(p.ways, func(a, b Way) int {
		return cmp.Or(cmp.Compare(a.Danger, b.Danger), cmp.Compare(a.effort(), b.effort()))
	})
	var verified []Way
	for i := range p.ways[:min(tried, len(p.ways))] {
		way, aim := p.ways[i], g
		if budget.Exhausted() {
			break
		}
		if way.ends {
			aim = goal{state: "deleted", reached: func(c *dump.Cluster) bool {
				_, err := c.Pods.Get(ref.Key)
				return err != nil
			}}
		}
		if result, ok := budget.try(d, opts, way, aim); ok {
			way.Result = objname.Of(ref) + " is " + result
			verified = append(verified, way)
		}
	}
	return verified, nil
}

// goal is the state that an object has to reach.
type goal struct {
	state   string
	reached func(*dump.Cluster) bool
	// instead, unless nil, reports another end of the way: the claim waits for its first pod.
	instead func(*dump.Cluster) bool
}

// done reports whether an end of the way is reached.
func (g goal) done(c *dump.Cluster) bool { return g.reached(c) || g.instead != nil && g.instead(c) }

// goalOf returns the goal of an object; ok is false if it has none.
func goalOf(c *dump.Cluster, ref api.Ref) (goal, bool) {
	switch ref.Kind {
	case api.Pod:
		pod, err := c.Pods.Get(ref.Key)
		if err != nil {
			return goal{}, false
		}
		if pod.DeletionTimestamp != nil {
			return goal{state: "deleted", reached: func(c *dump.Cluster) bool {
				now, err := c.Pods.Get(ref.Key)
				return err != nil || now.UID != pod.UID
			}}, true
		}
		return goal{state: "Running", reached: func(c *dump.Cluster) bool {
			now, err := c.Pods.Get(ref.Key)
			return err == nil && now.Status.Phase != corev1.PodPending && now.Status.Phase != ""
		}}, true
	case api.PersistentVolumeClaim:
		claim, err := c.Claims.Get(ref.Key)
		if err != nil {
			return goal{}, false
		}
		if claim.DeletionTimestamp != nil {
			return goal{state: "deleted", reached: func(c *dump.Cluster) bool {
				now, err := c.Claims.Get(ref.Key)
				return err != nil || now.UID != claim.UID
			}}, true
		}
		if claim.Status.Phase == corev1.ClaimBound {
			size := grown(c, claim)
			if size.reached(c) && modifying(claim) {
				return goal{state: "modified as it requests", reached: func(c *dump.Cluster) bool {
					now, err := c.Claims.Get(ref.Key)
					return err == nil && !modifying(now)
				}}, true
			}
			return size, true
		}
		return goal{state: "Bound", reached: func(c *dump.Cluster) bool {
			now, err := c.Claims.Get(ref.Key)
			return err == nil && now.Status.Phase == corev1.ClaimBound
		}, instead: func(c *dump.Cluster) bool { return waitsForPod(c, ref.Key) }}, true
	case api.PersistentVolume:
		pv, err := c.Volumes.Get(ref.Key)
		if err != nil || pv.DeletionTimestamp == nil && pv.Status.Phase != corev1.VolumeReleased ||
			pv.DeletionTimestamp == nil && pv.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
			return goal{}, false
		}
		return goal{state: "deleted", reached: func(c *dump.Cluster) bool {
			now, err := c.Volumes.Get(ref.Key)
			return err != nil || now.UID != pv.UID
		}}, true
	}
	return goal{}, false
}

// noProvisioner is the provisioner of a class that creates no volumes.
const noProvisioner = "kubernetes.io/no-provisioner"

// waitsForPod reports whether a claim that no pod uses has a class that delays its binding until then (BIND-056), and creates volumes.
func waitsForPod(c *dump.Cluster, claim string) bool {
	now, err := c.Claims.Get(claim)
	if err != nil || now.Status.Phase == corev1.ClaimBound {
		return false
	}
	class, err := c.Classes.Get(objects.ClassOf(now))
	if err != nil || class.VolumeBindingMode == nil || *class.VolumeBindingMode != storagev1.VolumeBindingWaitForFirstConsumer ||
		class.Provisioner == noProvisioner {
		return false
	}
	if _, fails := c.Evidence.Create(class.Provisioner, now); fails {
		return false
	}
	return !slices.ContainsFunc(c.Pods.List(), func(pod *corev1.Pod) bool { return slices.Contains(objects.ClaimsOf(pod), claim) })
}

// grown returns the goal of a bound claim: its volume has the size that it requests or, if it has, so does the file system.
func grown(c *dump.Cluster, claim *corev1.PersistentVolumeClaim) goal {
	enough := func(c *dump.Cluster, capacity func(*corev1.PersistentVolumeClaim, *corev1.PersistentVolume) corev1.ResourceList) bool {
		now, err := c.Claims.Get(api.KeyOf(claim))
		if err != nil {
			return false
		}
		pv, err := c.Volumes.Get(now.Spec.VolumeName)
		if err != nil {
			return false
		}
		size := capacity(now, pv)[corev1.ResourceStorage]
		return size.Cmp(now.Spec.Resources.Requests[corev1.ResourceStorage]) >= 0
	}
	ofVolume := func(_ *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) corev1.ResourceList {
		return pv.Spec.Capacity
	}
	if !enough(c, ofVolume) {
		return goal{state: "as large as it requests", reached: func(c *dump.Cluster) bool { return enough(c, ofVolume) }}
	}
	return goal{state: "as large as it requests", reached: func(c *dump.Cluster) bool {
		return enough(c, func(claim *corev1.PersistentVolumeClaim, _ *corev1.PersistentVolume) corev1.ResourceList {
			return claim.Status.Capacity
		})
	}}
}

// start starts a cluster with the objects of the dump.
func (b *Budget) start(d *dump.Dump, opts dump.Options) (*dump.Cluster, error) {
	*b -= Budget(len(d.Objects))
	opts.NoTrace = true
	return d.Start(opts)
}

// until simulates until the goal is reached, the limit of a way, or the end of the budget, and reports whether the goal is reached.
func (b *Budget) until(c *dump.Cluster, g goal) bool {
	err := c.Until(func() bool {
		*b--
		return b.Exhausted() || g.done(c)
	}, limit)
	return err == nil && g.done(c)
}

// try simulates a way, and returns what is reached, and when.
func (b *Budget) try(d *dump.Dump, opts dump.Options, way Way, g goal) (result string, ok bool) {
	opts.Assume, opts.Acts = append(slices.Clone(opts.Assume), way.assume...), true
	c, err := b.start(d, opts)
	if err != nil {
		return "", false
	}
	defer c.Close()
	begin := c.Now()
	if way.node != nil && c.Create(way.node.DeepCopy()) != nil {
		return "", false
	}
	for _, command := range way.Commands {
		if command.run(c) != nil {
			return "", false
		}
	}
	if !b.until(c, g) {
		return "", false
	}
	if !g.reached(c) {
		return "ready for the first pod that uses it", true
	}
	return fmt.Sprintf("%s after %s", g.state, c.Now().Sub(begin).Round(time.Second/10)), true
}
