package engine

import (
	"errors"
)

// Choice is one choice of the engine: index Picked out of N.
type Choice struct{ N, Picked int }

// choices makes and records the choices of a run, so that the run can be replayed and explored.
type choices struct {
	choose func(n int) int
	record []pick
}

// pick is a Choice in half of the memory.
type pick struct{ n, picked uint32 }

// GiveUp is the result of Config.Choose that ends the run.
const GiveUp = -1

// GivenUp is the value of the panic with which the engine leaves the function that runs it, after GiveUp or when the observer has given up. It
// is a panic of the caller of the engine: processes and their stacks stay as they are. PassInside returns it instead.
var GivenUp = errors.New("engine: the run was given up")

// pick chooses an index below n, or GiveUp. With a single candidate it makes no choice.
func (c *choices) pick(n int) int {
	if n <= 1 {
		return 0
	}
	i := c.choose(n)
	if i == GiveUp {
		return i
	}
	if i < 0 || i >= n {
		i = 0
	}
	c.record = append(c.record, pick{uint32(n), uint32(i)})
	return i
}

// Replay returns a Config.Choose that repeats recorded choices and then picks first in, first out. If the run has changed and a recorded
// pick is too large, it is taken modulo the number of candidates.
func Replay(record []Choice) func(n int) int {
	at := 0
	return func(n int) int {
		if at >= len(record) {
			return 0
		}
		at++
		return record[at-1].Picked % n
	}
}
