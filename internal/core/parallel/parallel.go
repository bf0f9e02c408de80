// Package parallel runs the pieces of one activity in several processes.
package parallel

import "github.com/volsim/volsim/internal/core/engine"

// Do calls work for 0 to n-1 in up to workers processes of the actor of p, and returns as soon as all calls have returned, before the effect of
// the last reaches an informer. Each process takes the next number when it is done with one. p is one of them: while no call waits, it makes all
// of them, and nothing happens in between.
func Do(p *engine.Process, name string, workers, n int, work func(p *engine.Process, i int)) {
	d := &pieces{n: n, left: n, work: work}
	for range min(workers, n) - 1 {
		p.Actor().Go(name, d.take)
	}
	d.take(p)
	for d.left > 0 {
		d.done.Wait(p, 0)
	}
}

// pieces are those of one activity.
type pieces struct {
	next, n, left int
	work          func(p *engine.Process, i int)
	done          engine.Signal
}

// take makes calls until none is left to begin.
func (d *pieces) take(p *engine.Process) {
	for d.next < d.n {
		i := d.next
		d.next++
		d.work(p, i)
		if d.left--; d.left == 0 {
			d.done.Release()
		}
	}
}
