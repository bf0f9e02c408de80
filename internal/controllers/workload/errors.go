package workload

import utilerrors "k8s.io/apimachinery/pkg/util/errors"

// Aggregate returns the errors as one, or nil for none.
func Aggregate(errs []error) error {
	if agg := utilerrors.NewAggregate(errs); agg != nil {
		return agg
	}
	return nil
}
