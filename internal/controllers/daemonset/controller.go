package daemonset

import (
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/workload"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// Kind is the kind of the sets.
const Kind api.Kind = "DaemonSet.apps"

const (
	apiVersion = "apps/v1"
	kindName   = "DaemonSet"
	workers    = 2
	// burst is how many pods a step creates or deletes at most (DS-021).
	burst = 250
)

// controller is one life of the DaemonSet controller.
type controller struct {
	sets      engine.Informer[*plain.Object]
	pods      engine.Informer[*corev1.Pod]
	nodes     engine.Informer[*corev1.Node]
	byOwner   store.Index[*corev1.Pod]
	byNode    store.Index[*corev1.Pod]
	revisions workload.Revisions
	queue     *engine.Queue
	nodeQueue *engine.Queue
	recorder  *engine.Recorder
	// written are the controller's own writes that its informers may lack (DS-012).
	written  *workload.Consistency
	expected *workload.Expectations
	failed   engine.Repeats
	// backoffs are the pauses between deletions of failed pods, by set, generation and node (DS-024).
	backoffs map[string]*backoff
}

// New adds the controller. sets contains the DaemonSets.
func New(e *engine.Engine, sets store.Table[*plain.Object]) (*engine.Actor, error) {
	revisions, err := e.Store().Other(workload.RevisionKind)
	if err != nil {
		return nil, err
	}
	byOwner := workload.IndexPods(e.Store())
	byNode := e.Store().Pods.NewIndexWith(func(pod *corev1.Pod, list []string) []string { return append(list, pod.Spec.NodeName) },
		func(a, b *corev1.Pod) bool { return a.Spec.NodeName == b.Spec.NodeName })
	return e.NewActor(actors.DaemonSet, func(a *engine.Actor) {
		s := e.Store()
		c := &controller{
			sets: engine.NewInformer(a, sets), pods: engine.NewInformer(a, s.Pods), nodes: engine.NewInformer(a, s.Nodes), byOwner: byOwner, byNode: byNode,
			revisions: workload.Revisions{Informer: engine.NewInformer(a, revisions), Table: revisions},
			recorder:  a.NewRecorder("daemonset-controller"), expected: workload.NewExpectations(), failed: engine.Repeats{},
			backoffs: map[string]*backoff{},
		}
		a.Keeps(&c.failed)
		c.written = workload.NewConsistency(map[string]workload.Reached{"pods": c.pods.Reached, "daemonsets": c.sets.Reached})
		c.queue = a.NewQueue(engine.QueueConfig{Name: "daemonset", Kind: Kind, Workers: workers, Sync: func(p *engine.Process, key string) error {
			return c.failed.Of(key, c.sync(p, key))
		}})
		c.nodeQueue = a.NewQueue(engine.QueueConfig{Name: "daemonset-node-updates", Kind: api.Node, Workers: workers, Sync: c.syncNode})
		c.sets.Handle(engine.Handler[*plain.Object]{
			Add: func(set *plain.Object) { c.queue.Add(api.KeyOf(set)) },
			Update: func(old, set *plain.Object) {
				if old.UID != set.UID {
					c.forget(api.KeyOf(old))
				}
				c.queue.Add(api.KeyOf(set))
			},
			Delete: func(set *plain.Object) {
				c.forget(api.KeyOf(set))
				c.queue.Add(api.KeyOf(set))
			},
		})
		c.revisions.Informer.Handle(engine.Handler[*plain.Object]{Add: c.revisionAdded, Update: c.revisionUpdated, Delete: c.revisionDeleted})
		c.pods.Handle(engine.Handler[*corev1.Pod]{Add: c.podAdded, Update: c.podUpdated, Delete: c.podDeleted})
		c.nodes.Handle(engine.Handler[*corev1.Node]{
			Add: func(node *corev1.Node) { c.nodeQueue.Add(node.Name) },
			Update: func(old, node *corev1.Node) {
				// DS-011: of a node only labels and taints matter.
				if !maps.Equal(old.Labels, node.Labels) || !equality.Semantic.DeepEqual(old.Spec.Taints, node.Spec.Taints) {
					c.nodeQueue.Add(node.Name)
				}
			},
		})
	})
}

// forget removes what is known about a set, so that a new one of the same name starts without it.
func (c *controller) forget(key string) {
	c.written.Forget(key)
	c.expected.Forget(key)
}

// owner returns the set that a controller reference names.
func (c *controller) owner(namespace string, ref *metav1.OwnerReference) (*appsv1.DaemonSet, bool) {
	if ref == nil || ref.Kind != kindName {
		return nil, false
	}
	obj, ok := c.sets.Get(api.Key(namespace, ref.Name))
	if !ok || obj.UID != ref.UID {
		return nil, false
	}
	return plain.Shared[*appsv1.DaemonSet](obj), true
}

// enqueueOwner queues the set that controls an object.
func (c *controller) enqueueOwner(obj api.Object, ref *metav1.OwnerReference) {
	if set, ok := c.owner(obj.GetNamespace(), ref); ok {
		c.queue.Add(api.KeyOf(set))
	}
}

// enqueueSelecting queues the sets whose selectors match an object without a controller.
func (c *controller) enqueueSelecting(orphan metav1.Object) {
	selectorOf := func(set *plain.Object) *metav1.LabelSelector {
		return plain.Shared[*appsv1.DaemonSet](set).Spec.Selector
	}
	workload.Selecting(c.sets.List(), orphan, selectorOf, c.queue.Add)
}

// podAdded queues the set of a new pod, or the sets that may adopt it (DS-010).
func (c *controller) podAdded(pod *corev1.Pod) {
	switch ref := metav1.GetControllerOfNoCopy(pod); {
	case pod.DeletionTimestamp != nil:
		c.podDeleted(pod)
	case ref != nil:
		if set, ok := c.owner(pod.Namespace, ref); ok {
			c.expected.Created(api.KeyOf(set))
			c.queue.Add(api.KeyOf(set))
		}
	default:
		c.enqueueSelecting(pod)
	}
}

func (c *controller) podUpdated(old, pod *corev1.Pod) {
	if pod.DeletionTimestamp != nil {
		c.podDeleted(pod)
		return
	}
	ref, was := metav1.GetControllerOfNoCopy(pod), metav1.GetControllerOfNoCopy(old)
	moved := !workload.SameController(ref, was)
	if moved {
		c.enqueueOwner(old, was)
	}
	if ref == nil {
		if moved || !maps.Equal(pod.Labels, old.Labels) {
			c.enqueueSelecting(pod)
		}
		return
	}
	set, ok := c.owner(pod.Namespace, ref)
	if !ok {
		return
	}
	c.queue.Add(api.KeyOf(set))
	// DS-050: a pod that became ready is counted as available later.
	if set.Spec.MinReadySeconds > 0 && workload.Ready(old) == nil && workload.Ready(pod) != nil {
		c.queue.AddAfter(api.KeyOf(set), time.Duration(set.Spec.MinReadySeconds+1)*time.Second)
	}
}

func (c *controller) podDeleted(pod *corev1.Pod) {
	if set, ok := c.owner(pod.Namespace, metav1.GetControllerOfNoCopy(pod)); ok {
		c.expected.AnyDeleted(api.KeyOf(set))
		c.queue.Add(api.KeyOf(set))
	}
}

func (c *controller) revisionAdded(revision *plain.Object) {
	if metav1.GetControllerOfNoCopy(revision) == nil && revision.DeletionTimestamp == nil {
		c.enqueueSelecting(revision)
	}
}

func (c *controller) revisionUpdated(old, revision *plain.Object) {
	ref, was := metav1.GetControllerOfNoCopy(revision), metav1.GetControllerOfNoCopy(old)
	moved := !workload.SameController(ref, was)
	if moved {
		c.enqueueOwner(old, was)
	}
	switch {
	case ref != nil:
		c.enqueueOwner(revision, ref)
	case moved || !maps.Equal(revision.Labels, old.Labels):
		c.enqueueSelecting(revision)
	}
}

func (c *controller) revisionDeleted(revision *plain.Object) {
	c.enqueueOwner(revision, metav1.GetControllerOfNoCopy(revision))
}

// syncNode queues the sets that have to act on a change of a node (DS-011).
func (c *controller) syncNode(_ *engine.Process, name string) error {
	node, ok := c.nodes.Get(name)
	if !ok {
		return nil
	}
	scheduled := map[string]bool{}
	for _, pod := range c.pods.ByIndex(c.byNode, name) {
		if ref := metav1.GetControllerOfNoCopy(pod); ref != nil && ref.Kind == kindName {
			scheduled[api.Key(pod.Namespace, ref.Name)] = true
		}
	}
	for _, obj := range c.sets.List() {
		set, key := plain.Shared[*appsv1.DaemonSet](obj), api.KeyOf(obj)
		run, stay := admits(set, node)
		// DS-011: a pod is missing, one must go, or a misplaced one may be right now.
		if run && !scheduled[key] || !stay && scheduled[key] || scheduled[key] && set.Status.NumberMisscheduled > 0 {
			c.queue.Add(key)
		}
	}
	return nil
}

// update is one sync of a set.
type update struct {
	*controller
	key      string
	obj      *plain.Object
	set      *appsv1.DaemonSet
	ref      metav1.OwnerReference
	selector labels.Selector
	nodes    []*corev1.Node
	// hash is that of the current revision.
	hash string
}

func (c *controller) sync(p *engine.Process, key string) error {
	// DS-012: the set waits for its own writes.
	if err := c.written.Ready(key, "pods", "daemonsets"); err != nil {
		return err
	}
	obj, ok := c.sets.Get(key)
	if !ok {
		c.forget(key)
		return nil
	}
	u := &update{controller: c, key: key, obj: obj, set: plain.Shared[*appsv1.DaemonSet](obj), nodes: c.nodes.List()}
	u.ref = workload.ControllerRef(u.set, apiVersion, kindName)
	var err error
	if u.selector, err = metav1.LabelSelectorAsSelector(u.set.Spec.Selector); err != nil {
		return err
	}
	// DS-013: nothing is done for a set that is being deleted, not even its status.
	if u.set.DeletionTimestamp != nil {
		return nil
	}
	current, old, err := u.history(p)
	if err != nil {
		return fmt.Errorf("failed to construct revisions of DaemonSet: %w", err)
	}
	u.hash = current.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	if !c.expected.Met(key, p.Now()) {
		return u.writeStatus(p, false)
	}
	err = u.run(p, old)
	if failed := u.writeStatus(p, true); err == nil {
		err = failed
	}
	return err
}

// run creates and deletes pods, and removes old revisions.
func (u *update) run(p *engine.Process, old []*appsv1.ControllerRevision) error {
	if err := u.manage(p); err != nil {
		return err
	}
	// DS-043: with OnDelete the user deletes the pods.
	if u.set.Spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType && u.expected.Met(u.key, p.Now()) {
		if err := u.roll(p); err != nil {
			return err
		}
	}
	if err := u.truncate(p, old); err != nil {
		return fmt.Errorf("failed to clean up revisions of DaemonSet: %w", err)
	}
	return nil
}

// claim returns the pods of the set (DS-001).
func (u *update) claim(p *engine.Process) ([]*corev1.Pod, error) {
	return workload.Claimer{
		Pods: u.pods, ByOwner: u.byOwner, Owner: u.set, Ref: u.ref, Selector: u.selector, Fresh: u.fresh,
		Written: func(pod *corev1.Pod) { u.written.Wrote(u.key, "pods", pod) },
	}.Claim(p)
}

// fresh reads the set from the API server.
func (u *update) fresh(p *engine.Process) (api.Object, error) {
	return p.API().Get(p, api.Ref{Kind: Kind, Key: u.key})
}

// podsByNode returns the pods of the set by the names of the nodes on which they run or should run. all includes ended pods that are being
// deleted.
func (u *update) podsByNode(p *engine.Process, all bool) (map[string][]*corev1.Pod, error) {
	pods, err := u.claim(p)
	if err != nil {
		return nil, fmt.Errorf("couldn't get node to daemon pod mapping for daemon set %q: %w", u.set.Name, err)
	}
	byNode := map[string][]*corev1.Pod{}
	for _, pod := range pods {
		if !all && workload.Ended(pod) && pod.DeletionTimestamp != nil {
			continue
		}
		if node := nodeOf(pod); node != "" {
			byNode[node] = append(byNode[node], pod)
		}
	}
	return byNode, nil
}

// nodeOf returns the node of a pod, or the one that its affinity names (DS-003).
func nodeOf(pod *corev1.Pod) string {
	if pod.Spec.NodeName != "" {
		return pod.Spec.NodeName
	}
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	for _, term := range affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, r := range term.MatchFields {
			if r.Key != metav1.ObjectNameField || r.Operator != corev1.NodeSelectorOpIn {
				continue
			}
			if len(r.Values) != 1 {
				return ""
			}
			return r.Values[0]
		}
	}
	return ""
}

// byAge sorts pods with a node first, then by creation and name.
func byAge(pods []*corev1.Pod) {
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int {
		switch {
		case a.Spec.NodeName != "" && b.Spec.NodeName == "":
			return -1
		case a.Spec.NodeName == "" && b.Spec.NodeName != "":
			return 1
		}
		return workload.Older(a, b)
	})
}
