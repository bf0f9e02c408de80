package statefulset

import (
	"fmt"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
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
const Kind api.Kind = "StatefulSet.apps"

const (
	apiVersion = "apps/v1"
	kindName   = "StatefulSet"
	workers    = 5
)

// controller is one life of the StatefulSet controller.
type controller struct {
	store     *store.Store
	sets      engine.Informer[*plain.Object]
	pods      engine.Informer[*corev1.Pod]
	claims    engine.Informer[*corev1.PersistentVolumeClaim]
	byOwner   store.Index[*corev1.Pod]
	revisions workload.Revisions
	queue     *engine.Queue
	recorder  *engine.Recorder
	// written are the controller's own writes that its informers may lack (STS-012).
	written *workload.Consistency
	failed  engine.Repeats
}

// New adds the controller. sets contains the StatefulSets.
func New(e *engine.Engine, sets store.Table[*plain.Object]) (*engine.Actor, error) {
	revisions, err := e.Store().Other(workload.RevisionKind)
	if err != nil {
		return nil, err
	}
	byOwner := workload.IndexPods(e.Store())
	return e.NewActor(actors.StatefulSet, func(a *engine.Actor) {
		s := e.Store()
		c := &controller{
			store: s, sets: engine.NewInformer(a, sets), pods: engine.NewInformer(a, s.Pods), claims: engine.NewInformer(a, s.Claims), byOwner: byOwner,
			revisions: workload.Revisions{Informer: engine.NewInformer(a, revisions)}, recorder: a.NewRecorder("statefulset-controller"),
			failed: engine.Repeats{},
		}
		a.Keeps(&c.failed)
		c.written = workload.NewConsistency(map[string]workload.Reached{
			"pods": c.pods.Reached, "persistentvolumeclaims": c.claims.Reached, "statefulsets": c.sets.Reached,
		})
		c.queue = a.NewQueue(engine.QueueConfig{Name: "statefulset", Kind: Kind, Workers: workers, Sync: func(p *engine.Process, key string) error {
			return c.failed.Of(key, c.sync(p, key))
		}})
		c.pods.Handle(engine.Handler[*corev1.Pod]{Add: c.podAdded, Update: c.podUpdated, Delete: c.podDeleted})
		enqueue := func(set *plain.Object) { c.queue.Add(api.KeyOf(set)) }
		c.sets.Handle(engine.Handler[*plain.Object]{Add: enqueue, Update: func(_, set *plain.Object) { enqueue(set) }, Delete: enqueue})
	})
}

// podAdded queues the set of a new pod, or the sets that may adopt it (STS-010).
func (c *controller) podAdded(pod *corev1.Pod) {
	switch ref := metav1.GetControllerOfNoCopy(pod); {
	case pod.DeletionTimestamp != nil:
		c.podDeleted(pod)
	case ref != nil:
		c.enqueue(pod.Namespace, ref)
	default:
		c.enqueueSelecting(pod)
	}
}

func (c *controller) podUpdated(old, pod *corev1.Pod) {
	ref, was := metav1.GetControllerOfNoCopy(pod), metav1.GetControllerOfNoCopy(old)
	moved := !workload.SameController(ref, was)
	if moved && was != nil {
		c.enqueue(old.Namespace, was)
	}
	if ref == nil {
		if moved || !maps.Equal(pod.Labels, old.Labels) {
			c.enqueueSelecting(pod)
		}
		return
	}
	set, ok := c.enqueue(pod.Namespace, ref)
	// STS-050: a pod that became ready is counted as available later.
	if ok && set.Spec.MinReadySeconds > 0 && workload.Ready(old) == nil && workload.Ready(pod) != nil {
		c.queue.AddAfter(api.KeyOf(set), time.Duration(set.Spec.MinReadySeconds)*time.Second)
	}
}

func (c *controller) podDeleted(pod *corev1.Pod) {
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		c.enqueue(pod.Namespace, ref)
	}
}

// enqueue queues the set that a controller reference names.
func (c *controller) enqueue(namespace string, ref *metav1.OwnerReference) (*appsv1.StatefulSet, bool) {
	if ref.Kind != kindName {
		return nil, false
	}
	key := api.Key(namespace, ref.Name)
	obj, ok := c.sets.Get(key)
	if !ok || obj.UID != ref.UID {
		return nil, false
	}
	c.queue.Add(key)
	return plain.Shared[*appsv1.StatefulSet](obj), true
}

// enqueueSelecting queues the sets whose selectors match a pod without a controller.
func (c *controller) enqueueSelecting(pod *corev1.Pod) {
	selectorOf := func(set *plain.Object) *metav1.LabelSelector {
		return plain.Shared[*appsv1.StatefulSet](set).Spec.Selector
	}
	workload.Selecting(c.sets.List(), pod, selectorOf, c.queue.Add)
}

// update is one sync of a set.
type update struct {
	*controller
	key string
	obj *plain.Object
	set *appsv1.StatefulSet
	ref metav1.OwnerReference
	now time.Time
}

func (c *controller) sync(p *engine.Process, key string) error {
	if err := c.written.Ready(key, "pods", "persistentvolumeclaims", "statefulsets"); err != nil {
		return err
	}
	obj, ok := c.sets.Get(key)
	if !ok {
		c.written.Forget(key)
		return nil
	}
	u := &update{controller: c, key: key, obj: obj, set: plain.Shared[*appsv1.StatefulSet](obj), now: p.Now()}
	u.ref = workload.ControllerRef(u.set, apiVersion, kindName)
	selector, err := metav1.LabelSelectorAsSelector(u.set.Spec.Selector)
	if err != nil {
		return nil
	}
	if err := u.adoptRevisions(p, selector); err != nil {
		return err
	}
	pods, err := workload.Claimer{
		Pods: c.pods, ByOwner: c.byOwner, Owner: u.set, Ref: u.ref, Selector: selector, Fresh: u.fresh,
		// STS-011: the name of a pod decides whether it can belong to the set.
		Member:  func(pod *corev1.Pod) bool { parent, _ := parse(pod.Name); return parent == u.set.Name },
		Written: func(pod *corev1.Pod) { c.written.Wrote(key, "pods", pod) },
	}.Claim(p)
	if err != nil {
		return err
	}
	status, err := u.run(p, pods, selector)
	if err != nil {
		return err
	}
	// STS-050: the next check of availability.
	if seconds := u.set.Spec.MinReadySeconds; seconds > 0 && status.ReadyReplicas != status.AvailableReplicas {
		next := time.Duration(seconds) * time.Second
		if earlier, ok := workload.NextAvailable(pods, seconds, u.now); ok {
			next = earlier
		}
		c.queue.AddAfter(key, next)
	}
	return nil
}

// fresh reads the set from the API server.
func (u *update) fresh(p *engine.Process) (api.Object, error) {
	return p.API().Get(p, api.Ref{Kind: Kind, Key: u.key})
}

// adoptRevisions adopts revisions without a controller that the selector matches (STS-011).
func (u *update) adoptRevisions(p *engine.Process, selector labels.Selector) error {
	checked := false
	for _, revision := range u.revisions.List(u.set, selector) {
		if metav1.GetControllerOfNoCopy(revision) != nil {
			continue
		}
		if !checked {
			fresh, err := u.fresh(p)
			switch {
			case err != nil:
				return fmt.Errorf("can't adopt ControllerRevisions: %w", err)
			case fresh.GetUID() != u.set.UID:
				return fmt.Errorf("can't adopt ControllerRevisions: original StatefulSet %v is gone", u.key)
			case fresh.GetDeletionTimestamp() != nil:
				return fmt.Errorf("can't adopt ControllerRevisions: %v has just been deleted at %v", u.key, fresh.GetDeletionTimestamp())
			}
			checked = true
		}
		if err := u.revisions.Adopt(p, u.ref, revision); err != nil {
			return err
		}
	}
	return nil
}
