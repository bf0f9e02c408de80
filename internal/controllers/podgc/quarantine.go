package podgc

import (
	"slices"
	"strings"
	"time"
)

// quarantineTime is how long a node must be missing before its pods are deleted (NODE-072).
const quarantineTime = 40 * time.Second

// quarantine has the nodes that are missing, with the times at which they are looked for (NODE-072).
type quarantine struct {
	until map[string]time.Time
}

// add begins the quarantine of a node, unless it has begun.
func (q *quarantine) add(node string, now time.Time) {
	if _, waits := q.until[node]; waits {
		return
	}
	if q.until == nil {
		q.until = map[string]time.Time{}
	}
	q.until[node] = now.Add(quarantineTime)
}

// over ends and returns the quarantines that are over, in the order of their ends and of names.
func (q *quarantine) over(now time.Time) []string {
	var nodes []string
	for node, until := range q.until {
		if !until.After(now) {
			nodes = append(nodes, node)
		}
	}
	slices.SortFunc(nodes, func(a, b string) int {
		if c := q.until[a].Compare(q.until[b]); c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
	for _, node := range nodes {
		delete(q.until, node)
	}
	return nodes
}

// next returns the end of the first quarantine. It reports false if there is none.
func (q *quarantine) next() (time.Time, bool) {
	var first time.Time
	for _, until := range q.until {
		if first.IsZero() || until.Before(first) {
			first = until
		}
	}
	return first, !first.IsZero()
}
