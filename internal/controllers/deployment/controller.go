package deployment

import (
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/workload"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// Kind is the kind of Deployments.
const Kind api.Kind = "Deployment.apps"

const (
	apiVersion          = "apps/v1"
	kindName            = "Deployment"
	setKind    api.Kind = "ReplicaSet.apps"
	workers             = 5
	// maxRetries is how often a failed key is retried in a row (DEP-011).
	maxRetries = 15
)

// controller is one life of the Deployment controller.
type controller struct {
	actor       *engine.Actor
	deployments engine.Informer[*plain.Object]
	sets        engine.Informer[*plain.Object]
	setTable    store.Table[*plain.Object]
	pods        engine.Informer[*corev1.Pod]
	byOwner     store.Index[*corev1.Pod]
	queue       *engine.Queue
	recorder    *engine.Recorder
	failed      engine.Repeats
	// deleted are the deleted pods that the controller still has to handle, the first of them now (DEP-041).
	deleted []*corev1.Pod
}

// New adds the controller. deployments contains the Deployments.
func New(e *engine.Engine, deployments store.Table[*plain.Object]) (*engine.Actor, error) {
	sets, err := e.Store().Other(setKind)
	if err != nil {
		return nil, err
	}
	byOwner := workload.IndexPods(e.Store())
	return e.NewActor(actors.Deployment, func(a *engine.Actor) {
		c := &controller{
			actor: a, deployments: engine.NewInformer(a, deployments), sets: engine.NewInformer(a, sets), setTable: sets, pods: engine.NewInformer(a, e.Store().Pods),
			byOwner: byOwner, recorder: a.NewRecorder("deployment-controller"), failed: engine.Repeats{},
		}
		a.Keeps(&c.failed, &c.deleted)
		c.queue = a.NewQueue(engine.QueueConfig{Name: "deployment", Kind: Kind, Workers: workers, Sync: c.work})
		enqueue := func(d *plain.Object) { c.queue.Add(api.KeyOf(d)) }
		c.deployments.Handle(engine.Handler[*plain.Object]{Add: enqueue, Update: func(_, d *plain.Object) { enqueue(d) }, Delete: enqueue})
		c.sets.Handle(engine.Handler[*plain.Object]{Add: c.setAdded, Update: c.setUpdated, Delete: c.setDeleted})
		c.pods.Handle(engine.Handler[*corev1.Pod]{Delete: c.podDeleted})
	})
}

// work syncs a key, and decides whether a failure is retried (DEP-011).
func (c *controller) work(p *engine.Process, key string) error {
	err := c.sync(p, key)
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		// DEP-011: in a namespace that is being deleted nothing can be created, and nothing is retried.
		err = nil
	case err != nil && c.queue.Failures(key) >= maxRetries:
		// DEP-011: after 15 retries the key waits for the next change.
		if obj, ok := c.deployments.Get(key); ok {
			p.Decide("DEP-011", obj, "no retry until the next change: %v", err)
		}
		err = nil
	}
	return c.failed.Of(key, err)
}

// setAdded queues the Deployment of a new ReplicaSet, or those that may adopt it (DEP-010).
func (c *controller) setAdded(set *plain.Object) {
	switch ref := metav1.GetControllerOfNoCopy(set); {
	case ref != nil:
		c.enqueueOwner(set.Namespace, ref)
	case set.DeletionTimestamp == nil:
		c.enqueueSelecting(set)
	}
}

func (c *controller) setUpdated(old, set *plain.Object) {
	ref, was := metav1.GetControllerOfNoCopy(set), metav1.GetControllerOfNoCopy(old)
	moved := !workload.SameController(ref, was)
	if moved && was != nil {
		c.enqueueOwner(old.Namespace, was)
	}
	switch {
	case ref != nil:
		c.enqueueOwner(set.Namespace, ref)
	case moved || !maps.Equal(set.Labels, old.Labels):
		c.enqueueSelecting(set)
	}
}

func (c *controller) setDeleted(set *plain.Object) {
	if ref := metav1.GetControllerOfNoCopy(set); ref != nil {
		c.enqueueOwner(set.Namespace, ref)
	}
}

// podDeleted handles the deletion of a pod, after the deletions before it.
func (c *controller) podDeleted(pod *corev1.Pod) {
	if len(c.deleted) == 0 && c.recreated(pod) == nil {
		return
	}
	if c.deleted = append(c.deleted, pod); len(c.deleted) == 1 {
		c.actor.Go("deleted pods", func(p *engine.Process) {
			for len(c.deleted) > 0 {
				c.enqueueWithoutPods(p, c.deleted[0])
				c.deleted = c.deleted[1:]
			}
		})
	}
}

// enqueueWithoutPods queues the Deployment of a deleted pod if its strategy is Recreate and its last pod is gone (DEP-041).
func (c *controller) enqueueWithoutPods(p *engine.Process, pod *corev1.Pod) {
	d := c.recreated(pod)
	if d == nil {
		return
	}
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return
	}
	// DEP-041: the sets are read from the API server. If that fails, the Deployment is not queued.
	sets, err := p.API().List(p, setKind, d.Namespace)
	if err != nil {
		return
	}
	for _, set := range sets {
		if metav1.IsControlledBy(set, d) && selector.Matches(labels.Set(set.GetLabels())) && len(c.pods.ByIndex(c.byOwner, string(set.GetUID()))) > 0 {
			return
		}
	}
	c.queue.Add(api.KeyOf(d))
}

// recreated returns the Deployment of a pod if its strategy is Recreate, or nil.
func (c *controller) recreated(pod *corev1.Pod) *appsv1.Deployment {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil || ref.Kind != "ReplicaSet" {
		return nil
	}
	set, ok := c.sets.Get(api.Key(pod.Namespace, ref.Name))
	if !ok || set.UID != ref.UID {
		return nil
	}
	if ref = metav1.GetControllerOfNoCopy(set); ref == nil {
		return nil
	}
	obj, ok := c.owner(pod.Namespace, ref)
	if !ok {
		return nil
	}
	if d := plain.Shared[*appsv1.Deployment](obj); d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return d
	}
	return nil
}

// owner returns the Deployment that a controller reference names.
func (c *controller) owner(namespace string, ref *metav1.OwnerReference) (*plain.Object, bool) {
	if ref.Kind != kindName {
		return nil, false
	}
	obj, ok := c.deployments.Get(api.Key(namespace, ref.Name))
	return obj, ok && obj.UID == ref.UID
}

func (c *controller) enqueueOwner(namespace string, ref *metav1.OwnerReference) {
	if d, ok := c.owner(namespace, ref); ok {
		c.queue.Add(api.KeyOf(d))
	}
}

// enqueueSelecting queues the Deployments whose selectors match a set without a controller.
func (c *controller) enqueueSelecting(set *plain.Object) {
	selectorOf := func(d *plain.Object) *metav1.LabelSelector { return plain.Shared[*appsv1.Deployment](d).Spec.Selector }
	workload.Selecting(c.deployments.List(), set, selectorOf, c.queue.Add)
}

// rollout is one sync of a Deployment.
type rollout struct {
	*controller
	key string
	obj *plain.Object
	// d is a copy of the Deployment. A sync changes its status and its revision, but never its version: a second write of one sync is a
	// conflict (DEP-012).
	d    *appsv1.Deployment
	sets []*appsv1.ReplicaSet
}

func (c *controller) sync(p *engine.Process, key string) error {
	obj, ok := c.deployments.Get(key)
	if !ok {
		return nil
	}
	u := &rollout{controller: c, key: key, obj: obj, d: plain.Shared[*appsv1.Deployment](obj).DeepCopy()}
	if err := u.claim(p); err != nil {
		return err
	}
	if u.d.DeletionTimestamp != nil {
		// DEP-013: a Deployment that is being deleted only gets its status.
		newSet, old, err := u.findSets(p, false)
		if err != nil {
			return err
		}
		return u.writeStatus(p, u.status(p.Now(), newSet, old))
	}
	if err := u.notePause(p); err != nil {
		return err
	}
	if u.d.Spec.Paused {
		// DEP-060: a paused Deployment is not rolled out.
		return u.scale(p)
	}
	if revision, ok := rollbackTo(u.d); ok {
		return u.rollBack(p, revision)
	}
	scaled, err := u.wasScaled(p)
	switch {
	case err != nil:
		return err
	case scaled:
		return u.scale(p)
	case u.d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
		return u.recreate(p)
	case u.d.Spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType:
		return u.roll(p)
	}
	return fmt.Errorf("unexpected deployment strategy type: %s", u.d.Spec.Strategy.Type)
}

// claim finds the sets of the Deployment. It adopts those without a controller that the selector matches, and releases those of its own
// that it no longer matches (DEP-001).
func (u *rollout) claim(p *engine.Process) error {
	selector, err := metav1.LabelSelectorAsSelector(u.d.Spec.Selector)
	if err != nil {
		return fmt.Errorf("deployment %s/%s has invalid label selector: %w", u.d.Namespace, u.d.Name, err)
	}
	var errs []error
	var mayAdopt func() error
	for _, obj := range u.controller.sets.List() {
		if obj.Namespace != u.d.Namespace {
			continue
		}
		set, ref := plain.Shared[*appsv1.ReplicaSet](obj), metav1.GetControllerOfNoCopy(obj)
		matches := selector.Matches(labels.Set(obj.Labels))
		switch {
		case ref != nil && ref.UID != u.d.UID:
		case ref != nil && matches:
			u.sets = append(u.sets, set)
		case u.d.DeletionTimestamp != nil, ref == nil && (!matches || obj.DeletionTimestamp != nil):
		case ref != nil:
			// DEP-001: a set that the selector no longer matches is released.
			p.Decide("DEP-001", obj, "deployment %s no longer selects the set", u.d.Name)
			if err := workload.PatchOwners(p, u.setTable, obj, func(refs []metav1.OwnerReference) []metav1.OwnerReference {
				return workload.WithoutOwner(refs, u.d)
			}); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsInvalid(err) {
				errs = append(errs, err)
			}
		default:
			if mayAdopt == nil {
				err := workload.MayAdopt(p, u.d, kindName, u.fresh)
				mayAdopt = func() error { return err }
			}
			if err := mayAdopt(); err != nil {
				errs = append(errs, fmt.Errorf("can't adopt ReplicaSet %v/%v (%v): %w", obj.Namespace, obj.Name, obj.UID, err))
				continue
			}
			// DEP-001: a set without a controller that the selector matches is adopted.
			p.Decide("DEP-001", obj, "deployment %s selects the set, which has no controller", u.d.Name)
			err := workload.PatchOwners(p, u.setTable, obj, func(refs []metav1.OwnerReference) []metav1.OwnerReference {
				return append(workload.WithoutOwner(refs, u.d), workload.ControllerRef(u.d, apiVersion, kindName))
			})
			switch {
			case err == nil:
				u.sets = append(u.sets, set)
			case !apierrors.IsNotFound(err):
				errs = append(errs, err)
			}
		}
	}
	return workload.Aggregate(errs)
}

// fresh reads the Deployment from the API server.
func (u *rollout) fresh(p *engine.Process) (api.Object, error) {
	return p.API().Get(p, api.Ref{Kind: Kind, Key: u.key})
}
