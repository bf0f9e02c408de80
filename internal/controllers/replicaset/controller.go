package replicaset

import (
	"fmt"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/workload"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/parallel"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// Kind and ReplicationControllers are the kinds of sets.
const (
	Kind                   api.Kind = "ReplicaSet.apps"
	ReplicationControllers api.Kind = "ReplicationController"
)

const (
	workers = 5
	// burst is how many pods a sync creates or deletes at most (RS-020).
	burst = 500
)

// controller is one life of the controller of a kind of sets.
type controller struct {
	*kind
	sets     engine.Informer[*plain.Object]
	pods     engine.Informer[*corev1.Pod]
	byOwner  store.Index[*corev1.Pod]
	queue    *engine.Queue
	recorder *engine.Recorder
	// written are the controller's own writes that its informers may lack (RS-011). Those of ReplicationControllers are not awaited (RS-070).
	written  *workload.Consistency
	expected *workload.Expectations
	failed   engine.Repeats
}

// New adds the controller of ReplicaSets, which sets contains.
func New(e *engine.Engine, sets store.Table[*plain.Object]) (*engine.Actor, error) {
	return replicaSets.add(e, sets)
}

// NewReplicationController adds the controller of ReplicationControllers, which sets contains.
func NewReplicationController(e *engine.Engine, sets store.Table[*plain.Object]) (*engine.Actor, error) {
	return replicationControllers.add(e, sets)
}

func (k *kind) add(e *engine.Engine, sets store.Table[*plain.Object]) (*engine.Actor, error) {
	byOwner := workload.IndexPods(e.Store())
	return e.NewActor(k.actor, func(a *engine.Actor) {
		c := &controller{
			kind: k, sets: engine.NewInformer(a, sets), pods: engine.NewInformer(a, e.Store().Pods), byOwner: byOwner,
			recorder: a.NewRecorder(k.actor), expected: workload.NewExpectations(),
			failed: engine.Repeats{},
		}
		a.Keeps(&c.failed)
		awaited := map[string]workload.Reached{}
		if k.consistent {
			awaited["pods"], awaited[k.resource] = c.pods.Reached, c.sets.Reached
		}
		c.written = workload.NewConsistency(awaited)
		c.queue = a.NewQueue(engine.QueueConfig{Name: k.queueName, Kind: k.of, Workers: workers, Sync: func(p *engine.Process, key string) error {
			return c.failed.Of(key, c.sync(p, key))
		}})
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
		c.pods.Handle(engine.Handler[*corev1.Pod]{Add: c.podAdded, Update: c.podUpdated, Delete: c.podDeleted})
	})
}

// forget removes what is known about a set, so that a new one of the same name starts without it.
func (c *controller) forget(key string) {
	c.written.Forget(key)
	c.expected.Forget(key)
}

// podAdded queues the set of a new pod, or the sets that may adopt it (RS-010).
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
	relabelled := !maps.Equal(pod.Labels, old.Labels)
	if pod.DeletionTimestamp != nil {
		// RS-010: for a set the pod is gone when its deletion begins.
		c.podDeleted(pod)
		if relabelled {
			c.podDeleted(old)
		}
		return
	}
	ref, was := metav1.GetControllerOfNoCopy(pod), metav1.GetControllerOfNoCopy(old)
	moved := !workload.SameController(ref, was)
	if moved && was != nil {
		if set, ok := c.owner(old.Namespace, was); ok {
			c.queue.Add(api.KeyOf(set))
		}
	}
	if ref == nil {
		if moved || relabelled {
			c.enqueueSelecting(pod)
		}
		return
	}
	set, ok := c.owner(pod.Namespace, ref)
	if !ok {
		return
	}
	c.queue.Add(api.KeyOf(set))
	// RS-040: a pod that became ready is counted as available later.
	if set.Spec.MinReadySeconds > 0 && workload.Ready(old) == nil && workload.Ready(pod) != nil {
		c.queue.AddAfter(api.KeyOf(set), time.Duration(set.Spec.MinReadySeconds)*time.Second)
	}
}

func (c *controller) podDeleted(pod *corev1.Pod) {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil {
		return
	}
	if set, ok := c.owner(pod.Namespace, ref); ok {
		c.expected.Deleted(api.KeyOf(set), string(pod.UID))
		c.queue.Add(api.KeyOf(set))
	}
}

// owner returns the set that a controller reference names.
func (c *controller) owner(namespace string, ref *metav1.OwnerReference) (*appsv1.ReplicaSet, bool) {
	if ref.Kind != c.name {
		return nil, false
	}
	obj, ok := c.sets.Get(api.Key(namespace, ref.Name))
	if !ok || obj.UID != ref.UID {
		return nil, false
	}
	return c.set(obj), true
}

// enqueueSelecting queues the sets whose selectors match a pod without a controller.
func (c *controller) enqueueSelecting(pod *corev1.Pod) {
	workload.Selecting(c.sets.List(), pod, func(set *plain.Object) *metav1.LabelSelector { return c.set(set).Spec.Selector }, c.queue.Add)
}

// update is one sync of a set.
type update struct {
	*controller
	key string
	obj *plain.Object
	set *appsv1.ReplicaSet
	ref metav1.OwnerReference
}

func (c *controller) sync(p *engine.Process, key string) error {
	if err := c.written.Ready(key, "pods", c.resource); err != nil {
		return err
	}
	obj, ok := c.sets.Get(key)
	if !ok {
		c.forget(key)
		return nil
	}
	u := &update{controller: c, key: key, obj: obj, set: c.set(obj)}
	u.ref = workload.ControllerRef(u.set, c.apiVersion, c.name)
	met := c.expected.Met(key, p.Now())
	selector, err := metav1.LabelSelectorAsSelector(u.set.Spec.Selector)
	if err != nil {
		return nil
	}
	owned := c.pods.ByIndex(c.byOwner, string(u.set.UID))
	active, err := workload.Claimer{
		Pods: c.pods, ByOwner: c.byOwner, Owner: u.set, Ref: u.ref, Selector: selector,
		// RS-012: pods that have ended or are being deleted are neither adopted nor released.
		Only: workload.Active,
		Fresh: func(p *engine.Process) (api.Object, error) {
			return p.API().Get(p, api.Ref{Kind: c.of, Key: key})
		},
		Written: func(pod *corev1.Pod) { c.written.Wrote(key, "pods", pod) },
	}.Claim(p)
	if err != nil {
		return err
	}
	terminating := int32(0)
	for _, pod := range owned {
		if pod.DeletionTimestamp != nil && !workload.Ended(pod) && selector.Matches(labels.Set(pod.Labels)) {
			terminating++
		}
	}
	var failed error
	// RS-022: a set that is being deleted only gets its status.
	if met && u.set.DeletionTimestamp == nil {
		failed = u.manage(p, active)
	}
	now := p.Now()
	status, err := u.writeStatus(p, u.status(active, terminating, failed, now))
	if err != nil || failed != nil {
		if err == nil {
			err = failed
		}
		return err
	}
	// RS-040: the next check of availability.
	if seconds := u.set.Spec.MinReadySeconds; seconds > 0 && status.ReadyReplicas != status.AvailableReplicas {
		next := time.Duration(seconds) * time.Second
		if earlier, ok := workload.NextAvailable(active, seconds, now); ok {
			next = earlier
		}
		c.queue.AddAfter(key, next)
	}
	return nil
}

// manage creates the pods that are missing, or deletes those that are too many (RS-020).
func (u *update) manage(p *engine.Process, active []*corev1.Pod) error {
	switch surplus := len(active) - int(*u.set.Spec.Replicas); {
	case surplus < 0:
		return u.create(p, min(-surplus, burst))
	case surplus > 0:
		return u.delete(p, u.victims(active, min(surplus, burst), p.Now()))
	}
	return nil
}

func (u *update) create(p *engine.Process, n int) error {
	p.Decide("RS-020", u.obj, "%d pods are missing", n)
	u.expected.Creations(u.key, n, p.Now())
	successes, errs := workload.SlowStart(p, u.queueName+" pods", n, 0, func(p *engine.Process, _ int) error {
		pod, err := p.API().Pods.Add(p, workload.FromTemplate(&u.set.Spec.Template, u.set, u.ref))
		switch {
		case err == nil:
			u.written.Wrote(u.key, "pods", pod)
			// RS-050: Events name the pods.
			u.recorder.Event(p, u.obj, corev1.EventTypeNormal, "SuccessfulCreate", "Created pod: "+pod.Name)
		case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
			// RS-023: in a namespace that is being deleted every creation fails, and none is retried.
			return nil
		default:
			u.recorder.Event(p, u.obj, corev1.EventTypeWarning, "FailedCreate", fmt.Sprintf("Error creating: %v", err))
		}
		return err
	})
	for range n - successes {
		u.expected.Created(u.key)
	}
	// RS-041: creations that fail at the same time count as one error.
	return workload.First(errs)
}

func (u *update) delete(p *engine.Process, pods []*corev1.Pod) error {
	uids := make([]string, len(pods))
	for i, pod := range pods {
		uids[i] = string(pod.UID)
	}
	u.expected.Deletions(u.key, uids, p.Now())
	var first error
	parallel.Do(p, u.queueName+" pods", len(pods), len(pods), func(p *engine.Process, i int) {
		p.Decide("RS-020", pods[i], "set %s has too many pods", u.set.Name)
		_, err := p.API().Pods.Delete(p, api.KeyOf(pods[i]), api.DeleteOptions{})
		if err == nil {
			u.recorder.Event(p, u.obj, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted pod: "+pods[i].Name)
			return
		}
		u.expected.Deleted(u.key, uids[i])
		if apierrors.IsNotFound(err) {
			return
		}
		u.recorder.Event(p, u.obj, corev1.EventTypeWarning, "FailedDelete", fmt.Sprintf("Error deleting: %v", err))
		if first == nil {
			first = fmt.Errorf("unable to delete pods: %w", err)
		}
	})
	return first
}
