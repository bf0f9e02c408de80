package garbagecollector

import "container/list"

// absentLimit is the number of owners that are remembered as absent (GC-012).
const absentLimit = 500

// absentOwners remembers the owners that were found absent, and forgets those that were not asked about for longest (GC-012).
type absentOwners struct {
	order list.List // of identity, the last used first
	known map[identity]*list.Element
}

func (a *absentOwners) add(id identity) {
	if a.has(id) {
		return
	}
	if a.known == nil {
		a.known = map[identity]*list.Element{}
	}
	a.known[id] = a.order.PushFront(id)
	if a.order.Len() > absentLimit {
		last := a.order.Back()
		delete(a.known, last.Value.(identity))
		a.order.Remove(last)
	}
}

func (a *absentOwners) has(id identity) bool {
	e, ok := a.known[id]
	if ok {
		a.order.MoveToFront(e)
	}
	return ok
}
