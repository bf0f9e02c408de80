package store

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/quota"
	"github.com/volsim/volsim/internal/core/strategy"
)

// QuotaKind and LimitRangeKind are stored as data, and decide about other objects of their namespace (docs/rules/quota.md).
const (
	QuotaKind      api.Kind = "ResourceQuota"
	LimitRangeKind api.Kind = "LimitRange"
)

// objectsIn returns the objects of a namespace as Ts, by name. They are shared, and read-only.
func objectsIn[T api.Object](t Table[*plain.Object], namespace string) []T {
	if t == nil {
		return nil
	}
	var all []T
	for _, obj := range t.List() {
		if obj.Namespace == namespace {
			all = append(all, plain.Shared[T](obj))
		}
	}
	return all
}

// completeLimits sets the defaults that the LimitRanges of its namespace have for a new pod (QUO-040).
func (s *Store) completeLimits(obj api.Object) {
	if pod, ok := obj.(*corev1.Pod); ok && s.limits != nil && !s.asGiven {
		for _, limits := range objectsIn[*corev1.LimitRange](s.limits, pod.Namespace) {
			quota.SetDefaults(limits, pod)
		}
	}
}

// checkLimits decides whether an object is within the LimitRanges of its namespace (QUO-041, QUO-042). old is nil for a new object.
func (s *Store) checkLimits(r resource, obj, old api.Object, sub api.Subresource) error {
	if s.limits == nil || s.asGiven {
		return nil
	}
	// QUO-043: what is being deleted may change.
	if old != nil && old.GetDeletionTimestamp() != nil {
		return nil
	}
	for _, limits := range objectsIn[*corev1.LimitRange](s.limits, obj.GetNamespace()) {
		var err error
		switch obj := obj.(type) {
		case *corev1.PersistentVolumeClaim:
			err = quota.CheckClaim(limits, obj)
		case *corev1.Pod:
			// QUO-042: only new pods are checked, and those that are resized.
			if old == nil || sub == strategy.Resize {
				err = quota.CheckPod(limits, obj)
			}
		}
		if err != nil {
			return forbidden(r, obj.GetName(), err)
		}
	}
	return nil
}

// chargeQuotas charges the quotas of a namespace with an object, or rejects it (QUO-020). old is nil for a new object. dry charges nothing.
func (s *Store) chargeQuotas(r resource, obj, old api.Object, sub api.Subresource, dry bool) error {
	if s.quotas == nil || s.asGiven || !r.namespaced || quota.Ignored(r.groupResource()) {
		return nil
	}
	if old != nil && !chargesUpdate(obj, old, sub) {
		return nil
	}
	all := objectsIn[*corev1.ResourceQuota](s.quotas, obj.GetNamespace())
	changed, err := quota.Charge(all, r.groupResource(), obj, old, sub == api.Status, s.now())
	if err != nil {
		return forbidden(r, obj.GetName(), err)
	}
	// QUO-025: a dry run is checked, and not charged.
	if dry {
		return nil
	}
	for _, q := range changed {
		// What objectsIn lists names no kind.
		q.TypeMeta = metav1.TypeMeta{APIVersion: corev1.SchemeGroupVersion.String(), Kind: string(QuotaKind)}
		charged, err := plain.From(q)
		if err != nil {
			return err
		}
		// QUO-024: the API server writes the usage before it stores the object.
		if _, err := s.quotas.UpdateStatus(charged); err != nil {
			return err
		}
	}
	return nil
}

// chargesUpdate reports whether an update may charge a quota (QUO-023): that of a claim or of its status, that of a Service, and that of
// a pod which gets a deadline or loses it.
func chargesUpdate(obj, old api.Object, sub api.Subresource) bool {
	switch obj := obj.(type) {
	case *corev1.PersistentVolumeClaim:
		return true
	case *corev1.Pod:
		before, ok := old.(*corev1.Pod)
		return ok && (sub == strategy.Resize || sub == api.Main && quota.HasDeadline(obj) != quota.HasDeadline(before))
	case *plain.Object:
		// QUO-023: the type of a Service may change.
		return sub == api.Main && api.KindOf(obj) == "Service"
	}
	return false
}
