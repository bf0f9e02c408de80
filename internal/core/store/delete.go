package store

import (
	"fmt"
	"slices"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Delete deletes an object, or marks it as being deleted while it has finalizers or, for a pod, grace (API-050 to API-066).
// It returns the object as it then is, or was last. Dependents are left to the garbage collector (API-060), for which the propagation policy
// adds a finalizer (API-059). Errors: NotFound; Conflict if a precondition fails; Invalid for an unknown policy.
func (t *table[T]) Delete(key string, opts api.DeleteOptions) (T, error) {
	var none T
	c := t.whole().Get(key)
	if c == nil {
		// API-050: the object must exist.
		return none, t.notFound(key)
	}
	if err := checkPropagation(opts.PropagationPolicy); err != nil {
		return none, err
	}
	meta := metaOf(c.obj)
	// API-058: preconditions are checked first.
	if err := t.checkPreconditions(meta, opts); err != nil {
		return none, err
	}
	if !t.deletesAgain(meta, opts) {
		// API-396: a delete that changes nothing any more is not reviewed.
		if err := t.reviewDelete(c.obj, t.graceOf(c.obj, opts), false); err != nil {
			return none, err
		}
	}
	switch t.resource.kind {
	case definitionKind:
		deleted := deleteDefinition(t.store, any(t).(*table[*plain.Object]), any(c).(*cell[*plain.Object]))
		return any(deleted).(T), nil
	case NamespaceKind:
		deleted, err := deleteNamespace(t.store, any(t).(*table[*plain.Object]), any(c).(*cell[*plain.Object]))
		if err != nil {
			return none, err
		}
		return any(deleted).(T), nil
	}
	finalizers := t.collectionFinalizers(meta, opts.PropagationPolicy)
	switch {
	case !t.resource.graceful:
		return t.deleteNow(c, finalizers), nil
	case meta.DeletionTimestamp != nil:
		return t.deleteAgain(c, opts, finalizers)
	default:
		return t.deleteGracefully(c, opts, finalizers)
	}
}

// deletesAgain reports whether a delete of a pod that is being deleted already is without effect.
func (t *table[T]) deletesAgain(meta *metav1.ObjectMeta, opts api.DeleteOptions) bool {
	if !t.resource.graceful || meta.DeletionTimestamp == nil || graceOver(meta) {
		return false
	}
	return opts.GracePeriodSeconds == nil || atLeastOne(*opts.GracePeriodSeconds) >= atLeastOne(*meta.DeletionGracePeriodSeconds)
}

// deleteNow deletes an object without a grace period: at once, or as soon as its finalizers are gone. Here and below, finalizers are those
// that the propagation policy leaves.
func (t *table[T]) deleteNow(c *cell[T], finalizers []string) T {
	obj := c.obj
	meta, now := metaOf(obj), t.store.now()
	if len(finalizers) == 0 {
		// API-051: without finalizers the object is removed at once.
		return t.remove(c)
	}
	at := clock(now)
	if meta.DeletionTimestamp != nil && !meta.DeletionTimestamp.After(now) {
		at = *meta.DeletionTimestamp
	}
	// API-053, API-014: it is marked already, so nothing changes.
	if slices.Equal(finalizers, meta.Finalizers) && meta.DeletionTimestamp.Equal(&at) && meta.DeletionGracePeriodSeconds != nil && *meta.DeletionGracePeriodSeconds == 0 {
		return obj
	}
	// API-052, BIND-016: it stays, marked, until an update removes its last finalizer (see releases).
	return t.mark(c, at, 0, finalizers)
}

// deleteGracefully deletes a pod that is not being deleted yet.
func (t *table[T]) deleteGracefully(c *cell[T], opts api.DeleteOptions, finalizers []string) (T, error) {
	now := t.store.now()
	if grace := gracePeriod(c.obj, opts); grace > 0 {
		// API-063: the pod stays for its grace period, or until the kubelet deletes it without grace.
		return t.mark(c, clock(now.Add(time.Duration(grace)*time.Second)), grace, finalizers), nil
	}
	return t.kill(c, clock(now), finalizers)
}

// deleteAgain deletes a pod that is being deleted already. It can only shorten the grace period (API-065). The node and the phase of the
// pod, on which its first grace period depends, do not matter any more.
func (t *table[T]) deleteAgain(c *cell[T], opts api.DeleteOptions, finalizers []string) (T, error) {
	obj := c.obj
	meta := metaOf(obj)
	if graceOver(meta) {
		return t.deleteNow(c, finalizers), nil
	}
	current := atLeastOne(*meta.DeletionGracePeriodSeconds)
	if opts.GracePeriodSeconds == nil {
		return obj, nil
	}
	grace := atLeastOne(*opts.GracePeriodSeconds)
	if grace >= current {
		return obj, nil
	}
	now := t.store.now()
	at := meta.DeletionTimestamp.Add(time.Duration(grace-current) * time.Second)
	if at.Before(now) {
		// API-065: the shorter period is over already. Unless it was zero, one second is left.
		at, grace = now, min(grace, 1)
	}
	if grace > 0 {
		return t.mark(c, clock(at), grace, finalizers), nil
	}
	return t.kill(c, clock(at), finalizers)
}

// kill deletes a pod without grace (API-064): it writes the mark first, then removes the pod unless finalizers block that.
func (t *table[T]) kill(c *cell[T], at metav1.Time, finalizers []string) (T, error) {
	obj := t.mark(c, at, 0, finalizers)
	if blocked(metaOf(obj)) {
		return obj, nil
	}
	// API-396: the mark and the removal are two writes for webhooks, too.
	if err := t.reviewDelete(obj, new(int64), true); err != nil {
		var none T
		return none, err
	}
	if t.store.dry {
		return obj, nil // the mark, which a dry run does not store, is part of the answer
	}
	return t.remove(c), nil
}

// graceOf returns the grace period of a delete, as webhooks see it: nil for kinds other than pods, unless the request has one.
func (t *table[T]) graceOf(obj T, opts api.DeleteOptions) *int64 {
	if !t.resource.graceful || metaOf(obj).DeletionTimestamp != nil {
		return opts.GracePeriodSeconds
	}
	return new(gracePeriod(obj, opts))
}

// gracePeriod returns the grace period, in seconds, of a delete (API-062): zero for kinds other than pods.
func gracePeriod(obj api.Object, opts api.DeleteOptions) int64 {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return 0
	}
	grace := int64(0)
	if pod.Spec.TerminationGracePeriodSeconds != nil {
		grace = *pod.Spec.TerminationGracePeriodSeconds
	}
	if opts.GracePeriodSeconds != nil {
		grace = *opts.GracePeriodSeconds
	}
	// API-062: a pod that does not run needs no grace.
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		grace = 0
	}
	return atLeastOne(grace)
}

// atLeastOne replaces a negative grace period by one second.
func atLeastOne(grace int64) int64 {
	if grace < 0 {
		return 1
	}
	return grace
}

// mark writes deletionTimestamp, grace and finalizers. The first mark of an object whose generation counts raises it (API-031).
func (t *table[T]) mark(c *cell[T], at metav1.Time, grace int64, finalizers []string) T {
	obj := t.strategy.Shallow(c.obj)
	meta := metaOf(obj)
	if meta.DeletionTimestamp == nil && meta.Generation > 0 {
		meta.Generation++
	}
	memory := &struct {
		at    metav1.Time
		grace int64
	}{at, grace}
	meta.DeletionTimestamp, meta.DeletionGracePeriodSeconds = &memory.at, &memory.grace
	meta.Finalizers = finalizers
	t.put(c, obj)
	return obj
}

// DeleteAll deletes every object that match selects, each by the rules of Delete (API-061), and returns their number. A nil match selects
// all. It stops at the first object whose precondition fails.
func (t *table[T]) DeleteAll(match func(T) bool, opts api.DeleteOptions) (int, error) {
	n := 0
	for _, obj := range t.List() {
		if match != nil && !match(obj) {
			continue
		}
		if _, err := t.Delete(api.KeyOf(obj), opts); err != nil {
			return n, fmt.Errorf("delete %s: %w", api.KeyOf(obj), err)
		}
		n++
	}
	return n, nil
}
