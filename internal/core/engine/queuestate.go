package engine

import (
	"fmt"
	"maps"
	"slices"
)

// Index is the position of the queue among those of its actor.
func (q *Queue) Index() int { return slices.Index(q.actor.queues, q) }

// First is the key that the next free worker takes; "" if none is queued.
func (q *Queue) First() string {
	if q.keys.len() == 0 {
		return ""
	}
	return q.keys.all()[0].key
}

// AppendState appends the state of the queue as text: the queued keys in order, the keys being worked on and whether they are queued
// again, and the state of its limiter. Delayed keys are timers of the actor, and workers about to take a key are events; neither is
// included.
func (q *Queue) AppendState(text []byte) []byte {
	for _, item := range q.keys.all() {
		text = fmt.Appendf(text, " %q", item.key)
	}
	for _, key := range slices.Sorted(maps.Keys(q.all)) {
		if item := q.all[key]; item.working {
			text = fmt.Appendf(text, " %q=%t", key, item.dirty)
		}
	}
	l := q.limiter
	text = fmt.Appendf(text, " %d", l.tat)
	for _, key := range slices.Sorted(maps.Keys(l.failures)) {
		text = fmt.Appendf(text, " %q!%d", key, l.failures[key])
	}
	return text
}

// touched records that the queue was read or changed.
func (q *Queue) touched() {
	if f := q.actor.engine.footprint; f != nil {
		f.touch(q)
	}
}
