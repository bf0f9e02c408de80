package engine

import (
	"time"
)

// YieldToPasses asks the process to let passes come first, as AfterPasses does, before its next step: at Then or Yield.
func (p *Process) YieldToPasses(rank uint8) { p.yields = rank }

// YieldUntil asks the process to wait before its next step, at Then: for d, and then for as long as look returns, until that is zero. The
// next step gets the error that look returned last.
func (p *Process) YieldUntil(d time.Duration, look func(*Process) (again time.Duration, err error)) {
	p.delay, p.look = d, look
}

// Yield lets passes come first if YieldToPasses asked for that.
func (p *Process) Yield() {
	if rank := p.yields; rank > 0 {
		p.yields = 0
		p.AfterPasses(rank)
	}
}

// Then continues with rest, the next step, which gets err. After YieldToPasses or YieldUntil, it waits first. It must be the last call of the
// process's code, which returns the result of Then. Unless it has to wait, that is the result of rest. If an operation has to wait, Then returns nil
// at once, Waiting is true, and rest runs later; the stack is free meanwhile, as in WaitThen.
func (p *Process) Then(err error, rest func(*Process, error) error) error {
	if p.of == nil || p.yields == 0 && p.look == nil {
		for p.look != nil {
			p.Sleep(p.delay)
			if p.delay, err = p.look(p); p.delay <= 0 {
				p.look = nil
			}
		}
		p.Yield()
		return rest(p, err)
	}
	if p.dead {
		panic(killed{})
	}
	p.thenErr, p.then, p.stackless = err, rest, true
	if p.look != nil {
		p.engine.schedule(p.delay, p, p.actor, false)
		return nil
	}
	p.ExpectPasses(p.yields)
	p.yields = 0
	return nil
}

// runThen runs the next step of an operation after Then, unless it has to wait longer.
func (p *Process) runThen() error {
	if p.look != nil {
		again, err := p.look(p)
		if again > 0 {
			p.stackless = true
			p.engine.schedule(again, p, p.actor, false)
			return nil
		}
		p.look, p.thenErr = nil, err
	}
	return p.then(p, p.thenErr)
}

// Waiting reports whether the process is an operation that waits for its next step; see Then.
func (p *Process) Waiting() bool { return p.stackless }
