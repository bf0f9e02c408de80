package engine

import (
	"fmt"
	"maps"
	"slices"
)

// Index is the place of the queue among those of its actor.
func (q *Queue) Index() int { return slices.Index(q.actor.queues, q) }

// First is the key that the next free worker takes; "" if none waits.
func (q *Queue) First() string {
	if q.keys.len() == 0 {
		return ""
	}
	return q.keys.all()[0].key
}

// AppendState appends a text that tells the state of the queue from any other: keys in order, those being worked on, delays, failures.
func (q *Queue) AppendState(text []byte) []byte {
	text = fmt.Appendf(text, "free %d starts %d", q.free, q.starts)
	for _, item := range q.keys.all() {
		text = fmt.Appendf(text, " %q", item.key)
	}
	for _, key := range slices.Sorted(maps.Keys(q.all)) {
		item := q.all[key]
		if !item.dirty && !item.working {
			continue // it was here once
		}
		text = fmt.Appendf(text, " %q=%t,%t", key, item.dirty, item.working)
	}
	for _, key := range slices.Sorted(maps.Keys(q.waiting)) {
		text = fmt.Appendf(text, " %q@%d", key, q.waiting[key].at)
	}
	l := q.limiter
	text = fmt.Appendf(text, " %d", l.tat)
	for _, key := range slices.Sorted(maps.Keys(l.failures)) {
		text = fmt.Appendf(text, " %q!%d", key, l.failures[key])
	}
	return text
}

// touched notes that the queue was read or changed.
func (q *Queue) touched() {
	if f := q.actor.engine.footprint; f != nil {
		f.touch(q)
	}
}
