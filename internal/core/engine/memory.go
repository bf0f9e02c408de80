package engine

// memory is the memory of what every engine has from its start: most clusters are small and live short.
type memory struct {
	actors    slab[Actor]
	queues    slab[Queue]
	recorders slab[Recorder]
	tickers   slab[Ticker]

	firstActors    [16]Actor
	firstQueues    [16]Queue
	firstRecorders [slabLen]Recorder
	firstTickers   [slabLen]Ticker
	listed         [16]*Actor // of Engine.actors
	left           Remains

	api       API
	user      Process
	userActor Actor
}

func (m *memory) prepare(e *Engine) {
	m.actors.unused, m.queues.unused = m.firstActors[:], m.firstQueues[:]
	m.recorders.unused, m.tickers.unused = m.firstRecorders[:], m.firstTickers[:]
	e.actors, e.left = m.listed[:0], &m.left
}
