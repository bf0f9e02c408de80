package engine

import "slices"

// memory is the memory of what every engine has from its start, as much as a cluster without CSI drivers and nodes needs: most clusters are small
// and live short.
type memory struct {
	actors    slab[Actor]
	queues    slab[Queue]
	recorders slab[Recorder]
	tickers   slab[Ticker]

	firstActors    [13]Actor
	firstQueues    [15]Queue
	firstRecorders [7]Recorder
	firstTickers   [5]Ticker
	listed         [16]*Actor // of Engine.actors
	// viewLists and queueLists are the memory of Actor.views and Actor.queues in the first life of the actors.
	viewLists         shared[View]
	queueLists        shared[*Queue]
	firstListedViews  [64]View
	firstListedQueues [16]*Queue
	remains           Remains

	api       API
	user      Process
	userActor Actor
}

func (m *memory) prepare(e *Engine) {
	m.actors.unused, m.queues.unused = m.firstActors[:], m.firstQueues[:]
	m.recorders.unused, m.tickers.unused = m.firstRecorders[:], m.firstTickers[:]
	m.viewLists.free, m.queueLists.free = m.firstListedViews[:0], m.firstListedQueues[:0]
	e.actors, e.remains = m.listed[:0], &m.remains
}

// shared is memory for lists that grow one after the other.
type shared[E any] struct{ free []E }

// lend gives an empty list the memory, until settle takes back what the list does not need.
func (s *shared[E]) lend(list *[]E) { *list, s.free = s.free, nil }

func (s *shared[E]) settle(list *[]E) {
	if s.free == nil {
		s.free = (*list)[len(*list):]
		*list = slices.Clip(*list)
	}
}
