// Package parallel runs the pieces of one activity in several processes.
package parallel

import "github.com/volsim/volsim/internal/core/engine"

// Do calls work for 0 to n-1 in up to workers processes of the actor of p, and returns when all calls have returned. Each process takes the
// next number when it is done with one.
func Do(p *engine.Process, name string, workers, n int, work func(p *engine.Process, i int)) {
	next, running := 0, min(workers, n)
	var done engine.Signal
	for range running {
		p.Actor().Go(name, func(p *engine.Process) {
			for next < n {
				i := next
				next++
				work(p, i)
			}
			if running--; running == 0 {
				done.Broadcast()
			}
		})
	}
	for running > 0 {
		done.Wait(p, 0)
	}
}
