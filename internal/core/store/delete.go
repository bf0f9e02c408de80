package store

import (
	"fmt"
	"time"

	"github.com/volsim/volsim/api"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Delete deletes an object, or marks it as being deleted while it has finalizers or, for a pod, grace (API-050 to API-066).
// It returns the object as it then is, or was last. Deletion is in the background: dependents are the garbage collector's
// business (API-059, API-060). Errors: NotFound; Conflict when a precondition does not hold.
func (t *Table[T]) Delete(key string, opts api.DeleteOptions) (T, error) {
	var none T
	c := t.cells.Get(key)
	if c == nil {
		// API-050: what is not there cannot be deleted.
		return none, t.notFound(key)
	}
	meta := metaOf(c.obj)
	// API-058: preconditions come before everything else.
	if err := t.checkPreconditions(meta, opts); err != nil {
		return none, err
	}
	switch {
	case !t.resource.graceful:
		return t.deleteNow(c), nil
	case meta.DeletionTimestamp != nil:
		return t.deleteAgain(c, opts), nil
	default:
		return t.deleteGracefully(c, opts), nil
	}
}

// deleteNow deletes an object that no grace holds.
func (t *Table[T]) deleteNow(c *cell[T]) T {
	obj := c.obj
	meta, now := metaOf(obj), t.store.now()
	if !blocked(meta) {
		// API-051: nothing holds the object, it is gone at once.
		return t.remove(c)
	}
	at := clock(now)
	if meta.DeletionTimestamp != nil && !meta.DeletionTimestamp.After(now) {
		at = *meta.DeletionTimestamp
	}
	// API-053, API-014: it is on its way already.
	if meta.DeletionTimestamp.Equal(&at) && meta.DeletionGracePeriodSeconds != nil && *meta.DeletionGracePeriodSeconds == 0 {
		return obj
	}
	// API-052, BIND-016: it stays, marked, until its finalizers are gone.
	return t.mark(c, at, 0)
}

// deleteGracefully deletes a pod for the first time.
func (t *Table[T]) deleteGracefully(c *cell[T], opts api.DeleteOptions) T {
	now := t.store.now()
	if grace := gracePeriod(c.obj, opts); grace > 0 {
		// API-063: the kubelet gets the time it was promised.
		return t.mark(c, clock(now.Add(time.Duration(grace)*time.Second)), grace)
	}
	return t.kill(c, clock(now))
}

// deleteAgain deletes a pod that is being deleted. It can only shorten the wait (API-065). What the pod is like, and so whether
// it would get any grace if it were deleted now, does not matter any more.
func (t *Table[T]) deleteAgain(c *cell[T], opts api.DeleteOptions) T {
	obj := c.obj
	meta := metaOf(obj)
	if graceOver(meta) {
		return t.deleteNow(c)
	}
	current := atLeastOne(*meta.DeletionGracePeriodSeconds)
	if opts.GracePeriodSeconds == nil {
		return obj
	}
	grace := atLeastOne(*opts.GracePeriodSeconds)
	if grace >= current {
		return obj
	}
	now := t.store.now()
	at := meta.DeletionTimestamp.Add(time.Duration(grace-current) * time.Second)
	if at.Before(now) {
		// API-065: what is asked for is over already. Unless it was nothing, the kubelet gets the least there is.
		at, grace = now, min(grace, 1)
	}
	if grace > 0 {
		return t.mark(c, clock(at), grace)
	}
	return t.kill(c, clock(at))
}

// kill is API-064: without grace the mark is written first, then the pod goes, unless finalizers hold it.
func (t *Table[T]) kill(c *cell[T], at metav1.Time) T {
	obj := t.mark(c, at, 0)
	if blocked(metaOf(obj)) {
		return obj
	}
	return t.remove(c)
}

// gracePeriod is what a delete of a pod asks for (API-062).
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
	// API-062: nothing runs, nothing to wait for.
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		grace = 0
	}
	return atLeastOne(grace)
}

// atLeastOne makes one second of a negative grace.
func atLeastOne(grace int64) int64 {
	if grace < 0 {
		return 1
	}
	return grace
}

// mark writes deletionTimestamp and grace. The first mark of an object whose generation counts raises it (API-031).
func (t *Table[T]) mark(c *cell[T], at metav1.Time, grace int64) T {
	obj := t.strategy.shallow(c.obj)
	meta := metaOf(obj)
	if meta.DeletionTimestamp == nil && meta.Generation > 0 {
		meta.Generation++
	}
	meta.DeletionTimestamp = &at
	meta.DeletionGracePeriodSeconds = &grace
	t.put(c, obj)
	return obj
}

// DeleteAll deletes every object that match selects, each by the rules of Delete (API-061), and returns how many there were.
// A nil match selects all. It ends at the first object whose precondition does not hold; nobody else can take one away meanwhile.
func (t *Table[T]) DeleteAll(match func(T) bool, opts api.DeleteOptions) (int, error) {
	n := 0
	for obj := range t.All() {
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
