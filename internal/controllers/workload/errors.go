package workload

import utilerrors "k8s.io/apimachinery/pkg/util/errors"

// First returns the first error, or nil for none.
func First(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	return errs[0]
}

// Aggregate returns the errors as one, or nil for none.
func Aggregate(errs []error) error {
	if agg := utilerrors.NewAggregate(errs); agg != nil {
		return agg
	}
	return nil
}
