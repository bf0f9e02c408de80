package store

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Delete deletes an object, or marks it as being deleted while it has finalizers or, for a pod, grace (API-050 to API-066).
// It returns the object as it then is, or was last. Deletion is in the background: dependents are the garbage collector's
// business (API-059, API-060). Errors: NotFound; Conflict when a precondition does not hold.
func (t *Table[T]) Delete(key string, opts DeleteOptions) (T, error) {
	var none T
	obj, ok := t.rows.Get(key)
	if !ok {
		// API-050: what is not there cannot be deleted.
		return none, t.notFound(key)
	}
	meta := metaOf(obj)
	// API-058: preconditions come before everything else.
	if opts.UID != "" && opts.UID != meta.UID {
		return none, t.conflict(meta.Name, errUID(opts.UID, meta.UID))
	}
	if opts.ResourceVersion != "" && opts.ResourceVersion != meta.ResourceVersion {
		return none, t.conflict(meta.Name, errVersion(opts.ResourceVersion, meta.ResourceVersion))
	}
	if t.resource.graceful {
		return t.deleteGracefully(key, obj, opts), nil
	}
	switch {
	case len(meta.Finalizers) == 0:
		// API-051: nothing holds the object, it is gone at once.
		return t.remove(key, obj), nil
	case meta.DeletionTimestamp != nil:
		// API-053: it is on its way already.
		return obj, nil
	default:
		// API-052: it stays, marked, until its finalizers are gone.
		return t.mark(key, obj, clock(t.store.now()), 0), nil
	}
}

// deleteGracefully deletes a pod.
func (t *Table[T]) deleteGracefully(key string, obj T, opts DeleteOptions) T {
	meta := metaOf(obj)
	now := clock(t.store.now())
	grace := gracePeriod(obj, opts)
	if meta.DeletionTimestamp != nil {
		// API-065: a second delete can only shorten the wait.
		current := *meta.DeletionGracePeriodSeconds
		if opts.GracePeriodSeconds == nil || grace >= current && !(grace == 0 && current == 0) {
			return obj
		}
		if grace > 0 {
			asked := meta.DeletionTimestamp.Add(time.Duration(grace-current) * time.Second)
			if asked.Before(now.Time) {
				asked, grace = now.Add(time.Second), 1
			}
			return t.mark(key, obj, metav1.NewTime(asked), grace)
		}
		if current == 0 {
			// The finalizers are waited for; nothing is left to shorten.
			return obj
		}
	} else if grace > 0 {
		// API-063: the kubelet gets the time it was promised.
		return t.mark(key, obj, metav1.NewTime(now.Add(time.Duration(grace)*time.Second)), grace)
	}
	// API-064: without grace the mark is written first, then the pod goes, unless finalizers hold it.
	obj = t.mark(key, obj, now, 0)
	if len(metaOf(obj).Finalizers) > 0 {
		return obj
	}
	return t.remove(key, obj)
}

// gracePeriod is what a delete of a pod asks for (API-062).
func gracePeriod(obj Object, opts DeleteOptions) int64 {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return 0
	}
	grace := int64(corev1.DefaultTerminationGracePeriodSeconds)
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
	if grace < 0 {
		grace = 1
	}
	return grace
}

// mark writes deletionTimestamp and grace. The first mark of an object whose generation counts raises it (API-031).
func (t *Table[T]) mark(key string, old T, at metav1.Time, grace int64) T {
	obj := t.strategy.shallow(old)
	meta := metaOf(obj)
	if meta.DeletionTimestamp == nil && meta.Generation > 0 {
		meta.Generation++
	}
	meta.DeletionTimestamp = &at
	meta.DeletionGracePeriodSeconds = &grace
	t.put(key, obj, old)
	return obj
}

// graceOver reports whether only finalizers can still hold an object that is being deleted.
func graceOver(meta *metav1.ObjectMeta) bool {
	return meta.DeletionGracePeriodSeconds == nil || *meta.DeletionGracePeriodSeconds == 0
}

// DeleteAll deletes every object that match selects, each by the rules of Delete (API-061), and returns how many there were.
// A nil match selects all.
func (t *Table[T]) DeleteAll(match func(T) bool, opts DeleteOptions) (int, error) {
	n := 0
	for obj := range t.All() {
		if match != nil && !match(obj) {
			continue
		}
		if _, err := t.Delete(KeyOf(obj), opts); err != nil {
			return n, fmt.Errorf("delete %s: %w", KeyOf(obj), err)
		}
		n++
	}
	return n, nil
}
