package engine

// Choice is one choice the engine made: Picked out of N.
type Choice struct{ N, Picked int }

// choices makes and records the choices of a run, so that it can be replayed, shrunk and explored.
type choices struct {
	choose func(n int) int
	record []Choice
}

// pick chooses an index below n. One possibility is no choice.
func (c *choices) pick(n int) int {
	if n <= 1 {
		return 0
	}
	i := c.choose(n)
	if i < 0 || i >= n {
		i = 0
	}
	c.record = append(c.record, Choice{N: n, Picked: i})
	return i
}

// Replay makes a Config.Choose that repeats recorded choices and then goes on first in, first out. A recorded pick that does not
// fit, because the run is no longer the same, is taken modulo what there is.
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
