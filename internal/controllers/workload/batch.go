package workload

import (
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/parallel"
)

// SlowStart calls fn for 0 to n-1 in batches of 1, 2, 4 and so on, those of a batch at the same time, until one fails (WORK-006). Zero limit
// is no limit for the size of a batch. It returns the number of successes, and the errors in the order in which the calls ended.
func SlowStart(p *engine.Process, name string, n, limit int, fn func(p *engine.Process, i int) error) (int, []error) {
	done, successes := 0, 0
	for size := min(n, 1); size > 0; size = min(2*size, n-done) {
		if limit > 0 {
			size = min(size, limit)
		}
		var errs []error
		// WORK-006: after a failure no further batch is tried.
		parallel.Do(p, name, size, size, func(p *engine.Process, i int) {
			if err := fn(p, done+i); err != nil {
				errs = append(errs, err)
			}
		})
		done += size
		successes += size - len(errs)
		if len(errs) > 0 {
			return successes, errs
		}
	}
	return successes, nil
}
