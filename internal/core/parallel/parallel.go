// Package parallel runs the pieces of one activity in several processes.
package parallel

import "github.com/volsim/volsim/internal/core/engine"

// Do calls work for 0 to n-1 in up to workers processes of the actor of p, and returns as soon as all calls have returned, before the effect of
// the last reaches an informer. Each process takes the next number when it is done with one. p is one of them: while no call waits, it makes all
// of them, and nothing happens in between.
func Do(p *engine.Process, name string, workers, n int, work func(p *engine.Process, i int)) {
	next, left := 0, n
	var done engine.Signal
	take := func(p *engine.Process) {
		for next < n {
			i := next
			next++
			work(p, i)
			if left--; left == 0 {
				done.Release()
			}
		}
	}
	for range min(workers, n) - 1 {
		p.Actor().Go(name, take)
	}
	take(p)
	for left > 0 {
		done.Wait(p, 0)
	}
}
