// Package namespace deletes the content of namespaces that are being deleted, as the namespace controller of kube-controller-manager does.
//
// It deletes pods first (NS-021), then the objects of all other kinds, and writes the outcome into the conditions of the namespace (NS-024).
// As long as objects remain it tries again; a finalizer of one object can keep the whole namespace (NS-023). At the end it removes its own
// finalizer from the spec of the namespace (NS-025).
//
// Discovery of kinds cannot fail here. Kinds are deleted in the order of store.Store.NamespacedKinds; upstream has no order.
package namespace

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// background are the options of each deletion (NS-021).
var background = api.DeleteOptions{PropagationPolicy: metav1.DeletePropagationBackground}

const (
	workers = 10
	// deletionDelay is the time from the deletion of a namespace to its first sync (NS-020).
	deletionDelay = 5 * time.Second
	// finalizerEstimate is the estimated time, in seconds, until finalizers release the remaining objects (NS-023).
	finalizerEstimate = 15
	// resyncPeriod is the time between two changes of nothing that informers report (NS-020).
	resyncPeriod = 5 * time.Minute
	retryStart   = 5 * time.Millisecond
	retryMax     = time.Minute
)

// controller is one life of the namespace controller.
type controller struct {
	store      *store.Store
	namespaces engine.Informer[*plain.Object]
	queue      *engine.Queue
	resync     *engine.Ticker
	// remaining describes what was left of each namespace after its last sync.
	remaining map[string]string
}

// New adds the controller. table contains the namespaces.
func New(e *engine.Engine, table store.Table[*plain.Object]) (*engine.Actor, error) {
	return e.NewActor(actors.Namespace, func(a *engine.Actor) {
		c := &controller{store: e.Store(), namespaces: engine.NewInformer(a, table), remaining: map[string]string{}}
		a.Keeps(&c.remaining)
		c.queue = a.NewQueue(engine.QueueConfig{
			Name: "namespace", Workers: workers, Limiter: engine.NewLimiter(retryStart, retryMax, 10, 100), Sync: c.sync,
		})
		// NS-020: a resync reaches the queue last of all at its instant, through store, reflector and handler. So it does not fall to a delay that
		// ends then.
		c.resync = a.NewTicker(engine.TickerConfig{Name: "resync", Period: resyncPeriod, First: a.UntilResync(resyncPeriod), Fixed: true, Rank: 1,
			Pass: func(*engine.Process) {
				for _, ns := range c.namespaces.List() {
					c.enqueue(ns)
				}
			}})
		c.namespaces.Handle(engine.Handler[*plain.Object]{
			Add:    c.enqueue,
			Update: func(_, ns *plain.Object) { c.enqueue(ns) },
		})
	})
}

// enqueue queues a namespace that is being deleted.
func (c *controller) enqueue(ns *plain.Object) {
	// NS-020: each change of a deleted namespace leads to a sync after a delay, and so does each resync.
	if ns.DeletionTimestamp != nil {
		c.queue.AddAfter(ns.Name, deletionDelay)
		c.resync.ArmBackground()
	}
}

func (c *controller) sync(p *engine.Process, name string) error {
	if _, ok := c.namespaces.Get(name); !ok {
		return nil
	}
	ns, err := c.get(p, name)
	if apierrors.IsNotFound(err) || err == nil && ns.DeletionTimestamp == nil {
		return nil
	}
	if err != nil {
		return err
	}
	// NS-026: the sync goes on with the version that it has written, or that another client has.
	if ns, err = c.untilCurrent(p, ns, terminate); err != nil {
		return ignoreNotFound(err)
	}
	// NS-025: another finalizer in the spec is not this controller's.
	if len(ns.Spec.Finalizers) == 0 {
		return nil
	}
	estimate, left, err := c.deleteContent(p, ns)
	if err != nil {
		return err
	}
	if estimate > 0 {
		stuck := c.remaining[name] == left
		c.remaining[name] = left
		// NS-022: the next try is after half the estimated time.
		return &engine.Retry{
			Err:        fmt.Errorf("some content remains in the namespace, estimate %d seconds before it is removed", estimate),
			After:      time.Duration(estimate/2+1) * time.Second,
			Background: stuck,
		}
	}
	delete(c.remaining, name)
	_, err = c.untilCurrent(p, ns, finalize)
	return ignoreNotFound(err)
}

// untilCurrent calls write, after a conflict again with the newest version. It returns what write has stored.
func (c *controller) untilCurrent(p *engine.Process, ns *corev1.Namespace,
	write func(*engine.Process, *corev1.Namespace) (api.Object, error)) (*corev1.Namespace, error) {
	for {
		obj, err := write(p, ns)
		switch {
		case err == nil:
			return plain.As[*corev1.Namespace](obj)
		case !apierrors.IsConflict(err):
			return nil, err
		}
		uid := ns.UID
		if ns, err = c.get(p, ns.Name); err != nil {
			return nil, err
		}
		if ns.UID != uid {
			return nil, fmt.Errorf("namespace uid has changed across retries")
		}
	}
}

// terminate writes the phase of a namespace that is being deleted (NS-026).
func terminate(p *engine.Process, ns *corev1.Namespace) (api.Object, error) {
	if ns.Status.Phase == corev1.NamespaceTerminating {
		return ns, nil
	}
	next := *ns
	next.Status.Phase = corev1.NamespaceTerminating
	return p.API().Update(p, &next, api.Status, store.UpdateOptions{})
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (c *controller) get(p *engine.Process, name string) (*corev1.Namespace, error) {
	obj, err := p.API().Get(p, api.Ref{Kind: store.NamespaceKind, Key: name})
	if err != nil {
		return nil, err
	}
	return plain.As[*corev1.Namespace](obj)
}

// finalize removes the finalizer of the controller from the spec of a namespace (NS-025).
func finalize(p *engine.Process, ns *corev1.Namespace) (api.Object, error) {
	// NS-025: the other finalizers stay, sorted. The version is that of the sync's begin, so writing the conditions makes it a conflict.
	var rest []string
	for _, name := range ns.Spec.Finalizers {
		if name != corev1.FinalizerKubernetes {
			rest = append(rest, string(name))
		}
	}
	slices.Sort(rest)
	return p.API().FinalizeNamespace(p, ns.Name, ns.ResourceVersion, slices.Compact(rest))
}

// content counts what is left in a namespace.
type content struct {
	estimate   int64
	byKind     map[schema.GroupResource]int
	finalizers map[string]int
	errs       []error
}

// deleteContent deletes the objects in a namespace and updates its conditions. It returns an estimate in seconds of when the rest will be
// gone, zero if nothing is left, and a description of the rest.
func (c *controller) deleteContent(p *engine.Process, ns *corev1.Namespace) (estimate int64, left string, err error) {
	rest := &content{byKind: map[schema.GroupResource]int{}, finalizers: map[string]int{}}
	c.deleteKind(p, ns, api.Pod, rest)
	podErrs := len(rest.errs)
	// NS-021: as long as pods remain, nothing else is deleted, and conditions do not mention what remains.
	if podsRemain := len(rest.byKind) > 0; podsRemain {
		left = rest.describe()
		rest.byKind, rest.finalizers = nil, nil
	} else {
		// NS-021: all kinds that the server knows, whether they have objects or not.
		for _, known := range c.store.NamespacedKinds() {
			if kind := api.Kind(known.Name()); kind != api.Pod {
				c.deleteKind(p, ns, kind, rest)
			}
		}
		left = rest.describe()
	}
	if next, changed := updated(ns, rest.conditions(p.Now())); changed {
		// NS-024: a failure to write conditions is ignored.
		_, _ = p.API().Update(p, next, api.Status, store.UpdateOptions{})
	}
	for i := range podErrs {
		// NS-024: the conditions have the error as it is.
		rest.errs[i] = fmt.Errorf("failed to delete pods for namespace: %s, err: %w", ns.Name, rest.errs[i])
	}
	return rest.estimate, left, utilerrors.NewAggregate(rest.errs)
}

// deleteKind deletes the objects of one kind in a namespace, and adds those that are left to rest.
func (c *controller) deleteKind(p *engine.Process, ns *corev1.Namespace, kind api.Kind, rest *content) {
	fail := func(err error) { rest.errs = append(rest.errs, err) }
	estimate, err := graceOf(p, ns, kind)
	if err != nil {
		fail(err)
		return
	}
	// NS-021: the objects of one kind are deleted with their own grace period; dependents are left to the garbage collector.
	err = p.API().DeleteCollection(p, kind, ns.Name, background)
	var objs []api.Object
	if err == nil {
		objs, err = p.API().List(p, kind, ns.Name)
	}
	if err != nil {
		rest.estimate = max(rest.estimate, estimate)
		fail(err)
		return
	}
	if len(objs) == 0 {
		return
	}
	known := c.store.Describe(kind)
	rest.byKind[schema.GroupResource{Group: known.Group, Resource: known.Plural}] = len(objs)
	held := false
	for _, obj := range objs {
		for _, name := range obj.GetFinalizers() {
			rest.finalizers[name]++
			held = true
		}
	}
	switch {
	case estimate > 0:
	case held:
		// NS-023: finalizers are expected to be removed soon.
		estimate = finalizerEstimate
	default:
		// NS-023: an object without grace and finalizers should be gone.
		gvr := known.GroupVersionKind().GroupVersion().WithResource(known.Plural)
		fail(fmt.Errorf("unexpected items still remain in namespace: %s for gvr: %v", ns.Name, gvr))
	}
	rest.estimate = max(rest.estimate, estimate)
}

// graceOf estimates the time, in seconds, that the pods of a namespace need to end: their longest grace period (NS-022). It is zero when
// that time has passed since the deletion of the namespace, and for other kinds.
func graceOf(p *engine.Process, ns *corev1.Namespace, kind api.Kind) (int64, error) {
	if kind != api.Pod {
		return 0, nil
	}
	pods, err := p.API().List(p, api.Pod, ns.Name)
	if err != nil {
		return 0, err
	}
	estimate := int64(0)
	for _, obj := range pods {
		pod := obj.(*corev1.Pod)
		ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if grace := pod.Spec.TerminationGracePeriodSeconds; !ended && grace != nil {
			estimate = max(estimate, *grace)
		}
	}
	// NS-022: after that time the estimate is no longer trusted.
	if p.Now().Sub(ns.DeletionTimestamp.Time) >= time.Duration(estimate)*time.Second {
		return 0, nil
	}
	return estimate, nil
}

// describe returns a text that changes when something of the rest is gone.
func (r *content) describe() string { return fmt.Sprint(r.resources(), r.held()) }

func (r *content) resources() []string {
	var list []string
	for resource, n := range r.byKind {
		list = append(list, fmt.Sprintf("%s.%s has %d resource instances", resource.Resource, resource.Group, n))
	}
	slices.Sort(list)
	return list
}

func (r *content) held() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(r.finalizers)) {
		list = append(list, fmt.Sprintf("%s in %d resource instances", name, r.finalizers[name]))
	}
	slices.Sort(list)
	return list
}

// conditions returns the conditions of a namespace with this rest (NS-024).
func (r *content) conditions(now time.Time) []corev1.NamespaceCondition {
	// NS-024: there are five conditions; False is good.
	good := func(name corev1.NamespaceConditionType, reason, message string) corev1.NamespaceCondition {
		return corev1.NamespaceCondition{
			Type: name, Status: corev1.ConditionFalse, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(now),
		}
	}
	conditions := []corev1.NamespaceCondition{
		good(corev1.NamespaceDeletionDiscoveryFailure, "ResourcesDiscovered", "All resources successfully discovered"),
		good(corev1.NamespaceDeletionGVParsingFailure, "ParsedGroupVersions", "All legacy kube types successfully parsed"),
		good(corev1.NamespaceDeletionContentFailure, "ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
		good(corev1.NamespaceContentRemaining, "ContentRemoved", "All content successfully removed"),
		good(corev1.NamespaceFinalizersRemaining, "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
	}
	bad := func(i int, reason, message string) {
		conditions[i].Status, conditions[i].Reason, conditions[i].Message = corev1.ConditionTrue, reason, message
	}
	if len(r.errs) > 0 {
		var messages []string
		for _, err := range r.errs {
			messages = append(messages, err.Error())
		}
		slices.Sort(messages)
		bad(2, "ContentDeletionFailed", fmt.Sprintf("Failed to delete all resource types, %d remaining: %v", len(messages), strings.Join(messages, ", ")))
	}
	if list := r.resources(); len(list) > 0 {
		bad(3, "SomeResourcesRemain", "Some resources are remaining: "+strings.Join(list, ", "))
	}
	if list := r.held(); len(list) > 0 {
		bad(4, "SomeFinalizersRemain", "Some content in the namespace has finalizers remaining: "+strings.Join(list, ", "))
	}
	return conditions
}

// updated returns the namespace with the conditions, and whether that changes any.
func updated(ns *corev1.Namespace, conditions []corev1.NamespaceCondition) (*corev1.Namespace, bool) {
	next, changed := ns.DeepCopy(), false
	for _, c := range conditions {
		i := slices.IndexFunc(next.Status.Conditions, func(old corev1.NamespaceCondition) bool { return old.Type == c.Type })
		if i < 0 {
			next.Status.Conditions, changed = append(next.Status.Conditions, c), true
			continue
		}
		old := &next.Status.Conditions[i]
		if old.Status == c.Status && old.Reason == c.Reason && old.Message == c.Message {
			continue
		}
		if old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		*old, changed = c, true
	}
	return next, changed
}
