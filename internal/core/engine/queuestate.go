package engine

import (
	"maps"
	"slices"
	"strconv"
	"strings"
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
		text = strconv.AppendQuote(append(text, ' '), item.key)
	}
	if q.busy.len > q.keys.len() {
		all := q.busy.all()
		slices.SortFunc(all, func(a, b *queued) int { return strings.Compare(a.key, b.key) })
		for _, item := range all {
			if item.working {
				text = strconv.AppendQuote(append(text, ' '), item.key)
				text = strconv.AppendBool(append(text, '='), item.dirty)
			}
		}
	}
	l := q.limiter
	text = strconv.AppendInt(append(text, ' '), int64(l.tat), 10)
	if len(l.failures) == 0 {
		return text
	}
	for _, key := range slices.Sorted(maps.Keys(l.failures)) {
		text = strconv.AppendQuote(append(text, ' '), key)
		text = strconv.AppendInt(append(text, '!'), int64(l.failures[key]), 10)
	}
	return text
}
